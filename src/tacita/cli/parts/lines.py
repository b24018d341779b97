"""Rows that arrive as CSV on standard input, in pieces as they come."""

from __future__ import annotations

import csv
import io
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from tacita.errors import DataError

__all__ = ["Arriving", "print_rows"]

_BYTES = 1 << 20
_MOST_TEXT = 1 << 20  # characters of one value


class Arriving:
    """Rows of CSV in UTF-8 as they arrive; the first line names the columns.

    A record ends where its last quote is closed, however its bytes arrive. Records that do not fit the header, or are
    not UTF-8, are left out, so that one sender cannot end the stream for all.

    Attributes:
        malformed: Records that were left out so far.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        csv.field_size_limit(_MOST_TEXT)
        self.malformed, self._columns, self._lines = 0, tuple(columns), _Lines(sys.stdin.buffer)
        self._records = csv.reader(self._lines)
        header = self._next() or []
        absent = [name for name in columns if header.count(name) != 1]
        if absent:
            separators = [name for name, mark in (("semicolons", ";"), ("tabs", "\t")) if mark in "".join(header)]
            raise DataError(
                f"the first line must name each of the columns {', '.join(columns)} once",
                field="standard input",
                hint=f"Separate values by commas, not {separators[0]}" if separators else "Separate values by commas",
            )
        self._width, self._at = len(header), [header.index(name) for name in columns]

    def __iter__(self) -> Iterator[pa.Table]:
        """Yield the chosen columns as texts: all records that can be read without waiting for more."""
        found: list[list[str]] = []
        while (record := self._next()) is not None:
            if record:
                found += self._checked(record)
            if found and not self._lines.ready:
                yield self._table(found)
                found = []
        if found:
            yield self._table(found)

    def _next(self) -> list[str] | None:
        try:
            return next(self._records, None)
        except csv.Error:
            rule = f"a value has more than {_MOST_TEXT:,} characters, or a quote is never closed"
            raise DataError(rule, field="standard input") from None

    def _checked(self, record: list[str]) -> list[list[str]]:
        chosen = [record[at] for at in self._at] if len(record) == self._width else None
        if chosen is None or any(_is_broken(text) for text in chosen):
            self.malformed += 1
            return []
        return [chosen]

    def _table(self, records: list[list[str]]) -> pa.Table:
        columns = zip(self._columns, zip(*records, strict=True), strict=True)
        return pa.table({name: pa.array(texts, pa.string()) for name, texts in columns})


class _Lines:
    """Lines of a stream of bytes; bytes that are no UTF-8 become lone surrogates."""

    def __init__(self, source: Any) -> None:
        self._source, self._rest = source, b""
        self.ready: deque[str] = deque()

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self.ready:
            piece = self._source.read1(_BYTES)
            if not piece:
                if not self._rest:
                    raise StopIteration
                piece, self._rest = self._rest, b""
                return piece.decode("utf-8-sig", "surrogateescape")
            *lines, self._rest = (self._rest + piece).split(b"\n")
            self.ready += [line.decode("utf-8-sig", "surrogateescape") + "\n" for line in lines]
        return self.ready.popleft()


def _is_broken(text: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in text) if not text.isascii() else "\0" in text


def print_rows(rows: pa.Table, *, header: bool) -> None:
    """Write rows as CSV to standard output, at once."""
    out = io.BytesIO()
    pacsv.write_csv(rows, out, pacsv.WriteOptions(include_header=header))
    sys.stdout.buffer.write(out.getvalue())
    sys.stdout.buffer.flush()
