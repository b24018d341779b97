"""`tacita query`: private counts, histograms and statistics."""

from __future__ import annotations

import hashlib
import uuid
from pathlib import Path
from typing import Annotated, Any

import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import TABLES, check_files, paid_already, write_answer
from tacita.cli.parts.options import (
    Again,
    Delta,
    Epsilon,
    Json,
    Rho,
    SchemaFile,
    State,
    TableName,
    budget_of,
    ledger_of,
    session_of,
)
from tacita.common.number_text import number
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.plans import Answer as Anything
from tacita.plans import NoisyTables, Plan
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Account, Quote
from tacita.query.aggregates import CalibratedAggregates
from tacita.query.answer import Answer
from tacita.tables.workload import Workload

__all__ = ["query"]


def query(
    question: Annotated[
        str,
        typer.Argument(
            metavar="SQL|DATA", help="SELECT …, with --data; or the data itself, with --by. A path or postgresql://…"
        ),
    ],
    schema: SchemaFile,
    data: Annotated[str | None, typer.Option("--data", "-d", help="The data that SQL is about.")] = None,
    account: Annotated[
        str | None,
        typer.Option("--account", "-a", help="The account that pays; for SQL, the name after FROM if not given."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", "-b", help="A table by these attributes: --by age,sex. Several are one request."),
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Also the total number of rows.")] = False,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    family: Annotated[str, typer.Option(help="Noise: auto, laplace or gaussian.")] = "auto",
    table: TableName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show cost and error; reads no data.")] = False,
    key: Annotated[str | None, typer.Option(help="Name this request; the same key again costs nothing.")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Pay for new noise although SQL has been answered before.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write the answer, with intervals as columns: .csv, .parquet, .xlsx or .json."
        ),
    ] = None,
    again: Again = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Release private counts, histograms and statistics, paid from an account.

    [dim]tacita query census.csv -s census.yaml -a census --by age,sex --by region --epsilon 0.5[/]

    [dim]tacita query "SELECT sex, AVG(age) FROM census GROUP BY sex" -d census.csv -s census.yaml --epsilon 0.5[/]
    """
    sql = question.lower().split()[:1] in (["select"], ["with"])
    if sql != (data is not None) or (sql and (by or count)):
        raise InvalidInput("give SQL with --data, or the data with --by or --count", field="query")
    ledger, domain, budget = ledger_of(state), Domain.read(schema), budget_of(epsilon, delta, rho)
    check_files(TABLES, output=output)
    if account is None and not sql:
        raise InvalidInput("state which account pays: --account", field="account")
    paying = ledger.account(account or _table_of(question))
    plan: Plan[Any]
    if sql:
        plan = _planned(question, domain, budget, paying, family)
    else:
        keys = [tuple(part.strip() for part in text.split(",")) for text in by or []] + ([()] if count else [])
        plan = NoisyTables(Workload.of(*keys), family=family).calibrate(  # type: ignore[arg-type]
            domain, budget, unit=paying.unit, neighbours=paying.neighbours
        )
    if dry_run:
        quote = ledger.quote(paying.name, plan.event)
        show.print_json(plan.as_dict() | quote.as_dict()) if json else _show_plan(plan, quote)
        return
    session = session_of(
        ledger,
        account=paying.name,
        data=data or question,
        domain=domain,
        table=table,
        again=again,
        version=_version(data or question, table),
    )
    repeat = not sql or fresh or key is not None
    if output is not None and not sql:  # SQL is found again without a key
        key = key or f"query-{uuid.uuid4().hex[:16]}"
    answer = session.ask(plan, purpose="query", key=key, repeat=repeat)
    if output is not None:
        again_by = f"the same command with --key {key}" if key else "the same command without --fresh"
        with paid_already(f"It is paid for: {again_by} costs nothing more"):
            write_answer(answer, output)  # type: ignore[arg-type]
    if json:
        show.print_json(answer.as_dict() | {"balance": session.balance().as_dict()})
        return
    _show(answer)
    show.balance(session.balance())


def _planned(text: str, domain: Domain, budget: Budget, paying: Account, family: str) -> CalibratedAggregates:
    from tacita.query.sql import compile_sql  # the parser takes a while to load, and only SQL needs it

    recipe = compile_sql(text, domain, family=family)  # type: ignore[arg-type]
    return recipe.calibrate(domain, budget, unit=paying.unit, neighbours=paying.neighbours)


def _table_of(text: str) -> str:
    from tacita.query.sql import table_of

    return table_of(text)


def _version(data: str, table: str | None) -> str:
    """Return the version of the data: rewritten files have a new version; a database has only one."""
    path = Path(data).expanduser()
    if not path.exists():
        return f"{data} {table}"
    files = sorted(file for file in (path, *path.rglob("*")) if file.is_file())
    marks = [f"{file.resolve()} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files]
    return hashlib.sha256("\n".join(marks).encode()).hexdigest()


_PER = {"answer": "", "rows": "/ rows of the group, at most", "rank": "ranks"}


def _show_plan(plan: Plan[Any], quote: Quote) -> None:
    """Print the cost, the budget split, and the expected errors."""
    if not isinstance(plan, CalibratedAggregates):
        show.plan(plan, quote)  # type: ignore[arg-type]
        return
    data = plan.as_dict()
    measured = [(str(part["measure"]), part["column"] or "rows", f"{part['alone']:.4g}") for part in data["split"]]
    show.grid(
        f"Plan: costs {show.cost_text(data, quote)}; protects {data['unit']} under {data['neighbours']}",
        ("what is noised", "of", ">alone it would cost"),
        measured,
    )
    errors = [
        (expected.name, "depends on the data" if expected.std is None else f"{expected.std:.4g} {_PER[expected.per]}")
        for expected in plan.expect()
    ]
    show.grid(f"{plan.groups} group{'s' * (plan.groups != 1)}", ("statistic", "standard error"), errors)


def _show(answer: Anything) -> None:
    if not isinstance(answer, Answer):
        for release in answer.values():  # type: ignore[attr-defined]
            show.release(release)
        return
    rows = [
        (*group, *(cell for column in answer.columns.values() for cell in _cells(column, at)))
        for at, group in enumerate(answer.groups)
    ]
    heads = [head for name in answer.columns for head in (f">{name}", f">{answer.level:.0%} interval")]
    show.grid("Statistics", (*answer.by, *heads), rows)


def _cells(column: Any, at: int) -> tuple[str, str]:
    value, low, high = (number(float(part[at]), digits=2) for part in (column.value, column.low, column.high))
    return value, f"{low} … {high}"
