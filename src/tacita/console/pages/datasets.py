"""All datasets."""

from __future__ import annotations

from functools import partial

from tacita.console.look import kit, words
from tacita.console.look.cards import budget_gauge
from tacita.console.page import Visit, page

__all__ = ["datasets"]


@page("/datasets", "Datasets", roles=("steward", "analyst", "reader"), menu=("Data", "Datasets"))
async def datasets(visit: Visit) -> None:
    """List the datasets by name, with their remaining budgets."""
    found = await visit.api.get("/v1/datasets")
    if visit.may("steward"):
        with kit.actions():
            kit.link("Add a dataset", "/datasets/new", "main-button")
    if not found:
        said = "A dataset is a named source with its public schema and a budget."
        hint = " Add a file, or ask the operator of the server to add a database." if visit.may("steward") else ""
        kit.empty(f"There is no dataset that you may use. {said}{hint}", sign="storage")
        return
    rows = []
    for dataset in found:
        balance = await visit.api.get(f"/v1/datasets/{dataset['name']}/budget")
        rows.append(
            [
                partial(kit.link, dataset["name"], f"/datasets/{dataset['name']}"),
                dataset["title"],
                len(dataset["attributes"]),
                dataset["unit"],
                words.budget(dataset["budget"]),
                partial(budget_gauge, balance, small=True),
            ]
        )
    with kit.panel():
        kit.table(["name", "title", ">attributes", "protects", "budget", "left"], rows, caption="Datasets")
