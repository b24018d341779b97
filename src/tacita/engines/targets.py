"""Targets of released rows: a file, or a new table of a database.

    rows.csv, rows.parquet              a file, which replaces one that is there
    postgresql://… with a table         a new table, filled by COPY in one transaction
    mongodb://… with a collection       a new collection, filled under another name and renamed at the end
    spark:PATH                          a folder that a cluster writes, filled under another name and renamed

All of them appear whole, or not at all, and hold a few batches in memory. A table that exists is refused, never added
to. A target is checked before anything is paid for: names, rights, whether it is there already. `TARGETS` has a line
for each kind of database; addresses are never shown, because they may hold passwords.

Privacy: writes what is released already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.common.progress import step
from tacita.common.whole import whole
from tacita.engines.spark.target import SparkTarget
from tacita.errors import InvalidInput

__all__ = ["SUFFIXES", "TARGETS", "FileTarget", "Progress", "RowTarget", "is_address", "row_target", "write_batches"]

Progress = Callable[[int], None]
"""Called with the number of rows written so far; an exception from it stops the writing and leaves nothing behind."""

SUFFIXES = (".csv", ".parquet")

TARGETS = {
    "postgresql": "tacita.engines.postgres.target:PostgresTarget",
    "postgres": "tacita.engines.postgres.target:PostgresTarget",
    "mongodb": "tacita.engines.mongo.target:MongoTarget",
    "mongodb+srv": "tacita.engines.mongo.target:MongoTarget",
}
"""Class of the target by the scheme of its address: it is made of the address and of the table's name."""

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]+):")  # two letters at least: C: is a drive


class RowTarget(Protocol):
    """A place for rows."""

    @property
    def name(self) -> str:
        """The place, as messages and reports show it: without credentials."""

    @property
    def path(self) -> Path | None:
        """The file, if it is one."""

    def check(self, names: Sequence[str] = ()) -> None:
        """Refuse a place that rows cannot be written to.

        Args:
            names: Columns of the rows, as far as they are known.
        """

    def write(self, batches: Iterator[pa.Table], progress: Progress | None = None) -> None:
        """Write batches, of which there is at least one. They appear when all are written."""


def is_address(place: str | Path) -> bool:
    """Return whether a place is an address and not a file."""
    match = _SCHEME.match(place) if isinstance(place, str) else None
    return match is not None and (match[1].lower() in (*TARGETS, "spark") or str(place)[match.end() :].startswith("//"))


def row_target(place: str | Path, into: str | None = None) -> RowTarget:
    """Return the target of an address or a path.

    Args:
        place: A file, or the address of a database.
        into: The new table or collection of a database; files have none.

    >>> row_target("rows.csv").name
    'rows.csv'
    """
    text = str(place)
    scheme = text.partition(":")[0].lower() if is_address(place) else ""
    if scheme == "spark" and into is None:
        return SparkTarget.parse(text)
    if scheme in TARGETS:
        if into is None:
            raise InvalidInput(
                "a database needs the name of a new table", field="into", hint="Pass --into schema.table"
            )
        module, _, name = TARGETS[scheme].partition(":")
        made: RowTarget = getattr(import_module(module), name)(text, into)
        return made
    if scheme not in ("", "file", "spark"):
        known = ", ".join(f"{each}://" for each in ("postgresql", "mongodb", "spark"))
        raise InvalidInput(f"must be a file or {known}", field="output", value=f"{scheme}:")
    if into is not None:
        raise InvalidInput("only a database has tables", field="into", value=into)
    return FileTarget(Path(unquote(urlsplit(text).path)) if scheme else place)


class FileTarget:
    """One file, in the format of its suffix."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)

    @property
    def name(self) -> str:
        """The file's name."""
        return self._path.name

    @property
    def path(self) -> Path:
        """The file."""
        return self._path

    def check(self, names: Sequence[str] = ()) -> None:
        """Refuse another suffix, and a folder."""
        if self._path.suffix.lower() not in SUFFIXES:
            raise InvalidInput("must end in .csv or .parquet", field="path", value=self._path)
        if self._path.is_dir():
            raise InvalidInput("is a folder", field="path", value=self._path)

    def write(self, batches: Iterator[pa.Table], progress: Progress | None = None) -> None:
        """Write batches as one file."""
        self.check()
        step("writing rows")
        try:
            with whole(self._path) as unfinished:
                write_batches(unfinished, self._path.suffix.lower(), batches, progress)
        except OSError as error:
            value = f"{self._path}: {error.strerror or error}"
            raise InvalidInput("cannot be written", field="path", value=value) from None


def write_batches(path: Path, kind: str, batches: Iterator[pa.Table], progress: Progress | None = None) -> None:
    """Write batches to a file of a kind, as they come."""
    first = next(batches)
    make: Any = pq.ParquetWriter if kind == ".parquet" else pa_csv.CSVWriter
    rows = 0
    with make(path, first.schema) as writer:
        for batch in chain([first], batches):
            writer.write_table(batch)
            rows += batch.num_rows
            if progress is not None:
                progress(rows)
