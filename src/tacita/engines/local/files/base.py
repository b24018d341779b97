"""Base of sources of rows: their protocol, the errors of readers, and checks of names.

A source is read as often as needed and never held; the batches of one source have the same rows each time, whatever
columns are requested. An error never holds raw values, not even in its private part, which names the broken line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

import pyarrow as pa

from tacita.errors import DataError, SourceUnavailable

__all__ = [
    "READ_ROWS",
    "Checked",
    "Narrowable",
    "RowSource",
    "Rows",
    "distinct_names",
    "reading",
    "same_columns",
]

READ_ROWS = 2 * 65_535
"""Rows that are encoded at once: whole runs of the counting kernel's counters."""
RAGGED = "a line has more or fewer values than the header"
NO_TEXT = "the file is not UTF-8 text"
NOT_ENCODED = "the file is not text in the encoding that the schema states"


class RowSource(Protocol):
    """A stream of rows that can be read again."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def rows(self) -> int | None:
        """Number of rows, if it is known without reading them."""

    @property
    def version(self) -> object:
        """A value that changes when the data does; None if the data cannot change."""

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns, for each part that may have its own."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns."""


class Rows:
    """Some columns of a source, as something that can be iterated more than once."""

    def __init__(self, source: RowSource, columns: Sequence[str] | None = None) -> None:
        self._source, self._columns = source, source.columns if columns is None else columns

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._source.batches(self._columns)


@runtime_checkable
class Checked(Protocol):
    """A source that can be broken in ways that counting ignores."""

    def checked(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns; broken data is refused."""


@runtime_checkable
class Narrowable(Protocol):
    """A source whose batches depend on the columns that may be requested."""

    def only(self, columns: Sequence[str]) -> RowSource:
        """The same with these columns alone, so that others cannot make its batches small."""


@contextmanager
def reading(name: str, kind: str, locate: Callable[[str], str | None] = lambda _: None) -> Iterator[None]:
    """Convert errors of a reader into ours. Their text may quote rows, so none of it is passed on.

    Args:
        name: Name of the file. kind: Kind of file, in words.
        locate: Find the broken line for a rule, for the private part of the error.
    """
    try:
        yield
    except FileNotFoundError:
        raise SourceUnavailable("no such file", field="source", value=name) from None
    except MemoryError:
        raise DataError("the file needs more memory than there is", field=name) from None
    except (pa.ArrowException, UnicodeError, OverflowError) as error:
        rule, hint = _explain(str(error), kind)
        raise DataError(rule, field=name, hint=hint, private=locate(rule)) from None
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise SourceUnavailable(f"cannot be read: {reason}", field="source", value=name) from None


def _explain(message: str, kind: str) -> tuple[str, str | None]:
    if "Empty CSV file" in message:
        return "the file is empty; it needs at least a header", None
    if "columns, got" in message:
        return RAGGED, "Give each line as many values as the header has names"
    if "UTF8" in message or "utf-8" in message:
        return NO_TEXT, "Draft the schema again: it finds the encoding; or state it: `csv: {encoding: cp1252}`"
    if "codec can't decode" in message or "UTF-16" in message:
        return NOT_ENCODED, "Draft the schema again: it finds the encoding"
    return f"the file cannot be read as {kind}", None


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names of columns as a tuple; refuse names that are there twice."""
    listed = tuple(names)
    twice = next((name for name in listed if listed.count(name) > 1), None)
    if twice == "":
        hint = (
            "Name them in the header, or state the names in the schema: `csv: {header: false, skip: 1, columns: […]}`"
        )
        raise DataError("several columns have no name", field="source", hint=hint)
    if twice is not None:
        raise DataError("a column name is there twice", field="source", value=twice)
    return listed


def same_columns(before: tuple[str, ...], names: tuple[str, ...], file: str) -> tuple[str, ...]:
    """Return the columns that all parts of a source have."""
    missing = next((name for name in before if name not in names), None)
    if missing is not None:
        raise DataError(f"the part has no column {missing!r}, which the part before has", field=file)
    return before or names
