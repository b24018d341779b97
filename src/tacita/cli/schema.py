"""`tacita schema`: draft, check and confirm what is public about the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from tacita.cli.parts import show
from tacita.cli.parts.files import SCHEMA, check_files
from tacita.cli.parts.options import Data, Json, SchemaFile, TableName
from tacita.domain import Binned, CsvDialect, Domain
from tacita.domain.infer import Draft
from tacita.engines.connect import connect
from tacita.engines.local.files.draft import draft
from tacita.engines.spark.address import drafted_from
from tacita.errors import Conflict, DataError

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)
_MOST_SHOWN = 8
"""Columns of the preview."""


@app.command()
def infer(
    data: Annotated[str, typer.Argument(help="A file, a folder of files, an address in a store, or duckdb:PATH.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the draft.")] = Path("schema.yaml"),
    force: Annotated[bool, typer.Option(help="Overwrite the file if it exists.")] = False,
    table: TableName = None,
    delimiter: Annotated[str | None, typer.Option(help="Between values of a text file; found if not given.")] = None,
    encoding: Annotated[str | None, typer.Option(help="Encoding, such as cp1252; found if not given.")] = None,
    decimal: Annotated[str | None, typer.Option(help="Decimal mark of numbers: . or ,")] = None,
    thousands: Annotated[str | None, typer.Option(help="Mark between groups of three digits.")] = None,
    dates: Annotated[
        list[str] | None, typer.Option(help="Format of dates, such as %d.%m.%Y. Several may be given.")
    ] = None,
    null: Annotated[
        list[str] | None, typer.Option(help="Text that means a missing value. Several may be given.")
    ] = None,
    quote: Annotated[str | None, typer.Option(help="Quotes around values; empty for none.")] = None,
    columns: Annotated[
        str | None, typer.Option(help="Names of the columns, for a file without a header: age,sex,income.")
    ] = None,
    skip: Annotated[int | None, typer.Option(help="Lines before the header.")] = None,
    json: Json = False,
) -> None:
    """Draft a schema from the data. All of it is treated as private until you confirm it.

    [dim]tacita schema infer people.csv -o people.yaml[/]
    """
    check_files(SCHEMA, output=output)
    if output.exists() and not force:
        raise Conflict("exists already", field="output", value=str(output), hint="Use --force to overwrite it")
    names = None if columns is None else tuple(name.strip() for name in columns.split(","))
    given = {
        "delimiter": "\t" if delimiter in ("\\t", "tab") else delimiter,
        "encoding": encoding,
        "decimal": decimal,
        "thousands": thousands,
        "dates": tuple(dates) if dates else None,
        "nulls": ("", *null) if null else None,
        "quote": quote,
        "columns": names,
        "skip": skip,
    }
    data = drafted_from(data)
    made = draft(data, title=Path(data).stem, given=given, table=table)
    made.domain.write(output)
    if json:
        show.print_json(made.as_dict() | {"output": str(output)})
        return
    _show_draft(made)
    show.say(f"Wrote a draft of {len(made.domain)} attributes to {output}.")
    show.say(_who(made.domain))
    show.say("Everything in it was read from private data. Check each line: would you publish it?")
    show.say(f"Correct it, then run: tacita schema confirm {output}")


def _show_draft(made: Draft) -> None:
    """Show the first rows as they are read, what was found about the file, and the reason for each kind."""
    names, *rows = made.preview or ((),)
    shown = names[:_MOST_SHOWN]
    show.grid("First rows, as they are read", shown, [row[:_MOST_SHOWN] for row in rows])
    if len(names) > _MOST_SHOWN:
        show.say(f"[dim]… and {len(names) - _MOST_SHOWN} more columns[/]")
    for note in made.notes:
        show.say(escape(note))
    kinds = [(each.name, each.kind, made.reasons[each.name]) for each in made.domain.attributes]
    show.grid("Kinds", ("attribute", "kind", "because"), kinds)


@app.command()
def check(data: Data, schema: SchemaFile, table: TableName = None, json: Json = False) -> None:
    """Check how well the data fits its schema. Prints exact counts for the owner: do not pass them on."""
    domain = Domain.read(schema)
    found = connect(data, domain, table).check()
    if json:
        columns = [vars(column) | {"fits": column.fits} for column in found.columns]
        show.print_json({"rows": found.rows, "fits": found.fits, "columns": columns, "unconfirmed": domain.unconfirmed})
    else:
        rows = [(c.name, str(c.missing), str(c.other), str(c.nowhere)) for c in found.columns]
        show.grid(f"{found.rows:,} rows", ("attribute", ">missing", ">other", ">without a place"), rows)
        for name, parts in domain.unconfirmed.items():
            show.say(f"not confirmed: {name} ({', '.join(parts)})")
    if not found.fits:
        bad = [column.name for column in found.columns if not column.fits]
        raise DataError(
            "has out-of-domain values; their rows would not be counted",
            field=", ".join(bad),
            hint="Add the levels, or the buckets `other` and `missing`",
        )


@app.command()
def confirm(
    schema: Annotated[Path, typer.Argument(help="The schema: YAML or JSON.")],
    attribute: Annotated[list[str] | None, typer.Option(help="Confirm only these; all, if none are named.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Confirm that the content of the schema is public knowledge, or may become so."""
    domain = Domain.read(schema)
    named = set(attribute or domain.unconfirmed)
    confirmed = domain.confirm(named)
    pending = {name: parts for name, parts in domain.unconfirmed.items() if name in named}
    if not pending:
        show.say("Nothing to confirm.")
        return
    for line in _to_confirm(domain, pending):
        show.say(line)
    if not yes and not typer.confirm("Is all of this public, or may it become so?"):
        raise typer.Exit(1)
    confirmed.write(schema)
    left = len(confirmed.unconfirmed)
    show.say(f"Confirmed {len(pending)} attributes." + (f" {left} are left." if left else ""))


def _to_confirm(domain: Domain, pending: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield everything that is about to be confirmed: the person, and all bounds and levels, however many."""
    yield _who(domain)
    if domain.csv != CsvDialect():
        written = domain.csv.model_dump(mode="json", exclude_defaults=True)
        yield "text files: " + escape(", ".join(f"{name} {value}" for name, value in written.items()))
    for name, parts in pending.items():
        attribute = domain[name]
        about = f"{escape(name)} ({attribute.kind}; from the data: {', '.join(parts)}): "
        if isinstance(attribute, Binned):
            about += f"from {attribute.bounds[0]} to {attribute.bounds[1]}, in bins "
        yield about + (escape(", ".join(attribute.all_labels)) if attribute.countable else "never counted")


def _who(domain: Domain) -> str:
    if domain.person is None:
        return "person: none. Each row is protected by itself: is each person in one row only?"
    return f"person: {escape(domain.person)}. All rows with the same value of it belong to one person."
