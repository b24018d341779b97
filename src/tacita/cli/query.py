"""`tacita query`: private counts, histograms and statistics."""

from __future__ import annotations

import hashlib
import uuid
from dataclasses import dataclass
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
    engine_of,
    ledger_of,
    session_of,
)
from tacita.common.number_text import number
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.plans import Answer as Anything
from tacita.plans import NoisyTables, Plan
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Account, DataMarks, Ledger, Quote
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
    dimension: Annotated[
        list[str] | None,
        typer.Option("--dimension", help="A public table that SQL joins: NAME=FILE, as CSV or Parquet."),
    ] = None,
    join: Annotated[
        str | None,
        typer.Option("--join", help="A private table of the same persons that SQL joins: NAME=FILE,SCHEMA."),
    ] = None,
    shrink: Annotated[
        str,
        typer.Option(
            "--shrink",
            help="With SQL, also statistics of groups shrunk towards what they have in common: overall or additive.",
        ),
    ] = "none",
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

    [dim]tacita query "SELECT region, COUNT(*) AS n FROM sales JOIN shops ON shop = id GROUP BY region ORDER BY n"
    -d sales.csv -s sales.yaml --dimension shops=shops.csv --epsilon 0.5[/]
    """
    sql = question.lower().split()[:1] in (["select"], ["with"])
    if sql != (data is not None) or (sql and (by or count)):
        raise InvalidInput("give SQL with --data, or the data with --by or --count", field="query")
    if shrink not in ("none", "overall", "additive"):
        raise InvalidInput("must be none, overall or additive", field="shrink", value=shrink)
    only = [name for name, given in (("dimension", dimension), ("join", join), ("shrink", shrink != "none")) if given]
    if not sql and only:
        raise InvalidInput("goes with SQL only", field=only[0])
    ledger, domain, budget = ledger_of(state), Domain.read(schema), budget_of(epsilon, delta, rho)
    check_files(TABLES, output=output)
    if account is None and not sql:
        raise InvalidInput("state which account pays: --account", field="account")
    paying = ledger.account(account or _table_of(question))
    plan: Plan[Any]
    other = None if join is None else _Other.parse(join)
    if sql:
        plan = _planned(question, domain, budget, paying, family, dimension or [], other, shrink)
    else:
        keys = [tuple(part.strip() for part in text.split(",")) for text in by or []] + ([()] if count else [])
        plan = NoisyTables(Workload.of(*keys), family=family).calibrate(  # type: ignore[arg-type]
            domain, budget, unit=paying.unit, neighbours=paying.neighbours
        )
    if dry_run:
        quote = ledger.quote(paying.name, plan.event)
        show.print_json(plan.as_dict() | quote.as_dict()) if json else _show_plan(plan, quote)
        return
    session = (
        session_of(
            ledger,
            account=paying.name,
            data=data or question,
            domain=domain,
            table=table,
            again=again,
            version=_version(data or question, table),
        )
        if other is None
        else _joined_session(ledger, paying, str(data), domain, table, other, again)
    )
    repeat = not sql or fresh or key is not None
    if output is not None and not sql:  # SQL is found again without a key
        key = key or f"query-{uuid.uuid4().hex[:16]}"
    answer = session.ask(plan, purpose="query", key=key, repeat=repeat)
    if output is not None:
        again_by = f"the same command with --key {key}" if key else "the same command without --fresh"
        with paid_already(f"It is paid for: {again_by} costs nothing more"):
            write_answer(answer, output)
    if json:
        show.print_json(answer.as_dict() | {"balance": session.balance().as_dict()})
        return
    _show(answer)
    show.balance(session.balance())


@dataclass(frozen=True)
class _Other:
    """The second private table of a join."""

    name: str
    path: str
    domain: Domain

    @classmethod
    def parse(cls, text: str) -> _Other:
        name, _, rest = text.partition("=")
        path, _, schema = rest.rpartition(",")
        if not name or not path or not schema:
            hint = "--join patients=patients.csv,patients.yaml"
            raise InvalidInput("must be NAME=FILE,SCHEMA", field="join", value=text, hint=hint)
        return cls(name, path, Domain.read(Path(schema)))


def _planned(
    text: str,
    domain: Domain,
    budget: Budget,
    paying: Account,
    family: str,
    dimensions: list[str],
    other: _Other | None,
    shrink: str,
) -> Plan[Any]:
    from tacita.query.joined import joined_domain
    from tacita.query.sql import compile_sql, read_dimension, table_of

    public = [read_dimension(each) for each in dimensions]
    joined = {}
    if other is not None:
        other.domain.require_public()
        joined = {table_of(text): frozenset(domain.names), other.name: frozenset(other.domain.names)}
        domain = joined_domain(domain, other.domain)
    recipe = compile_sql(
        text,
        domain,
        family=family,  # type: ignore[arg-type]
        dimensions=public,
        joined=joined,
        shrink=shrink,  # type: ignore[arg-type]
    )
    return recipe.calibrate(domain, budget, unit=paying.unit, neighbours=paying.neighbours)


def _joined_session(
    ledger: Ledger, paying: Account, data: str, domain: Domain, table: str | None, other: _Other, again: str | None
) -> Session:
    """Open a session on two tables of the same persons: one account pays for both."""
    from tacita.engines.marks import data_marks
    from tacita.noise import SecureSource
    from tacita.query.joined import Joined, joined_domain

    engines = engine_of(data, domain, table), engine_of(other.path, other.domain, None)
    marks = data_marks(data, domain, table).marks | data_marks(other.path, other.domain).marks
    return Session(
        engine=Joined(one=engines[0], two=engines[1], unit=paying.unit),
        ledger=ledger,
        account=paying.name,
        principal="command line",
        source=SecureSource(),
        version=_version(data, table) + _version(other.path, None),
        data=DataMarks(marks=marks, schema=joined_domain(domain, other.domain).fingerprint),
        again=again,
    )


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
    from tacita.query.sql import CalibratedQuery

    if not isinstance(plan, CalibratedQuery):
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
    many = f"{plan.groups} group{'s' * (plan.groups != 1)}"
    chosen = data.get("selection")
    if chosen is not None:
        keys = ", ".join(plan.recipe.keys)
        many += f" for each {keys} that is named: half of those that {chosen['half_at']} units have"
    show.grid(many, ("statistic", "standard error"), errors)


def _show(answer: Anything) -> None:
    if not isinstance(answer, Answer):
        for release in answer.values():  # type: ignore[attr-defined]
            show.release(release)
        return
    order = answer.headings or (*answer.by, *answer.columns)
    rows = [
        tuple(cell for name in order for cell in _shown(answer, name, at, group))
        for at, group in enumerate(answer.groups)
    ]
    heads = [
        head
        for name in order
        for head in ((name,) if name in answer.by else (f">{name}", f">{answer.level:.0%} interval"))
    ]
    show.grid("Statistics", tuple(heads), rows)
    for name, origin in answer.intervals.items():
        if origin in _ORIGINS:
            show.note(f"{name}: {_ORIGINS[origin]}")


_ORIGINS = {
    "bounds": "the interval holds by interval arithmetic and may be too wide",
    "average": "shrunk towards what the groups have in common; the level is the average over the groups",
    "none": "no interval is known",
}


def _shown(answer: Answer, name: str, at: int, group: tuple[str, ...]) -> tuple[str, ...]:
    return (group[answer.by.index(name)],) if name in answer.by else _cells(answer.columns[name], at)


def _cells(column: Any, at: int) -> tuple[str, str]:
    value, low, high = (number(float(part[at]), digits=2) for part in (column.value, column.low, column.high))
    return value, f"{low} … {high}"
