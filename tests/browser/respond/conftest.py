"""Campaigns to answer, and a respondent who answers them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tacita.domain import Categorical, Domain
from tacita.server.respond.files import load

TITLE = "Smoking in our town"
SMOKES = Categorical(name="Do you smoke?", levels=["never", "sometimes", "daily"])
AGE = Categorical(name="Your age", levels=["under 30", "30 to 60", "over 60"])


@pytest.fixture
def campaign(service) -> Callable[..., str]:
    """Opens a campaign; gives its id."""

    def make(*attributes: Categorical, **options: Any) -> str:
        attributes = attributes or (SMOKES,)
        parts = {"title": TITLE, "epsilon": 1.0, "respondents": 1000, "minimum": 1, "channel": "rr"} | options
        tables = parts.pop("tables", [[attribute.name for attribute in attributes]])
        with service.client() as client:
            return client.create_campaign(Domain(attributes=list(attributes)), tables, **parts).id

    return make


@pytest.fixture
def received(service) -> Callable[[str], int]:
    """How many reports the service has counted."""

    def count(id: str) -> int:
        with service.client() as client:
            return client.campaign(id).received

    return count


@dataclass
class Respondent:
    """Somebody in front of a page, who reads one language."""

    page: Page
    words: dict[str, str]

    def button(self, key: str) -> Locator:
        return self.page.get_by_role("button", name=self.words[f"button.{key}"], exact=True)

    def sees(self, key: str) -> None:
        """The words of a key are there, as a heading or anywhere."""
        expect(self.page.get_by_text(self.words[key]).first).to_be_visible()

    def heading(self) -> str:
        return self.page.locator("h1").inner_text()

    def choose(self, *levels: str) -> None:
        """Answer one attribute after the other."""
        for level in levels:
            self.page.get_by_role("radio", name=level).check()
            self.button("next").click()

    def answer(self, url: str, *levels: str) -> None:
        """All of it, up to the report."""
        self.page.goto(url)
        self.button("begin").click()
        self.choose(*levels)
        self.button("send").click()
        self.sees("result.heading")

    def stored(self) -> dict[str, Any]:
        """What the browser has stored for the page."""
        return {key: json.loads(text) for key, text in self.page.evaluate("() => Object.entries({ ...localStorage })")}

    def keeps_page(self) -> None:
        """Wait until the page can be opened without a network."""
        self.page.evaluate("navigator.serviceWorker.ready")


@pytest.fixture
def respondent() -> Callable[..., Respondent]:
    """Somebody in front of a page: `respondent(phone, "it")`."""

    def sit(page: Page, language: str = "en") -> Respondent:
        return Respondent(page, json.loads(load().content[f"words/{language}.json"][0]))

    return sit
