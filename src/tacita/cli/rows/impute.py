"""`tacita impute`: fully or partially synthetic rows by multiple imputation, without a guarantee."""

from __future__ import annotations

import json as json_text
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import pyarrow as pa
import typer
from rich.markup import escape

from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, PAGE, check_files, paid_already
from tacita.cli.parts.options import Data, Json, SchemaFile, State, TableName, engine_of
from tacita.cli.parts.released import DatasetName, Recipient, dataset_name, log_release
from tacita.common.whole import write_text
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.connect import connect
from tacita.errors import InvalidInput
from tacita.noise import SecureSource
from tacita.privacy.unit import Neighbours, Unit
from tacita.report.report import Section, write
from tacita.synthesize.imputation import Impute, Imputed
from tacita.synthesize.kinds import FitOn, Given, ImputedKind, Missing, TrainOn

if TYPE_CHECKING:
    from tacita.assess.assessment import Assessment

__all__ = ["impute"]


def impute(
    data: Data,
    schema: SchemaFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to make; it must not exist yet.")],
    no_guarantee: Annotated[
        bool, typer.Option("--no-guarantee", help="Required: confirms that you know that nothing protects the rows.")
    ] = False,
    replace: Annotated[
        str | None, typer.Option(help="Attributes to replace by draws, in order: income,age. All, for the kind `all`.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", help="Only some cells: 'income: income > 70000 and age < 30'. Several may be given."),
    ] = None,
    kind: Annotated[ImputedKind, typer.Option(help="Kind of release.")] = "partial",
    backend: Annotated[
        Literal["linear", "cart", "forest", "network"], typer.Option(help="The model that draws.")
    ] = "cart",
    m: Annotated[int, typer.Option("--m", help="Number of releases.")] = 5,
    rows: Annotated[int | None, typer.Option("--rows", "-n", help="Rows of a release, for `all` and `frame`.")] = None,
    frame: Annotated[
        str | None, typer.Option(help="For the kind `frame`: a file with people who are not in the data.")
    ] = None,
    frame_schema: Annotated[Path | None, typer.Option(help="The schema of the frame.")] = None,
    attributes: Annotated[
        str | None, typer.Option(help="Attributes to release. All that can be counted by default.")
    ] = None,
    fit_on: Annotated[FitOn, typer.Option(help="Values that models are fitted to.")] = "original",
    train_on: Annotated[TrainOn, typer.Option(help="Rows that models are fitted to.")] = "auto",
    given: Annotated[Given, typer.Option(help="Attributes that a value is drawn from.")] = "others",
    missing: Annotated[Missing, typer.Option(help="Whether missing cells stay missing.")] = "keep",
    form: Annotated[Literal["csv", "parquet"], typer.Option(help="Format of the files.")] = "parquet",
    table: TableName = None,
    dataset: DatasetName = None,
    recipient: Recipient = "not named",
    state: State = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page about the releases.")] = None,
    control: Annotated[
        str | None,
        typer.Option(help="For the assessment: rows of similar people who are not in the data."),
    ] = None,
    assessment: Annotated[
        bool, typer.Option(help="Attack the releases, and write the assessment beside the folder, for the owner.")
    ] = True,
    json: Json = False,
) -> None:
    """Replace sensitive cells by draws, several times. No privacy guarantee: read the assessment first.

    [dim]tacita impute people.csv -s people.yaml -o out --replace income,age --m 5 --backend cart --no-guarantee[/]
    """
    if not no_guarantee:
        raise InvalidInput(
            "rows made by imputation have no privacy guarantee",
            field="no-guarantee",
            hint="Pass --no-guarantee if you know that, and assess them before release; or use `tacita synthesize`",
        )
    if output.exists() or not output.parent.is_dir():
        raise InvalidInput("must be a new folder in one that exists", field="output", value=output)
    found_at = output.with_name(f"{output.name}.assessment.json")
    check_files(PAGE, report=report)
    check_files(JSON, assessment=found_at if assessment else None)
    origins_at = output.with_name(f"{output.name}.origins.parquet")
    check_files(origins=origins_at)
    if origins_at.exists():
        raise InvalidInput("exists already: the private key of another release", field="output", value=origins_at)
    if control is not None and not assessment:
        raise InvalidInput("is for the assessment", field="control", hint="Leave out --no-assessment")
    domain = Domain.read(schema)
    held = None if control is None else connect(control, domain)
    recipe = Impute(
        replace=_masks(replace, where or []),
        kind=kind,
        backend=backend,
        m=m,
        attributes=None if attributes is None else tuple(_names(attributes)),
        rows=rows,
        fit_on=fit_on,
        train_on=train_on,
        given=given,
        missing=missing,
    )
    unit = Unit.row() if domain.person is None else Unit.of_person(domain.person, max_rows=1)
    plan = recipe.calibrate(domain, None, unit=unit, neighbours=Neighbours.ADD_REMOVE)
    if (frame is None) != (frame_schema is None):
        raise InvalidInput("goes with --frame", field="frame-schema")
    others = None if frame is None or frame_schema is None else connect(frame, Domain.read(frame_schema))
    engine = engine_of(data, domain, table)
    result = plan.run(engine, SecureSource(), frame=others)
    warnings = log_release(
        state,
        dataset=dataset_name(dataset, data, table),
        kind="imputed",
        recipe={key: value for key, value in result.as_dict().items() if key in ("kind", "replaced", "releases")},
        attributes=result.releases[0].column_names,
        classes=pa.concat_tables(result.releases),
        recipient=recipient,
    )
    result.write(output, form=form)
    linked = any((each >= 0).any() for each in result.origins)
    if linked:
        _write_origins(result, engine, origins_at)
    sections = _sections(result, backend, origins_at if linked else None)
    found = None
    if assessment:
        with paid_already(f"The releases are in {output}; assess them with `tacita assess` before release"):
            found = _assessed(result, engine, held)
            write_text(found_at, json_text.dumps(found.as_dict(), ensure_ascii=False))
        sections.append(_headline(found, found_at))
    if report is not None:
        write(report, "Imputed rows", f"{len(result.releases)} releases in {output.name}", sections)
    if json:
        short = {} if found is None else {"risk": found.risk, "worst": found.worst, "kept": found.kept}
        show.print_json(
            result.as_dict()
            | {
                "assessment": short | {"file": str(found_at)} if found else None,
                "warnings": list(warnings),
            }
        )
        return
    for section in sections:
        show.grid(section.title, ("", ""), section.facts)
    for warning in warnings:
        show.say(f"[yellow]{escape(warning)}[/]")
    show.say(result.statement())


