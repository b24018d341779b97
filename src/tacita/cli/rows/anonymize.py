"""`tacita anonymize`: k-anonymous rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer
from rich.markup import escape

from tacita.anonymize.anonymize import Anonymize, Anonymized, AnonymizedFiles
from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.criteria.criterion import Criterion
from tacita.anonymize.criteria.registry import all_parameters
from tacita.anonymize.hierarchies.hierarchy import TreeMaker
from tacita.anonymize.hierarchies.reading import read_hierarchy
from tacita.anonymize.methods.registry import DEFAULT_METHOD, METHODS, all_options, make_method, method_help
from tacita.anonymize.parameters import Parameter, one_of
from tacita.anonymize.quasi import joined
from tacita.cli.parts import show
from tacita.cli.parts.files import PAGE, Into, RowsOutput, check_files, rows_target
from tacita.cli.parts.generated import with_options
from tacita.cli.parts.options import Data, Json, SchemaFile, State, TableName, engine_of
from tacita.cli.parts.released import DatasetName, Recipient, dataset_name, log_release
from tacita.common.number_text import number
from tacita.domain import Domain
from tacita.engines.connect import connect
from tacita.engines.spark.address import is_spark
from tacita.engines.spark.target import SparkTarget
from tacita.errors import InvalidInput
from tacita.report.report import Section, write

__all__ = ["anonymize"]

_NOTE = (
    "Anonymous in the sense of the conditions above, for these quasi-identifiers and this one release. No "
    "differential privacy: the risk of several releases of the same people is not bounded."
)


_METHOD = Parameter(name="method", type=one_of(METHODS), default=DEFAULT_METHOD, help=method_help(), bounds={})


@with_options(*all_parameters(), _METHOD, *all_options(), after="keep")
def anonymize(
    data: Data,
    schema: SchemaFile,
    output: RowsOutput,
    qi: Annotated[
        str | None, typer.Option(help="Quasi-identifiers: age,zip. From the roles of the schema if not given.")
    ] = None,
    sensitive: Annotated[str | None, typer.Option(help="Sensitive attributes; from the schema if not given.")] = None,
    keep: Annotated[str | None, typer.Option(help="Other attributes to release unchanged.")] = None,
    part: Annotated[
        str | None,
        typer.Option(
            help="For presence: a boolean attribute; its rows may be released, the others are the population."
        ),
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(help="For presence: a public file with the quasi-identifiers of everyone, these people included."),
    ] = None,
    suppress: Annotated[float, typer.Option(help="Largest share of rows that may be suppressed.")] = 0.0,
    hierarchy: Annotated[
        list[str] | None, typer.Option("--hierarchy", help="attribute=file.csv or .yaml. Several may be given.")
    ] = None,
    into: Into = None,
    table: TableName = None,
    dataset: DatasetName = None,
    recipient: Recipient = "not named",
    state: State = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page about the release.")] = None,
    json: Json = False,
    **chosen: Any,
) -> None:
    """Release k-anonymous rows, or nothing.

    [dim]tacita anonymize people.csv -s people.yaml --k 10 --l 3 -o out.csv --report out.html[/]
    """
    target = rows_target(output, into)
    check_files(PAGE, report=report)
    if isinstance(target, SparkTarget) and not is_spark(data):
        raise InvalidInput("only Spark writes rows where they are", field="output", hint="Write a file")
    domain = Domain.read(schema)
    recipe = Anonymize(
        conditions=Conditions.of({each.name: chosen[each.name] for each in all_parameters()}),
        quasi=_names(qi),
        sensitive=_names(sensitive),
        keep=_names(keep) or (),
        hierarchies=dict(_hierarchy(text) for text in hierarchy or []),
        suppress=suppress,
        part=part,
        method=make_method(chosen["method"], {each.name: chosen[each.name] for each in all_options()}),
    )
    plan = recipe.prepare(domain)
    target.check(plan.leaving)
    everyone = None if population is None else _everyone(population, domain, plan.quasi)
    engine = engine_of(data, domain, table)
    warnings: list[str] = []

    def log(result: Anonymized | AnonymizedFiles) -> None:
        warnings.extend(result.warnings)
        warnings.extend(
            log_release(
                state,
                dataset=dataset_name(dataset, data, table),
                kind="k-anonymous",
                recipe=result.recipe,
                attributes=result.columns,
                classes=result.rows.select(plan.quasi) if isinstance(result, Anonymized) else result.classes,
                recipient=recipient,
            )
        )

    result: Anonymized | AnonymizedFiles
    if isinstance(target, SparkTarget):
        if everyone is not None:
            raise InvalidInput("is measured for rows in memory only", field="population", hint="Write a file")
        result = plan.write(engine, output, before=log)
    else:
        result = plan.run(engine, population=everyone)
        log(result)
        target.write(iter([result.rows]))
    if report is not None:
        title = f"{result.size:,} rows in {target.name}"
        write(report, "Anonymized rows", title, _sections(result, tuple(warnings)))
    if json:
        show.print_json(result.as_dict() | {"warnings": list(warnings)})
        return
    for section in _sections(result, tuple(warnings)):
        show.grid(section.title, ("", ">"), section.facts)
    for warning in warnings:
        show.say(f"[yellow]{escape(warning)}[/]")
    show.say(_NOTE)


def _everyone(address: str, domain: Domain, quasi: tuple[str, ...]) -> pa.Table:
    return joined(connect(address, domain.project(quasi)).rows(quasi), quasi)


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _hierarchy(text: str) -> tuple[str, TreeMaker]:
    name, between, path = text.partition("=")
    if not between:
        raise InvalidInput("must be attribute=file", field="hierarchy", value=text)
    return name, read_hierarchy(path)


def _sections(result: Anonymized | AnonymizedFiles, warnings: tuple[str, ...]) -> list[Section]:
    """Build the sections about the conditions that hold and the information loss, for the terminal and the page."""
    found, lost = result.achieved, result.loss
    figures = [(criterion, *figure) for criterion in result.asked.criteria for figure in found.figures(criterion)]
    held = [(each.label, _figure(each, value)) for each, _, value in figures if each.about == "people"]
    held.append(("classes", f"{found.classes:,}"))
    for name in found.l:
        held += [(f"{name}: {each.label}", _figure(each, value)) for each, of, value in figures if of == name]
    held += [(each.label, _figure(each, value)) for each, _, value in figures if each.about == "population"]
    if result.search is not None:
        held.append(("search", result.search.words))
    costs = [
        ("mean loss of a cell (GCP)", number(lost.gcp, share=True, digits=2)),
        ("mean class over k", number(lost.average_class)),
        ("discernibility", f"{lost.discernibility:,}"),
        ("non-uniform entropy", number(lost.entropy, share=True)),
        ("rows left out", f"{lost.suppressed:,}"),
    ]
    each = [(name, number(value, share=True, digits=2)) for name, value in lost.by_attribute.items()]
    return [
        Section(title="Conditions that hold, counted on the rows", text=" ".join((*warnings, _NOTE)), facts=held),
        Section(title="What was lost", facts=costs),
        Section(title="Loss of each quasi-identifier", facts=each),
    ]


def _figure(criterion: Criterion, value: Any) -> str:
    """Text of a measured figure, or of its two ends."""
    if isinstance(value, tuple):
        return " to ".join(_figure(criterion, end) for end in value)
    return f"{value:,}" if isinstance(value, int) else number(value, share=criterion.is_share)
