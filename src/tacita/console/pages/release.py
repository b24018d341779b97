"""One release: how far it is, what it is, what is promised about it, what it gives away; and its files."""

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
from tacita.recipes.registry import RECIPES
from tacita.report.charts import Interval, interval_bars
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
    """While it is made, its progress; then all of it."""
    job = await visit.api.get(f"/v1/jobs/{id}")
    kind = words.KINDS.get(job["kind"], job["kind"])
    kit.title(f"{kind[:1].upper()}{kind[1:]}" + (f" of {job['dataset']}" if job["dataset"] else ""))

    async def shown(found: dict[str, Any]) -> None:
        await _SHOWN.get(found["kind"], _other)(visit, found)

    await watch(visit, job, shown)


async def watch(visit: Visit, job: dict[str, Any], show: Callable[[dict[str, Any]], Awaitable[None]]) -> None:
    """Say how far a job is until it ends; then show what it made, or why it did not."""
    room = ui.element("div").props('aria-live="polite"')  # the timer stands beside it: who clears it is not cleared
    if job["state"] == "done":
        with room:
            await show(job)
        return
    with room, kit.panel("In the making"):
        line = kit.text("")
        bar = ui.linear_progress(0.0, show_value=False)
        kit.said(bar, **{"aria-label": "How far it is"})

        async def stop() -> None:
            if await kit.confirm("Stop it?", "What it has charged stays spent.", "Stop it"):
                await visit.api.post(f"/v1/jobs/{job['id']}/cancel")

        kit.button("Cancel", stop)

    async def look() -> None:
        found = await visit.api.get(f"/v1/jobs/{job['id']}")
        if found["state"] not in _ENDED:
            bar.set_value(found["progress"])
            kit.reword(line, f"{found['state']}: {found['note'] or 'waiting for its turn'}")
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
    with kit.panel("It was not made") as panel:
        panel.classes("problem")
        kit.text(str(error.get("detail") or error.get("rule") or "It was cancelled."))
        if error.get("hint"):
            kit.text(str(error["hint"]))
        if job["dataset"]:
            kit.link("Make another", f"/releases/new?dataset={job['dataset']}")


# -- kinds ------------------------------------------------------------------------------------------------------------


async def _rows(visit: Visit, job: dict[str, Any]) -> None:
    """Rows that leave: made up, or anonymized."""
    id = job["id"]
    found = await visit.api.get(f"/v1/releases/{id}")
    made_up = found["tacita"] == "synthesized/1"
    tour.step(
        visit,
        3,
        "The rows are made: nobody in them exists. Before they leave, see what they give away: the assessment attacks "
        "them as a stranger would, with the real rows at hand to judge.",
    )
    with kit.cells():
        with kit.panel("What is promised"):
            if made_up:
                kit.facts(_promise(await visit.api.get(f"/v1/releases/{id}/statement")))
                kit.text(found["statement"])
                for each in found["notes"]:
                    kit.note(each)
            elif found["tacita"] == "imputed/1":
                kit.text(found["statement"], "problem")
                for each in (*found["notes"], *found["warnings"]):
                    kit.note(each)
            else:
                kit.text("No differential privacy. The rows, counted again, hold this:")
                kit.facts({name: _plain(value) for name, value in _held(found).items()})
                for each in found["warnings"]:
                    kit.text(each, "problem")
        _download(visit, id, found, made_up)
    await _preview(visit, id)
    if job["kind"] == "federate":
        kit.note("Nobody has all the real rows, so nobody can attack these with them: holders assess their own.")
    elif job["kind"] in ("events", "sets"):
        kit.note("The attacks of an assessment are for rows that each describe a person.")
    elif visit.may("steward"):
        await _assessments(visit, job, {"release": id})
    else:
        kit.note("An assessment is made by the steward of the data: it needs the real rows.")


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
    known = {name: recipe["sets"][name] for name in ("k", "m")}
    return known | {name: found[name] for name in ("sets", "support", "loss", "suppressed")}


