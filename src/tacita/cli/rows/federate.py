"""`tacita federate`: one model of the data of several holders, from differentially private answers only."""

from __future__ import annotations

import uuid
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, PAGE, Into, RowsOutput, check_files, paid_already, rows_target
from tacita.cli.parts.options import Delta, Epsilon, Json, Notion, Rho, SchemaFile, UnitText, budget_of
from tacita.client.holder import HolderClient, read_holders, read_token
from tacita.common.number_text import number
from tacita.common.whole import write_text
from tacita.domain import Decode, Domain
from tacita.errors import InvalidInput
from tacita.privacy.accountant import cost
from tacita.privacy.unit import Neighbours, Unit
from tacita.report.report import Section, write
from tacita.synthesize.federated import Party, Terms, federate
from tacita.synthesize.federated.analyst import Fit, takes_mixture
from tacita.synthesize.federated.planning import plan_run
from tacita.synthesize.federated.terms import SHARING, Overlap, Sharing
from tacita.synthesize.result import Synthesized

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)

HoldersFile = Annotated[Path, typer.Option("--holders", help="YAML with name, url and token_file of each holder.")]
Attributes = Annotated[str | None, typer.Option(help="Attributes: age,sex. All that can be counted by default.")]
Degree = Annotated[int, typer.Option(help="Most parents of an attribute.")]
Quorum = Annotated[int | None, typer.Option(help="Holders that must answer a step; all by default.")]
Overlapping = Annotated[Overlap, typer.Option(help="Whether one person may be at several holders.")]
People = Annotated[int | None, typer.Option(help="Rows of all holders together, if that number is public.")]
Split = Annotated[float, typer.Option(help="Share of the budget for the structure.")]
Theta = Annotated[float, typer.Option(help="Least ratio of a mean cell to the noise.")]

Facts = list[tuple[str, str]]


@app.command()
def plan(
    holders: HoldersFile,
    schema: SchemaFile,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    attributes: Attributes = None,
    degree: Degree = 1,
    quorum: Quorum = None,
    overlap: Overlapping = "none",
    people: People = None,
    split: Split = 0.3,
    theta: Theta = 4.0,
    unit: UnitText = "row",
    neighbours: Notion = Neighbours.ADD_REMOVE,
    json: Json = False,
) -> None:
    """Show the cost and the noise of each method; contacts no holder."""
    domain = Domain.read(schema)
    terms = _terms(
        domain,
        names=[address.name for address in read_holders(holders)],
        attributes=attributes,
        quorum=quorum,
        run="plan",
        method="SL1",
        budget=budget_of(epsilon, delta, rho),
        unit=Unit.parse(unit),
        neighbours=neighbours,
        overlap=overlap,
        degree=degree,
        split=split,
        theta=theta,
        people=people,
    )
    rows = [plan_run(replace(terms, method=method), domain).as_dict() for method in SHARING]
    if json:
        show.print_json({"terms": terms.as_dict(), "methods": rows})
        return
    shown = [
        (
            row["method"],
            f"{row['cost_of_a_holder']:.4g}",
            f"{row['cost_of_a_person']:.4g}",
            str(row["steps"]),
            f"{row['std_of_a_holder']:.4g}",
            f"{row['std']:.4g}",
            f"{row['std'] / row['central_std']:.3g}",
        )
        for row in rows
    ]
    titles = ("method", "cost, a holder", "cost, a person", "steps", "noise, a holder", "noise, all", "times central")
    show.grid(f"Plan for {len(terms.holders)} holders at {terms.budget} each", titles, shown)
    show.say(
        "Noise is the standard error of a cell. `times central` compares with one curator who has all data and uses "
        "the same method with the budget of one holder."
    )


