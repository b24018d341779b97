"""The start page: datasets, recent jobs, and next steps."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from tacita.console.look import kit, words
from tacita.console.look.cards import budget_gauge
from tacita.console.look.watching import path_of
from tacita.console.page import Visit, page
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
    with ui.element("div").classes("cards four"):
        for name, about, action, path, sign, roles in _ACTIONS:
            if visit.may(*roles):
                with ui.element("div").classes("card"):
                    with ui.element("div").classes("card-head"):
                        kit.icon(sign)
                        with ui.element("div"):
                            kit.text(name, "card-name", tag="h2")
                            kit.note(about)
                    kit.link(action, path, "card-link")
    with kit.columns("halves") as (main, side):
        with main:
            await _datasets(visit, datasets)
        with side:
            _recent(jobs)


async def _datasets(visit: Visit, datasets: list[dict[str, Any]]) -> None:
    with kit.panel("Datasets"):
        if not datasets:
            kit.empty(
                "There is no dataset that you may use.",
                *(("Add a dataset", "/datasets/new") if visit.may("steward") else ()),
                sign="storage",
            )
            return
        rows = []
        for each in datasets:
            balance = await visit.api.get(f"/v1/datasets/{each['name']}/budget")
            link = partial(kit.link, each["name"], f"/datasets/{each['name']}")
            rows.append([link, each["title"], partial(budget_gauge, balance, small=True)])
        kit.table(["name", "title", "budget"], rows, caption="Datasets")


def _recent(jobs: list[dict[str, Any]]) -> None:
    with kit.panel("Recent jobs"):
        if not jobs:
            kit.empty("There is no job yet. Releases and assessments are listed here.", sign="pending_actions")
            return
        shown = [
            [
                partial(kit.link, words.KINDS.get(j["kind"], j["kind"]), path_of(j)),
                j["dataset"] or "",
                partial(kit.state, j["state"]),
                words.when(j["created"]),
            ]
            for j in jobs
        ]
        kit.table(["job", "dataset", "state", "started"], shown, caption="Recent jobs")


_ACTIONS = (
    (
        "Collect",
        "Run a survey under local differential privacy.",
        "Open the campaigns",
        "/campaigns",
        "campaign",
        ("steward", "analyst", "reader"),
    ),
    (
        "Release",
        "Publish rows, tables or a model.",
        "Make a release",
        "/releases/new",
        "add_circle",
        ("steward", "analyst"),
    ),
    (
        "Compare",
        "Find the best release before you spend budget.",
        "Compare releases",
        "/comparisons",
        "balance",
        ("steward",),
    ),
    (
        "Calculate",
        "See the risk and the cost of an epsilon.",
        "Open the calculators",
        "/calculators",
        "calculate",
        ("steward", "analyst", "reader"),
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
