"""Holders, and federated runs over several of them."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from tacita.console.look import kit, words
from tacita.console.page import Visit, page
from tacita.console.parts.schema import schema_file
from tacita.domain import Domain
from tacita.errors import InvalidInput

__all__ = ["holders"]

_WRITTEN = ""
_SHARED = {
    "SL1": "noisy tables, once",
    "SL2": "noisy votes for the structure, then noisy tables",
    "SL3": "noisy models",
}


@page("/holders", "Holders", roles=("steward",), menu=("Data", "Holders"), form=True)
async def holders(visit: Visit) -> None:
    """List the holders, with a form for a federated run."""
    found = await visit.api.get("/v1/holders")
    kit.text(
        "A holder is an organisation that keeps its data and its own budget. In a federated run each holder sends "
        "noisy answers, and the server makes synthetic rows from them. The data of the holders does not move."
    )
    if not found:
        kit.empty(
            "This server has no holder yet. The operator of the server adds holders in its settings, and each holder "
            "runs a service for its own data."
        )
        return
    with kit.panel("Holders"):
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
        kit.table(["holder", "state", "methods", ">remaining", "schema"], rows, caption="Holders")
    reached = [each for each in found if each["reached"]]
    await _run(visit, [each["name"] for each in reached], {each["about"]["schema"] for each in reached})


async def _run(visit: Visit, names: list[str], schemas: set[str]) -> None:
    datasets = await visit.api.get("/v1/datasets")
    alike = [each["name"] for each in datasets if {each["fingerprint"]} == schemas]

    def taken(written: str) -> None:
        text.set_value(written)
        source.set_value(_WRITTEN)

    with kit.panel("Federated run", "All holders must have exactly this schema. It is public."):
        with kit.row():
            chosen = kit.choice("Holders", names, names, several=True)
            method = kit.choice("Method", _SHARED, "SL1")
            overlap = kit.checkbox("a person may be in the data of several holders")
        with kit.row():
            spend = kit.slider("Epsilon of each holder", words.EPSILONS, 1.0, words=words.EPSILON)
            people = kit.number("Rows of all holders together (if public)", None, low=2, step=1)
        with kit.row():
            options = {each["name"]: f"the schema of {each['name']}" for each in datasets}
            options |= {name: f"{options[name]}, the same as the holders'" for name in alike}
            source = kit.choice("Schema", {_WRITTEN: "from a file, or as YAML below", **options}, (*alike, _WRITTEN)[0])
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
                    "must be given", field="schema", hint="Choose a dataset, upload a file, or write the schema as YAML"
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
            planned = await visit.api.post("/v1/releases/federated/plan", await body())
            shown.clear()
            with shown:
                kit.facts(
                    {
                        "Cost to each holder": words.amount(planned["cost_of_a_holder"]),
                        "Cost to one person": words.amount(planned["cost_of_a_person"]),
                        "Rounds": planned["steps"],
                        "Error of a cell": f"± {words.amount(2 * planned['std'])} people "
                        f"({planned['std'] / planned['central_std']:.2g} times that of one curator of all data)",
                    }
                )

        async def begin() -> None:
            request = await body()
            planned = await visit.api.post("/v1/releases/federated/plan", request)
            cost = words.amount(planned["cost_of_a_holder"])
            warning = f"Each holder spends {cost} of its own budget. This cannot be undone."
            if await kit.confirm("Start the federated run?", warning, "Confirm"):
                job = await visit.api.post("/v1/releases/federated", request, key=visit.api.new_key())
                kit.draft().forget()
                ui.navigate.to(f"/releases/{job['id']}")

        with kit.row():
            kit.button("Show the plan", plan)
            kit.button("Start the run", begin, main=True)
