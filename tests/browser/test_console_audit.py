"""The audit log as a steward reads it: newest first, one kind, older lines, and only what is in scope."""

import pytest
from playwright.sync_api import expect

from tacita.server.events import Events
from tacita.store import Database

SETTINGS = {"TACITA_WORKER": "false"}
LINES = 130


@pytest.fixture(scope="module")
def log(service):
    """More lines than a page shows, about two datasets."""
    database = Database(f"sqlite:///{service.home / 'state.db'}")
    events = Events(database)
    for number in range(LINES):
        events.record("charge", f"set {number % 2}", "Ada (1)", charge=f"ch_{number:03d}", purpose="<b>teaching</b>")
    events.record("budget-raised", "set 0", "Ada (1)", old={"epsilon": 1.0}, new={"epsilon": 2.0})
    database.close()


def rows(page):
    return page.get_by_role("region", name="Audit log").locator("tbody tr")


def test_one_kind_and_older_lines(service, log, page, console, check_accessible, picture):
    console.sign_in(page, service, service.token("steward"))
    console.visit(page, service, "/audit", "Audit log")
    expect(rows(page)).to_have_count(100)
    expect(rows(page).nth(0)).to_contain_text("signed in")  # the last thing that happened
    expect(page.get_by_text("A person with access to the database could")).to_be_visible()
    expect(page.get_by_role("button", name="Newer")).to_have_count(0)
    check_accessible(page)
    picture(page, "console-audit-log", full_page=True)
    console.choose(page, "Show", "charge")
    expect(rows(page).nth(0)).to_contain_text(f"for <b>teaching</b>; ch_{LINES - 1:03d}")  # as words, not as a page
    page.get_by_role("button", name="Older").click()
    expect(rows(page)).to_have_count(LINES - 100)
    expect(rows(page).last).to_contain_text("ch_000")
    expect(page.get_by_role("button", name="Older")).to_have_count(0)
    page.get_by_role("button", name="Newer").click()
    expect(rows(page)).to_have_count(100)
    page.get_by_role("button", name="Older").click()
    expect(rows(page)).to_have_count(LINES - 100)
    console.choose(page, "Show", "budget raised")  # begins at the newest again
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("from ε 1 to ε 2")
    console.choose(page, "Show", "model loaded")
    expect(page.get_by_text("No event of this kind yet.")).to_be_visible()


def test_a_scope_is_a_scope_here_too(service, log, page, console):
    console.sign_in(page, service, service.token("steward", datasets=["set 1"]))
    console.visit(page, service, "/audit", "Audit log")
    expect(rows(page)).to_have_count(LINES // 2)
    expect(page.get_by_text("set 0")).to_have_count(0)
    expect(page.get_by_text("signed in", exact=True)).to_have_count(0)