def _promise(statement: dict[str, Any]) -> dict[str, str]:
    spent = {"epsilon": statement["epsilon"], "delta": statement["delta"]}
    return {
        "Guarantee": statement["guarantee"],
        "Cost": "unbounded" if statement["epsilon"] is None else words.budget(spent),
        "Protects": f"{statement['unit']}, {statement['neighbours']}",
    }


def _download(visit: Visit, id: str, found: dict[str, Any], made_up: bool) -> None:
    with kit.panel("Take it"):
        kit.facts({"Rows": f"{found['rows']:,}", "Columns": len(found["columns"])})
        with kit.row():
            for name, format in (("CSV", "csv"), ("Parquet", "parquet")):
                link = kit.link(
                    f"Download {name}", f"{_FILES}/v1/releases/{id}/rows?format={format}".removeprefix(HOME)
                )
                kit.said(link.classes("main-button" if format == "csv" else ""), download=f"{id}.{format}")
        with kit.row():
            statement = kit.link("Privacy statement, signed", f"/files/v1/releases/{id}/statement")
            kit.said(statement, download=f"{id}.statement.json")
            if made_up:
                kit.link("What-if questions", f"/network?release={id}")
        kit.note(
            "It names what holds for these rows and the digest of the Parquet file; whoever gets them can check it."
        )


async def _preview(visit: Visit, id: str) -> None:
    text = await visit.api.text(f"/v1/releases/{id}/rows", format="ndjson", limit=_PREVIEW)
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    with kit.panel("Preview"):
        if not rows:
            kit.note("It has no rows.")
            return
        kit.table(list(rows[0]), [["" if v is None else v for v in row.values()] for row in rows], caption="First rows")


async def _old_tables(visit: Visit, job: dict[str, Any]) -> None:
    """Tables that were asked for as a job of a query."""
    path = f"/v1/jobs/{job['id']}/result"
    with kit.panel("Take it"):
        kit.said(kit.link("Download JSON", f"/files{path}", "main-button"), download=f"{job['id']}.json")
    found = Releases.from_json(await visit.api.text(path))
    _bars(found)
    await _assess_tables(visit, job, found)


async def _answer(visit: Visit, job: dict[str, Any]) -> None:
    """Released numbers: their guarantee, their files, and the numbers as bars or as a table."""
    id, path = job["id"], f"/v1/releases/{job['id']}"
    with kit.cells():
        with kit.panel("What is promised"):
            kit.facts(_promise(await visit.api.get(f"{path}/statement")))
        with kit.panel("Take it"), kit.row():
            kit.said(kit.link("Download CSV", f"/files{path}/rows?format=csv", "main-button"), download=f"{id}.csv")
            kit.said(kit.link("Download JSON", f"/files{path}"), download=f"{id}.json")
            kit.said(kit.link("Privacy statement, signed", f"/files{path}/statement"), download=f"{id}.statement.json")
    if job["kind"] == "tables":
        found = Releases.from_json(await visit.api.text(path))
        _bars(found)
        await _assess_tables(visit, job, found)
        return
    text = await visit.api.text(f"{path}/rows", format="ndjson", limit=_MOST_ROWS)
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    with kit.panel("The released numbers"):
        shown = [["not known" if v is None else _plain(v) for v in row.values()] for row in rows]
        kit.table(list(rows[0]) if rows else [], shown, caption="Released numbers")
        kit.note("They have noise. The standard deviation of the noise is in the columns that end in std.")


def _bars(found: Releases) -> None:
    for each in found.values():
        with kit.panel(
            " by ".join(each.attributes) or "all",
            f"{each.guarantee}. Bars end where the interval holds the truth with 95 %.",
        ):
            kit.picture(bars(each))


async def _assess_tables(visit: Visit, job: dict[str, Any], found: Releases) -> None:
    if visit.may("steward"):
        await _assessments(visit, job, {"dataset": job["dataset"], "tables": [found.as_dict()]})


async def _other(visit: Visit, job: dict[str, Any]) -> None:
    kit.note("This job has nothing to show here.")
    kit.link("To the jobs", "/jobs")


