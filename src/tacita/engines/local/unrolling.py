"""How large the rows of a Parquet file become when they are read, and reading them in pieces that fit.

A page of a Parquet file can say "this value, a million times" in a few bytes. So a small file may stand for any number
of rows, and a long text that is there once for gigabytes of text.

    row_bytes         the most that a row can take, in each row group
    batches_of        the rows, as many at once as take `BATCH_BYTES` at most
    check_unrolling   refuse a file whose rows could take far more bytes than it has

Utility:  a file of any number of rows streams through a few times `BATCH_BYTES`. What counts is the longest text of a
          dictionary, and the size that the footer gives for what is in none. So a file that was forged, with a footer
          that lies about its pages or a dictionary that comes after plain values, can still make a piece large.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacita.errors import DataError, InvalidInput

__all__ = ["BATCH_BYTES", "FREE_BYTES", "File", "batches_of", "check_unrolling", "row_bytes", "unrolled_bytes"]

BATCH_BYTES = 1 << 27
"""Most bytes that rows take at once, if one row takes no more."""
FREE_BYTES = 1 << 33
"""What every file may unroll to: in a stream, this much takes seconds."""

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8, "BYTE_ARRAY": 8}
_DECIMAL = 32  # the widest in memory, however few bytes the file has of it
_LOOK, _BUFFER = 4096, 1 << 16

File = Path | BinaryIO


def row_bytes(file: File, columns: Sequence[str]) -> list[int]:
    """The most bytes that a row of these columns takes, by row group.

    A value takes its width; a text takes what the longest one of its dictionary does, or as much as plain texts take on
    the average. Columns of lists or records have no bound, and are left out: they cannot be read.
    """
    with pq.ParquetFile(file) as opened:
        found, schema = opened.metadata, opened.schema_arrow
    flat = {name for name in columns if not pa.types.is_nested(schema.field(name).type)}
    places = [at for at in range(found.num_columns) if found.schema.column(at).path in flat]
    texts = [found.schema.column(at).path for at in places if _is_text(found.schema.column(at))]
    if not texts:
        return [sum(map(_width, map(found.schema.column, places)))] * found.num_row_groups
    with pq.ParquetFile(file, metadata=found, read_dictionary=texts, buffer_size=_BUFFER) as opened:
        return [_row_bytes(opened, group, places) for group in range(found.num_row_groups)]


def unrolled_bytes(file: File, sizes: Sequence[int]) -> int:
    """The most bytes that all rows take together once they are read, by the `row_bytes` of the file."""
    with pq.ParquetFile(file) as opened:
        found = opened.metadata
    rows = (int(found.row_group(at).num_rows) for at in range(found.num_row_groups))
    return sum(count * size for count, size in zip(rows, sizes, strict=True))


def check_unrolling(path: Path, sizes: Sequence[int], most: int) -> None:
    """Refuse a file whose rows could take more than `FREE_BYTES`, and more than `most` bytes for each byte of the file.

    How many it would be, and so how many rows there are, stays in the private part of the error.
    """
    size, unrolled = path.stat().st_size, unrolled_bytes(path, sizes)
    if unrolled > max(FREE_BYTES, most * size):
        raise InvalidInput(
            f"its rows can take more than {most} times the bytes of the file, and more than {FREE_BYTES} bytes",
            field="file",
            hint="Leave out columns of long texts, or write it as CSV; who runs the server can raise max_unrolling",
            private=f"{unrolled} bytes, from {size}",
        )


def batches_of(file: File, columns: Sequence[str], sizes: Sequence[int], most_rows: int) -> Iterator[pa.RecordBatch]:
    """All rows of a file with these columns, in batches that are the same for every choice of columns.

    Args:
        file: A Parquet file.
        columns: Which to read.
        sizes: Its `row_bytes`, for all columns that are ever chosen.
        most_rows: Rows of a batch; fewer where a row can take more than its share of `BATCH_BYTES`.
    """
    names = list(columns)
    with pq.ParquetFile(file) as opened:
        for name in names:
            if pa.types.is_nested(opened.schema_arrow.field(name).type):
                hint = "Flatten it before, or leave it out"
                raise DataError("a column of lists or records cannot be read", field=name, hint=hint)
        at_once = [max(1, min(most_rows, BATCH_BYTES // max(size, 1))) for size in sizes]
        for rows, groups in groupby(range(len(at_once)), at_once.__getitem__):
            held: list[pa.RecordBatch] = []
            # where a dictionary ends the reader ends a batch; these go on to where every choice of columns ends one
            for part in opened.iter_batches(batch_size=rows, row_groups=list(groups), columns=names):
                held.append(part.select(names))
                if sum(each.num_rows for each in held) >= rows:
                    yield _joined(held)
                    held = []
            if held:
                yield _joined(held)


def _row_bytes(opened: pq.ParquetFile, group: int, places: Sequence[int]) -> int:
    part, total = opened.metadata.row_group(group), 0
    folded = []
    for at in places:
        chunk, column = part.column(at), opened.metadata.schema.column(at)
        total += _width(column)
        if _is_text(column):
            total += -(-int(chunk.total_uncompressed_size) // max(int(part.num_rows), 1))
            if any("DICTIONARY" in encoding for encoding in chunk.encodings):
                folded.append(column.path)
    return total + sum(_longest(opened, group, name) for name in folded)


def _longest(opened: pq.ParquetFile, group: int, name: str) -> int:
    """Bytes of the longest text of a row group's dictionary, which comes with the first page that uses it."""
    for batch in opened.iter_batches(batch_size=_LOOK, row_groups=[group], columns=[name]):
        texts = batch.column(0).dictionary
        if len(texts):
            return int(pc.max(pc.binary_length(texts)).as_py() or 0)
    return 0


def _width(column: pq.ColumnSchema) -> int:
    """Bytes of a value besides its text, and of whether it is there."""
    plain = _WIDTHS.get(column.physical_type) or int(column.length)
    return 1 + (max(plain, _DECIMAL) if column.logical_type.type == "DECIMAL" else plain)


def _is_text(column: pq.ColumnSchema) -> bool:
    return bool(column.physical_type == "BYTE_ARRAY" and column.logical_type.type != "DECIMAL")


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    (joined,) = pa.Table.from_batches(parts).unify_dictionaries().combine_chunks().to_batches()
    return joined
