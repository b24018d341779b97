"""`tacita assess` and `tacita compare`: risk and utility of releases, and which one to choose."""

from __future__ import annotations

import json as json_text
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import numpy as np
import pyarrow as pa
import typer

from tacita.cli.parts import show
from tacita.cli.parts.files import JSON, PAGE, check_files
from tacita.cli.parts.options import Json, SchemaFile, TableName
from tacita.common.whole import write_text
from tacita.domain import Domain
from tacita.engines.connect import connect
from tacita.engines.local.files.base import Checked
from tacita.engines.local.files.open import open_source
from tacita.errors import InvalidInput

if TYPE_CHECKING:
    from tacita.assess.disclosure import Belongs
    from tacita.assess.sample import Sampled
    from tacita.assess.tracks import Route

__all__ = ["assess", "compare", "read_table"]

T = TypeVar("T")


def _table(source: str, domain: Domain, table: str | None = None) -> pa.Table:
    """Read the columns of the schema that the source has; a release may lack some, and may hold labels."""
    if table is None and "://" not in source and Path(source).exists():
        return read_table(source, domain)
    return pa.Table.from_batches(list(connect(source, domain, table).rows(domain.countable)))


def _size(sample: int | None, *, together: bool) -> int:
    """Return how many rows of each table are looked at; 0 for all."""
    from tacita.assess.sample import SAMPLE

    if together and sample:
        raise InvalidInput("rows belong together here, and a sample would part them", field="sample", value=sample)
    return (0 if together else SAMPLE) if sample is None else sample


def _sample(source: str, domain: Domain, table: str | None, size: int, seed: int, what: str) -> Sampled:
    """Read some rows: as `_table`, without holding all where they need not be held."""
    from tacita.assess.sample import sample_rows, sample_table

    if table is None and "://" not in source and Path(source).exists():
        return sample_table(read_table(source, domain), size, seed, what)
    return sample_rows(connect(source, domain, table), domain.countable, size, seed, what)


def read_table(source: str, domain: Domain | None = None) -> pa.Table:
    """Read all columns of a file; those of a text file as texts, in the dialect of the schema or plain."""
    opened = open_source(source, domain)
    names = opened.columns if domain is None else [name for name in opened.columns if name in domain.names]
    read = opened.checked if isinstance(opened, Checked) else opened.batches
    return pa.Table.from_batches(list(read(names)))


def _document(path: Path, read: Callable[[str], T], field: str) -> T:
    """Read a released document of JSON."""
    try:
        return read(path.read_text(encoding="utf-8"))
    except InvalidInput:
        raise
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise InvalidInput("cannot be read as a release", field=field, value=path) from None


def _route(domain: Domain, text: str | None, tables: Sequence[pa.Table]) -> Route | None:
    """Return the route that the option names, or that the schema states if all tables have its person."""
    from tacita.assess.tracks import route_of

    if text is not None:
        time, _, place = (part.strip() for part in text.partition(","))
        return route_of(domain, time, place)
    found = route_of(domain)
    return found if found and all(found.person in table.column_names for table in tables) else None


_SHOWN = (
    "In short",
    "What it gives away",
    "The intruder scenario",
    "What could not be computed",
    "Attacks that were not tried",
)


def _list_attacks(asked: bool) -> None:
    if asked:
        from tacita.assess.attacks.registry import select

        rows = [(each.name, each.question, each.needs) for each in select()]
        show.grid("Attacks", ("--attacks", "question", "needs"), rows)
        raise typer.Exit


