"""The assessment of a release: the form of a new one, and its result."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from tacita.console import tour
from tacita.console.look import charts, kit, words
from tacita.console.look.plots import attack_bars
from tacita.console.look.watching import watch
from tacita.console.page import Visit
from tacita.console.parts.sample import OTHERS, SAMPLE

__all__ = ["show_assessments"]

_NO_CONTROL = "none: attacks are compared with guesses"
_RISK = (
    "A risk near 0 means that an attack on people in the data succeeds no more often than an attack on other people. "
    "Step 5: download the rows above. The tour is complete. Next, add your own data."
)


async def show_assessments(visit: Visit, job: dict[str, Any], asked: dict[str, Any]) -> None:
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


async def _assessment(visit: Visit, job: dict[str, Any]) -> None:
    found = await visit.api.get(f"/v1/assessments/{job['id']}")
    if found["release"]:
        tour.step(visit, 4, _RISK)
    with ui.element("div").classes("figures"):
        kit.text(f"Risk {words.percent(found['risk'])}", "big")
        if found["kept"] is not None:
            kit.text(f"Utility {words.percent(found['kept'])}", "big")
    kit.text(found["headline"] or f"Worst attack: {found['worst']}.")
    kit.note(
        "Risk is the advantage of an attack on people in the data over one on other people. "
        "Lines are 95 % confidence intervals."
    )
    rows = found["risks"] or found["leaks"]  # assessments of earlier versions list the latter alone
    if rows:
        charts.show(attack_bars(rows, worst=found["worst"]))
    absent = [[each["title"], each["reason"]] for each in found["attacks"] if not each["ran"]]
    if absent:
        with ui.element("details").props("" if rows else "open"):
            kit.text(f"{len(absent)} attacks were not run", tag="summary")
            kit.table(["attack that was not run", "reason"], absent, caption="Attacks that were not run")
    kit.link("Full report", f"/files/v1/assessments/{job['id']}/page", new=True)
