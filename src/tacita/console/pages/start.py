"""The start page: what there is, and what to do next."""

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
    """For who comes first, a sample and a tour; for everybody, what they have and what they can do."""
    datasets = await visit.api.get("/v1/datasets")
    jobs = await visit.api.get("/v1/jobs", limit=6)
    if visit.may("steward") and visit.me["datasets"] is None:
        _tour(visit, begun=any(dataset["name"] == SAMPLE for dataset in datasets))
    with kit.cells():
        for name, about, action, path, roles in _DEEDS:
            if visit.may(*roles):
                with kit.panel(name, about):
                    kit.link(action, path)
    with kit.panel("Datasets"):
        if not datasets:
            kit.empty(
                "There is no dataset that you may use yet.",
                *(("Bring one", "/datasets/new") if visit.may("steward") else ()),
            )
        else:
            rows = [
                [_link(d["name"], f"/datasets/{d['name']}"), d["title"], words.budget(d["budget"])] for d in datasets
            ]
            kit.table(["name", "title", "budget"], rows, caption="Datasets")
    with kit.panel("Lately"):
        if not jobs:
            kit.note("Nothing was asked for yet. Releases and assessments that run, or have run, stand here.")
        else:
            shown = [
                [words.KINDS.get(j["kind"], j["kind"]), j["dataset"] or "", _state(j), words.when(j["created"])]
                for j in jobs
            ]
            kit.table(["what", "dataset", "state", "begun"], shown, caption="Latest jobs")


_DEEDS = (
    ("Collect", "Ask a population and never see an answer.", "To the campaigns", "/campaigns", ("steward", "analyst")),
    ("Release", "Rows, tables or a model that may leave.", "Make one", "/releases/new", ("steward", "analyst")),
    ("Compare", "Which release is best, before anything is spent.", "Compare some", "/comparisons", ("steward",)),
    (
        "Calculate",
        "What an epsilon risks, and what it costs.",
        "To the calculators",
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
            "There is a sample: a census of 5,000 people who do not exist. The tour makes rows from it that may be "
            "published, attacks them to see what they give away, and lets you download them."
        )
        kit.button("Take the tour again" if begun else "Start the tour", begin, main=True)


def _link(name: str, path: str) -> Any:
    return lambda: kit.link(name, path)


def _state(job: dict[str, Any]) -> Any:
    return lambda: kit.state(job["state"])
