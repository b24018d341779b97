"""`tacita log`: anonymize logs: events over time, sets of items, rows that keep arriving."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import typer
from rich.markup import escape

from tacita.anonymize.anonymize import Anonymize, Anonymized
from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.criteria.registry import all_parameters
from tacita.anonymize.hierarchy import Hierarchy
from tacita.anonymize.sets import AnonymizeSets, ReleasedSets
from tacita.anonymize.streams.events import AnonymizedEvents, AnonymizeEvents, EventsPlan
from tacita.anonymize.streams.micro_batches import MicroBatches
from tacita.anonymize.streams.times import whole_times
from tacita.cli.parts import show
from tacita.cli.parts.files import ROWS, check_files
from tacita.cli.parts.generated import with_options
from tacita.cli.parts.lines import arriving_rows, print_rows
from tacita.cli.parts.options import Data, Json, SchemaFile, State, TableName, engine_of
from tacita.cli.parts.released import DatasetName, Recipient, dataset_name, log_release
from tacita.common.number_text import number
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.synthesize.writing import write_file

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)
_LIVE = "-"
_NOTE = "No differential privacy: the condition holds for this release alone, not for several of the same people."

Time = Annotated[str, typer.Option(help="Attribute with the time of a row: a whole number or a date.")]


@app.command()
def events(
    data: Annotated[str, typer.Argument(help="A file, a folder or postgresql://…; - reads CSV from standard input.")],
    schema: SchemaFile,
    output: Annotated[str, typer.Option("--output", "-o", help="File for the rows: .csv or .parquet; - prints them.")],
    time: Time,
    values: Annotated[str, typer.Option(help="Attributes that a person shows: page,region.")],
    z: Annotated[int, typer.Option("--z", help="Least people who showed the same values.")],
    window: Annotated[
        int, typer.Option(help="Time for which a showing counts, in the unit of the time; days for a date.")
    ],
    table: TableName = None,
    dataset: DatasetName = None,
    recipient: Recipient = "not named",
    state: State = None,
    json: Json = False,
) -> None:
    """Release the rows of a log whose values enough people have just shown (z-anonymity).

    [dim]tacita log events visits.csv -s visits.yaml --time minute --values page --z 20 --window 60 -o out.csv[/]
    """
    if (data == _LIVE) != (output == _LIVE):
        raise InvalidInput("standard input goes with standard output: pass - for both", field="output", value=output)
    domain = Domain.read(schema)
    plan = AnonymizeEvents(time=time, values=_names(values), z=z, window=window).prepare(domain)
    if data == _LIVE:
        _pass_through(plan)
        return
    check_files(ROWS, output=Path(output))
    made = plan.run(engine_of(data, domain, table))
    facts = [("suppressed", number(made.as_dict()["suppressed"], share=True))]
    _finish(
        made,
        Path(output),
        facts,
        kind="events",
        data=data,
        table=table,
        dataset=dataset,
        recipient=recipient,
        state=state,
        json=json,
    )


def _pass_through(plan: EventsPlan) -> None:
    """Print the rows that may be released as they arrive."""
    stream, first = plan.stream(), True
    for rows in arriving_rows(plan.reading):
        print_rows(stream.push(rows), header=first)
        first = False
    if stream.unusable:
        show.note(f"{stream.unusable:,} rows have no person, no time or an out-of-domain value: suppressed.")


@app.command()
def sets(
    data: Data,
    schema: SchemaFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the rows: .csv or .parquet.")],
    item: Annotated[str, typer.Option(help="Attribute with the item of a row; a person's items are a set.")],
    k: Annotated[int, typer.Option("--k", help="Least people who share a combination.")],
    m: Annotated[int, typer.Option("--m", help="Most items that an attacker may know.")] = 2,
    hierarchy: Annotated[Path | None, typer.Option(help="Hierarchy of the items: .csv or .yaml.")] = None,
    suppress: Annotated[
        float | None,
        typer.Option(help="Most share of items that may be left out; without a hierarchy all, with one none."),
    ] = None,
    table: TableName = None,
    dataset: DatasetName = None,
    recipient: Recipient = "not named",
    state: State = None,
    json: Json = False,
) -> None:
    """Release people's sets of items; each combination of m items is shared by k people (k^m-anonymity).

    [dim]tacita log sets baskets.csv -s baskets.yaml --item product --k 10 --m 2 -o out.csv[/]
    """
    check_files(ROWS, output=output)
    domain = Domain.read(schema)
    tree = None if hierarchy is None else Hierarchy.read(hierarchy)
    recipe = AnonymizeSets(item=item, k=k, m=m, hierarchy=tree, suppress=suppress)
    made = recipe.prepare(domain).run(engine_of(data, domain, table))
    facts = [
        ("sets", f"{len(made.made.sets):,}"),
        ("people who share the rarest combination", f"{made.made.support or 0:,}"),
        ("mean loss of an item", number(made.made.loss, share=True)),
        ("items left out", number(made.made.suppressed, share=True)),
        ("rows without a person or a declared item", number(made.undeclared, share=True)),
    ]
    _finish(
        made,
        output,
        facts,
        kind="sets",
        data=data,
        table=table,
        dataset=dataset,
        recipient=recipient,
        state=state,
        json=json,
    )


@app.command()
@with_options(*all_parameters(), after="keep")
def batches(
    data: Annotated[str, typer.Argument(help="A file, a folder or postgresql://…; - reads CSV from standard input.")],
    schema: SchemaFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the batches, one CSV file each; it must not exist yet.")
    ],
    time: Time,
    deadline: Annotated[int, typer.Option(help="Longest time that a row is held back, in the unit of the time.")],
    least: Annotated[
        int | None, typer.Option(help="Least people in a batch before a deadline; k if not given.")
    ] = None,
    again: Annotated[
        Literal["suppress", "each"],
        typer.Option(help="Rows of people who were released before: suppress them, or judge each batch by itself."),
    ] = "suppress",
    remember: Annotated[
        int | None, typer.Option(help="Time for which released people are remembered; without limit if not given.")
    ] = None,
    qi: Annotated[str | None, typer.Option(help="Quasi-identifiers: age,zip. From the schema if not given.")] = None,
    sensitive: Annotated[str | None, typer.Option(help="Sensitive attributes; from the schema if not given.")] = None,
    keep: Annotated[str | None, typer.Option(help="Other attributes to release unchanged.")] = None,
    table: TableName = None,
    dataset: DatasetName = None,
    recipient: Recipient = "not named",
    state: State = None,
    **chosen: Any,
) -> None:
    """Release rows that keep arriving in small k-anonymous batches; rows that cannot be released are suppressed.

    Rows must come in the order of time. People are remembered while the command runs.

    [dim]tail -f visits.csv | tacita log batches - -s visits.yaml --time minute --deadline 60 --k 5 -o out[/]
    """
    if output.exists() or not output.parent.is_dir():
        raise InvalidInput("must be a new folder in one that exists", field="output", value=output)
    domain = Domain.read(schema)
    plan = Anonymize(
        conditions=Conditions.of({each.name: chosen[each.name] for each in all_parameters()}),
        quasi=None if qi is None else _names(qi),
        sensitive=None if sensitive is None else _names(sensitive),
        keep=() if keep is None else _names(keep),
    ).prepare(domain)
    holding = MicroBatches(plan, least=least, deadline=deadline, again=again, remember=remember)
    whole_times(domain, time, pa.table({time: pa.array([], pa.string())}))  # checks the attribute
    columns = list(dict.fromkeys((*plan.reading, time)))
    rows = (
        arriving_rows(columns)
        if data == _LIVE
        else (pa.Table.from_batches([batch]) for batch in engine_of(data, domain, table).rows(columns))
    )
    output.mkdir()
    written = released = 0
    for piece in rows:
        for now, together in _by_time(domain, time, piece):
            for made in holding.push(together, now):
                written, released = written + 1, released + made.rows.num_rows
                name = dataset_name(dataset, "standard input" if data == _LIVE else data, table)
                _write_batch(made, output / f"batch-{written:06}.csv", state, name, recipient)
    facts = [
        ("batches", f"{written:,}"),
        ("rows released", f"{released:,}"),
        ("rows still held, and not released", f"{holding.held:,}"),
        ("rows past their deadline", f"{holding.late:,}"),
        ("rows of people who were released before", f"{holding.repeated:,}"),
        ("rows without a person", f"{holding.unkeyed:,}"),
    ]
    show.grid(str(output), ("", ">"), facts)
    show.say(_NOTE)


def _by_time(domain: Domain, time: str, rows: pa.Table) -> list[tuple[int, pa.Table]]:
    """Split rows where their time changes; rows without a time take that of the row before."""
    times, known = whole_times(domain, time, rows)
    if not known.all():
        raise InvalidInput("must not be missing", field=time)
    starts = np.flatnonzero(np.diff(times, prepend=times[:1] - 1)) if len(times) else times
    ends = [*starts[1:].tolist(), len(times)]
    return [(int(times[a]), rows.slice(a, b - a)) for a, b in zip(starts.tolist(), ends, strict=True)]


def _write_batch(made: Anonymized, path: Path, state: str | None, dataset: str, recipient: str) -> None:
    """Log a batch before it is written; batches of one stream are judged by the rule of the stream."""
    log_release(
        state,
        dataset=dataset,
        kind="k-anonymous",
        recipe=made.recipe,
        attributes=made.rows.column_names,
        classes=made.rows,
        recipient=recipient,
    )
    write_file(path, iter([made.rows]))


def _finish(
    made: AnonymizedEvents | ReleasedSets,
    output: Path,
    facts: list[tuple[str, str]],
    *,
    kind: str,
    data: str,
    table: str | None,
    dataset: str | None,
    recipient: str,
    state: str | None,
    json: bool,
) -> None:
    """Log the release, write its rows, and show its facts."""
    warnings = log_release(
        state,
        dataset=dataset_name(dataset, data, table),
        kind=kind,
        recipe=made.recipe,
        attributes=made.rows.column_names,
        classes=made.rows,
        recipient=recipient,
    )
    write_file(output, iter([made.rows]))
    if json:
        show.print_json(made.as_dict() | {"warnings": list(warnings)})
        return
    show.grid(f"{made.rows.num_rows:,} rows in {output.name}", ("", ">"), facts)
    for warning in warnings:
        show.say(f"[yellow]{escape(warning)}[/]")
    show.say(_NOTE)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())
