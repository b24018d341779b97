"""One comparison: the recommended release, the risk-utility front, and a table of all releases."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

from nicegui import ui

from tacita.console.page import Visit, page
from tacita.console.parts import kit
from tacita.console.parts.presets import WAYS, make_path
from tacita.errors import TacitaError
from tacita.figures.charts import Point, scatter

__all__ = ["comparison"]

_SECONDS = 1.5
_RUNS = ("queued", "running", "cancelling")


@page("/comparisons/{id}", "Comparison of releases", roles=("steward",))
async def comparison(visit: Visit, id: str) -> None:
    """Show its progress while it runs, then its results."""
    job = await visit.api.get(f"/v1/jobs/{id}")
    room = ui.element("div")
    if job["state"] not in _RUNS:
        await _show(visit, id, room)
        return
    with room, kit.panel("Running", "You can leave this page. The comparison continues."):
        with ui.element("div").props("aria-live=polite"):
            line = kit.text(_line(job))
        bar = kit.set_attributes(
            ui.element("progress").props("max=100"), value=_percent(job), **{"aria-label": "Progress"}
        )

        async def cancel() -> None:
            words = "Results so far are lost. No budget was spent."
            if await kit.confirm("Stop this comparison?", words, "Stop"):
                await visit.api.post(f"/v1/jobs/{id}/cancel")

        with kit.row():
            kit.button("Stop", cancel)

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
    return f"{job['state']}: {job['note'] or 'waiting in the queue'}"


def _percent(job: dict[str, Any]) -> str:
    return f"{100 * job['progress']:.0f}"


async def _show(visit: Visit, id: str, room: ui.element) -> None:
    with room:
        try:
            found = await visit.api.get(f"/v1/comparisons/{id}")
        except TacitaError as error:
            kit.problem(error)
            kit.link("Start another comparison", "/comparisons")
            return
        _recommend(found, id)
        _front(found)
        _lines(found)
        _differences(found)


def _recommend(found: dict[str, Any], id: str) -> None:
    dataset = found["dataset"]
    best = next((each for each in found["results"] if each["name"] == found["recommended"]), None)
    with kit.panel(f"Recommended: {best['name']}" if best else "No release is recommended"):
        for reason in found["reasons"]:
            kit.text(reason)
        kit.facts(
            {
                "Dataset": dataset,
                "People in the data": f"{found['people']:,}",
                "Control rows": f"{found['control']:,}",
                "Largest risk allowed": f"{found['most_risk']:g}",
            }
            | _trials(found)
        )
        with kit.row():
            path = make_path(dataset, best) if best else None
            if path:
                kit.link("Make this release", path, "main-button")
            else:
                kit.link("Compare other releases", f"/comparisons?dataset={quote(dataset)}", "main-button")
            kit.link("Report to print", f"/files/v1/comparisons/{quote(id)}/page", new=True)
        kit.note(
            "All noise was simulated, and the results were computed from exact rows. They are for the steward only."
        )


def _trials(found: dict[str, Any]) -> dict[str, str]:
    """The number of trials; nothing for comparisons of earlier versions."""
    repeated = found.get("repeated")
    if not repeated:
        return {}
    end = "enough" if repeated["enough"] else "the most that was allowed"
    return {"Trials": f"{repeated['trials']}: {end}" if repeated["level"] else "1"}


def _figure(each: dict[str, Any], name: str) -> dict[str, Any]:
    """A figure with its interval; without one in comparisons of earlier versions and in references."""
    return each.get(name) or {"value": each["assessment"][name], "low": None, "high": None}


def _shown(figure: dict[str, Any]) -> str:
    if figure["low"] is None:
        return f"{figure['value']:.3f}"
    return f"{figure['value']:.3f} ({figure['low']:.3f} to {figure['high']:.3f})"


def _numbered(found: dict[str, Any]) -> list[tuple[str, dict[str, Any], str]]:
    """(number, result, kind) of all that were made or tried."""
    kinds = [("release", each) for each in found["results"]] + [("reference", each) for each in found["references"]]
    return [(f"{place}", each, kind) for place, (kind, each) in enumerate(kinds, start=1)]


def _front(found: dict[str, Any]) -> None:
    points = [
        Point(
            label=number,
            x=_figure(each, "risk")["value"],
            y=_figure(each, "kept")["value"],
            kind=kind,
            best=kind == "release" and each["name"] in found["front"],
        )
        for number, each, kind in _numbered(found)
        if each.get("assessment")
    ]
    words = (
        "Releases to the left have less risk; releases further up have more utility. The numbers refer to the table "
        "below. The line joins releases that no other release dominates. Open circles are references."
    )
    with kit.panel("Risk and utility", words):
        if points:
            kit.picture(scatter(points, across="risk", up="utility", title="Risk and utility"))
        else:
            kit.text("No release could be made.")


def _lines(found: dict[str, Any]) -> None:
    columns = [">no.", "release", ">risk", "worst attack", ">utility", "guarantee", ">seconds", ""]
    words = (
        "Intervals are of means over trials, at 95 % for all releases together. The worst attack is that of trial 1."
    )
    with kit.panel("All releases", words if found.get("differences") else ""):
        kit.table(
            columns,
            [_row(number, each, kind, found["dataset"]) for number, each, kind in _numbered(found)],
            caption="All releases",
        )


def _row(number: str, each: dict[str, Any], kind: str, dataset: str) -> list[object]:
    seconds = f"{each['seconds']:.1f}"
    if not each.get("assessment"):
        return [number, each["name"], "", "", "", f"failed: {each['error']}", seconds, ""]
    found = each["assessment"]
    path = make_path(dataset, each) if kind == "release" else None
    about = WAYS.get(each["way"], each["way"])
    make = partial(_make, each["name"], path) if path else ""
    promise = each["promise"] if kind == "release" else f"reference: {each['promise']}"
    name = each["name"] if kind == "reference" else f"{each['name']} ({about})"
    risk, kept = _shown(_figure(each, "risk")), _shown(_figure(each, "kept"))
    return [number, name, risk, found["worst"], kept, promise, seconds, make]


def _differences(found: dict[str, Any]) -> None:
    """Differences of each pair of releases; nothing after one trial."""
    if not found.get("differences"):
        return
    names = {"kept": "utility", "risk": "risk"}
    rows = [
        [each["one"], each["other"], names[each["figure"]], _shown(each), f"{each['trials']}", _finding(each)]
        for each in found["differences"]
    ]
    words = "Both releases of a pair have the same split and the same seed in each trial."
    with kit.panel("Differences", words):
        columns = ["release", "less", "figure", ">difference", ">trials", "finding"]
        kit.table(columns, rows, caption="Differences")


def _finding(each: dict[str, Any]) -> str:
    if each["low"] <= 0 <= each["high"]:
        return "cannot be distinguished"
    return "more" if each["low"] > 0 else "less"


def _make(name: str, path: str) -> None:
    kit.set_attributes(kit.link("Make", path), **{"aria-label": f"Make: {name}"})
