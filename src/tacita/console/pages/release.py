"""One release: progress, guarantee, files, preview, and assessment."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from tacita.console import tour
from tacita.console.look import charts, kit, words
from tacita.console.look.cards import guarantee_badge
from tacita.console.look.charts import file_name
from tacita.console.look.maps import network
from tacita.console.look.watching import watch
from tacita.console.page import Visit, page
from tacita.console.parts.assessed import show_assessments
from tacita.console.parts.models import show_model
from tacita.console.parts.released import against_released, charts_of_rows, show_tables
from tacita.console.parts.taps import hours_curve, map_of_flows
from tacita.query.models.released_network import ReleasedNetwork
from tacita.recipes.registry import RECIPES
from tacita.tables.release import Releases

__all__ = ["release"]

_PREVIEW = 8
_MOST_ROWS = 200


@page("/releases/{id}", "Release", roles=("steward", "analyst", "reader"))
async def release(visit: Visit, id: str) -> None:
    """Show the progress of the job, then the release."""
    job = await visit.api.get(f"/v1/jobs/{id}")
    kind = words.KINDS.get(job["kind"], job["kind"])
    kit.title(f"{kind[:1].upper()}{kind[1:]}" + (f" of {job['dataset']}" if job["dataset"] else ""))

    async def shown(found: dict[str, Any]) -> None:
        await _SHOWN.get(found["kind"], _other)(visit, found)

    await watch(visit, job, shown, ended=_not_made)


def _not_made(job: dict[str, Any]) -> None:
    error = job["error"] or {}
    with kit.panel("The release failed") as panel:
        panel.classes("problem")
        kit.text(str(error.get("detail") or error.get("rule") or "The job was cancelled."))
        if hint := kit.plain_hint(error.get("hint")):
            kit.text(hint)
        if job["dataset"]:
            kit.link("Make another release", f"/releases/new?dataset={job['dataset']}")


# -- kinds ------------------------------------------------------------------------------------------------------------


async def _rows(visit: Visit, job: dict[str, Any]) -> None:
    """Show released rows: synthetic, imputed or anonymized."""
    id = job["id"]
    found = await visit.api.get(f"/v1/releases/{id}")
    if "rows" not in found:
        _withheld(found)
        return
    synthetic = found["tacita"] == "synthesized/1"
    tour.step(
        visit,
        3,
        "The synthetic rows are ready: they belong to no real person. Before you publish them, assess their risk: the "
        "assessment attacks them as an intruder would, and uses the real rows to measure its success.",
    )
    with kit.columns("side-first") as (main, side):
        with side:
            await _guarantee_of_rows(visit, job, found)
            _download(visit, job, found, synthetic)
        with main:
            await _preview(visit, id)
            if job["kind"] == "synthesize":
                await against_released(visit, job)
            await _assess_rows(visit, job)


def _withheld(found: dict[str, Any]) -> None:
    """Show readers what was asked of rows that no budget has paid for; figures of them are for their makers."""
    with kit.panel("Rows without differential privacy"):
        kit.note("Readers see rows, statements and figures of a release only if a budget has paid for it.")
        asked = {name: _plain(value) for name, value in (found.get("asked") or {}).items() if value is not None}
        kit.facts({"Columns": ", ".join(found.get("columns") or found.get("attributes") or ())} | asked)


async def _guarantee_of_rows(visit: Visit, job: dict[str, Any], found: dict[str, Any]) -> None:
    """The promise of released rows, or what holds instead."""
    if found["tacita"] == "synthesized/1":
        with await _guarantee(visit, job):
            kit.text(found["statement"])
            for each in found["notes"]:
                kit.note(each)
        return
    with kit.panel("Guarantee"):
        guarantee_badge(job["kind"])
        if found["tacita"] == "imputed/1":
            kit.text(found["statement"], "problem")
            for each in (*found["notes"], *found["warnings"]):
                kit.note(each)
            return
        if found["tacita"] == "masked/1":
            kit.text(found["statement"])
            kit.facts(_masked(found))
        else:
            kit.text("No differential privacy. The released rows meet these criteria:")
            kit.facts({name: _plain(value) for name, value in _held(found).items()})
        for each in found["warnings"]:
            kit.text(each, "problem")


async def _guarantee(visit: Visit, job: dict[str, Any]) -> ui.element:
    """A panel with the promise of a release; more may follow in its block."""
    statement = await visit.api.get(f"/v1/releases/{job['id']}/statement")
    with kit.panel("Guarantee") as found:
        guarantee_badge(job["kind"], statement)
        kit.facts(_promise(statement))
        if statement["epsilon"] is not None:
            kit.note(words.odds(statement["epsilon"]))
    return found


async def _taps(visit: Visit, job: dict[str, Any]) -> None:
    """Show released tap records: guarantee, files, the map of flows and the hours of the day."""
    id = job["id"]
    found = await visit.api.get(f"/v1/releases/{id}")
    with kit.columns("side-first") as (main, side):
        with side:
            with await _guarantee(visit, job):
                kit.text(found["statement"])
                for each in found["notes"]:
                    kit.note(each)
            _download(visit, job, found, False)
        with main:
            if found["flows"]:
                with kit.panel("Flows between places"):
                    kit.note("The heaviest flows of the synthetic cards. Wider lines have more trips.")
                    charts.show(map_of_flows(found))
                with kit.panel("Trips by hour of day"):
                    charts.show(hours_curve(found))
            await _preview(visit, id)
            await _assess_rows(visit, job)


async def _headlines(visit: Visit, job: dict[str, Any]) -> None:
    """Show released headlines."""
    id = job["id"]
    found = await visit.api.get(f"/v1/releases/{id}")
    with kit.columns("side-first") as (main, side):
        with side:
            with await _guarantee(visit, job):
                kit.text(found["statement"])
            _download(visit, job, found, False)
        with main:
            await _preview(visit, id)
            kit.note(
                "Quality and memory are measured by the owner of the headlines: they need the ones that were used."
            )


async def _assess_rows(visit: Visit, job: dict[str, Any]) -> None:
    if job["kind"] == "federate":
        kit.note("An assessment needs the real rows, which are at the holders: each holder assesses its own.")
    elif job["kind"] == "suppress":
        kit.note("The audit attacked every sensitive cell of this table before it was released.")
    elif job["kind"] in ("events", "sets"):
        kit.note("The attacks of an assessment are for rows that each describe a person.")
    elif visit.may("steward"):
        await show_assessments(visit, job, {"release": job["id"]})
    else:
        kit.note("Only the steward of the data can make an assessment: it needs the real rows.")


async def _model(visit: Visit, job: dict[str, Any]) -> None:
    """A fitted model."""
    await show_model(visit, job)
    if visit.may("steward"):
        await show_assessments(visit, job, {"dataset": job["dataset"], "model": job["id"]})


def _held(found: dict[str, Any]) -> dict[str, Any]:
    """Figures of anonymized rows: criteria of classes, or conditions on a log."""
    if "achieved" in found:
        held: dict[str, Any] = found["achieved"]
        return held
    recipe = found["recipe"]
    if found["tacita"] == "events/1":
        log: dict[str, Any] = recipe["events"] | {"suppressed": found["suppressed"]}
        return log
    if found["tacita"] == "suppressed/1":
        rules: dict[str, Any] = recipe["rules"]
        facts = {name: found[name] for name in ("statement", "rows", "suppressed", "whole_numbers")}
        return facts | {name: found["owner"][name] for name in ("audited", "how", "left_out")} | rules
    known = {name: recipe["sets"][name] for name in ("k", "m")}
    return known | {name: found[name] for name in ("sets", "support", "loss", "suppressed")}


def _masked(found: dict[str, Any]) -> dict[str, str]:
    """Steps of masked rows, and the share of the variance that each number lost."""
    steps = ", ".join(name.replace("_", " ") for each in found["steps"] for name in each["step"])
    lost = {
        f"Variance lost: {each['attribute']}": words.percent(each["loss"])
        for each in found["utility"]
        if each.get("loss") is not None
    }
    hidden = {f"Cells suppressed: {each['attribute']}": f"{each['suppressed']:,}" for each in found["utility"]}
    return {"Steps": steps} | lost | {name: count for name, count in hidden.items() if count != "0"}


def _promise(statement: dict[str, Any]) -> dict[str, str]:
    spent = {"epsilon": statement["epsilon"], "delta": statement["delta"]}
    return {
        "Guarantee": statement["guarantee"],
        "Cost": "unbounded" if statement["epsilon"] is None else words.budget(spent),
        "Protects": f"{statement['unit']}, {statement['neighbours']}",
    }


def _named(job: dict[str, Any]) -> str:
    """The name of its files: what it is, of which dataset, and the end of its number."""
    kind = words.KINDS.get(job["kind"], job["kind"])
    return file_name(f"{job['dataset'] or 'several'} {kind} {job['id'][-6:]}")


def _file(label: str, path: str, name: str, *, main: bool = False) -> None:
    kit.set_attributes(kit.link(label, path, "main-button" if main else "link-button"), download=name)


def _download(visit: Visit, job: dict[str, Any], found: dict[str, Any], synthetic: bool) -> None:
    id, name = job["id"], _named(job)
    with kit.panel("Download"):
        kit.facts({"Rows": f"{found['rows']:,}", "Columns": len(found["columns"])})
        with kit.row():
            for title, format in (("CSV", "csv"), ("Parquet", "parquet"), ("Excel", "xlsx")):
                path = f"/files/v1/releases/{id}/rows?format={format}"
                _file(f"Download {title}", path, f"{name}.{format}", main=format == "csv")
        with kit.row():
            _file("Privacy statement, signed", f"/files/v1/releases/{id}/statement", f"{name}.statement.json")
            if synthetic and visit.may("steward", "analyst"):
                kit.link("What-if questions", f"/network?release={id}", "link-button")
        kit.note(
            "The statement has the guarantee and the digest of the Parquet file, so that a recipient can check both."
        )


async def _preview(visit: Visit, id: str) -> None:
    text = await visit.api.text(f"/v1/releases/{id}/rows", format="ndjson", limit=_PREVIEW)
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    with kit.panel("Preview"):
        if not rows:
            kit.note("The release has no rows.")
            return
        kit.table(list(rows[0]), [["" if v is None else v for v in row.values()] for row in rows], caption="First rows")


async def _old_tables(visit: Visit, job: dict[str, Any]) -> None:
    """Show tables of a query job of an earlier version."""
    path = f"/v1/jobs/{job['id']}/result"
    found = Releases.from_json(await visit.api.text(path))
    with kit.columns("side-first") as (main, side):
        with side, kit.panel("Download"):
            _file("Download JSON", f"/files{path}", f"{_named(job)}.json", main=True)
        with main:
            show_tables(found)
            await _assess_tables(visit, job, found)


async def _answer(visit: Visit, job: dict[str, Any]) -> None:
    """Released numbers: their guarantee, their files, and the numbers as charts or as a table."""
    path, name = f"/v1/releases/{job['id']}", _named(job)
    with kit.columns("side-first") as (main, side):
        with side:
            await _guarantee(visit, job)
            with kit.panel("Download"), kit.row():
                _file("Download CSV", f"/files{path}/rows?format=csv", f"{name}.csv", main=True)
                _file("Download Excel", f"/files{path}/rows?format=xlsx", f"{name}.xlsx")
                _file("Download JSON", f"/files{path}", f"{name}.json")
                _file("Privacy statement, signed", f"/files{path}/statement", f"{name}.statement.json")
        with main:
            if job["kind"] == "tables":
                found = Releases.from_json(await visit.api.text(path))
                show_tables(found)
                await _assess_tables(visit, job, found)
                return
            if job["kind"] == "network":
                _network(ReleasedNetwork.from_json(await visit.api.text(path)))
            await _numbers(visit, path)


async def _numbers(visit: Visit, path: str) -> None:
    text = await visit.api.text(f"{path}/rows", format="ndjson", limit=_MOST_ROWS)
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    with kit.panel("Released numbers"):
        for each in charts_of_rows(rows):
            kit.heading(each.title, 3)
            charts.show(each)
        shown = [["unknown" if v is None else _plain(v) for v in row.values()] for row in rows]
        kit.table(list(rows[0]) if rows else [], shown, caption="Released numbers")
        kit.note("The numbers have noise. Columns that end in std have its standard deviation.")


def _network(found: ReleasedNetwork) -> None:
    with kit.panel(
        "Network", "An arrow leads from a parent to a child. Links that noise alone would explain are left out."
    ):
        charts.show(network(found.parents, title="Network of numbers"))


async def _assess_tables(visit: Visit, job: dict[str, Any], found: Releases) -> None:
    if visit.may("steward"):
        await show_assessments(visit, job, {"dataset": job["dataset"], "tables": [found.as_dict()]})


async def _other(visit: Visit, job: dict[str, Any]) -> None:
    kit.note("This job has no page.")
    kit.link("All jobs", "/jobs")


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return words.amount(value) if isinstance(value, float) else str(value)


_SHOWN: dict[str, Callable[[Visit, dict[str, Any]], Awaitable[None]]] = {
    "synthesize": _rows,
    "anonymize": _rows,
    "federate": _rows,
    "mask": _rows,
    "impute": _rows,
    "mobility": _taps,
    "headlines": _headlines,
    "events": _rows,
    "sets": _rows,
    "suppress": _rows,
    "query": _old_tables,
    **dict.fromkeys(RECIPES, _answer),
    "fit": _model,
    "function": show_model,
}
