"""`tacita query`: private counts and histograms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacita.cli import show
from tacita.cli.options import (
    Data,
    Delta,
    Epsilon,
    Json,
    Rho,
    SchemaFile,
    State,
    TableName,
    budget_of,
    ledger_of,
)
from tacita.domain import Domain
from tacita.engines.connect import connect
from tacita.mechanisms import NoisyTables
from tacita.noise import SecureSource
from tacita.query import Session
from tacita.tables import Workload

__all__ = ["query"]


def query(
    data: Data,
    schema: SchemaFile,
    account: Annotated[str, typer.Option("--account", "-a", help="The account that pays; see `tacita budget open`.")],
    by: Annotated[
        list[str] | None,
        typer.Option("--by", "-b", help="A table by these attributes: --by age,sex. Several are one request."),
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Also how many rows there are in all.")] = False,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    family: Annotated[str, typer.Option(help="Noise: auto, laplace or gaussian.")] = "auto",
    table: TableName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show cost and error; touches no data.")] = False,
    key: Annotated[str | None, typer.Option(help="Name this request; the same key again costs nothing.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the releases as JSON.")] = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Take private counts and histograms, paid from an account.

    [dim]tacita query census.csv -s census.yaml -a census --by age,sex --by region --epsilon 0.5[/]
    """
    keys = [tuple(part.strip() for part in text.split(",")) for text in by or []] + ([()] if count else [])
    domain = Domain.read(schema)
    ledger = ledger_of(state)
    paying = ledger.account(account)
    plan = NoisyTables(Workload.of(*keys), family=family).calibrate(  # type: ignore[arg-type]
        domain, budget_of(epsilon, delta, rho), unit=paying.unit, neighbours=paying.neighbours
    )
    if dry_run:
        show.print_json(plan.as_dict()) if json else show.plan(plan)
        return
    session = Session(
        engine=connect(data, domain, table),
        ledger=ledger,
        account=account,
        principal="command line",
        source=SecureSource(),
    )
    releases = session.ask(plan, purpose="query", key=key)
    if output is not None:
        output.write_text(releases.to_json(), encoding="utf-8")
    if json:
        show.print_json(releases.as_dict() | {"balance": session.balance().as_dict()})
        return
    for release in releases.values():
        show.release(release)
    show.balance(session.balance())
