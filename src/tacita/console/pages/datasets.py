"""All datasets."""

from __future__ import annotations

from functools import partial

from tacita.console.page import Visit, page
from tacita.console.parts import kit, words

__all__ = ["datasets"]


@page("/datasets", "Datasets", roles=("steward", "analyst"), menu=("Data", "Datasets"))
async def datasets(visit: Visit) -> None:
    """By name, with what is left of each budget."""
    found = await visit.api.get("/v1/datasets")
    if visit.may("steward"):
        with kit.row():
            kit.link("Bring a dataset", "/datasets/new", "main-button")
    if not found:
        said = "A dataset is a named source with its public schema and a budget."
        hint = " Bring a file, or ask whoever runs the server to name a database." if visit.may("steward") else ""
        kit.empty(f"There is no dataset that you may use yet. {said}{hint}")
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
                words.amount(balance["remaining"]),
            ]
        )
    kit.table(["name", "title", ">attributes", "protects", "budget", ">left"], rows, caption="Datasets")
