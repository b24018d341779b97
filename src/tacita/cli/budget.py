"""`tacita budget`: open accounts, show what was spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from tacita.cli.parts import show
from tacita.cli.parts.options import Delta, Epsilon, Json, Notion, Rho, State, budget_of, ledger_of
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The account.")]


@app.command("open")
def open_account(
    name: Name,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", help="Unit of protection: row, or person:COLUMN:MAX_ROWS; from the schema if not given."
        ),
    ] = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", "-s", help="Take the unit from this schema: its person, or a row.")
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option("--max-rows", help="Most rows of a person that are counted; with a schema. One by default."),
    ] = None,
    neighbours: Notion = Neighbours.ADD_REMOVE,
    replace: Annotated[
        bool, typer.Option("--replace", help="Give an account of that name other terms, while nothing was charged.")
    ] = False,
    state: State = None,
) -> None:
    """Open an account: the total budget, and the unit that it protects.

    [dim]tacita budget open people -s people.yaml --epsilon 1[/]
    """
    protected = _unit(unit, None if schema is None else Domain.read(schema), max_rows)
    ledger, budget = ledger_of(state), budget_of(epsilon, delta, rho)
    terms: dict[str, Any] = {"unit": protected, "neighbours": neighbours, "budget": budget}
    if replace and name in [account.name for account in ledger.accounts()]:
        ledger.replace(name, **terms)
    else:
        ledger.open(name, **terms)
    if schema is not None and unit is None and max_rows is None and protected.person is not None:
        show.say(
            f"Persons are protected, by {escape(protected.person)}: one row of each is counted. "
            "If persons have more rows, state how many may count: --max-rows."
        )
    show.balance(ledger.balance(name))


def _unit(text: str | None, domain: Domain | None, max_rows: int | None) -> Unit:
    """Return the protected unit, from the options or from the schema."""
    if domain is None:
        if max_rows is not None:
            hint = "Give the schema (-s), or write --unit person:COLUMN:MAX_ROWS"
            raise InvalidInput("goes with a schema", field="max_rows", value=max_rows, hint=hint)
        return Unit.parse(text or "row")
    if text is None:
        return Unit.of_schema(domain, max_rows=max_rows)
    if max_rows is not None:
        raise InvalidInput("is part of --unit already", field="max_rows", value=max_rows)
    return Unit.parse(text).check(domain)


@app.command()
def close(name: Name, state: State = None) -> None:
    """Remove an account while nothing was charged."""
    ledger_of(state).close(name)
    show.say(f"Closed {escape(name)}.")


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
        show.say("No accounts yet. Open one: tacita budget open NAME -s SCHEMA --epsilon 1")


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
    """Raise the budget; the history records it."""
    ledger = ledger_of(state)
    ledger.raise_budget(name, budget_of(epsilon, delta, rho), principal="command line")
    show.balance(ledger.balance(name))


@app.command()
def reopen(
    names: Annotated[list[str] | None, typer.Argument(help="The accounts.")] = None,
    spent: Annotated[
        float | None,
        typer.Option("--spent", help="Amount that the account had spent when the state was lost; one account."),
    ] = None,
    all_spent: Annotated[
        bool, typer.Option("--all-spent", help="Take everything as spent: the account pays for nothing any more.")
    ] = False,
    history_: Annotated[
        Path | None,
        typer.Option("--history", help="Take the charges of an export that was made after the last one; one account."),
    ] = None,
    nothing_lost: Annotated[
        str | None, typer.Option("--nothing-lost", help="The reason why no charge can be missing; kept in the log.")
    ] = None,
    every: Annotated[bool, typer.Option("--every", help="All closed accounts.")] = False,
    new_accounts: Annotated[
        str | None,
        typer.Option("--new-accounts", help="The reason why no account is missing: new ones begin open again."),
    ] = None,
    state: State = None,
) -> None:
    """State what was spent since the backup, so that accounts of a restored ledger open again.

    A restored ledger is closed: it does not know what was charged after the backup. Lists the closed accounts, if
    nothing is stated.

    [dim]tacita budget reopen clinic --spent 0.8[/]
    """
    from tacita.privacy.reopening import HighWaterMark, closed_accounts, reopen_ledger
    from tacita.privacy.reopening import reopen as reopen_account

    ledger = ledger_of(state)
    stated = spent is not None or all_spent or history_ is not None or nothing_lost is not None
    chosen = list(names or (closed_accounts(ledger) if every else ()))
    if stated and not chosen and not (every and new_accounts):
        raise InvalidInput("name the accounts, or give --every", field="account")
    if len(chosen) > 1 and (spent is not None or history_ is not None):
        raise InvalidInput("is about one account: name one", field="spent" if spent is not None else "history")
    if chosen and not stated:
        hint = "Give --spent, --history, --all-spent or --nothing-lost"
        raise InvalidInput("say what was spent", field="account", value=chosen[0], hint=hint)
    lines = None if history_ is None else _lines(history_)
    for name in chosen:
        mark = HighWaterMark(spent=spent, all_spent=all_spent, history=lines, nothing_lost=nothing_lost)
        show.balance(reopen_account(ledger, name, mark, principal="command line"))
    if new_accounts is not None:
        reopen_ledger(ledger, new_accounts, principal="command line")
        show.say("New accounts begin open.")
    if not stated and new_accounts is None:
        closed = closed_accounts(ledger)
        show.grid("Closed accounts", ("account", "because"), list(closed.items())) if closed else show.say(
            "No account is closed."
        )


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("must be a file that can be read", field="history", value=file) from None
