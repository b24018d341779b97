"""One comparison: what to take and why, the risk-utility front, and every release in a line."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

from nicegui import ui

from tacita.console.page import Visit, page
from tacita.console.parts import kit
from tacita.console.parts.presets import WAYS, make_path
from tacita.errors import TacitaError
from tacita.report.charts import Point, scatter

__all__ = ["comparison"]

_SECONDS = 1.5
_RUNS = ("queued", "running", "cancelling")


@page("/comparisons/{id}", "Which release?", roles=("steward",))
async def comparison(visit: Visit, id: str) -> None:
    """Its progress while it runs, then what it found."""
    job = await visit.api.get(f"/v1/jobs/{id}")
    room = ui.element("div")
    if job["state"] not in _RUNS:
        await _show(visit, id, room)
        return
    with room, kit.panel("It runs", "You may leave this page: it goes on by itself."):
        with ui.element("div").props("aria-live=polite"):
            line = kit.text(_line(job))
        bar = kit.said(ui.element("progress").props("max=100"), value=_percent(job), **{"aria-label": "How far it is"})

        async def cancel() -> None:
            words = "What was found so far is lost. Nothing was charged."
            if await kit.confirm("Stop this comparison?", words, "Stop it"):
                await visit.api.post(f"/v1/jobs/{id}/cancel")

        with kit.row():
            kit.button("Stop it", cancel)

    async def look() -> None:
        if not ui.context.client.has_socket_connection:
            return
        now = await visit.api.get(f"/v1/jobs/{id}")
        kit.reword(line, _line(now))
        bar.props["value"] = _percent(now)
        bar.update()
        if now["state"] not in _RUNS:
            timer.cancel()
            room.clear()
            await _show(visit, id, room)

    timer = ui.timer(_SECONDS, look)


def _line(job: dict[str, Any]) -> str:
    return f"{job['state']}: {job['note'] or 'waiting for its turn'}"


def _percent(job: dict[str, Any]) -> str:
    return f"{100 * job['progress']:.0f}"


async def _show(visit: Visit, id: str, room: ui.element) -> None:
    with room:
        try:
            found = await visit.api.get(f"/v1/comparisons/{id}")
        except TacitaError as error:
            kit.problem(error)
            kit.link("Begin another comparison", "/comparisons")
            return
        _recommend(found, id)
        _front(found)
        _lines(found)


def _recommend(found: dict[str, Any], id: str) -> None:
    dataset = found["dataset"]
    best = next((each for each in found["results"] if each["name"] == found["recommended"]), None)
    with kit.panel(f"Take {best['name']}" if best else "Take none of them"):
        for reason in found["reasons"]:
            kit.text(reason)
        kit.facts(
            {
                "Dataset": dataset,
                "People used": f"{found['people']:,}",
                "People held back": f"{found['control']:,}",
                "Risk that you allow": f"{found['most_risk']:g}",
            }
        )
        with kit.row():
            path = make_path(dataset, best) if best else None
            if path:
                kit.link("Make this release", path, "main-button")
            else:
                kit.link("Compare others", f"/comparisons?dataset={quote(dataset)}", "main-button")
            kit.link("Page to print", f"/files/v1/comparisons/{quote(id)}/page", new=True)
        kit.note("All noise was simulated, and figures were read off exact rows: for the steward of the data.")


def _numbered(found: dict[str, Any]) -> list[tuple[str, dict[str, Any], str]]:
    """(number, result, kind) of all that were made or tried."""
    kinds = [("release", each) for each in found["results"]] + [("reference", each) for each in found["references"]]
    return [(f"{place}", each, kind) for place, (kind, each) in enumerate(kinds, start=1)]


def _front(found: dict[str, Any]) -> None:
    points = [
        Point(
            label=number,
            x=each["assessment"]["risk"],
            y=each["assessment"]["kept"],
            kind=kind,
            best=kind == "release" and each["name"] in found["front"],
        )
        for number, each, kind in _numbered(found)
        if each.get("assessment")
    ]
    words = (
        "To the left is safer, up is more useful; the numbers are those of the table below. The line joins releases "
        "that no other beats. Open circles are references: a copy of the rows, and columns shuffled."
    )
    with kit.panel("Risk and what is kept", words):
        if points:
            kit.picture(scatter(points, across="risk", up="kept", title="Risk and what is kept"))
        else:
            kit.text("Nothing could be made.")


def _lines(found: dict[str, Any]) -> None:
    columns = [">no.", "release", ">risk", "worst attack", ">kept", "what is promised", ">seconds", ""]
    with kit.panel("Side by side"):
        kit.table(
            columns,
            [_row(number, each, kind, found["dataset"]) for number, each, kind in _numbered(found)],
            caption="All releases side by side",
        )


def _row(number: str, each: dict[str, Any], kind: str, dataset: str) -> list[object]:
    seconds = f"{each['seconds']:.1f}"
    if not each.get("assessment"):
        return [number, each["name"], "", "", "", f"could not be made: {each['error']}", seconds, ""]
    told = each["assessment"]
    path = make_path(dataset, each) if kind == "release" else None
    about = WAYS.get(each["way"], each["way"])
    make = partial(_make, each["name"], path) if path else ""
    promise = each["promise"] if kind == "release" else f"a reference: {each['promise']}"
    name = each["name"] if kind == "reference" else f"{each['name']} ({about})"
    return [number, name, f"{told['risk']:.3f}", told["worst"], f"{told['kept']:.3f}", promise, seconds, make]


def _make(name: str, path: str) -> None:
    kit.said(kit.link("Make it", path), **{"aria-label": f"Make it: {name}"})
