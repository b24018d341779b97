"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacita.cli.parts import show
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.privacy.unit import Neighbours

if TYPE_CHECKING:  # commands that need no ledger start without it
    from tacita.engines.base import Engine
    from tacita.plans.session import Session
    from tacita.privacy.budget import Budget
    from tacita.privacy.ledger import Ledger
    from tacita.store import Database

__all__ = [
    "Again",
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
    "engine_of",
    "ledger_at",
    "ledger_of",
    "session_of",
]

_LOOKED_AT = 1000  # rows that are checked for labels

Data = Annotated[
    str,
    typer.Argument(
        help="A file, a folder of files, a store (s3://…), a database (postgresql://…), duckdb:PATH, or spark:PATH."
    ),
]
SchemaFile = Annotated[Path, typer.Option("--schema", "-s", help="The schema: YAML or JSON.")]
TableName = Annotated[
    str | None, typer.Option("--from", help="The table of a database or of Spark, or the sheet of a workbook.")
]
Again = Annotated[
    str | None,
    typer.Option(
        "--again", help="Reason why this account may pay for data that another account was charged for; it is stored."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
Epsilon = Annotated[
    float | None, typer.Option(help="Budget: epsilon, a bound on the privacy loss. Below 1 is strong, above 5 is weak.")
]
Delta = Annotated[float, typer.Option(help="Budget: delta, the probability with which the bound epsilon may fail.")]
Rho = Annotated[
    float | None,
    typer.Option(
        help="Budget: rho of zero-concentrated differential privacy, instead of epsilon. Smaller is more private."
    ),
]
UnitText = Annotated[str, typer.Option("--unit", help="Unit of protection: row, or person:COLUMN:MAX_ROWS.")]
Notion = Annotated[Neighbours, typer.Option(help="Neighbours: one unit added or removed, or one replaced.")]
State = Annotated[
    str | None,
    typer.Option("--state", help="The state database; from the settings if not given.", envvar="TACITA_STATE"),
]


def budget_of(epsilon: float | None, delta: float, rho: float | None) -> Budget:
    """Return the budget of the three options."""
    if epsilon is None and rho is None:
        raise InvalidInput("state how much may be spent: --epsilon, or --rho", field="budget")
    from tacita.privacy.budget import Budget

    return Budget(epsilon=epsilon, delta=delta, rho=rho)


def database_of(state: str | None) -> Database:
    """Return the state database that the option or the settings name."""
    from tacita.settings import Settings
    from tacita.store import Database

    settings = Settings.load()
    return Database(state or settings.state_url, witness=settings.witness_folder)


def ledger_of(state: str | None) -> Ledger:
    """Return the ledger in that state, and print its location, since another one has other budgets."""
    return ledger_at(database_of(state))


def ledger_at(database: Database) -> Ledger:
    """Return the ledger in an open database."""
    from tacita.privacy.ledger import Ledger

    ledger = Ledger(database)
    show.note(f"Ledger: {ledger.place}")
    return ledger


def engine_of(data: str, domain: Domain, table: str | None = None) -> Engine:
    """Return the engine for the user's own data; refuse files that hold labels of a release instead of values."""
    from tacita.engines.connect import connect
    from tacita.engines.labelled import check_values
    from tacita.engines.local import LocalEngine

    engine = connect(data, domain, table)
    if isinstance(engine, LocalEngine):
        first = next(iter(engine.rows(domain.countable, _LOOKED_AT)), None)
        if first is not None:
            check_values(domain, first)
    return engine


def session_of(
    ledger: Ledger,
    *,
    account: str,
    data: str,
    domain: Domain,
    table: str | None,
    again: str | None,
    principal: str = "command line",
    version: str = "",
    read_as: Domain | None = None,
) -> Session:
    """Open a session on this data and account; a second account on the same data is refused without a reason.

    With `read_as` the same data is read with other bins.
    """
    from tacita.engines.marks import data_marks
    from tacita.noise import SecureSource
    from tacita.plans.session import Session

    return Session(
        engine=engine_of(data, domain if read_as is None else read_as, table),
        ledger=ledger,
        account=account,
        principal=principal,
        source=SecureSource(),
        version=version,
        data=data_marks(data, domain, table),
        again=again,
    )
