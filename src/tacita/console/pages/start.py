"""The start page: datasets, recent jobs, and next steps."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from tacita.console.page import Visit, page
from tacita.console.parts import kit, words
from tacita.console.parts.sample import SAMPLE, make_sample
from tacita.console.tour import TOUR

__all__ = ["start"]


@page("/", "Start", menu=("", "Start"))
async def start(visit: Visit) -> None:
    """Show the tour, the next steps, the datasets, and the recent jobs."""
    datasets = await visit.api.get("/v1/datasets")
    jobs = await visit.api.get("/v1/jobs", limit=6)
    if visit.may("steward") and visit.me["datasets"] is None:
        _tour(visit, begun=any(dataset["name"] == SAMPLE for dataset in datasets))
    with kit.cells():
        for name, about, action, path, roles in _ACTIONS:
            if visit.may(*roles):
                with kit.panel(name, about):
                    kit.link(action, path)
    with kit.panel("Datasets"):
        if not datasets:
            kit.empty(
                "There is no dataset that you may use.",
                *(("Add a dataset", "/datasets/new") if visit.may("steward") else ()),
            )
        else:
            rows = [
                [_link(d["name"], f"/datasets/{d['name']}"), d["title"], words.budget(d["budget"])] for d in datasets
            ]
            kit.table(["name", "title", "budget"], rows, caption="Datasets")
    with kit.panel("Recent jobs"):
        if not jobs:
            kit.note("There is no job yet. Releases and assessments are listed here.")
        else:
            shown = [
                [words.KINDS.get(j["kind"], j["kind"]), j["dataset"] or "", _state(j), words.when(j["created"])]
                for j in jobs
            ]
            kit.table(["job", "dataset", "state", "started"], shown, caption="Recent jobs")


_ACTIONS = (
    (
        "Collect",
        "Run a survey under local differential privacy.",
        "Open the campaigns",
        "/campaigns",
        ("steward", "analyst"),
    ),
    ("Release", "Publish rows, tables or a model.", "Make a release", "/releases/new", ("steward", "analyst")),
    ("Compare", "Find the best release before you spend budget.", "Compare releases", "/comparisons", ("steward",)),
    (
        "Calculate",
        "See the risk and the cost of an epsilon.",
        "Open the calculators",
        "/calculators",
        ("steward", "analyst"),
    ),
)


def _tour(visit: Visit, *, begun: bool) -> None:
    async def begin() -> None:
        await make_sample(visit.api)
        ui.navigate.to(f"/datasets/{SAMPLE}?{TOUR}")

    with kit.panel("New here? Make your first release in a few minutes"):
        kit.text(
            "The sample is a simulated census of 5,000 people. The tour makes synthetic rows from it, assesses their "
            "risk, and lets you download them."
        )
        kit.button("Repeat the tour" if begun else "Start the tour", begin, main=True)


def _link(name: str, path: str) -> Any:
    return lambda: kit.link(name, path)


def _state(job: dict[str, Any]) -> Any:
    return lambda: kit.state(job["state"])
