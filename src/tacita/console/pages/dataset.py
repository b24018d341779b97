"""One dataset: its public schema, its budget and ledger, its policy, and its released rows."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import Any
from urllib.parse import quote

from nicegui import ui

from tacita.console import tour
from tacita.console.look import charts, kit, words
from tacita.console.look.cards import budget_gauge
from tacita.console.page import Visit, page
from tacita.console.parts.schema import KIND_WORDS, described
from tacita.console.parts.spending import budget_of, chart_of, cost_of, forecast_words, spent_over_time
from tacita.errors import TacitaError

__all__ = ["dataset"]

_PAGE = 1000
_SHOWN = 20


@page("/datasets/{name}", "Dataset", roles=("steward", "analyst", "reader"), form=True)
async def dataset(visit: Visit, name: str) -> None:
    """Show public facts about the dataset; none was computed from its rows."""
    found = await visit.api.get(f"/v1/datasets/{name}")
    schema = await visit.api.get(f"/v1/datasets/{name}/schema")
    balance = await visit.api.get(f"/v1/datasets/{name}/budget")
    kit.title(name)
    touring = tour.step(
        visit,
        1,
        "A dataset has three parts: a public schema, which lists the possible values; the data, which the console "
        "never shows; and a budget, which limits what all releases together may reveal. Now make a release.",
    )
    with kit.actions():
        if visit.may("steward", "analyst"):
            path = f"/releases/new?dataset={name}" + (f"&{tour.TOUR}" if touring else "")
            kit.link("Make a release", path, "main-button")
        if visit.may("steward"):
            kit.link("Compare releases", f"/comparisons?dataset={quote(name)}", "link-button")
    charges = await _charges(visit, name) if visit.may("steward", "reader") else []
    with kit.columns("side-first") as (main, side):
        with side:
            _budget(visit, name, balance, charges)
            _about(found)
        with main:
            _schema(schema)
            if visit.may("steward", "reader"):
                _history(balance, charges, answers=name if visit.may("reader") else None)
            if visit.may("steward"):
                await _policy(visit, name, schema)
            if visit.may("steward", "reader"):
                await _left(visit, name)


def _about(found: dict[str, Any]) -> None:
    with kit.panel("About"):
        kit.facts(
            {
                "Title": found["title"] or "none",
                "Source": found["source"],
                "Protects": found["unit"],
                "Neighbours": "one added or removed" if found["neighbours"] == "add-remove" else "one replaced",
                "Fingerprint of the schema": found["fingerprint"][:16],
            }
        )


def _schema(schema: dict[str, Any]) -> None:
    with kit.panel("Public schema", "Levels, bounds and bins are public. The values of rows are not."):
        rows = [
            [a["name"], KIND_WORDS[a["kind"]], described(a), a.get("role", "other"), a.get("description", "")]
            for a in schema["attributes"]
        ]
        kit.table(["attribute", "kind", "possible values", "role", "description"], rows, caption="Public schema")


def _budget(visit: Visit, name: str, balance: dict[str, Any], charges: list[dict[str, Any]]) -> None:
    with kit.panel("Budget"):
        kit.text(f"{words.amount(balance['remaining'])} remaining", "big")
        if balance.get("closed"):
            kit.text("Closed since a restore: an operator must state what was spent before anything can be released.")
        budget_gauge(balance)
        kit.facts({"Budget": words.budget(balance["budget"]), "Charges": balance["charges"]})
        if visit.may("steward", "reader"):
            budget, neighbours = budget_of(balance)
            spent = spent_over_time(charges, budget, neighbours)
            kit.note(forecast_words(spent, float(budget.amount), now=dt.datetime.now(dt.UTC)))
        if not visit.may("steward"):
            return

        async def more() -> None:
            total = amount.value
            sure = await kit.confirm(
                "Raise the budget?",
                f"The budget of {name} becomes {words.amount(total)}. The ledger records it, and a budget can never be "
                "lowered.",
                "Confirm",
            )
            if sure:
                key = "rho" if balance["currency"] == "zcdp" else "epsilon"
                body = balance["budget"] | {key: total}
                await visit.api.post(f"/v1/datasets/{name}/budget", {"budget": body})
                kit.draft().forget()
                ui.navigate.to(f"/datasets/{name}")

        now = balance["budget"].get("rho") or balance["budget"].get("epsilon")
        with ui.expansion("Raise the budget").props("dense"), kit.row():
            amount = kit.number("New total budget", now, low=now, words=words.loss_note(balance["currency"]))
            kit.button("Raise", more)


def _history(balance: dict[str, Any], charges: list[dict[str, Any]], *, answers: str | None) -> None:
    """The ledger; `answers` is the dataset whose answers may be opened."""
    with kit.panel("Ledger", "Each charge is recorded before data is read, and is never refunded."):
        if not charges:
            kit.note("No charge yet. The ledger lists what each release has cost.")
            return
        budget, neighbours = budget_of(balance)
        now = dt.datetime.now(dt.UTC)
        charts.show(chart_of(spent_over_time(charges, budget, neighbours), budget, now=now))
        unit = "ρ" if budget.currency == "zcdp" else "ε"
        rows = [
            [
                words.when(c["created"]),
                partial(_purpose, c, answers),
                f"{unit}\u00a0{words.amount(cost_of(c, budget, neighbours))}",
                c["principal"],
                partial(kit.state, c["state"]),
            ]
            for c in reversed(charges[-_SHOWN:])
        ]
        kit.table(["time", "purpose", ">cost", "principal", "state"], rows, caption="Latest charges")
        kit.note("The cost is that of the charge by itself. Composition may make the sum of several smaller.")
        if len(charges) > _SHOWN:
            kit.note(f"The latest {_SHOWN} of {len(charges)} charges. An export of the ledger has all of them.")


def _purpose(charge: dict[str, Any], answers: str | None) -> None:
    """Purpose of a charge, with a link to its release or to its answer."""
    kind, _, id = str(charge["key"]).partition(":")
    if kind == "job" and id:
        kit.link(charge["purpose"] or "release", f"/releases/{id}")
    elif answers is not None and charge["state"] == "settled" and charge["event"].get("kind") != "nothing":
        path = f"/files/v1/datasets/{quote(answers)}/charges/{charge['id']}/answer"
        kit.set_attributes(kit.link(charge["purpose"] or "answer", path), download=f"{charge['id']}.json")
    else:
        kit.text(charge["purpose"], tag="span")


async def _charges(visit: Visit, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    offset: int | None = 0
    while offset is not None:
        part = await visit.api.get(f"/v1/datasets/{name}/charges", limit=_PAGE, offset=offset)
        found += part["charges"]
        offset = part["next_offset"]
    return found


async def _policy(visit: Visit, name: str, schema: dict[str, Any]) -> None:
    try:
        policy = await visit.api.get(f"/v1/datasets/{name}/policy")
    except TacitaError:  # none was set yet
        policy = {"quasi": [], "sensitive": [], "keep": [], "k": 5, "l": 2.0, "t": None, "suppress": 0.02}
    names = [a["name"] for a in schema["attributes"] if a["kind"] != "identifier"]

    async def save() -> None:
        body = policy | {
            "quasi": quasi.value,
            "sensitive": sensitive.value,
            "keep": keep.value,
            "k": int(k.value),
            "l": float(diversity.value) if sensitive.value else 1.0,
            "suppress": float(suppress.value) / 100,
        }
        await visit.api.put(f"/v1/datasets/{name}/policy", body)
        kit.draft().forget()
        ui.notify("The policy is saved and applies to new releases.")

    about = "Anonymized rows need a policy. Columns that are in none of these lists are never released as rows."
    with kit.panel("Policy for anonymized rows", about), ui.expansion("Show and edit the policy").props("dense"):
        with kit.row():
            quasi = kit.choice("Quasi-identifiers (others may know them)", names, policy["quasi"], several=True)
            sensitive = kit.choice("Sensitive (no one may infer them)", names, policy["sensitive"], several=True)
            keep = kit.choice("Released unchanged", names, policy["keep"], several=True)
        with kit.row():
            k = kit.number("Smallest class (k)", policy["k"], low=2, step=1)
            diversity = kit.number("Smallest diversity (l)", policy["l"], low=1)
            suppress = kit.number("Largest share of suppressed rows, %", 100 * policy["suppress"], low=0, high=99)
        kit.button("Save the policy", save)


async def _left(visit: Visit, name: str) -> None:
    left = await visit.api.get(f"/v1/datasets/{name}/releases")
    if not left:
        return
    with kit.panel("Released rows", "A recipient of several of these releases could join them."):
        rows = [[words.when(r["at"]), r["kind"], r["recipient"], ", ".join(r["attributes"])] for r in left]
        kit.table(["time", "kind", "recipient", "columns"], rows, caption="Released rows")
