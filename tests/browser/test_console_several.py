"""Choices of several options, with a server that is slow to answer."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tacita.console.parts.sample import SAMPLE

LATE = """(() => {
  const late = 1500, Plain = window.WebSocket;
  window.WebSocket = class extends Plain {
    addEventListener(kind, heard, more) {
      super.addEventListener(kind, kind === "message" ? (event) => setTimeout(() => heard(event), late) : heard, more);
    }
    set onmessage(heard) { super.onmessage = (event) => setTimeout(() => heard(event), late); }
    get onmessage() { return super.onmessage; }
  };
})()"""
"""Whatever the server says comes a second and a half late."""


@pytest.fixture
def slow(page, service, console):
    """A page with the sample, whose server answers late."""
    console.sign_in(page, service, service.token())
    page.get_by_role("button", name="the tour").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(SAMPLE)
    page.add_init_script(LATE)
    return page


def chips(page, name):
    """What a choice shows as picked."""
    return page.locator(".q-field", has=page.get_by_role("combobox", name=name)).locator(".q-chip__content")


def test_no_click_is_lost_when_the_server_is_slow(slow, service, console, check_accessible):
    console.visit(slow, service, f"/releases/new?dataset={SAMPLE}&kind=tables&epsilon=0.5", "Make a release")
    slow.get_by_role("combobox", name="Table 2").click()
    for name in ("sex", "region", "smoking"):
        slow.get_by_role("option", name=name, exact=True).click()
    expect(chips(slow, "Table 2")).to_have_text(["sex", "region", "smoking"])
    expect(slow.get_by_text("by sex and region and smoking")).to_be_visible()  # the plan of the server
    expect(chips(slow, "Table 2")).to_have_text(["sex", "region", "smoking"])
    slow.get_by_role("option", name="region", exact=True).click()
    slow.keyboard.press("Escape")
    expect(slow.get_by_text("by sex and smoking")).to_be_visible()
    expect(chips(slow, "Table 2")).to_have_text(["sex", "smoking"])
    check_accessible(slow)

    # what was picked is in the draft of the server too
    slow.reload()
    expect(slow.get_by_text("Your earlier input was restored.")).to_be_visible()
    expect(chips(slow, "Table 2")).to_have_text(["sex", "smoking"])


def test_a_value_that_the_page_sets_is_shown(slow, service, console):
    """Other options come from the server, with their value, also after clicks."""
    console.visit(slow, service, f"/comparisons?dataset={SAMPLE}", "Compare releases")
    expect(chips(slow, "Quasi-identifiers")).to_have_text(["age", "sex", "region"])
    slow.get_by_role("combobox", name="Quasi-identifiers").click()
    slow.get_by_role("option", name="status", exact=True).click()
    slow.keyboard.press("Escape")
    expect(chips(slow, "Quasi-identifiers")).to_have_text(["age", "sex", "region", "status"])
    console.choose(slow, "Dataset", "sample-others")
    expect(chips(slow, "Sensitive")).to_have_text(["income", "smoking"])  # roles of the schema: it has no policy
