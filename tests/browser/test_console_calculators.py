"""Anybody who is signed in sees what an epsilon means, what it risks, and what it would cost."""

from __future__ import annotations

import math

from playwright.sync_api import expect

SETTINGS = {"TACITA_WORKER": "false"}


def test_sliders_move_numbers_and_curves(page, service, console, check_accessible, picture):
    console.sign_in(page, service, service.token("analyst"))
    page.get_by_role("link", name="Calculators", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Calculators")
    belief = 1 / (1 + math.exp(-1.0))
    expect(page.get_by_text(f"can become {100 * belief:.3g} % sure")).to_be_visible()
    check_accessible(page)
    picture(page, "console-calculators", docs=True, full_page=True)

    console.slide(page, "Epsilon", 2)  # 1, 1.5, 2
    belief = 1 / (1 + math.exp(-2.0))
    expect(page.get_by_text(f"can become {100 * belief:.3g} % sure")).to_be_visible()

    # P(|loss| <= 0.6) = exp(-1/2) sinh(0.3) of Laplace noise at level 1
    sure = math.exp(-0.5) * math.sinh(0.3)
    expect(page.get_by_text(f"stays below 0.6 with probability {100 * sure:.3g} %")).to_be_visible()
    console.choose(page, "Noise", "Gaussian")
    expect(page.get_by_text("Gaussian noise excludes no privacy loss.")).to_be_visible()

    console.choose(page, "Noise", "Laplace")
    console.choose(page, "Calculate", "Noise level")
    console.slide(page, "Confidence", -6)  # 50 to 20 %
    level = 2 * math.log(math.sinh(0.3) / 0.2)
    expect(page.get_by_text(f"with probability 20 % if the noise level is {level:.3g} at most")).to_be_visible()

    drawn = console.chart(page, "Cost")
    before = drawn.get_attribute("aria-label")
    page.get_by_label("People", exact=True).fill("200")
    plain = 200 * 5500 * math.exp(-1 / 0.5)
    expect(page.get_by_text(f"would cost {plain:,.0f}")).to_be_visible()
    expect(drawn).not_to_have_attribute("aria-label", before)
    page.get_by_label("Available money").fill("1")
    expect(page.get_by_text("No epsilon costs 1.00 or less.")).to_be_visible()
    page.get_by_label("People", exact=True).fill("")
    expect(page.get_by_text("people: must be a whole number of at least 1")).to_be_visible()
    page.get_by_label("People", exact=True).fill("3")
    expect(page.get_by_text("people: must be")).to_have_count(0)
    console.turn_dark(page)
    check_accessible(page)
    picture(page, "console-calculators-dark", full_page=True)


def test_every_other_calculator_has_a_form(page, service, console, check_accessible, picture):
    console.sign_in(page, service, service.token("analyst"))
    console.visit(page, service, "/calculators", "Calculators")
    console.choose(page, "Calculator", "Frequency oracles")
    page.get_by_label("Levels", exact=True).fill("100")
    page.get_by_label("Epsilon", exact=True).last.fill("1")
    page.get_by_label("Respondents", exact=True).fill("10000")
    page.get_by_role("button", name="Calculate", exact=True).click()
    expect(page.get_by_role("cell", name="subset selection")).to_be_visible()
    check_accessible(page)

    console.choose(page, "Calculator", "The published block protocol")
    expect(page.get_by_role("cell", name="subset selection")).to_have_count(0)
    page.get_by_label("Shares").fill("0.6\n0.3\n0.1")
    page.get_by_label("Keep", exact=True).fill("0.5")
    page.get_by_role("button", name="Calculate", exact=True).click()
    expect(page.get_by_text("epsilon that the publication claims")).to_be_visible()
    expect(console.chart(page, "True epsilon of each block")).to_be_visible()
    check_accessible(page)
    picture(page, "console-calculators-listed", full_page=True)

    page.get_by_label("Shares").fill("0.6\n0.6")
    page.get_by_role("button", name="Calculate", exact=True).click()
    expect(page.get_by_text("add up to 1")).to_be_visible()


def test_on_a_phone(phone, service, console, check_accessible, picture):
    console.sign_in(phone, service, service.token("analyst"))
    console.visit(phone, service, "/calculators", "Calculators")
    check_accessible(phone)
    assert phone.evaluate("() => document.documentElement.scrollWidth <= window.innerWidth")  # nothing to push sideways
    picture(phone, "console-calculators-phone")
