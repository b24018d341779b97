"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacita.errors import InvalidInput
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours
from tacita.server.settings import Settings
from tacita.store import Database

__all__ = [
    "Data",
    "Delta",
    "Epsilon",
    "Json",
    "Notion",
    "Rho",
    "SchemaFile",
    "State",
    "TableName",
    "UnitText",
    "budget_of",
    "database_of",
    "ledger_of",
]

Data = Annotated[str, typer.Argument(help="A CSV or Parquet file, a folder of them, or postgresql://…")]
SchemaFile = Annotated[Path, typer.Option("--schema", "-s", help="The schema: YAML or JSON.")]
TableName = Annotated[str | None, typer.Option("--from", help="The table, when the data is in a database.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Epsilon = Annotated[float | None, typer.Option(help="Budget: epsilon.")]
Delta = Annotated[float, typer.Option(help="Budget: the delta that goes with epsilon.")]
Rho = Annotated[float | None, typer.Option(help="Budget: rho of zero-concentrated privacy, instead of epsilon.")]
UnitText = Annotated[str, typer.Option("--unit", help="Who is protected: row, or person:COLUMN:MAX_ROWS.")]
Notion = Annotated[Neighbours, typer.Option(help="Against what change.")]
State = Annotated[
    str | None,
    typer.Option("--state", help="The state database; from the settings if not given.", envvar="TACITA_STATE"),
]


def budget_of(epsilon: float | None, delta: float, rho: float | None) -> Budget:
    """The budget that the three options mean."""
    if epsilon is None and rho is None:
        raise InvalidInput("say how much may be spent: --epsilon, or --rho", field="budget")
    return Budget(epsilon=epsilon, delta=delta, rho=rho)


def database_of(state: str | None) -> Database:
    """The state that the option or the settings name."""
    return Database(state or Settings.load().state_url)


def ledger_of(state: str | None) -> Ledger:
    """The ledger in that state."""
    return Ledger(database_of(state))
