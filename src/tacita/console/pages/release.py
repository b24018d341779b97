"""One release: progress, guarantee, files, preview, and assessment."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from tacita.console import tour
from tacita.console.page import HOME, Visit, page
from tacita.console.parts import kit, words
from tacita.console.parts.models import show_model
from tacita.console.parts.sample import OTHERS, SAMPLE
from tacita.console.parts.taps import hours_curve, map_of_flows
from tacita.figures.charts import Interval, interval_bars
from tacita.models import draw_network
from tacita.query.models.released_network import ReleasedNetwork
from tacita.recipes.registry import RECIPES
from tacita.report.report import bars
from tacita.tables.release import Releases

__all__ = ["release", "watch"]

_SECONDS = 0.7
_PREVIEW = 8
_MOST_ROWS = 200
_FILES = f"{HOME}/files"
_ENDED = ("done", "failed", "cancelled")


@page("/releases/{id}", "Release", roles=("steward", "analyst"))
async def release(visit: Visit, id: str) -> None:
    """Show the progress of the job, then the release."""
    job = await visit.api.get(f"/v1/jobs/{id}")
    kind = words.KINDS.get(job["kind"], job["kind"])
    kit.title(f"{kind[:1].upper()}{kind[1:]}" + (f" of {job['dataset']}" if job["dataset"] else ""))

    async def shown(found: dict[str, Any]) -> None:
        await _SHOWN.get(found["kind"], _other)(visit, found)

    await watch(visit, job, shown)


async def watch(visit: Visit, job: dict[str, Any], show: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
    """Show the progress of a job until it ends; then its result, or its error."""
    room = ui.element("div").props('aria-live="polite"')  # the timer is outside of it, and survives when it is cleared
    if job["state"] == "done":
        with room:
            await show(job)
        return
    with room, kit.panel("Running"):
        line = kit.text("")
        bar = ui.linear_progress(0.0, show_value=False)
        kit.set_attributes(bar, **{"aria-label": "Progress"})

        async def stop() -> None:
            if await kit.confirm("Cancel this job?", "Budget that it has spent is not refunded.", "Cancel the job"):
                await visit.api.post(f"/v1/jobs/{job['id']}/cancel")

        kit.button("Cancel", stop)

    async def look() -> None:
        found = await visit.api.get(f"/v1/jobs/{job['id']}")
        if found["state"] not in _ENDED:
            bar.set_value(found["progress"])
            kit.reword(line, f"{found['state']}: {found['note'] or 'waiting in the queue'}")
            return
        timer.deactivate()
        room.clear()
        with room:
            if found["state"] == "done":
                await show(found)
            else:
                _not_made(found)

    timer = ui.timer(_SECONDS, look)


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
    synthetic = found["tacita"] == "synthesized/1"
    tour.step(
        visit,
        3,
        "The synthetic rows are ready: they belong to no real person. Before you publish them, assess their risk: the "
        "assessment attacks them as an intruder would, and uses the real rows to measure its success.",
    )
    with kit.cells():
        with kit.panel("Guarantee"):
            if synthetic:
                kit.facts(_promise(await visit.api.get(f"/v1/releases/{id}/statement")))
                kit.text(found["statement"])
                for each in found["notes"]:
                    kit.note(each)
            elif found["tacita"] == "imputed/1":
                kit.text(found["statement"], "problem")
                for each in (*found["notes"], *found["warnings"]):
                    kit.note(each)
            elif found["tacita"] == "masked/1":
                kit.text(found["statement"])
                kit.facts(_masked(found))
                for each in found["warnings"]:
                    kit.text(each, "problem")
            else:
                kit.text("No differential privacy. The released rows meet these criteria:")
                kit.facts({name: _plain(value) for name, value in _held(found).items()})
                for each in found["warnings"]:
                    kit.text(each, "problem")
        _download(visit, id, found, synthetic)
    await _preview(visit, id)
    await _assess_rows(visit, job)


async def _taps(visit: Visit, job: dict[str, Any]) -> None:
    """Show released tap records: guarantee, files, the map of flows and the hours of the day."""
    id = job["id"]
    found = await visit.api.get(f"/v1/releases/{id}")
    with kit.cells():
        with kit.panel("Guarantee"):
            kit.facts(_promise(await visit.api.get(f"/v1/releases/{id}/statement")))
            kit.text(found["statement"])
            for each in found["notes"]:
                kit.note(each)
        _download(visit, id, found, False)
    if found["flows"]:
        with kit.panel("Flows between places"):
            kit.note("The heaviest flows of the synthetic cards. Wider lines have more trips.")
            kit.picture(map_of_flows(found))
        with kit.panel("Trips by hour of day"):
            kit.picture(hours_curve(found))
    await _preview(visit, id)
    await _assess_rows(visit, job)


async def _headlines(visit: Visit, job: dict[str, Any]) -> None:
    """Show released headlines."""
    id = job["id"]
    found = await visit.api.get(f"/v1/releases/{id}")
    with kit.cells():
        with kit.panel("Guarantee"):
            kit.facts(_promise(await visit.api.get(f"/v1/releases/{id}/statement")))
            kit.text(found["statement"])
        _download(visit, id, found, False)
    await _preview(visit, id)
    kit.note("Quality and memory are measured by the owner of the headlines: they need the ones that were used.")


async def _assess_rows(visit: Visit, job: dict[str, Any]) -> None:
    if job["kind"] == "federate":
        kit.note("An assessment needs the real rows, which are at the holders: each holder assesses its own.")
    elif job["kind"] == "suppress":
        kit.note("The audit attacked every sensitive cell of this table before it was released.")
    elif job["kind"] in ("events", "sets"):
        kit.note("The attacks of an assessment are for rows that each describe a person.")
    elif visit.may("steward"):
        await _assessments(visit, job, {"release": job["id"]})
    else:
        kit.note("Only the steward of the data can make an assessment: it needs the real rows.")


async def _model(visit: Visit, job: dict[str, Any]) -> None:
    """A fitted model."""
    await show_model(visit, job)
    if visit.may("steward"):
        await _assessments(visit, job, {"dataset": job["dataset"], "model": job["id"]})


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


def _download(visit: Visit, id: str, found: dict[str, Any], synthetic: bool) -> None:
    with kit.panel("Download"):
        kit.facts({"Rows": f"{found['rows']:,}", "Columns": len(found["columns"])})
        with kit.row():
            for name, format in (("CSV", "csv"), ("Parquet", "parquet"), ("Excel", "xlsx")):
                link = kit.link(
                    f"Download {name}", f"{_FILES}/v1/releases/{id}/rows?format={format}".removeprefix(HOME)
                )
                kit.set_attributes(link.classes("main-button" if format == "csv" else ""), download=f"{id}.{format}")
        with kit.row():
            statement = kit.link("Privacy statement, signed", f"/files/v1/releases/{id}/statement")
            kit.set_attributes(statement, download=f"{id}.statement.json")
            if synthetic:
                kit.link("What-if questions", f"/network?release={id}")
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
    with kit.panel("Download"):
        kit.set_attributes(kit.link("Download JSON", f"/files{path}", "main-button"), download=f"{job['id']}.json")
    found = Releases.from_json(await visit.api.text(path))
    _bars(found)
    await _assess_tables(visit, job, found)


async def _answer(visit: Visit, job: dict[str, Any]) -> None:
    """Released numbers: their guarantee, their files, and the numbers as bars or as a table."""
    id, path = job["id"], f"/v1/releases/{job['id']}"
    with kit.cells():
        with kit.panel("Guarantee"):
            kit.facts(_promise(await visit.api.get(f"{path}/statement")))
        with kit.panel("Download"), kit.row():
            kit.set_attributes(
                kit.link("Download CSV", f"/files{path}/rows?format=csv", "main-button"), download=f"{id}.csv"
            )
            kit.set_attributes(kit.link("Download Excel", f"/files{path}/rows?format=xlsx"), download=f"{id}.xlsx")
            kit.set_attributes(kit.link("Download JSON", f"/files{path}"), download=f"{id}.json")
            kit.set_attributes(
                kit.link("Privacy statement, signed", f"/files{path}/statement"), download=f"{id}.statement.json"
            )
    if job["kind"] == "tables":
        found = Releases.from_json(await visit.api.text(path))
        _bars(found)
        await _assess_tables(visit, job, found)
        return
    if job["kind"] == "network":
        _network(ReleasedNetwork.from_json(await visit.api.text(path)))
    text = await visit.api.text(f"{path}/rows", format="ndjson", limit=_MOST_ROWS)
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    with kit.panel("Released numbers"):
        shown = [["unknown" if v is None else _plain(v) for v in row.values()] for row in rows]
        kit.table(list(rows[0]) if rows else [], shown, caption="Released numbers")
        kit.note("The numbers have noise. Columns that end in std have its standard deviation.")


def _network(found: ReleasedNetwork) -> None:
    with kit.panel(
        "Network", "An arrow leads from a parent to a child. Links that noise alone would explain are left out."
    ):
        kit.picture(draw_network(found.parents, title="Network of numbers"))


def _bars(found: Releases) -> None:
    for each in found.values():
        with kit.panel(
            " by ".join(each.attributes) or "all",
            f"{each.guarantee}. Lines are 95 % confidence intervals.",
        ):
            kit.picture(bars(each))


async def _assess_tables(visit: Visit, job: dict[str, Any], found: Releases) -> None:
    if visit.may("steward"):
        await _assessments(visit, job, {"dataset": job["dataset"], "tables": [found.as_dict()]})


async def _other(visit: Visit, job: dict[str, Any]) -> None:
    kit.note("This job has no page.")
    kit.link("All jobs", "/jobs")


# -- assessment ------------------------------------------------------------------------------------------------------


async def _assessments(visit: Visit, job: dict[str, Any], asked: dict[str, Any]) -> None:
    """Show the assessments, with a form for a new one; `asked` is the part of a request that names the release."""
    jobs = await visit.api.get("/v1/jobs", limit=1000)
    earlier = [each for each in jobs if each["kind"] == "assess" and each["release"] == job["id"]]
    beside = {
        each["id"]: f"{words.KINDS[each['kind']]} {each['id']}"
        for each in jobs
        if each["kind"] in ("anonymize", "mask", "synthesize", "impute")
        and (each["dataset"], each["state"]) == (job["dataset"], "done")
        and each["id"] != job["id"]
    }
    datasets = [d["name"] for d in await visit.api.get("/v1/datasets") if d["name"] != job["dataset"]]
    listed = {each["name"]: each["title"] for each in await visit.api.get("/v1/attacks")}
    with kit.panel("Assessment", "For the steward only: the results below were computed from the real rows."):
        result = ui.element("div")

        async def show(found: dict[str, Any]) -> None:
            await _assessment(visit, found)

        async def begin() -> None:
            body = asked | {
                "control": None if control.value == _NO_CONTROL else control.value,
                "others": others.value if others else [],
                "attacks": attacks.value or None,
            }
            begun = await visit.api.post("/v1/assessments", body, key=visit.api.new_key())
            result.clear()
            with result:
                await watch(visit, begun, show)

        with kit.row():
            usual = OTHERS if job["dataset"] == SAMPLE and OTHERS in datasets else _NO_CONTROL
            control = kit.choice("Control rows (people who are not in the data)", [_NO_CONTROL, *datasets], usual)
            others = None
            if "release" in asked and job["kind"] != "mobility":
                others = kit.choice("Other releases of the same people, to join with it", beside, [], several=True)
            attacks = kit.choice("Attacks (all that apply if none is chosen)", listed, [], several=True)
            kit.button("Assess", begin, main=not earlier)
        if earlier:
            with result:
                await watch(visit, earlier[0], show)


_NO_CONTROL = "none: attacks are compared with guesses"
_RISK = (
    "A risk near 0 means that an attack on people in the data succeeds no more often than an attack on other people. "
    "Step 5: download the rows above. The tour is complete. Next, add your own data."
)


async def _assessment(visit: Visit, job: dict[str, Any]) -> None:
    found = await visit.api.get(f"/v1/assessments/{job['id']}")
    if found["release"]:
        tour.step(visit, 4, _RISK)
    with kit.row():
        kit.text(f"Risk {words.percent(found['risk'])}", "big")
        if found["kept"] is not None:
            kit.text(f"Utility {words.percent(found['kept'])}", "big")
    kit.text(found["headline"] or f"Worst attack: {found['worst']}.")
    kit.note(
        "Risk is the advantage of an attack on people in the data over one on other people. "
        "Lines are 95 % confidence intervals."
    )
    rows = [
        Interval(label=str(each["name"]), value=each["risk"], low=each["low"], high=each["high"])
        for each in found["risks"] or found["leaks"]  # assessments of earlier versions list the latter alone
    ]
    if rows:
        kit.picture(interval_bars(rows, title="Risk by attack"))
    absent = [[each["title"], each["reason"]] for each in found["attacks"] if not each["ran"]]
    if absent:
        kit.table(["attack that was not run", "reason"], absent, caption="Attacks that were not run")
    kit.link("Full report", f"/files/v1/assessments/{job['id']}/page", new=True)


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
