"""Released tables as charts: bars with intervals, a crosstab with totals, regions as tiles; and beside synthetic rows.

Privacy: all of it is computed from releases. Exact data is never read here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from nicegui import run, ui

from tacita.console.look import charts, kit, words
from tacita.console.look.charts import Chart
from tacita.console.look.maps import crosstab, tiles
from tacita.console.look.plots import interval_bars, twin_bars
from tacita.console.page import Visit
from tacita.console.parts.convergence import BARS
from tacita.figures.charts import Interval
from tacita.synthesize.result import Synthesized
from tacita.tables.release import Release, Releases
from tacita.tables.tabular import intervals_of

__all__ = ["against_released", "chart_of", "charts_of_rows", "pictures_of", "show_table", "show_tables", "twins"]

_MOST = 200
_BELOW = (
    "Noise may make a count negative. Such a cell is small: its true count is 0 or more, and the interval says how far."
)


def chart_of(release: Release, most: int = _MOST) -> Chart:
    """The cells of a release with their intervals."""
    rows = [
        Interval(label=each.label.replace(" · ", ", "), value=each.value, low=each.low, high=each.high)
        for each in intervals_of(release)
    ]
    return interval_bars(
        rows[:most], title=f"Table of {_name(release)}", what=_name(release), share=release.quantity == "share"
    )


def _name(release: Release) -> str:
    return " by ".join(release.attributes) or "all"


def pictures_of(release: Release) -> dict[str, Callable[[], Chart]]:
    """The ways to draw a release, by their names; the first is usual."""
    found: dict[str, Callable[[], Chart]] = {BARS: partial(chart_of, release)}
    if len(release.attributes) == 2:
        found["Shares with totals"] = lambda: crosstab(release, title=f"Shares of {_name(release)}")
    if len(release.attributes) == 1:
        rows = [
            Interval(label=each.label, value=each.value, low=each.low, high=each.high) for each in intervals_of(release)
        ]
        drawn = tiles(rows, title=f"Regions of {_name(release)}", share=release.quantity == "share")
        if drawn is not None:
            found["Map of tiles"] = lambda: drawn
    return found


def show_tables(found: Releases) -> None:
    """A panel for each table."""
    for each in found.values():
        with kit.panel(_name(each), "The lines are 95 % confidence intervals: they include the noise."):
            show_table(each)


def show_table(release: Release) -> None:
    """One table, in the way that is chosen."""
    ways = pictures_of(release)

    def draw(way: str) -> None:
        room.clear()
        with room:
            charts.show(ways[way]())

    if len(ways) > 1:
        kit.choice(f"Show {_name(release)} as", list(ways), next(iter(ways)), change=lambda event: draw(event.value))
    room = ui.element("div")
    draw(next(iter(ways)))
    if release.values.size > _MOST:
        kit.note(f"The first {_MOST} of {release.values.size:,} cells. The files have all of them.")
    if np.min(release.values) < 0:
        kit.note(_BELOW)


def charts_of_rows(rows: Sequence[Mapping[str, Any]], most: int = 6) -> list[Chart]:
    """Charts of released statistics: one for each column that has the ends of its interval beside it."""
    names = list(rows[0]) if rows else []
    found = [name for name in names if {f"{name}_low", f"{name}_high"} <= set(names)]
    parts = {f"{name}_{part}" for name in found for part in ("std", "low", "high")}
    labels = [name for name in names if name not in found and name not in parts]
    charts_of = []
    for name in found[:most]:
        shown = [
            Interval(
                label=", ".join(str(row[each]) for each in labels) or "all",
                value=math.nan if row[name] is None else float(row[name]),
                low=row[f"{name}_low"],
                high=row[f"{name}_high"],
            )
            for row in rows
        ]
        title = f"{name} by {' and '.join(labels)}" if labels else name
        charts_of.append(interval_bars(shown, title=title, what=" and ".join(labels) or "group"))
    return charts_of


# -- synthetic rows beside released tables ----------------------------------------------------------------------------


def twins(release: Release, made: Synthesized) -> Chart | None:
    """A released table beside the same table of synthetic rows, as shares; None where they have not the same cells."""
    names = release.attributes
    if not names or not made.supports(names):
        return None
    cells = made.project(names)
    if any(cells.domain[name].all_labels != release.domain[name].all_labels for name in names):
        return None
    rows = intervals_of(release)
    total = 1.0 if release.quantity == "share" else float(np.asarray(release.values, float).sum())
    values = np.asarray(cells.values, float)
    modelled = (values / values.sum()).ravel()
    if total <= 0 or modelled.size != len(rows):
        return None
    released = [
        Interval(
            label=each.label,
            value=each.value / total,
            low=None if each.low is None else each.low / total,
            high=None if each.high is None else each.high / total,
        )
        for each in rows
    ]
    synthetic = [Interval(label=each.label, value=float(share)) for each, share in zip(rows, modelled, strict=True)]
    labels = [each.label.replace(" · ", ", ") for each in rows][:_MOST]
    sources = {"released table of the data": released[:_MOST], "synthetic rows": synthetic[:_MOST]}
    return twin_bars(labels, sources, title=f"Real and synthetic: {_name(release)}", what=_name(release), share=True)


async def against_released(visit: Visit, job: Mapping[str, Any]) -> None:
    """Compare synthetic rows with tables of the same data that were released."""
    jobs = await visit.api.get("/v1/jobs", limit=500)
    tables = {
        each["id"]: f"{words.KINDS['tables'].capitalize()} of {words.when(each['created'])}"
        for each in jobs
        if (each["kind"], each["state"], each["dataset"]) == ("tables", "done", job["dataset"])
    }
    about = "Tables of the real data that were released with noise, beside the same tables of the synthetic rows."
    with kit.panel("Real against synthetic", about):
        if not tables:
            kit.empty(
                "No noisy tables of this dataset were released yet. The comparison needs them: exact data is not read.",
                "Release noisy tables",
                f"/releases/new?dataset={job['dataset']}&kind=tables",
                sign="table_chart",
            )
            return
        known: dict[str, Any] = {}

        async def choose() -> None:
            room.clear()
            with room:
                kit.skeleton("Reading the tables.")
            released = Releases.from_json(await visit.api.text(f"/v1/releases/{chosen.value}"))
            if "made" not in known:
                text = await visit.api.text(f"/v1/releases/{job['id']}/model")
                known["made"] = await run.io_bound(Synthesized.from_json, text)
            drawn = await run.io_bound(lambda: [twins(each, known["made"]) for each in released.values()])
            room.clear()
            with room:
                for each in drawn or []:
                    if each is not None:
                        kit.heading(each.columns[0], 3)
                        charts.show(each)
                if not any(drawn or []):
                    kit.note("These tables have other attributes or other bins than the synthetic rows.")
                kit.note("The lines are 95 % confidence intervals of the released table. Synthetic rows have no lines.")

        chosen = kit.choice("Released tables", tables, next(iter(tables)), change=choose)
        room = ui.element("div").props("aria-live=polite")
        kit.soon(choose)
