"""`tacita anonymize`: k-anonymous rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import pyarrow as pa
import typer
from rich.markup import escape

from tacita.anonymize.anonymize import Anonymize, Anonymized, Method
from tacita.anonymize.criteria import Conditions, Distance, Diversity
from tacita.anonymize.hierarchy import Hierarchy
from tacita.anonymize.methods.mondrian import Mode, Mondrian
from tacita.anonymize.quasi import joined
from tacita.cli.parts import show
from tacita.cli.parts.files import PAGE, ROWS, check_files
from tacita.cli.parts.options import Data, Json, SchemaFile, State, TableName, engine_of
from tacita.cli.parts.released import DatasetName, Recipient, dataset_name, log_release
from tacita.common.number_text import number
from tacita.domain import Domain
from tacita.engines.connect import connect
from tacita.errors import InvalidInput
from tacita.report.report import Section, write
from tacita.synthesize.writing import write_file

__all__ = ["anonymize"]

_NOTE = (
    "Anonymous in the sense of the conditions above, for these quasi-identifiers and this one release. No "
    "differential privacy: the risk of several releases of the same people is not bounded."
)


def anonymize(
    data: Data,
    schema: SchemaFile,
    k: Annotated[int, typer.Option("--k", help="Least number of indistinguishable people in a class.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the rows go: .csv or .parquet.")],
    qi: Annotated[
        str | None, typer.Option(help="Quasi-identifiers: age,zip. From the roles of the schema if not given.")
    ] = None,
    sensitive: Annotated[str | None, typer.Option(help="Sensitive attributes; from the schema if not given.")] = None,
    keep: Annotated[str | None, typer.Option(help="Other attributes to release unchanged.")] = None,
    diversity: Annotated[float, typer.Option("--l", help="Least diversity of sensitive values in a class.")] = 1,
    l_kind: Annotated[Diversity, typer.Option(help="The measure of diversity.")] = "distinct",
    c: Annotated[float, typer.Option(help="The constant of recursive diversity.")] = 1.0,
    closeness: Annotated[
        float | None, typer.Option("--t", help="Largest distance of a class's sensitive values from those of all rows.")
    ] = None,
    t_distance: Annotated[
        Distance | None, typer.Option(help="The distance; by the kind of attribute by default.")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Largest share of one sensitive value in a class.")] = None,
    presence: Annotated[
        str | None,
        typer.Option(
            help="Delta-presence: least and largest share of a class's population that is in the data, 0.05:0.5."
        ),
    ] = None,
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
    method: Annotated[
        Literal["mondrian", "datafly", "samarati", "ola", "incognito", "bayardo"],
        typer.Option(help="How classes are made; all but mondrian recode whole columns by their hierarchies."),
    ] = "mondrian",
    mode: Annotated[Mode, typer.Option(help="How mondrian cuts classes.")] = "strict",
    choose: Annotated[Literal["loss", "span"], typer.Option(help="Which cut is made, in strict mode.")] = "loss",
    most: Annotated[int, typer.Option(help="For bayardo: sets of intervals that are counted at most.")] = 100_000,
    table: TableName = None,
    dataset: DatasetName = None,
    recipient: Recipient = "not named",
    state: State = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page about the release.")] = None,
    json: Json = False,
) -> None:
    """Release k-anonymous rows, or nothing.

    [dim]tacita anonymize people.csv -s people.yaml --k 10 --l 3 -o out.csv --report out.html[/]
    """
    check_files(ROWS, output=output)
    check_files(PAGE, report=report)
    domain = Domain.read(schema)
    recipe = Anonymize(
        conditions=Conditions(
            k=k,
            l=diversity,
            l_kind=l_kind,
            c=c,
            t=closeness,
            t_distance=t_distance,
            alpha=alpha,
            presence=_presence(presence),
        ),
        quasi=_names(qi),
        sensitive=_names(sensitive),
        keep=_names(keep) or (),
        hierarchies=dict(_hierarchy(text) for text in hierarchy or []),
        suppress=suppress,
        part=part,
        method=_method(method, mode, choose, most),
    )
    plan = recipe.prepare(domain)
    everyone = None if population is None else _everyone(population, domain, plan.quasi)
    result = plan.run(engine_of(data, domain, table), population=everyone)
    warnings = (
        *result.warnings,
        *log_release(
            state,
            dataset=dataset_name(dataset, data, table),
            kind="k-anonymous",
            recipe=result.recipe,
            attributes=result.rows.column_names,
            classes=result.rows.select(plan.quasi),
            recipient=recipient,
        ),
    )
    write_file(output, iter([result.rows]))
    if report is not None:
        write(report, "Anonymized rows", f"{result.rows.num_rows:,} rows in {output.name}", _sections(result, warnings))
    if json:
        show.print_json(result.as_dict() | {"warnings": list(warnings)})
        return
    for section in _sections(result, warnings):
        show.grid(section.title, ("", ">"), section.facts)
    for warning in warnings:
        show.say(f"[yellow]{escape(warning)}[/]")
    show.say(_NOTE)


def _presence(text: str | None) -> tuple[float, float] | None:
    if text is None:
        return None
    low, between, high = text.partition(":")
    try:
        return (float(low), float(high)) if between else (0.0, float(low))
    except ValueError:
        raise InvalidInput("must be two shares, 0.05:0.5, or the largest", field="presence", value=text) from None


def _everyone(address: str, domain: Domain, quasi: tuple[str, ...]) -> pa.Table:
    return joined(connect(address, domain.project(quasi)).rows(quasi), quasi)


def _method(name: str, mode: Mode, choose: Literal["loss", "span"], most: int) -> Method:
    from tacita import anonymize as room

    makers = {"datafly": "Datafly", "samarati": "Samarati", "ola": "Ola", "incognito": "Incognito"}
    if name == "mondrian":
        return Mondrian(mode=mode, choose=choose)
    made: Method = room.Bayardo(early="best", most=most) if name == "bayardo" else getattr(room, makers[name])()
    return made


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _hierarchy(text: str) -> tuple[str, Hierarchy]:
    name, between, path = text.partition("=")
    if not between:
        raise InvalidInput("must be attribute=file", field="hierarchy", value=text)
    return name, Hierarchy.read(path)


def _sections(result: Anonymized, warnings: tuple[str, ...]) -> list[Section]:
    """Build the sections about the conditions that hold and the information loss, for the terminal and the page."""
    found, lost = result.achieved, result.loss
    held = [("people in the smallest class (k)", f"{found.k:,}"), ("classes", f"{found.classes:,}")]
    for name in found.l:
        held += [
            (f"{name}: diversity (l, {result.asked.l_kind})", number(found.l[name])),
            (f"{name}: distance from the whole (t)", number(found.t[name])),
            (f"{name}: largest share of a value (alpha)", number(found.alpha[name], share=True)),
        ]
    if found.presence is not None:
        least, most = (number(share, share=True) for share in found.presence)
        held.append(("presence: share of a class's population that is in the data", f"{least} to {most}"))
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
