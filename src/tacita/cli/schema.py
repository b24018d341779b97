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
from tacita.domain import Binned, Domain
from tacita.domain.infer import infer as infer_domain
from tacita.engines.connect import connect
from tacita.engines.local.sources import Rows, open_source
from tacita.errors import Conflict, DataError

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True)


@app.command()
def infer(
    data: Annotated[str, typer.Argument(help="A CSV or Parquet file, or a folder of them.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file for the draft.")] = Path("schema.yaml"),
    force: Annotated[bool, typer.Option(help="Overwrite the file if it exists.")] = False,
) -> None:
    """Draft a schema from the data. All of it is treated as private until you confirm it."""
    check_files(SCHEMA, output=output)
    if output.exists() and not force:
        raise Conflict("exists already", field="output", value=str(output), hint="Use --force to overwrite it")
    source = open_source(data)
    domain = infer_domain(Rows(source, source.columns), title=Path(data).stem)
    domain.write(output)
    show.say(f"Wrote a draft of {len(domain)} attributes to {output}.")
    show.say(_who(domain))
    show.say("Everything in it was read from private data. Check each line: would you publish it?")
    show.say(f"Correct it, then run: tacita schema confirm {output}")


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
