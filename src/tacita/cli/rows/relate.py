"""`tacita relate`: synthetic parents and children under one budget."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from tacita import check
from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, check_files, paid_already
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
)
from tacita.common.number_text import number
from tacita.common.whole import write_text
from tacita.domain import Decode, Domain
from tacita.engines.linked import Linked
from tacita.engines.marks import data_marks
from tacita.errors import InvalidInput
from tacita.noise import SecureSource
from tacita.plans.session import Session
from tacita.privacy.ledger import DataMarks
from tacita.report.signing import SigningKey
from tacita.report.statement import state as state_of
from tacita.settings import Settings
from tacita.synthesize.relational.related import Related
from tacita.synthesize.relational.relational import Relational

__all__ = ["relate"]

_MOST_PARENTS = 10_000_000
"""Parents that are drawn at most: both tables are held in memory."""


def relate(
    parents: Annotated[str, typer.Argument(help="Rows of parents, each with a key: a file, or postgresql://…")],
    children: Annotated[str, typer.Argument(help="Rows of children, each with the key of its parent.")],
    schema: SchemaFile,
    children_schema: Annotated[
        Path, typer.Option(help="The schema of children; its `person` is the column with the parent's key.")
    ],
    most: Annotated[int, typer.Option(help="Children that count of one parent; the account's unit states the same.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to make; it must not exist yet.")],
    account: Annotated[
        str, typer.Option("--account", "-a", help="The account that pays; its unit is person:COLUMN:MOST.")
    ],
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", help="Number of parents; about as many as the data has if not given.")
    ] = None,
    share: Annotated[float, typer.Option(help="Share of the budget that goes to the parents.")] = 0.5,
    count: Annotated[str, typer.Option(help="Name of the number of children in the models.")] = "children",
    decode: Annotated[Decode, typer.Option(help="Form of a bin in the output.")] = "label",
    form: Annotated[Literal["csv", "parquet"], typer.Option(help="Format of the files.")] = "parquet",
    table: TableName = None,
    children_table: Annotated[
        str | None, typer.Option("--children-from", help="The table of children, when they are in a database.")
    ] = None,
    model: Annotated[Path | None, typer.Option("--model", help="Write both models as JSON.")] = None,
    statement: Annotated[
        Path | None, typer.Option(help="Write a signed statement of the guarantee; `tacita verify` checks it.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show the cost; reads no data.")] = False,
    key: Annotated[str | None, typer.Option(help="Name this request; the same key again costs nothing.")] = None,
    again: Again = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Release synthetic parents and children, paid from an account.

    [dim]tacita relate homes.csv people.csv -s homes.yaml --children-schema people.yaml --most 6 -a homes -o out …[/]
    """
    if output.exists() or not output.parent.is_dir():
        raise InvalidInput("must be a new folder in one that exists", field="output", value=output)
    check_files(JSON, model=model, statement=statement)
    check.whole(rows, "rows", least=0, most=_MOST_PARENTS, optional=True)
    ledger, budget = ledger_of(state), budget_of(epsilon, delta, rho)
    above, below = Domain.read(schema), Domain.read(children_schema)
    paying = ledger.account(account)
    recipe = Relational(most=most, count=count, share=float(share))
    plan = recipe.calibrate(above, below, budget, unit=paying.unit, neighbours=paying.neighbours)
    if dry_run:
        show.plan_facts(plan, ledger.quote(paying.name, plan.event), [], as_json=json)  # type: ignore[arg-type]
        return
    both = [data_marks(parents, above, table), data_marks(children, below, children_table)]
    linked = Linked(
        parents=engine_of(parents, above, table),
        children=engine_of(children, below, children_table),
        most=most,
        count=count,
    )
    session = Session(
        engine=linked,  # type: ignore[arg-type]
        ledger=ledger,
        account=paying.name,
        principal="command line",
        source=SecureSource(),
        data=DataMarks(marks=both[0].marks | both[1].marks, schema=plan.domain.fingerprint),
        again=again,
    )
    key = key or f"relate-{uuid.uuid4().hex[:16]}"
    made: Related = session.ask(plan, purpose="relate", key=key)  # type: ignore[arg-type]
    with paid_already(f"It is paid for: the same command with --key {key} costs nothing more"):
        if model is not None:
            write_text(model, made.to_json())
        wanted = max(0, round(made.parents.people)) if rows is None else rows
        written = made.write(output, wanted, np.random.default_rng(), policy=decode, form=form)
        if statement is not None:
            state_of(
                event=made.event,
                unit=made.unit,
                neighbours=made.neighbours,
                provenance=made.provenance,
                delta=delta,
                guarantee="central differential privacy",
                files={file.name: file for file in written},
                key=SigningKey.of(Settings.load().home),
            ).write(statement)
    if json:
        plain = {name: value for name, value in made.as_dict().items() if name not in ("parents", "children")}
        show.print_json(plain | {"rows": wanted, "key": key, "balance": session.balance().as_dict()})
        return
    facts = [
        ("parents written", f"{wanted:,}"),
        ("parents of the data, about", f"{number(made.parents.people)} ± {number(2 * made.parents.people_std)}"),
        ("guarantee", made.guarantee),
        ("who is protected", f"{made.unit}, {made.neighbours}"),
    ]
    show.grid(f"Synthetic parents and children in {output.name}", ("", ""), facts)
    for note in made.notes:
        show.say(note)
    show.say(made.statement())
    show.balance(session.balance())
