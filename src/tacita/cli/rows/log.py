"""`tacita log`: anonymize logs: events over time, sets of items, rows that keep arriving."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray
from rich.markup import escape

from tacita.anonymize.anonymize import Anonymize, Anonymized
from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.criteria.registry import all_parameters
from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.anonymize.hierarchies.reading import read_hierarchy
from tacita.anonymize.sets import AnonymizeSets, ReleasedSets
from tacita.anonymize.streams.events import AnonymizedEvents, AnonymizeEvents, EventsPlan
from tacita.anonymize.streams.micro_batches import MicroBatches
from tacita.anonymize.streams.times import check_time, whole_times
from tacita.cli.parts import show
from tacita.cli.parts.files import Into, RowsOutput, rows_target
from tacita.cli.parts.generated import with_options
from tacita.cli.parts.lines import Arriving, print_rows
from tacita.cli.parts.options import Data, Json, SchemaFile, State, TableName, engine_of
from tacita.cli.parts.released import DatasetName, Recipient, dataset_name, log_release
from tacita.common.number_text import number
from tacita.domain import Domain
from tacita.engines.targets import RowTarget
from tacita.errors import DataError, InvalidInput
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
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="Output of the rows: .csv, .parquet, or a database; - prints them."),
    ],
    time: Time,
    values: Annotated[str, typer.Option(help="Attributes that a person shows: page,region.")],
    z: Annotated[int, typer.Option("--z", help="Least people who showed the same values.")],
    window: Annotated[
        int, typer.Option(help="Time for which a showing counts, in the unit of the time; days for a date.")
    ],
    into: Into = None,
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
        if json:
            raise InvalidInput("standard output has the rows", field="json", hint="Leave out --json")
        warnings = log_release(
            state,
            dataset=_dataset(dataset, data, table),
            kind="events",
            recipe=plan.recipe.as_dict(),
            attributes=plan.leaving,
            classes=pa.table({name: pa.array([], pa.string()) for name in plan.leaving}),
            recipient=recipient,
        )
        for warning in warnings:
            show.note(warning)
        _pass_through(plan)
        return
    target = rows_target(output, into)
    target.check(plan.leaving)
    made = plan.run(engine_of(data, domain, table))
    facts = [("suppressed", number(made.as_dict()["suppressed"], share=True))]
    _finish(
        made,
        target,
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
    stream, arriving, first = plan.stream(), Arriving(plan.reading), True
    for rows in arriving:
        print_rows(stream.push(rows), header=first)
        first = False
    reasons = {
        "without a person, a time or values of the schema, or late": stream.unusable,
        "that do not fit the header or are not UTF-8": arriving.malformed,
    }
    for reason, count in reasons.items():
        if count:
            show.note(f"Suppressed rows {reason}: {count:,}.")


@app.command()
def sets(
    data: Data,
    schema: SchemaFile,
    output: RowsOutput,
    item: Annotated[str, typer.Option(help="Attribute with the item of a row; a person's items are a set.")],
    k: Annotated[int, typer.Option("--k", help="Least people who share a combination.")],
    m: Annotated[int, typer.Option("--m", help="Most items that an attacker may know.")] = 2,
    hierarchy: Annotated[Path | None, typer.Option(help="Hierarchy of the items: .csv or .yaml.")] = None,
    suppress: Annotated[
        float | None,
        typer.Option(help="Most share of items that may be left out; without a hierarchy all, with one none."),
    ] = None,
    into: Into = None,
    table: TableName = None,
    dataset: DatasetName = None,
    recipient: Recipient = "not named",
    state: State = None,
    json: Json = False,
) -> None:
    """Release people's sets of items; each combination of m items is shared by k people (k^m-anonymity).

    [dim]tacita log sets baskets.csv -s baskets.yaml --item product --k 10 --m 2 -o out.csv[/]
    """
    target = rows_target(output, into)
    domain = Domain.read(schema)
    tree = None if hierarchy is None else _items(hierarchy)
    recipe = AnonymizeSets(item=item, k=k, m=m, hierarchy=tree, suppress=suppress)
    plan = recipe.prepare(domain)
    target.check(plan.leaving)
    made = plan.run(engine_of(data, domain, table))
    facts = [
        ("sets", f"{made.sets:,}"),
        ("people who share the rarest combination", f"{made.made.support or 0:,}"),
        ("mean loss of an item", number(made.made.loss, share=True)),
        ("items left out", number(made.made.suppressed, share=True)),
        ("rows without a person or a declared item", number(made.undeclared, share=True)),
    ]
    _finish(
        made,
        target,
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
    check_time(domain, time)
    columns = list(dict.fromkeys((*plan.reading, time)))
    arriving = Arriving(columns) if data == _LIVE else None
    rows = (
        (pa.Table.from_batches([batch]) for batch in engine_of(data, domain, table).rows(columns))
        if arriving is None
        else arriving
    )
    output.mkdir()
    written = released = unusable = 0
    for piece in rows:
        times, known = whole_times(domain, time, piece)
        unusable += int((~known).sum())
        for now, together in _by_time(times[known], piece.filter(pa.array(known))):
            results, bad = _push(holding, together, now)
            unusable += bad
            for made in results:
                written, released = written + 1, released + made.rows.num_rows
                path = output / f"batch-{written:06}.csv"
                _write_batch(made, path, state, _dataset(dataset, data, table), recipient)
    facts = [
        ("batches", f"{written:,}"),
        ("rows released", f"{released:,}"),
        ("rows still held, and not released", f"{holding.held:,}"),
        ("rows past their deadline", f"{holding.late:,}"),
        ("rows of people who were released before", f"{holding.repeated:,}"),
        ("rows without a person", f"{holding.unkeyed:,}"),
        ("rows without a time, late, or out of domain", f"{unusable:,}"),
    ]
    if arriving is not None:
        facts.append(("rows that do not fit the header or are not UTF-8", f"{arriving.malformed:,}"))
    show.grid(str(output), ("", ">"), facts)
    show.say(_NOTE)


def _by_time(times: NDArray[np.int64], rows: pa.Table) -> list[tuple[int, pa.Table]]:
    """Split rows where their time changes."""
    starts = np.flatnonzero(np.diff(times, prepend=times[:1] - 1)) if len(times) else times
    ends = [*starts[1:].tolist(), len(times)]
    return [(int(times[a]), rows.slice(a, b - a)) for a, b in zip(starts.tolist(), ends, strict=True)]


def _push(holding: MicroBatches, rows: pa.Table, now: int) -> tuple[list[Anonymized], int]:
    """Take rows in; leave out, and count, those that are late or have an out-of-domain value."""
    if holding.now is not None and now < holding.now:
        return [], rows.num_rows
    try:
        return holding.push(rows, now), 0
    except DataError:
        if rows.num_rows == 1:
            return [], 1
    half = rows.num_rows // 2
    parts = [_push(holding, part, now) for part in (rows.slice(0, half), rows.slice(half))]
    return [made for results, _ in parts for made in results], sum(bad for _, bad in parts)


def _dataset(name: str | None, data: str, table: str | None) -> str:
    """Name of the data in the log of releases."""
    return name or "standard input" if data == _LIVE else dataset_name(name, data, table)


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
    target: RowTarget,
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
    target.write(iter([made.rows]))
    if json:
        show.print_json(made.as_dict() | {"warnings": list(warnings)})
        return
    show.grid(f"{made.rows.num_rows:,} rows in {target.name}", ("", ">"), facts)
    for warning in warnings:
        show.say(f"[yellow]{escape(warning)}[/]")
    show.say(_NOTE)


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _items(path: Path) -> Hierarchy:
    found = read_hierarchy(path)
    if not isinstance(found, Hierarchy):
        raise InvalidInput("must list the items: a rule has none", field="hierarchy", hint="Use a .csv file")
    return found
