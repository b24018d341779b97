"""Findings of a campaign, as panels of its page. They are post-processing and cost nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from nicegui import ui

from tacita.console.look import kit
from tacita.console.page import Visit
from tacita.console.parts.priors import show_priors
from tacita.errors import Conflict

__all__ = ["can_test", "show_findings", "together"]

_ROWS = 1000
_MOST_RULES = 20


def together(questions: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """The tables of two attributes or more that were asked for."""
    return list(dict.fromkeys(tuple(each["attributes"]) for each in questions if len(each["attributes"]) > 1))


def can_test(tables: Sequence[Sequence[str]], names: Sequence[str]) -> bool:
    """Whether independence of these attributes can be tested: one table that was asked for holds them all.

    >>> can_test([("age", "sex"), ("sex", "job")], ("sex", "age")), can_test([("age", "sex")], ("age", "job"))
    (True, False)
    """
    return len(set(names)) == len(names) and any(set(names) <= set(table) for table in tables)


def show_findings(visit: Visit, id: str, questions: Sequence[Mapping[str, Any]]) -> None:
    """Show tests, rules, integrity, files, and a link to the network."""
    words = "Each report was randomised before it was sent, so findings cost no privacy."
    tables = together(questions)
    with kit.panel("Findings", words):
        if tables:
            _test(visit, id, tables)
        else:
            kit.note(
                "Independence cannot be tested, and there is no network: this campaign has single attributes only. "
                "Both need a campaign with tables of two attributes."
            )
        _rules(visit, id)
        show_priors(visit, id, questions)
        _integrity(visit, id)
        _files(id, bool(tables))


def _test(visit: Visit, id: str, tables: list[tuple[str, ...]]) -> None:
    names = list(dict.fromkeys(name for table in tables for name in table))

    def look() -> None:
        chosen = [one.value, other.value, *([given.value] if given.value else [])]
        possible = can_test(tables, chosen)
        button.set_enabled(possible)
        same = len(set(chosen)) < len(chosen)
        why = (
            "Choose different attributes."
            if same
            else f"This cannot be tested: no table of the campaign contains {', '.join(chosen)} together."
        )
        kit.reword(reason, "" if possible else why)

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
        kit.heading("Are two attributes independent?", 3)
        with kit.row():
            one = kit.choice("First attribute", names, tables[0][0], change=look)
            other = kit.choice("Second attribute", names, tables[0][1], change=look)
            given = kit.choice(
                "Given (conditional test)", {"": "nothing"} | {name: name for name in names}, "", change=look
            )
        button = kit.button("Test", test)
        reason = kit.note("").props("aria-live=polite")
        room = ui.element("div").props("aria-live=polite")


def _verdict(found: dict[str, Any]) -> str:
    sure = "The attributes depend on each other" if found["p_value"] < 0.05 else "No dependence was found"
    chance = "less than 0.001" if found["p_value"] < 0.001 else f"{found['p_value']:.3f}"
    return f"{sure}. Independent attributes would give such reports with probability {chance}."


def _rules(visit: Visit, id: str) -> None:
    async def find() -> None:
        found = await _found(visit.api.get(f"/v1/campaigns/{id}/rules"), room)
        if found is None:
            return
        with room:
            if not found:
                kit.text("No significant rule yet. More reports may show some.")
                return
            rows = [
                [_words(rule["given"]), _words(rule["then"]), _measure(rule["confidence"], 1.0), _measure(rule["lift"])]
                for rule in found[:_MOST_RULES]
            ]
            kit.table(["if", "then", ">confidence", ">lift"], rows, caption="Rules")

    with ui.element("div").classes("finding"):
        kit.heading("Significant rules", 3)
        kit.note("People with the first property have the second one more often than others.")
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
                    "unknown" if each["p_value"] is None else f"{each['p_value']:.3f}",
                ]
                for each in found
            ]
            columns = ["table", ">one false report moves a cell by", ">1 % false reports by", ">p-value of the counts"]
            kit.table(columns, rows, caption="Integrity")
            for note in dict.fromkeys(each["note"] for each in found if each["note"]):
                kit.note(f"{note[0].upper()}{note[1:]}.")

    with ui.element("div").classes("finding"):
        kit.heading("Integrity: effect of false reports", 3)
        kit.note("The largest effect of false reports on a table, and a test whether its counts fit honest reports.")
        kit.button("Check integrity", look)
        room = ui.element("div").props("aria-live=polite")


def _files(id: str, several: bool) -> None:
    place = f"/files/v1/campaigns/{quote(id)}"
    with ui.element("div").classes("finding"):
        kit.heading("Download", 3)
        with ui.element("ul"):
            for words, path, name in (
                ("Unbiased tables with standard errors (JSON)", f"{place}/releases", f"{id}-tables.json"),
                ("Pooled tables, from all reports (JSON)", f"{place}/releases?published=pooled", f"{id}-pooled.json"),
                ("Consistent tables, without negative shares (JSON)", f"{place}/releases?published=auto", f"{id}.json"),
                (f"{_ROWS:,} synthetic rows (CSV)", f"{place}/synthetic?rows={_ROWS}", f"{id}-rows.csv"),
            ):
                with ui.element("li"):
                    kit.set_attributes(kit.link(words, path), download=name)
        if several:
            kit.link("Network and what-if questions", f"/network?campaign={quote(id)}")


async def _found(asked: Any, room: ui.element) -> Any:
    """Return the answer of a finding; show a note instead if there are too few reports."""
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
