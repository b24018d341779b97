"""Waves of a series on the page of a campaign: the promise, the other waves, the next one, and what has changed."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from tacita.console.look import kit, words
from tacita.console.page import Visit
from tacita.errors import TacitaError

__all__ = ["show_changes", "show_series"]

_SHOWN = 20


async def show_series(visit: Visit, campaign: dict[str, Any], room: ui.element) -> None:
    """Show the promise over all waves, links to the other waves, and the button that opens the next one."""
    series = campaign["series"]
    waves = await visit.api.get(f"/v1/campaigns/{campaign['id']}/waves")
    room.clear()
    with room:
        kit.text(
            f"Wave {series['wave']} of {series['waves']}. The device of each respondent answers in {series['turns']} "
            f"of them, chosen at random, and spends an epsilon of up to {series['epsilon']:.4g} in all waves together."
        )
        with kit.row():
            for each in waves:
                if each["id"] != campaign["id"]:
                    kit.link(f"Wave {each['series']['wave']}", f"/campaigns/{each['id']}")
        last = waves[-1] if waves else campaign
        left = last["series"]["wave"] < series["waves"] and last["state"] != "draft"
        if left and visit.may("steward") and visit.me["datasets"] is None:
            number = last["series"]["wave"] + 1

            async def begin() -> None:
                warning = (
                    f"Wave {last['series']['wave']} accepts no more reports. Respondents whose turn it is answer the "
                    "same questions again, at the address of the new wave. No one spends more than was promised for "
                    "all waves."
                )
                if await kit.confirm(f"Open wave {number}?", warning, "Open it"):
                    made = await visit.api.post(f"/v1/campaigns/{campaign['id']}/waves", {"wave": number})
                    ui.navigate.to(f"/campaigns/{made['id']}")

            kit.button(f"Open wave {number}", begin)


def show_changes(visit: Visit, campaign: dict[str, Any]) -> None:
    """Show what has changed since an earlier wave, when it is asked for."""
    wave = campaign["series"]["wave"]
    with kit.panel("Changes", "Differences of shares and means between two waves, with 95 % confidence intervals."):
        with kit.row():
            earlier = {number: f"Wave {number}" for number in range(wave - 1, 0, -1)}
            since = kit.choice("Since", earlier, wave - 1)

            async def show() -> None:
                shown.clear()
                try:
                    found = await visit.api.get(f"/v1/campaigns/{campaign['id']}/changes", since=since.value)
                except TacitaError as error:
                    with shown:
                        kit.empty(f"Both waves must have enough answers: {error.rule}.")
                    return
                with shown:
                    _show_found(found)

            kit.button("Show the changes", show)
        shown = ui.element("div")


def _show_found(found: list[dict[str, Any]]) -> None:
    clearest = sorted(found, key=lambda each: each["p_value"])
    rows = [
        [
            _name(each),
            words.amount(each["before"]),
            words.amount(each["after"]),
            words.amount(each["change"]),
            f"{words.amount(each['low'])} to {words.amount(each['high'])}",
            f"{each['adjusted']:.2g}",
        ]
        for each in clearest[:_SHOWN]
    ]
    columns = ["what", ">before", ">after", ">change", ">interval", ">p of all"]
    kit.table(columns, rows, caption="Changes, the clearest first")
    more = f" {len(found) - _SHOWN:,} less clear ones are not shown." if len(found) > _SHOWN else ""
    kit.note(f"p of all: the probability that any of these would look so clear if nothing had changed.{more}")


def _name(each: dict[str, Any]) -> str:
    pairs = [f"{name}: {level}" for name, level in zip(each["attributes"], each["levels"], strict=False)]
    return ", ".join(pairs) or f"mean of {each['attributes'][0]}"
