"""`tacita verify`: check a privacy statement without trusting it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacita.cli.parts import show
from tacita.cli.parts.options import Json
from tacita.errors import InvalidInput
from tacita.report.statement import Statement
from tacita.report.statement import verify as check

__all__ = ["verify"]


def verify(
    statement: Annotated[Path, typer.Argument(help="The statement, JSON.")],
    file: Annotated[
        list[Path] | None,
        typer.Option("--file", "-f", help="A released file; its digest is compared. May be repeated."),
    ] = None,
    key: Annotated[str | None, typer.Option(help="The public key that must have signed it.")] = None,
    json: Json = False,
) -> None:
    """Check signature, files and arithmetic of a privacy statement. Exit status 3 if something does not hold.

    [dim]tacita verify made.statement.json --file made.parquet[/]
    """
    read = Statement.read(statement)
    given = {path.name: path for path in file or []}
    if len(given) < len(file or []):
        raise InvalidInput(
            "two files have one name, and the statement knows them by their names",
            field="file",
            hint="Check them one after the other",
        )
    checks = check(read, files=given, key=key)
    good = all(each.good for each in checks)
    if json:
        plain = [{"what": each.what, "good": each.good, "detail": each.detail} for each in checks]
        show.print_json({"good": good, "checks": plain, "statement": read.as_dict()})
    else:
        rows = [("yes" if each.good else "NO", each.what, each.detail) for each in checks]
        show.grid("Does it hold?", ("", "", ""), rows)
        facts = [("guarantee", read.guarantee), ("who is protected", f"{read.unit}, {read.neighbours}")]
        facts += [("epsilon", "none" if read.epsilon is None else f"{read.epsilon:.6g} at delta {read.delta:g}")]
        facts += [("not protected", text) for text in read.not_protected]
        show.grid("What it says", ("", ""), facts)
        unchecked = [name for name in read.digests if name not in given]
        if unchecked:
            show.say(f"Not checked: {', '.join(unchecked)}. Give it with --file.")
        if key is None:
            show.say("The owner of the key is not verified: compare it with one that you trust; give it with --key.")
    if not good:
        raise typer.Exit(3)