@app.command()
def run(
    holders: HoldersFile,
    schema: SchemaFile,
    method: Annotated[
        Sharing, typer.Option(help="Answers that holders share: SL1 tables, SL2 votes and tables, SL3 models.")
    ],
    output: RowsOutput,
    epsilon: Epsilon = None,
    delta: Delta = 0.0,
    rho: Rho = None,
    name: Annotated[
        str | None, typer.Option("--run", help="Name of the run; the same name and terms again cost nothing.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", "-n", help="Number of rows; about as many as the holders have if not given.")
    ] = None,
    attributes: Attributes = None,
    degree: Degree = 1,
    quorum: Quorum = None,
    overlap: Overlapping = "none",
    people: People = None,
    split: Split = 0.3,
    theta: Theta = 4.0,
    unit: UnitText = "row",
    neighbours: Notion = Neighbours.ADD_REMOVE,
    deadline: Annotated[float, typer.Option(help="Seconds that holders have for each step.", min=0.1)] = 60.0,
    fit: Annotated[Fit, typer.Option(help="Model fitted to the tables of SL1.")] = "auto",
    decode: Annotated[Decode, typer.Option(help="Form of a bin in the output.")] = "label",
    into: Into = None,
    model: Annotated[Path | None, typer.Option("--model", help="Write the model as JSON, to draw more later.")] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page about the release.")] = None,
    json: Json = False,
) -> None:
    """Ask all holders step by step, and write synthetic rows. Each holder pays from its own account.

    [dim]tacita federate run --holders holders.yaml -s people.yaml --method SL2 --epsilon 1 -o made.parquet[/]
    """
    place = rows_target(output, into)
    if rows is not None and rows < 0:
        raise InvalidInput("must be 0 or more", field="rows", value=rows)
    check_files(JSON, model=model)
    check_files(PAGE, report=report)
    domain, addresses = Domain.read(schema), read_holders(holders)
    terms = _terms(
        domain,
        names=[address.name for address in addresses],
        attributes=attributes,
        quorum=quorum,
        run=name or f"run-{uuid.uuid4().hex[:16]}",
        method=method,
        budget=budget_of(epsilon, delta, rho),
        unit=Unit.parse(unit),
        neighbours=neighbours,
        overlap=overlap,
        degree=degree,
        split=split,
        theta=theta,
        people=people,
    )
    takes_mixture(terms, domain, fit)
    place.check(terms.attributes)
    clients = {
        address.name: HolderClient(address.url, read_token(address.token_file), timeout=deadline, patience=deadline)
        for address in addresses
    }
    if not json:
        show.say(f"Run {terms.run}")  # before the first request: the name is needed to fetch stored answers again
    with paid_already(f"What holders answered is stored: the same command with --run {terms.run} asks for it again"):
        try:
            parties = [Party(name=each, ask=client.ask) for each, client in clients.items()]
            result = federate(terms, domain, parties, deadline=deadline, rng=np.random.default_rng(), fit=fit)
        finally:
            for client in clients.values():
                client.close()
        if model is not None:  # first, since everything else can be derived from it
            write_text(model, result.to_json())
        wanted = max(0, round(result.people)) if rows is None else rows
        result.write(output, wanted, np.random.default_rng(), policy=decode, into=into)
        sections = _sections(result, terms, wanted)
        if report is not None:
            write(report, "Synthetic rows of several holders", f"{wanted:,} rows in {place.name}", sections)
    if json:
        plain = {key: value for key, value in result.as_dict().items() if key != "model"}
        show.print_json(plain | {"rows": wanted, "run": terms.run})
        return
    for section in sections:
        show.grid(section.title, ("", ""), section.facts)


def _terms(domain: Domain, *, names: list[str], attributes: str | None, quorum: int | None, **parts: Any) -> Terms:
    chosen = domain.countable if attributes is None else tuple(part.strip() for part in attributes.split(","))
    return Terms(
        schema=domain.fingerprint,
        attributes=tuple(chosen),
        holders=tuple(names),
        quorum=len(names) if quorum is None else quorum,
        **parts,
    )


def _sections(result: Synthesized, terms: Terms, rows: int) -> list[Section]:
    """Build the sections about the guarantee and the run, for the terminal and the page."""
    total = float(cost([(result.event, 1)], terms.budget, terms.neighbours))
    facts: Facts = [
        ("rows written", f"{rows:,}"),
        ("rows of all holders, about", f"{number(result.people)} ± {number(2 * result.people_std)}"),
        ("run", terms.run),
        ("method", terms.method),
        ("holders", ", ".join(terms.holders)),
        ("budget of each holder", str(terms.budget)),
        ("cost of one person, all holders", f"{total:.6g}"),
        ("who is protected", f"{result.unit}, {result.neighbours}"),
    ]
    notes = [(f"{place}", note) for place, note in enumerate(result.notes, start=1)]
    return [
        Section(title="What was released", text=result.statement(), facts=facts),
        Section(title="What happened", facts=notes),
    ]
