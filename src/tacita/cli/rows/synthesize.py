"""`tacita synthesize`: synthetic rows under a privacy budget."""

from __future__ import annotations

import json as json_text
import math
import uuid
from itertools import combinations
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, PAGE, Into, RowsOutput, check_files, paid_already, rows_target
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
    budget_of,
    ledger_of,
    session_of,
)
from tacita.cli.parts.requests import named_options
from tacita.common.number_text import number
from tacita.common.whole import write_text
from tacita.domain import Decode, Domain
from tacita.engines.spark.target import SparkTarget
from tacita.errors import InvalidInput
from tacita.models import BayesianNetwork, chow_liu, draw_network, mutual_information
from tacita.report.report import Section, write
from tacita.report.signing import SigningKey
from tacita.report.statement import state as state_of
from tacita.settings import Settings
from tacita.synthesize.auto import Synthesize
from tacita.synthesize.kinds import Method, Numbers, method_help
from tacita.synthesize.plan import SynthesisPlan
from tacita.synthesize.result import Synthesized
from tacita.synthesize.rules import Rules
from tacita.synthesize.writing import check_folder, check_parts

__all__ = ["synthesize"]

_MOST_DRAWN = 24
_LEAST_BITS = 0.005  # edges with less mutual information are not drawn
_NOTE = (
    "Synthetic rows are good for many unknown uses. For one known task, such as one classifier, state what will be "
    "predicted, or train privately on the real rows."
)


def synthesize(
    data: Data,
    schema: SchemaFile,
    output: RowsOutput,
    account: Annotated[str, typer.Option("--account", "-a", help="The account that pays.")],
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", help="Number of rows; about as many as the data has if not given.")
    ] = None,
    method: Annotated[Method, typer.Option(help=method_help())] = "quality",
    attributes: Annotated[
        str | None, typer.Option(help="Attributes: age,sex. All that can be counted by default.")
    ] = None,
    people: Annotated[
        int | None, typer.Option(help="Approximate number of rows of the data, if that is public.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--for", help="The attribute that will be predicted from the others: tables with it are kept."),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(help="About how long fitting may take; fixes the steps before data is read.")
    ] = None,
    options: Annotated[
        list[str] | None,
        typer.Option("--options", help="An option of the method: degree=4, theta=6. Several may be given."),
    ] = None,
    numbers: Annotated[
        Numbers,
        typer.Option(help="binned: the bins of the schema. fine: finds bins privately and keeps numbers as numbers."),
    ] = "binned",
    decode: Annotated[
        Decode, typer.Option(help="Form of a bin in the output; auto: a number where numbers are fine.")
    ] = "auto",
    rules: Annotated[
        Path | None, typer.Option(help="YAML of public rules that every row must keep; costs nothing.")
    ] = None,
    key_column: Annotated[str | None, typer.Option(help="Add a column of this name with new keys.")] = None,
    parts: Annotated[int | None, typer.Option(help="Write a folder of this many files instead of one file.")] = None,
    into: Into = None,
    table: TableName = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show method and cost; reads no data.")] = False,
    key: Annotated[str | None, typer.Option(help="Name this request; the same key again costs nothing.")] = None,
    model: Annotated[Path | None, typer.Option("--model", help="Write the model as JSON, to draw more later.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page about the release.")] = None,
    statement: Annotated[
        Path | None, typer.Option(help="Write a signed statement of the guarantee; `tacita verify` checks it.")
    ] = None,
    again: Again = None,
    state: State = None,
    json: Json = False,
) -> None:
    """Release synthetic rows, paid from an account.

    [dim]tacita synthesize census.csv -s census.yaml -a census --epsilon 1 --delta 1e-9 -n 100000 -o out.parquet[/]
    """
    if parts is not None:
        check_parts(parts)
    place = rows_target(output, into)
    if isinstance(place, SparkTarget):
        if statement is not None:
            rule = "is of files on this machine, and a cluster writes a folder"
            raise InvalidInput(rule, field="statement", value=statement, hint="Write a file")
    elif parts is not None:
        check_folder(output)
    if rows is not None and rows < 0:
        raise InvalidInput("must be 0 or more", field="rows", value=rows)
    check_files(JSON, model=model, statement=statement)
    check_files(PAGE, report=report)
    ledger, domain, budget = ledger_of(state), Domain.read(schema), budget_of(epsilon, delta, rho)
    paying = ledger.account(account)
    names = None if attributes is None else tuple(part.strip() for part in attributes.split(","))
    if key_column is not None and (not key_column or key_column in (names or domain.countable)):
        raise InvalidInput("must be a name that no column has", field="key_column", value=key_column)
    recipe = Synthesize(
        method=method,
        attributes=names,
        people=people,
        target=target,
        seconds=math.inf if seconds is None else seconds,
        numbers=numbers,
        options=named_options(options or []),
    )
    plan = recipe.calibrate(domain, budget, unit=paying.unit, neighbours=paying.neighbours)
    public = None if rules is None else plan.check_rules(Rules.read(rules))
    place.check((*([] if key_column is None else [key_column]), *(names or domain.countable)))
    if dry_run:
        facts = [("method", plan.as_dict()["recipe"]["method"]), ("why", plan.reason), *_numbers(plan)]
        show.plan_facts(plan, ledger.quote(paying.name, plan.event), facts, as_json=json)
        return
    session = session_of(
        ledger,
        account=paying.name,
        data=data,
        domain=domain,
        table=table,
        again=again,
    )
    key = key or f"synthesize-{uuid.uuid4().hex[:16]}"
    result = session.ask(plan, purpose="synthesize", key=key)
    with paid_already(f"It is paid for: the same command with --key {key} costs nothing more"):
        if public is not None:
            result = result.with_rules(public)
        if model is not None:  # first, since everything else can be derived from it
            write_text(model, result.to_json())
        wanted = max(0, round(result.people)) if rows is None else rows
        advance = show.progress("writing synthetic rows", wanted)
        drawn = np.random.default_rng()
        result.write(output, wanted, drawn, policy=decode, key=key_column, parts=parts, progress=advance, into=into)
        if statement is not None:
            state_of(
                event=result.event,
                unit=result.unit,
                neighbours=result.neighbours,
                provenance=result.provenance,
                delta=delta,
                guarantee="central differential privacy",
                public=_public(people, public),
                files=None if place.path is None else {place.name: place.path},
                key=SigningKey.of(Settings.load().home),
            ).write(statement)
        sections = _sections(result, wanted)
        if report is not None:
            write(report, "Synthetic rows", f"{wanted:,} rows in {place.name}", [*sections, _picture(result)])
    if json:
        plain = {name: value for name, value in result.as_dict().items() if name not in ("model", "numbers")}
        show.print_json(plain | {"rows": wanted, "key": key, "balance": session.balance().as_dict()})
        return
    for section in sections:
        show.grid(section.title, ("", ""), section.facts)
    show.say(_NOTE)
    show.balance(session.balance())


