"""Holders of data elsewhere, and runs with several of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from tacita.console.page import Visit, page
from tacita.console.parts import kit, words
from tacita.console.parts.schema import schema_file
from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["holders"]

_WRITTEN = ""
_SHARED = {
    "SL1": "noisy tables, once",
    "SL2": "noisy votes for the structure, then tables",
    "SL3": "noisy models",
}


@page("/holders", "Holders", roles=("steward",), menu=("Data", "Holders"), form=True)
async def holders(visit: Visit) -> None:
    """Who they are, and a form for a run."""
    found = await visit.api.get("/v1/holders")
    kit.text(
        "A holder keeps its data and its own budget. In a federated run every holder sends private answers, and "
        "made-up rows come out that nobody's data had to move for."
    )
    if not found:
        kit.empty(
            "This server knows no holder yet. Whoever runs it names them in the settings (holders), and each holder "
            "runs: tacita holder serve."
        )
        return
    with kit.panel("Who they are"):
        rows = [
            [
                each["name"],
                partial(kit.state, "here" if each["reached"] else "away"),
                each["problem"] or ", ".join(each["about"]["methods"]),
                words.amount(each["about"]["remaining"]) if each["reached"] else "",
                each["about"]["schema"][:12] if each["reached"] else "",
            ]
            for each in found
        ]
        kit.table(["holder", "state", "shares", ">left", "schema"], rows, caption="Holders")
    reached = [each for each in found if each["reached"]]
    await _run(visit, [each["name"] for each in reached], {each["about"]["schema"] for each in reached})


async def _run(visit: Visit, names: list[str], schemas: set[str]) -> None:
    datasets = await visit.api.get("/v1/datasets")
    alike = [each["name"] for each in datasets if {each["fingerprint"]} == schemas]

    def taken(written: str) -> None:
        text.set_value(written)
        source.set_value(_WRITTEN)

    with kit.panel("A run", "All holders must have this very schema; it holds nothing about their data."):
        with kit.row():
            chosen = kit.choice("Holders", names, names, several=True)
            method = kit.choice("They share", _SHARED, "SL1")
            overlap = kit.checkbox("one person may be at several holders")
        with kit.row():
            spend = kit.slider("Each spends (epsilon)", words.EPSILONS, 1.0)
            people = kit.number("Rows of all together (if it is public)", None, low=2, step=1)
        with kit.row():
            options = {each["name"]: f"the schema of {each['name']}" for each in datasets}
            options |= {name: f"{options[name]}, which is theirs" for name in alike}
            source = kit.choice("Schema", {_WRITTEN: "from a file, or written below", **options}, (*alike, _WRITTEN)[0])
            schema_file(taken)
        text = kit.lines("Schema as YAML")
        shown = ui.element("div").props('aria-live="polite"')

        async def body() -> dict[str, Any]:
            if source.value != _WRITTEN:
                schema = await visit.api.get(f"/v1/datasets/{source.value}/schema")
            elif text.value:
                schema = Domain.from_text(text.value).as_dict()
            else:
                raise InvalidInput(
                    "must be given", field="schema", hint="Choose a dataset with it, take a file, or write it down"
                )
            return {
                "schema": schema,
                "holders": list(chosen.value),
                "method": method.value,
                "budget": {"epsilon": spend()},
                "overlap": "possible" if overlap.value else "none",
                "people": int(people.value) if people.value else None,
            }

        async def plan() -> None:
            told = await visit.api.post("/v1/releases/federated/plan", await body())
            shown.clear()
            with shown:
                kit.facts(
                    {
                        "Costs each holder": words.amount(told["cost_of_a_holder"]),
                        "Costs one person": words.amount(told["cost_of_a_person"]),
                        "Steps": told["steps"],
                        "Error of a cell": f"± {words.amount(2 * told['std'])} people "
                        f"({told['std'] / told['central_std']:.2g} times that of one curator of all data, by the same "
                        "method)",
                    }
                )

        async def begin() -> None:
            request = await body()
            told = await visit.api.post("/v1/releases/federated/plan", request)
            said = f"Each holder spends {words.amount(told['cost_of_a_holder'])} of its own budget, for ever."
            if await kit.confirm("Ask the holders?", said, "Yes, ask them"):
                job = await visit.api.post("/v1/releases/federated", request, key=visit.api.new_key())
                kit.draft().forget()
                ui.navigate.to(f"/releases/{job['id']}")

        with kit.row():
            kit.button("What would it cost?", plan)
            kit.button("Run it", begin, main=True)
