"""`tacita release`: every kind of paid answer, with the options of its request."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pyarrow as pa
import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, TABLES, check_files, paid_already
from tacita.cli.parts.options import (
    Again,
    Data,
    Delta,
    Epsilon,
    Json,
    Rho,
    SchemaFile,
    State,
    TableName,
    ledger_of,
    session_of,
)
from tacita.cli.parts.requests import options_of, request_of
from tacita.common.number_text import number
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.privacy.ledger import Account
from tacita.recipes.kind import RecipeKind
from tacita.recipes.registry import RECIPES
from tacita.report.signing import SigningKey
from tacita.report.statement import state as state_of
from tacita.settings import Settings
from tacita.tables.tabular import finite

__all__ = ["app", "command_of"]

app = typer.Typer(no_args_is_help=True)
_ROWS = 40


class _Subject(NamedTuple):
    domain: Domain
    account: Account


def _shared(
    *,
    data: Data,
    schema: SchemaFile,
    account: Annotated[str, typer.Option("--account", "-a", help="The account that pays.")],
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the answer: .json, .csv, .parquet or .xlsx."),
    ] = None,
    statement: Annotated[
        Path | None, typer.Option(help="Write a signed statement of the guarantee; needs an output.")
    ] = None,
    purpose: Annotated[str, typer.Option(help="Purpose, which is stored in the history.")] = "release",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the cost; reads no data.")] = False,
    key: Annotated[str | None, typer.Option(help="Name this request; the same key again costs nothing.")] = None,
    table: TableName = None,
    again: Again = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Options that all kinds share."""


_SHARED = list(inspect.signature(_shared, eval_str=True).parameters.values())


def command_of(kind: RecipeKind[Any]) -> Callable[..., None]:
    """Return the command of a kind: the shared options, and the members of its request."""

    def command(**given: Any) -> None:
        shared = {each.name: given.pop(each.name) for each in _SHARED}
        _release(kind, given, **shared)

    own = options_of(kind.request, skip={each.name for each in _SHARED} | {"dataset", "budget"})
    ordered = sorted([*_SHARED, *own], key=lambda each: (each.default is not inspect.Parameter.empty, each in _SHARED))
    command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    command.__doc__ = (
        f"{kind.summary}, paid from an account.\n\n"
        f"[dim]tacita release {kind.name} census.csv -s census.yaml -a census --epsilon 0.5 {kind.example}[/]"
    )
    return command


for _kind in RECIPES.values():
    app.command(_kind.name)(command_of(_kind))


def _release(
    kind: RecipeKind[Any],
    own: dict[str, Any],
    *,
    data: str,
    schema: Path,
    account: str,
    epsilon: float | None,
    delta: float,
    rho: float | None,
    output: Path | None,
    statement: Path | None,
    purpose: str,
    dry_run: bool,
    key: str | None,
    table: str | None,
    again: str | None,
    state: str | None,
    json: bool,
) -> None:
    """Plan, charge, run, write and show."""
    check_files(TABLES, output=output)
    check_files(JSON, statement=statement)
    if statement is not None and output is None:
        raise InvalidInput("states the digest of a file: pass --output too", field="statement")
    if epsilon is None and rho is None:
        raise InvalidInput("state how much may be spent: --epsilon, or --rho", field="budget")
    ledger, domain = ledger_of(state), Domain.read(schema)
    paying = ledger.account(account)
    budget = {"epsilon": epsilon, "delta": delta, "rho": rho}
    request = request_of(kind.request, own, dataset=account, budget=budget, purpose=purpose)
    plan = kind.plan(_Subject(domain, paying), request)
    if dry_run:
        show.plan_facts(plan, ledger.quote(paying.name, plan.event), [], as_json=json)
        return
    session = session_of(
        ledger, account=paying.name, data=data, domain=domain, table=table, again=again, read_as=plan.domain
    )
    key = key or f"{kind.name}-{uuid.uuid4().hex[:16]}"
    answer = session.ask(plan, purpose=purpose, key=key)
    flat = finite(answer.to_arrow())
    with paid_already(f"It is paid for: the same command with --key {key} costs nothing more"):
        if output is not None:
            answer.save(output)
        if statement is not None and output is not None:
            state_of(
                event=plan.event,
                unit=plan.unit,
                neighbours=plan.neighbours,
                provenance=answer.provenance,
                delta=delta,
                guarantee="central differential privacy",
                files={output.name: output},
                key=SigningKey.of(Settings.load().home),
            ).write(statement)
    if json:
        show.print_json(answer.as_dict() | {"key": key, "balance": session.balance().as_dict()})
        return
    shown = flat.slice(0, _ROWS)
    columns = [[_text(value, pa.types.is_floating(each.type)) for value in each.to_pylist()] for each in shown.columns]
    show.grid(kind.summary, flat.column_names, zip(*columns, strict=True))
    if flat.num_rows > _ROWS:
        show.say(f"[dim]… and {flat.num_rows - _ROWS} more rows; --output writes all of them[/]")
    show.balance(session.balance())


def _text(value: Any, numeric: bool) -> str:
    if value is None:
        return "not known" if numeric else ""
    return number(value, digits=3) if numeric else str(value)
