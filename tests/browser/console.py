"""Small helpers for journeys through the console."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, Page, expect


def sign_in(page: Page, service: Any, token: str) -> None:
    """Enter with a token, as a person would, and wait for the start page."""
    page.goto(f"{service.url}/console/enter")
    page.get_by_label("Your token").fill(token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Start")


def visit(page: Page, service: Any, path: str, heading: str) -> None:
    """Open a page of the console and wait until it lives: its script is connected to the server."""
    page.goto(f"{service.url}/console{path}")
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    page.wait_for_function("() => window.socket && window.socket.connected")


def turn_dark(page: Page) -> None:
    """The other of light and dark."""
    page.get_by_role("button", name="Light or dark").click()
    page.wait_for_selector("body.body--dark")
    settle(page)


def settle(page: Page) -> None:
    """Wait until nothing moves any more: colours that fade in are no colours yet."""
    page.wait_for_function(
        "() => document.getAnimations().every(each => each.playState !== 'running'"
        " || each.effect?.getComputedTiming().iterations === Infinity)"
    )


def to_top(page: Page) -> None:
    """Scroll up and let messages go, so that a picture shows the page as it is first seen."""
    page.evaluate("() => window.scrollTo(0, 0)")
    expect(page.locator(".q-notification")).to_have_count(0)


def choose(page: Page, name: str, option: str) -> None:
    """Pick an option of a choice."""
    page.get_by_role("combobox", name=name, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()
    expect(page.locator(".q-menu")).to_have_count(0)


def slide(page: Page, name: str, places: int) -> None:
    """Move a slider by its keys: to the right, or to the left where places are negative. Waits for each place."""
    slider = page.get_by_role("slider", name=name, exact=True)
    label = page.locator(".slider", has=slider).locator("b")
    for _ in range(abs(places)):
        shown = label.inner_text()
        slider.press("ArrowRight" if places > 0 else "ArrowLeft")
        expect(label).not_to_have_text(shown)


def chart(page: Page, title: str) -> Locator:
    """The picture of the chart whose title begins like this."""
    return page.locator(f".chart-picture[aria-label^='{title}']")


def numbers(page: Page, title: str) -> list[list[str]]:
    """The cells of the table below a chart, as they are shown; the first row is its head."""
    table = page.locator("figure.chart", has=chart(page, title)).locator("table")
    expect(table).to_have_count(1)
    return table.evaluate("table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))")