def _numbers(plan: SynthesisPlan) -> list[tuple[str, str]]:
    """Return what a plan states about numbers that are kept as numbers."""
    stated = plan.as_dict().get("numbers")
    if stated is None:
        return []
    bins = ", ".join(f"{name}: {most}" for name, most in stated["bins"].items())
    return [("numbers", f"fine, for {stated['share']:.0%} of the budget"), ("most bins", bins)]


def _public(people: int | None, rules: Rules | None) -> tuple[str, ...]:
    """Return the facts that were assumed to be public besides the schema."""
    about = () if people is None else (f"about {people} rows",)
    plain = [] if rules is None else rules.as_dict()["rules"]
    return (*about, *(f"rule: {json_text.dumps(rule, ensure_ascii=False)}" for rule in plain))


def _sections(result: Synthesized, rows: int) -> list[Section]:
    """Build the sections about the guarantee and the run, for the terminal and the page."""
    recipe = result.provenance.recipe
    facts = [
        ("rows written", f"{rows:,}"),
        ("rows of the data, about", f"{number(result.people)} ± {number(2 * result.people_std)}"),
        ("method", str(recipe["method"])),
        ("guarantee", result.guarantee),
        ("who is protected", f"{result.unit}, {result.neighbours}"),
        ("noise", "simulated: NOT private" if result.provenance.simulated else "secure randomness"),
    ]
    notes = [(f"{place}", note) for place, note in enumerate(result.notes, start=1)]
    made = Section(title="What was released", text=f"{result.statement()} {_NOTE}", facts=facts)
    return [made, Section(title="What the method did", facts=notes)] if notes else [made]


def _picture(result: Synthesized) -> Section:
    """Draw the model's own network, or its tree of largest mutual information; post-processing."""
    names = result.domain.names[:_MOST_DRAWN]
    bits = {frozenset(pair): mutual_information(result.project(pair), pair[:1]) for pair in combinations(names, 2)}
    if isinstance(result.model, BayesianNetwork) and len(names) == len(result.domain.names):
        parents = dict(result.model.parents)
    else:
        parents = chow_liu(names, lambda a, b: bits[frozenset((a, b))], least=_LEAST_BITS)
    weights = {(parent, child): bits[frozenset((parent, child))] for child in parents for parent in parents[child]}
    title = "Dependencies between attributes"
    return Section(
        title=title,
        text="Arrows lead from parent to child; a wide one means strong dependence. Read from the private model.",
        picture=draw_network(parents, weights=weights, title=title),
    )
