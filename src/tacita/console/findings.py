"""What can be read off a campaign's tables, as panels of its page. All of it is free."""

from __future__ import annotations

import math
from typing import Any
from urllib.parse import quote

from nicegui import ui

from tacita.console import kit
from tacita.console.page import Visit
from tacita.errors import Conflict

__all__ = ["show_findings"]

_ROWS = 1000
_MOST_RULES = 20


def show_findings(visit: Visit, id: str, names: list[str]) -> None:
    """Tests, rules, a network, integrity, and files, each when it is asked for."""
    words = "Everybody was protected before their report was sent: looking is free."
    with kit.panel("What the tables tell", words):
        if len(names) > 1:
            _test(visit, id, names)
        _rules(visit, id)
        _integrity(visit, id)
        _files(id, len(names) > 1)


def _test(visit: Visit, id: str, names: list[str]) -> None:
    async def test() -> None:
        query = {"by": f"{one.value},{other.value}"} | ({"given": given.value} if given.value else {})
        found = await _found(visit.api.get(f"/v1/campaigns/{id}/test", **query), room)
        if found is None:
            return
        with room:
            kit.text(_verdict(found))
            if found["caution"]:
                kit.note(found["caution"])

    with ui.element("div").classes("finding"):
        kit.heading("Do two attributes go together?", 3)
        with kit.row():
            one = kit.choice("One", names, names[0])
            other = kit.choice("Other", names, names[1])
            given = kit.choice("Among those alike in", {"": "nothing"} | {name: name for name in names}, "")
        kit.button("Test", test)
        room = ui.element("div").props("aria-live=polite")


def _verdict(found: dict[str, Any]) -> str:
    sure = "They go together" if found["p_value"] < 0.05 else "They may well be independent"
    chance = "less than 0.001" if found["p_value"] < 0.001 else f"{found['p_value']:.3f}"
    return f"{sure}: if they were independent, answers like these would come up with a probability of {chance}."


def _rules(visit: Visit, id: str) -> None:
    async def find() -> None:
        found = await _found(visit.api.get(f"/v1/campaigns/{id}/rules"), room)
        if found is None:
            return
        with room:
            if not found:
                kit.text("No rule stands out of the noise yet. More reports may show some.")
                return
            rows = [
                [_words(rule["given"]), _words(rule["then"]), _measure(rule["confidence"], 1.0), _measure(rule["lift"])]
                for rule in found[:_MOST_RULES]
            ]
            kit.table(["if", "then", ">confidence", ">lift"], rows, caption="Rules")

    with ui.element("div").classes("finding"):
        kit.heading("Rules that noise does not make", 3)
        kit.note("If somebody has this, they rather have that.")
        kit.button("Find rules", find)
        room = ui.element("div").props("aria-live=polite")


def _integrity(visit: Visit, id: str) -> None:
    async def look() -> None:
        found = await _found(visit.api.get(f"/v1/campaigns/{id}/integrity"), room)
        if found is None:
            return
        with room:
            rows = [
                [
                    " x ".join(each["attributes"]),
                    f"{each['one_report']:.2g}",
                    f"{each['one_percent']:.2g}",
                    "cannot be told" if each["p_value"] is None else f"{each['p_value']:.3f}",
                ]
                for each in found
            ]
            columns = ["table", ">one liar moves a cell by", ">1 % of liars by", ">probability of so odd a count"]
            kit.table(columns, rows, caption="Integrity")
            for note in dict.fromkeys(each["note"] for each in found if each["note"]):
                kit.note(f"{note[0].upper()}{note[1:]}.")

    with ui.element("div").classes("finding"):
        kit.heading("What liars could have done", 3)
        kit.note("How far false reports could move a table, and whether its count looks like honest reports.")
        kit.button("Check integrity", look)
        room = ui.element("div").props("aria-live=polite")


def _files(id: str, several: bool) -> None:
    place = f"/files/v1/campaigns/{quote(id)}"
    with ui.element("div").classes("finding"):
        kit.heading("To take with you", 3)
        with ui.element("ul"):
            for words, path, name in (
                ("Tables with error bars (JSON)", f"{place}/releases", f"{id}-tables.json"),
                ("The same, made consistent (JSON)", f"{place}/releases?published=consistent", f"{id}-consistent.json"),
                (f"{_ROWS:,} made-up rows (CSV)", f"{place}/synthetic?rows={_ROWS}", f"{id}-rows.csv"),
            ):
                with ui.element("li"):
                    kit.said(kit.link(words, path), download=name)
        if several:
            kit.link("See its network, and ask it what-if questions", f"/network?campaign={quote(id)}")


async def _found(asked: Any, room: ui.element) -> Any:
    """What a finding answers; where there are too few reports yet, that is said in its place."""
    room.clear()
    try:
        return await asked
    except Conflict as error:
        with room:
            kit.note(f"The campaign {error.rule}: {error.value}.")
        return None


def _words(given: dict[str, str]) -> str:
    return ", ".join(f"{name} = {level}" for name, level in given.items())


def _measure(found: dict[str, Any], most: float = math.inf) -> str:
    """A number with its interval; estimates are unbiased, so a share may come out above what a share can be."""
    if found["value"] is None:
        return "unknown"
    value, low, high = (min(found[name], most) for name in ("value", "low", "high"))
    return f"{value:.2f} ({low:.2f} to {high:.2f})"