def _names_of(result: Imputed, engine: Engine) -> list[str]:
    return [name for name in result.domain.names if name in engine.domain.countable]


def _rows(engine: Engine, names: list[str]) -> pa.Table:
    return pa.Table.from_batches(list(engine.rows(names)))


def _write_origins(result: Imputed, engine: Engine, path: Path) -> None:
    """Write the key of origins, for `tacita assess --scenario`: the real row of each released row."""
    from tacita.assess.origins import Origins

    real = _rows(engine, _names_of(result, engine))
    Origins.of(engine.domain, real=real, released=result.releases, rows=result.origins).write(path)


def _assessed(result: Imputed, engine: Engine, control: Engine | None) -> Assessment:
    """Attack the releases, with the rows that they were made from; the result is exact, hence for the owner."""
    from tacita.assess.assessment import AssessmentOptions, assess
    from tacita.assess.case import read_case

    names = _names_of(result, engine)
    rng = np.random.default_rng()
    case = read_case(
        engine.domain,
        real=_rows(engine, names),
        released=result.releases,
        control=None if control is None else _rows(control, names),
        names=names,
        rng=rng,
    )
    options = AssessmentOptions(kind="partial" if result.kind == "partial" else "full")
    return assess(case, rng, options=options, belongs=result.origins, progress=show.shares("assessing"))


def _headline(found: Assessment, path: Path) -> Section:
    facts = [
        ("risk, the largest success of an attack", f"{found.risk:.3f} ({found.worst})"),
        ("kept of all pairs", f"{found.kept:.3f}"),
        (
            "control group",
            f"{found.control:,} rows" if found.control else "none: leaks cannot be distinguished from guesses",
        ),
        ("all of it, for the owner", str(path)),
    ]
    text = f"{found.headline} A small risk is no guarantee. Figures come from exact rows."
    return Section(title="Assessment", text=text, facts=facts)


def _masks(replace: str | None, where: list[str]) -> tuple[str, ...]:
    """Return the attributes in order, with the rule of each that has one."""
    rules = {text.partition(":")[0].strip(): text for text in where}
    names = list(rules) if replace is None else _names(replace)
    for name, text in rules.items():
        if name not in names:
            raise InvalidInput("is about an attribute that is not replaced", field="where", value=text)
    return tuple(rules.get(name, name) for name in names)


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _sections(result: Imputed, backend: str, origins: Path | None) -> list[Section]:
    """Build the sections about the releases, for the terminal and the page."""
    facts = [
        ("releases", f"{len(result.releases)}"),
        ("rows of each", f"{result.releases[0].num_rows:,}"),
        ("kind", result.kind),
        ("drawn anew", ", ".join(result.replaced)),
        ("model", backend),
        ("guarantee", result.guarantee),
    ]
    if origins is not None:
        facts.append(("private key of origins, never to be released", str(origins)))
    notes = [(f"{place}", note) for place, note in enumerate(result.notes, start=1)]
    made = Section(title="What was made", text=result.statement(), facts=facts)
    return [made, Section(title="What the method did", facts=notes)] if notes else [made]
