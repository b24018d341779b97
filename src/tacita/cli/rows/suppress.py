"""`tacita suppress`: tables of counts or sums with suppressed cells."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from tacita.anonymize.cells.exact import NODES, PROGRAMS
from tacita.anonymize.cells.registry import rule_parameters, rules_of
from tacita.anonymize.cells.result import SuppressedTables
from tacita.anonymize.cells.suppress import Costs, SuppressCells, Zeros
from tacita.cli.parts import show
from tacita.cli.parts.files import PAGE, TABLES, check_files
from tacita.cli.parts.generated import with_options
from tacita.cli.parts.options import Data, Json, SchemaFile, State, TableName, engine_of
from tacita.cli.parts.released import DatasetName, Recipient, dataset_name, log_release
from tacita.common.number_text import number
from tacita.domain import Domain
from tacita.report.report import Section, write

__all__ = ["suppress"]

_SHOWN = 40


@with_options(*rule_parameters(), after="weight")
def suppress(
    data: Data,
    schema: SchemaFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file: .csv, .parquet, .json or .xlsx.")],
    by: Annotated[
        list[str],
        typer.Option(
            "--by", help="Attributes of a table: region,industry. Several tables are protected together: repeat it."
        ),
    ],
    total: Annotated[str | None, typer.Option("--sum", help="Attribute to sum; counts of rows if not given.")] = None,
    weight: Annotated[str | None, typer.Option("--weight", help="Attribute with sample weights.")] = None,
    zeros: Annotated[
        Zeros, typer.Option(help="Empty cells: public (published as 0), or sensitive like those below the minimum.")
    ] = "public",
    margins: Annotated[bool, typer.Option(help="Whether margins may be suppressed to protect other cells.")] = True,
    cost: Annotated[Costs, typer.Option(help="Cost of a suppressed cell: its value, 1, or the log of it.")] = "value",
    programs: Annotated[int, typer.Option(help="Work of the search: linear programs.")] = PROGRAMS,
    nodes: Annotated[int, typer.Option(help="Work of the search: nodes of branch and bound; 0 for none.")] = NODES,
    table: TableName = None,
    dataset: DatasetName = None,
    recipient: Recipient = "not named",
    state: State = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page, with the audit for you.")] = None,
    json: Json = False,
    **chosen: Any,
) -> None:
    """Release tables in which small and dominated cells, and enough others, are suppressed. No privacy guarantee.

    [dim]tacita suppress firms.csv -s firms.yaml --by region,industry --sum turnover --minimum 3 --p 10 -o table.csv[/]
    """
    check_files(TABLES, output=output)
    check_files(PAGE, report=report)
    domain = Domain.read(schema)
    recipe = SuppressCells(
        tables=tuple(tuple(part.strip() for part in text.split(",") if part.strip()) for text in by),
        rules=rules_of(chosen),
        total=total,
        weight=weight,
        zeros=zeros,
        margins=margins,
        cost=cost,
        programs=programs,
        nodes=nodes,
    )
    result = recipe.prepare(domain).run(engine_of(data, domain, table))
    warnings = log_release(
        state,
        dataset=dataset_name(dataset, data, table),
        kind="suppressed",
        recipe=result.recipe,
        attributes=result.relations.names,
        classes=result.to_arrow(),
        recipient=recipient,
    )
    result.save(output)
    if report is not None:
        about = f"{len(result.suppressed):,} cells in {output.name}. For the owner: the audit names sensitive cells."
        write(report, "Suppressed tables", about, _sections(result, warnings))
    if json:
        show.print_json(result.as_dict() | {"warnings": list(warnings)})
        return
    for section in _sections(result, warnings)[:2]:
        show.grid(section.title, ("", ">"), section.facts)
    for warning in warnings:
        show.say(f"[yellow]{escape(warning)}[/]")
    show.say(result.statement)


def _sections(result: SuppressedTables, warnings: tuple[str, ...]) -> list[Section]:
    """Facts about the search and the audit, and the intervals of sensitive cells."""
    pattern = result.pattern
    proven = "proven" if pattern.how == "optimal" else f"at most {pattern.gap:.1%} above the best; the work was used up"
    found = [
        ("cells", f"{len(result.suppressed):,}"),
        ("sensitive cells", f"{result.primary:,}"),
        ("further suppressed cells", f"{result.secondary:,}"),
        ("cost", f"{number(pattern.cost)}, {proven}"),
        ("rows left out", f"{result.contents.left_out:.2%}"),
    ]
    held = [
        ("sensitive cells that were attacked", f"{result.primary:,}"),
        ("protected", f"{result.primary:,}"),
        ("whole-number reasoning", result.reasoning),
    ]
    names = result.relations.names
    intervals = [
        (" · ".join(str(row[name]) for name in names), f"{number(row['low'])} … {number(row['high'])}")
        for row in result.audit().slice(0, _SHOWN).to_pylist()
    ]
    text = " ".join((*warnings, result.statement))
    return [
        Section(title="Suppressed cells", text=text, facts=found),
        Section(title="Audit", facts=held),
        Section(title="Intervals of sensitive cells, for the owner", facts=intervals),
    ]
