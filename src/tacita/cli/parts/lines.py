"""Rows that arrive as CSV on standard input, in pieces as they come."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.csv as pacsv

from tacita.errors import DataError

__all__ = ["arriving_rows", "print_rows"]

_BYTES = 1 << 20


def arriving_rows(columns: Sequence[str]) -> Iterator[pa.Table]:
    """Yield the chosen columns of the rows that have arrived, as texts: all whole lines that can be read at once.

    The first line names the columns. A quoted value must not hold a line break.

    Raises:
        DataError: The header lacks a column, or a line does not fit the header.
    """
    source = sys.stdin.buffer
    header, rest = source.readline(), b""
    _read(header, columns)  # refuses a header before any row is waited for
    while piece := source.read1(_BYTES):  # type: ignore[union-attr]
        lines, found, rest = (rest + piece).rpartition(b"\n")
        if found:
            yield _read(header + lines + found, columns)
    if rest:
        yield _read(header + rest, columns)


def _read(content: bytes, columns: Sequence[str]) -> pa.Table:
    options = pacsv.ConvertOptions(
        column_types={name: pa.string() for name in columns}, include_columns=list(columns), strings_can_be_null=False
    )
    try:
        return pacsv.read_csv(io.BytesIO(content), convert_options=options)
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        raise DataError(
            f"must be CSV with the columns {', '.join(columns)} in its first line, one row in each line",
            field="standard input",
            hint="Separate values by commas, in UTF-8",
        ) from None


def print_rows(rows: pa.Table, *, header: bool) -> None:
    """Write rows as CSV to standard output, at once."""
    out = io.BytesIO()
    pacsv.write_csv(rows, out, pacsv.WriteOptions(include_header=header))
    sys.stdout.buffer.write(out.getvalue())
    sys.stdout.buffer.flush()
