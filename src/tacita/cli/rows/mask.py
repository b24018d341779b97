"""`tacita mask`: disclosure control of rows by masking methods."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from tacita.anonymize.masking.mask import Mask
from tacita.anonymize.masking.masked import Masked, loss_text
from tacita.anonymize.masking.method import MaskingMethod
from tacita.anonymize.masking.registry import step_parameters
from tacita.anonymize.masking.text import read_steps, read_yaml
from tacita.anonymize.masking.utility import Change, Moments
from tacita.cli.parts import show
from tacita.cli.parts.files import PAGE, Into, RowsOutput, check_files, rows_target
from tacita.cli.parts.generated import with_options
from tacita.cli.parts.options import Data, Json, SchemaFile, State, TableName, engine_of
from tacita.cli.parts.released import DatasetName, Recipient, dataset_name, log_release
from tacita.common.number_text import number
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.noise import SecureSource
from tacita.report.report import Section, write

__all__ = ["mask"]

_FOR_OWNER = "Utility compares exact rows with released ones: for the owner, not for recipients."


@with_options(*step_parameters(), after="output")
def mask(
    data: Data,
    schema: SchemaFile,
    output: RowsOutput,
    plan: Annotated[
        Path | None, typer.Option(help="Steps in order, in a YAML or JSON file, instead of the options above.")
    ] = None,
    weight: Annotated[
        str | None, typer.Option(help="Weight of rows: released unchanged; utility is shown weighted too.")
    ] = None,
    keep: Annotated[str | None, typer.Option(help="Other attributes to release unchanged: region,year.")] = None,
    into: Into = None,
    table: TableName = None,
    dataset: DatasetName = None,
    recipient: Recipient = "not named",
    state: State = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page about the release.")] = None,
    json: Json = False,
    **chosen: Any,
) -> None:
    """Mask rows by microaggregation, PRAM, coding, rounding, local suppression. No guarantee but that of PRAM.

    Options are applied in the order in which they are listed here; a plan has an order of its own.

    [dim]tacita mask people.csv -s people.yaml --microaggregate income,age=5 --pram job=0.8 -o out.csv[/]
    """
    target = rows_target(output, into)
    check_files(PAGE, report=report)
    domain = Domain.read(schema)
    recipe = Mask(
        steps=_steps(plan, {each.name: chosen[each.name] for each in step_parameters()}),
        weight=weight,
        keep=() if keep is None else tuple(part.strip() for part in keep.split(",") if part.strip()),
    )
    prepared = recipe.prepare(domain)
    target.check(prepared.leaving)
    made = prepared.run(engine_of(data, domain, table), SecureSource())
    warnings = (
        *made.warnings,
        *log_release(
            state,
            dataset=dataset_name(dataset, data, table),
            kind="masked",
            recipe=made.recipe,
            attributes=made.rows.column_names,
            classes=made.rows,
            recipient=recipient,
        ),
    )
    target.write(iter([made.rows]))
    sections = _sections(made, warnings)
    if report is not None:
        write(report, "Masked rows", f"{made.rows.num_rows:,} rows in {target.name}", sections)
    if json:
        show.print_json(made.as_dict() | {"warnings": list(warnings)})
        return
    for section in sections:
        show.grid(section.title, ("", ">"), section.facts)
    for warning in warnings:
        show.say(f"[yellow]{escape(warning)}[/]")
    show.say(escape(f"{made.statement} {_FOR_OWNER}"))


def _steps(plan: Path | None, texts: dict[str, Any]) -> tuple[MaskingMethod, ...]:
    steps = read_steps(texts)
    if plan is None:
        return steps
    if steps:
        raise InvalidInput("give steps as options or as a plan, not both", field="plan", value=plan)
    try:
        return read_yaml(plan.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("cannot be read", field="plan", value=plan) from None


def _sections(made: Masked, warnings: tuple[str, ...]) -> list[Section]:
    """Build the sections about guarantee, utility, steps and matrices, for the terminal and the page."""
    about = [("rows", f"{made.rows.num_rows:,}"), ("guarantee", made.guarantee)]
    sections = [Section(title="Masked rows", text=" ".join((made.statement, *warnings)), facts=about)]
    changes = [fact for change in made.changes for fact in _changed(change)]
    if made.correlation is not None:
        changes.append(("largest change of a correlation", f"{made.correlation:.3f}"))
    if changes:
        sections.append(Section(title="Utility, all steps together", text=_FOR_OWNER, facts=changes))
    for place, step in enumerate(made.steps, start=1):
        ((name, _),) = step.step.items()
        facts = [fact for key, value in step.figures.items() for fact in _figures(key.replace("_", " "), value)]
        facts += [("note", note) for note in step.notes]
        facts += [fact for change in step.changes for fact in _changed(change)]
        if facts:
            sections.append(Section(title=f"Step {place}: {name.replace('_', ' ')}", facts=facts))
    for name, matrix in made.matrices.items():
        found = matrix.as_dict()
        facts = [] if matrix.epsilon is None else [("epsilon of this attribute", loss_text(matrix.epsilon))]
        rows = zip(found["labels"], found.get("shares", ()), found.get("errors", ()), strict=False)
        facts += [(label, f"{number(share, share=True)} ± {number(error, share=True)}") for label, share, error in rows]
        title = f"{name}: estimated shares of the true levels, with standard errors"
        sections.append(Section(title=title, facts=facts))
    return sections


def _changed(change: Change) -> list[tuple[str, str]]:
    facts = [(f"{change.name}: cells changed", number(change.changed, share=True))]
    if change.suppressed:
        facts.append((f"{change.name}: cells suppressed", f"{change.suppressed:,}"))
    if change.moments is not None:
        facts += _moments(change.name, change.moments)
    if change.weighted is not None:
        facts += _moments(f"{change.name}, weighted", change.weighted)
    return facts


def _moments(name: str, found: Moments) -> list[tuple[str, str]]:
    lost = "unknown" if found.loss is None else number(found.loss, share=True, digits=2)
    return [
        (f"{name}: variance lost (SSE/SST)", lost),
        (f"{name}: mean", " to ".join(number(value) for value in found.mean)),
        (f"{name}: standard deviation", " to ".join(number(value) for value in found.std)),
    ]


def _figures(name: str, value: Any) -> list[tuple[str, str]]:
    """Facts of a figure; those of attributes have a line each."""
    if isinstance(value, dict):
        return [fact for key, each in value.items() for fact in _figures(f"{name}, {key.replace('_', ' ')}", each)]
    if name == "loss":
        return [("variance lost (SSE/SST), all attributes", number(value, share=True, digits=2))]
    return [(name, number(value) if isinstance(value, float) else f"{value:,}")]
