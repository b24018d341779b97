"""One comparison: the recommended release, the risk-utility front, and a table of all releases."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import quote

from tacita.console.look import charts, kit
from tacita.console.look.plots import front
from tacita.console.look.watching import watch
from tacita.console.page import Visit, page
from tacita.console.parts.presets import WAYS, make_path
from tacita.figures.charts import Point

__all__ = ["comparison"]


@page("/comparisons/{id}", "Comparison of releases", roles=("steward",))
async def comparison(visit: Visit, id: str) -> None:
    """Show its progress while it runs, then its results."""
    job = await visit.api.get(f"/v1/jobs/{id}")

    async def shown(job: dict[str, Any]) -> None:
        await _show(visit, job["id"])

    await watch(
        visit,
        job,
        shown,
        ended=_not_made,
        stop=("Stop this comparison?", "Results so far are lost. No budget was spent.", "Stop"),
        about="You can leave this page. The comparison continues.",
    )


def _not_made(job: dict[str, Any]) -> None:
    error = job["error"] or {}
    with kit.panel("There is no comparison") as panel:
        panel.classes("problem")
        kit.text(str(error.get("detail") or error.get("rule") or "It was stopped."))
        kit.link("Start another comparison", "/comparisons")


async def _show(visit: Visit, id: str) -> None:
    found = await visit.api.get(f"/v1/comparisons/{id}")
    with kit.columns() as (main, side):
        with side:
            _terms(found, id)
        with main:
            _recommend(found)
    _front(found)
    _lines(found)
    _differences(found)


def _recommend(found: dict[str, Any]) -> None:
    best = next((each for each in found["results"] if each["name"] == found["recommended"]), None)
    path = make_path(found["dataset"], best) if best else None
    with kit.actions():
        if path:
            kit.link("Make this release", path, "main-button")
        else:
            kit.link("Compare other releases", f"/comparisons?dataset={quote(found['dataset'])}", "main-button")
    with kit.panel(f"Recommended: {best['name']}" if best else "No release is recommended"):
        for reason in found["reasons"]:
            kit.text(reason)


def _terms(found: dict[str, Any], id: str) -> None:
    with kit.panel("Terms of the comparison"):
        kit.facts(
            {
                "Dataset": found["dataset"],
                "People in the data": f"{found['people']:,}",
                "Control rows": f"{found['control']:,}",
                "Largest risk allowed": f"{found['most_risk']:g}",
            }
            | _trials(found)
        )
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
    points, intervals, joined = [], {}, []
    for number, each, kind in _numbered(found):
        if not each.get("assessment"):
            continue
        risk, kept = _figure(each, "risk"), _figure(each, "kept")
        label = f"{number} {each['name']}"
        best = kind == "release" and each["name"] == found["recommended"]
        points.append(Point(label=label, x=risk["value"], y=kept["value"], kind=kind, best=best))
        intervals[label] = (risk["low"], risk["high"], kept["low"], kept["high"])
        if kind == "release" and each["name"] in found["front"]:
            joined.append(label)
    words = (
        "Releases to the left have less risk; releases further up have more utility. The lines at a point are its "
        "intervals. The curve joins releases that no other release dominates. Open circles are references, and the "
        "recommended release is larger."
    )
    with kit.panel("Risk and utility", words):
        if points:
            charts.show(front(points, limit=found["most_risk"], intervals=intervals, joined=joined))
        else:
            kit.text("No release could be made.")


def _lines(found: dict[str, Any]) -> None:
    columns = [">no.", "release", ">risk", "worst attack", ">utility", "guarantee", ">seconds", "release it"]
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