# -- what it gives away -----------------------------------------------------------------------------------------------


async def _assessments(visit: Visit, job: dict[str, Any], asked: dict[str, Any]) -> None:
    """Those that were made, and a form for another; `asked` is the part of a request that names the release."""
    jobs = await visit.api.get("/v1/jobs", limit=1000)
    earlier = [each for each in jobs if each["kind"] == "assess" and each["release"] == job["id"]]
    beside = {
        each["id"]: f"{words.KINDS[each['kind']]} {each['id']}"
        for each in jobs
        if each["kind"] in ("anonymize", "synthesize", "impute")
        and (each["dataset"], each["state"]) == (job["dataset"], "done")
        and each["id"] != job["id"]
    }
    datasets = [d["name"] for d in await visit.api.get("/v1/datasets") if d["name"] != job["dataset"]]
    listed = {each["name"]: each["title"] for each in await visit.api.get("/v1/attacks")}
    with kit.panel("What it gives away", "For the steward: the figures below were read off real rows, and stay here."):
        result = ui.element("div")

        async def show(found: dict[str, Any]) -> None:
            await _assessment(visit, found)

        async def begin() -> None:
            body = asked | {
                "control": None if control.value == _NOBODY else control.value,
                "others": others.value if others else [],
                "attacks": attacks.value or None,
            }
            begun = await visit.api.post("/v1/assessments", body, key=visit.api.new_key())
            result.clear()
            with result:
                await watch(visit, begun, show)

        with kit.row():
            usual = OTHERS if job["dataset"] == SAMPLE and OTHERS in datasets else _NOBODY
            control = kit.choice("People like them who were not used", [_NOBODY, *datasets], usual)
            others = None
            if "release" in asked:
                others = kit.choice("Other releases of the same people, joined with it", beside, [], several=True)
            attacks = kit.choice("Attacks (all that apply if none is chosen)", listed, [], several=True)
            kit.button("Assess it", begin, main=not earlier)
        if earlier:
            with result:
                await watch(visit, earlier[0], show)


_NOBODY = "nobody: leaks look like guesses"
_RISK = (
    "A risk near 0 means that an attacker with the release does no better on these people than on others who are not "
    "in it. Now download the rows above: that is the whole way, and step 5. Next, bring data of your own."
)


async def _assessment(visit: Visit, job: dict[str, Any]) -> None:
    found = await visit.api.get(f"/v1/assessments/{job['id']}")
    if found["release"]:
        tour.step(visit, 4, _RISK)
    with kit.row():
        kit.text(f"Risk {words.percent(found['risk'])}", "big")
        if found["kept"] is not None:
            kit.text(f"Usefulness kept {words.percent(found['kept'])}", "big")
    kit.text(found["headline"] or f"Worst: {found['worst']}.")
    kit.note(
        "Risk is how much better attacks do on people who are in the data than on others. Lines are 95 % intervals."
    )
    rows = [
        Interval(label=str(each["name"]), value=each["risk"], low=each["low"], high=each["high"])
        for each in found["risks"] or found["leaks"]  # assessments of earlier versions list the latter alone
    ]
    if rows:
        kit.picture(interval_bars(rows, title="Risk by attack"))
    absent = [[each["title"], each["reason"]] for each in found["attacks"] if not each["ran"]]
    if absent:
        kit.table(["attack that was not tried", "reason"], absent, caption="Attacks that were not tried")
    kit.link("The whole report", f"/files/v1/assessments/{job['id']}/page", new=True)


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return words.amount(value) if isinstance(value, float) else str(value)


_SHOWN: dict[str, Callable[[Visit, dict[str, Any]], Awaitable[None]]] = {
    "synthesize": _rows,
    "anonymize": _rows,
    "federate": _rows,
    "impute": _rows,
    "events": _rows,
    "sets": _rows,
    "query": _old_tables,
    **dict.fromkeys(RECIPES, _answer),
    "fit": _model,
    "function": show_model,
}
