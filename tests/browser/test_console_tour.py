"""From `tacita serve --open` (what `make serve` runs) to a downloaded, assessed release, with nothing read before."""

import csv
import re

import pytest
from playwright.sync_api import expect

from tacita.report.statement import Statement, verify

ARGUMENTS = ("--open",)
MOST_CLICKS = 12


class Hand:
    """Clicks, and counts them."""

    def __init__(self, page):
        self.page, self.clicks = page, 0

    def click(self, role, name, **options):
        self.page.get_by_role(role, name=name).first.click(**options)
        self.clicks += 1


def link_of(service):
    return re.search(r"http\S+/console/enter#\S+", service.log)[0]


def test_a_newcomer_gets_to_an_assessed_release(service, page, browse, check_accessible, picture, tmp_path):
    hand = Hand(page)
    page.goto(link_of(service))
    expect(page.get_by_role("heading", level=1)).to_have_text("Start")
    assert "#" not in page.url
    check_accessible(page)
    picture(page, "console-start", docs=True)
    hand.click("button", "Start the tour")
    expect(page.get_by_role("heading", level=1)).to_have_text("sample-census")
    check_accessible(page)
    picture(page, "console-dataset", full_page=True)
    page.locator("#room").get_by_role("link", name="Make a release").click()
    hand.clicks += 1
    expect(page.get_by_text("Expected error, tables of two")).to_be_visible()
    expect(page.get_by_role("button", name="Make the release")).to_be_enabled()
    check_accessible(page)
    picture(page, "console-wizard", docs=True, full_page=True)
    hand.click("button", "Make the release")
    expect(page.get_by_text("never refunded")).to_be_visible()
    check_accessible(page)
    hand.click("button", "Confirm")
    expect(page.get_by_role("heading", name="Preview")).to_be_visible()
    check_accessible(page)
    hand.click("button", "Assess")
    expect(page.get_by_role("link", name="Full report")).to_be_visible(timeout=240_000)
    expect(page.get_by_text(re.compile(r"Risk \d+\.\d %"))).to_be_visible()
    check_accessible(page)
    picture(page, "console-release", docs=True, full_page=True)
    with page.expect_download() as download:
        hand.click("link", "Download CSV")
    download.value.save_as(tmp_path / "rows.csv")
    with (tmp_path / "rows.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 3000
    assert set(rows[0]) >= {"age", "smoking", "income"}
    assert hand.clicks <= MOST_CLICKS, f"{hand.clicks} clicks"

    for name, file in (("Privacy statement, signed", "statement.json"), ("Download Parquet", "rows.parquet")):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        download.value.save_as(tmp_path / file)
    stated = Statement.read(tmp_path / "statement.json")
    assert stated.epsilon == pytest.approx(1.0)
    assert all(check.good for check in verify(stated, files={"rows.parquet": tmp_path / "rows.parquet"}))
    with page.context.expect_page() as opened:
        page.get_by_role("link", name="Full report").click()
    expect(opened.value.get_by_role("heading", level=1)).to_be_visible()
    check_accessible(opened.value)

    page.goto(f"{service.url}/console/datasets/sample-census")
    expect(page.get_by_text("3 remaining")).to_be_visible()  # of 4, what the slider said
    picture(page, "console-budget", full_page=True)
    page.goto(f"{service.url}/console/audit")
    expect(page.get_by_role("cell", name="charge").first).to_be_visible()
    check_accessible(page)


def test_the_link_is_good_once_and_stays_out_of_the_log(service, page, browse):
    """A second use of a link asks for a token."""
    browse.expect("401")
    page.goto(link_of(service))
    expect(page.get_by_role("alert")).to_contain_text("used before")
    code = link_of(service).partition("#")[2]
    assert service.log.count(code) == 1  # where it was printed
    assert "client_id" not in service.log
