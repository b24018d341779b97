"""`tacita budget`: open accounts, see what was spent."""

from __future__ import annotations

from typing import Annotated

import typer

from tacita.cli import show
from tacita.cli.options import Delta, Epsilon, Json, Notion, Rho, State, UnitText, budget_of, ledger_of
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["app"]

app = typer.Typer(help="Open accounts and see what was spent.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The account.")]


@app.command("open")
def open_account(
    name: Name,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    unit: UnitText = "row",
    neighbours: Notion = Neighbours.ADD_REMOVE,
    state: State = None,
) -> None:
    """Open an account: how much may be spent in all, on whose behalf."""
    ledger = ledger_of(state)
    ledger.open(name, unit=Unit.parse(unit), neighbours=neighbours, budget=budget_of(epsilon, delta, rho))
    show.balance(ledger.balance(name))


@app.command("show")
def show_account(
    name: Annotated[str | None, typer.Argument(help="The account; all, if none is named.")] = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Show budget, spent and remaining."""
    ledger = ledger_of(state)
    names = [name] if name else [account.name for account in ledger.accounts()]
    found = [ledger.balance(each) for each in names]
    if json:
        show.print_json([balance.as_dict() for balance in found])
        return
    for balance in found:
        show.balance(balance)
    if not found:
        show.say("No accounts yet. Open one: tacita budget open NAME --epsilon 1")


@app.command()
def history(name: Name, state: State = None, json: Json = False) -> None:
    """List every charge."""
    charges = list(ledger_of(state).history(name))
    if json:
        show.print_json([charge.as_dict() for charge in charges])
        return
    rows = [(f"{c.created:%Y-%m-%d %H:%M:%S}", c.state, c.event.kind, c.principal, c.purpose, c.id) for c in charges]
    show.grid(f"Account {name}", ("when", "state", "event", "who", "what for", "charge"), rows)


@app.command()
def export(name: Name, state: State = None) -> None:
    """Print the account and its history as lines of JSON."""
    for line in ledger_of(state).export(name):
        print(line)


@app.command("raise")
def raise_budget(name: Name, epsilon: Epsilon = None, delta: Delta = 0.0, rho: Rho = None, state: State = None) -> None:
    """Allow more; stands in the history."""
    ledger = ledger_of(state)
    ledger.raise_budget(name, budget_of(epsilon, delta, rho), principal="command line")
    show.balance(ledger.balance(name))