def assess(
    real: Annotated[str, typer.Option(help="The rows that it was made from.")],
    schema: SchemaFile,
    release: Annotated[
        list[str] | None, typer.Argument(help="Released rows: CSV or Parquet; several of the same people may be given.")
    ] = None,
    model: Annotated[
        list[Path] | None, typer.Option(help="A model that was fitted on the real rows, JSON; may be repeated.")
    ] = None,
    tables: Annotated[
        list[Path] | None, typer.Option(help="Released tables of the real rows, JSON; may be repeated.")
    ] = None,
    route: Annotated[
        str | None,
        typer.Option(
            help="TIME,PLACE: attributes that make the rows of a person a trajectory; the schema names the person."
        ),
    ] = None,
    control: Annotated[
        str | None,
        typer.Option(
            help="Rows of similar people that were not used. Without, leaks cannot be distinguished from guesses."
        ),
    ] = None,
    secret: Annotated[
        list[str] | None, typer.Option(help="Sensitive attribute that attacks try to infer; may be repeated.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="Attribute that classifiers predict.")] = None,
    group: Annotated[str | None, typer.Option(help="Compare accuracy over the levels of this attribute.")] = None,
    scenario: Annotated[
        Path | None, typer.Option(help="YAML: the knowledge of an intruder. Needs --origins or --same-order.")
    ] = None,
    origins: Annotated[
        Path | None,
        typer.Option(help="For a scenario: the private key that `tacita impute` wrote, NAME.origins.parquet."),
    ] = None,
    same_order: Annotated[
        bool, typer.Option("--same-order", help="For a scenario: row i of the release was made from row i of --real.")
    ] = False,
    population: Annotated[
        str | None, typer.Option(help="The whole population, real rows first; for a scenario with unknown membership.")
    ] = None,
    kind: Annotated[str, typer.Option(help="Combining rules of several releases: plain, partial or full.")] = "plain",
    attacks: Annotated[
        str | None,
        typer.Option(help="Attacks to run, separated by commas; by default all that apply. See --list-attacks."),
    ] = None,
    list_attacks: Annotated[
        bool,
        typer.Option("--list-attacks", callback=_list_attacks, is_eager=True, help="List all attacks and exit."),
    ] = False,
    attempts: Annotated[int, typer.Option(help="Trials of each attack.")] = 1000,
    seed: Annotated[int, typer.Option(help="The same seed gives the same figures.")] = 0,
    sample: Annotated[
        int | None,
        typer.Option(
            help="Rows of each table to look at, chosen uniformly where the rows are; 0 for all. By default 1000000, "
            "and all where rows belong together: for a scenario and for trajectories.",
        ),
    ] = None,
    table: TableName = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write an HTML page.")] = None,
    json: Json = False,
) -> None:
    """Attack a release and measure its utility. For the owner: figures come from exact rows.

    [dim]tacita assess made.parquet --real used.parquet --control held.parquet -s census.yaml --report r.html[/]
    """
    from tacita.assess.assessment import AssessmentOptions
    from tacita.assess.assessment import assess as run
    from tacita.assess.attacks.registry import select
    from tacita.assess.case import read_case
    from tacita.assess.compare.page import assessment_sections, write_assessment
    from tacita.assess.frame import read_frame
    from tacita.assess.origins import Origins
    from tacita.assess.scenario import Scenario
    from tacita.assess.tracks import route_of
    from tacita.learn.models import read_model
    from tacita.tables.release import Releases

    if kind not in ("plain", "partial", "full"):
        raise InvalidInput("must be plain, partial or full", field="kind", value=kind)
    check_files(PAGE, report=report)
    if not (release or model or tables):
        raise InvalidInput("state what was released: rows, --model or --tables", field="release")
    if scenario is not None and (origins is None) is not same_order:
        raise InvalidInput(
            "state which real row each released row was made from: --origins KEY, or --same-order, not both",
            field="scenario",
            value=scenario,
            hint=(
                "`tacita impute -o out` writes the key out.origins.parquet. Releases are shuffled: without the key "
                "every match would be counted as wrong. Wholly synthetic rows belong to no one: leave the scenario out"
            ),
        )
    if scenario is None and (origins is not None or same_order):
        raise InvalidInput("is for a scenario", field="same-order" if same_order else "origins", hint="Give --scenario")
    domain = Domain.read(schema)
    rng = np.random.default_rng(seed)
    size = _size(sample, together=scenario is not None or route is not None or route_of(domain) is not None)
    samples = [_sample(real, domain, table, size, seed, "real rows")]
    samples += [_sample(each, domain, None, size, seed + 1, "released rows") for each in release or []]
    samples += [_sample(each, domain, table, size, seed + 2, "rows held back") for each in [control] if each]
    people, *others = [each.rows for each in samples]
    released, held = (others[:-1], others[-1]) if control else (others, None)
    belongs: Belongs | None = "same rows" if same_order else None
    if origins is not None:
        belongs = Origins.read(origins).belongs(domain, real=people, released=released)
    case = read_case(
        domain,
        real=people,
        released=released,
        control=held,
        models=[_document(path, read_model, "model") for path in model or []],
        noisy=[each for path in tables or [] for each in _document(path, Releases.from_json, "tables").values()],
        route=_route(domain, route, [people, *released, *([] if held is None else [held])]),
        rng=rng,
    )
    options = AssessmentOptions(
        attempts=attempts,
        secrets=tuple(secret or ()),
        target=target,
        group=group,
        scenario=None if scenario is None else Scenario.read(scenario),
        kind=kind,  # type: ignore[arg-type]
        attacks=tuple(part.strip() for part in (attacks or "").split(",") if part.strip()),
    )
    select(options.attacks)  # refuses unknown names before any data is read
    everybody = None if population is None else read_frame(domain, _table(population, domain), names=case.names)
    found = run(
        case,
        rng,
        options=options,
        belongs=belongs,
        population=everybody,
        samples=samples,
        progress=show.shares("assessing"),
    )
    if report is not None:
        write_assessment(report, found, Path((release or model or tables or [real])[0]).name)
    if json:
        show.print_json(found.as_dict())
        return
    for section in assessment_sections(found):
        if section.title in _SHOWN:
            if section.text:
                show.say(section.text)
            show.grid(section.title, ("", ""), section.facts)
    if found.disclosure is not None and found.disclosure.riskiest:
        rows = [(f"row {place + 1:,}", f"{chance:.2f}") for place, chance in found.disclosure.riskiest]
        show.grid("Riskiest, for you alone", ("", ">chance of a right match"), rows)
    show.say("More in the report: --report page.html, or --json.")


def compare(
    plan: Annotated[Path, typer.Argument(help="The plan of the comparison, YAML.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The page to write, HTML.")] = None,
    data: Annotated[Path | None, typer.Option("--json-file", help="The file for all figures, JSON.")] = None,
    json: Json = False,
) -> None:
    """Simulate several releases, assess them in the same way, and recommend one with reasons.

    Releases are made in paired trials until they can be distinguished, or the difference does not matter, or the most
    trials of the plan are reached. No budget is spent.

    [dim]tacita compare plan.yaml -o comparison.html[/]
    """
    from tacita.assess.compare.page import comparison_sections, write_comparison
    from tacita.assess.compare.plan import ComparePlan
    from tacita.assess.compare.run import compare as run

    check_files(PAGE, output=output)
    check_files(JSON, json_file=data)
    wanted = ComparePlan.read(plan)
    if not json:
        show.say(wanted.trials)
    found = run(wanted, progress=show.shares("comparing"))
    if output is not None:
        write_comparison(output, found)
    plain = found.as_dict()
    if data is not None:
        write_text(data, json_text.dumps(plain, ensure_ascii=False, allow_nan=False))
    if json:
        show.print_json(plain)
        return
    sections = comparison_sections(found)
    show.say(sections[0].text)
    show.grid(sections[0].title, ("", ""), sections[0].facts)
    for section in sections[1:3]:
        if section.title in ("Side by side", "Trials"):
            show.grid(section.title, ("", ""), section.facts)
    if not found.good:
        raise typer.Exit(3)
