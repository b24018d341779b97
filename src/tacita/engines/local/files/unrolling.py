"""Size of the rows of a Parquet file in memory, and reading them in pieces that fit.

A page of a Parquet file can encode "this value, a million times" in a few bytes. So a small file may hold any number
of rows, and a long text that is stored once may become gigabytes of text.

    pieces            how many rows to read at once, so that they take `BATCH_BYTES` at most
    batches_of        the rows, in these pieces
    unrolled_bytes    bytes of all rows
    check_unrolling   refuse a file whose rows take far more bytes than it has

Numbers take their width. Texts take at most the bytes that the headers of their pages allow; if that is much, they are
measured once, in steps that are small by the same bound.

Utility:  a file of any number of rows is streamed in a few times `BATCH_BYTES`, and a page of each column: a reader
          unpacks a whole page, so texts that were written into one large page are in memory together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacita.engines.local.pages import DICTIONARY, WHOLE, Page, pages_of
from tacita.errors import DataError, InvalidInput

__all__ = ["BATCH_BYTES", "FREE_BYTES", "File", "batches_of", "check_unrolling", "pieces", "unrolled_bytes"]

BATCH_BYTES = 1 << 27
"""Most bytes that rows take at once, if one row takes no more."""
FREE_BYTES = 1 << 30
"""Bytes that every file may unroll to: streaming this much takes seconds."""

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 8, "BYTE_ARRAY": 8}
_DECIMAL = 32  # the widest in memory, however few bytes the file has of it
_LOOK, _STEPS, _BUFFER = 4096, 1 << 12, 1 << 16
_SHORT = 64  # a dictionary that takes no more is not measured
_LARGE = 8  # bounds above this part of a piece are measured

File = Path | BinaryIO


@dataclass(frozen=True)
class _Span:
    """Consecutive rows: the most bytes that their texts take together, and that one of them takes."""

    rows: int
    total: int
    one: int

    def of(self, rows: int) -> int:
        return min(self.total, rows * self.one)


class _Line:
    """Consecutive spans."""

    def __init__(self, spans: Sequence[_Span]) -> None:
        self._spans = spans
        self._starts = [0, *accumulate(span.rows for span in spans)]
        self._totals = [0, *accumulate(span.total for span in spans)]

    def between(self, start: int, stop: int) -> int:
        """Bound the bytes that these rows take."""
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, stop - 1) - 1
        if last >= len(self._spans):
            raise pa.ArrowInvalid("a column has fewer values than there are rows")
        if first == last:
            return self._spans[first].of(stop - start)
        whole = self._totals[last] - self._totals[first + 1]
        ends = self._spans[first].of(self._starts[first + 1] - start) + self._spans[last].of(stop - self._starts[last])
        return whole + ends


class _Chunk:
    """The texts of one column in one row group."""

    def __init__(
        self, opened: pq.ParquetFile, folded: pq.ParquetFile, group: int, name: str, pages: list[Page]
    ) -> None:
        self._rows, self._group, self._name = int(opened.metadata.row_group(group).num_rows), group, name
        self._pages = [page for page in pages if page.encoding is not None]
        used = {page.encoding for page in self._pages}
        # a reader can hold indices of a dictionary instead of texts, if pages are of these kinds
        self._folds = bool(used & DICTIONARY) and used <= DICTIONARY | {0}
        self._opened = folded if self._folds else opened
        self._dictionary = max((page.size for page in pages if page.encoding is None), default=0)

    def bound(self) -> list[_Span]:
        """Bound the texts by the headers of the pages.

        A page of whole texts has at most its own bytes of text. In a page of indices, the longest text of the
        dictionary may be in every row. A text that continues the one before, or has an encoding that is not known
        here, may be as long as its page.
        """
        return [self._span(page) for page in self._pages]

    def measured(self) -> Iterator[_Span]:
        """Measure the texts by reading them, in small steps."""
        for batch in self._batches():
            lengths = pc.fill_null(_lengths(batch.column(0)), 0).to_numpy(zero_copy_only=False).astype(np.int64)
            # a span ends at its share of a piece, so that long texts do not raise the bound of short ones beside them
            shares = (np.cumsum(lengths) - lengths) // max(1, BATCH_BYTES // _LARGE)
            starts = np.flatnonzero(np.diff(shares, prepend=-1))
            totals, longest = np.add.reduceat(lengths, starts), np.maximum.reduceat(lengths, starts)
            rows = np.diff(starts, append=len(lengths))
            yield from map(_Span, rows.tolist(), totals.tolist(), longest.tolist())

    def is_exact(self) -> bool:
        """Return whether the bound is close to the real size: whole texts only."""
        return all(page.encoding in WHOLE for page in self._pages)

    def _span(self, page: Page) -> _Span:
        if page.encoding in WHOLE:
            return _Span(page.values, page.size, page.size)
        one = self._word if page.encoding in DICTIONARY else page.size
        return _Span(page.values, page.values * one, one)

    def _step(self) -> int:
        """Return the rows to read at once: those of a piece, or of at most two pages if that makes too many steps."""
        # dictionary-encoded texts take the bytes of their indices only
        folded = DICTIONARY if self._folds else frozenset[int]()
        line = _Line([_Span(p.values, 0, 0) if p.encoding in folded else self._span(p) for p in self._pages])
        pages, step = 2 * max((page.size for page in self._pages), default=0), _LOOK
        while step > 1:
            starts = range(0, self._rows, step)
            most = BATCH_BYTES if len(starts) < _STEPS else max(BATCH_BYTES, pages)
            if all(line.between(at, min(at + step, self._rows)) <= most for at in starts):
                break
            step //= 2
        return step

    @cached_property
    def _word(self) -> int:
        """Most bytes of a text of the dictionary; it is read with the first page that uses it."""
        if not self._folds or self._dictionary <= _SHORT:
            return self._dictionary
        for batch in self._batches():
            words = batch.column(0).dictionary
            if len(words):
                return int(pc.max(_lengths(words)).as_py() or 0)
        return 0

    def _batches(self) -> Iterator[pa.RecordBatch]:
        return self._opened.iter_batches(batch_size=self._step(), row_groups=[self._group], columns=[self._name])  # type: ignore[no-any-return]


def pieces(file: File, columns: Sequence[str], most_rows: int, groups: range | None = None) -> list[int]:
    """Return how many rows to read at each step, whichever of these columns are read.

    The rows of a step take `BATCH_BYTES` at most, or are one row. Columns of lists or records have no bound, and are
    left out: they cannot be read. With `groups`, only these row groups are meant.
    """
    with ExitStack() as stack:
        found, width, columns_of_texts = _texts(file, columns, stack, groups)
        rows = _rows_of(found, groups)
        lines = []
        for chunks in columns_of_texts:
            spans: list[_Span] = []
            for chunk in chunks:
                bound = chunk.bound()
                large = any(span.of(most_rows) > BATCH_BYTES // _LARGE for span in bound)
                spans += list(chunk.measured()) if large else bound
            lines.append(_Line(spans))
    at = 0
    cut: list[int] = []
    while at < rows:
        # the most rows that fit: usually all
        fits, beyond = 1, min(most_rows, rows - at) + 1
        tried = beyond - 1
        while fits + 1 < beyond:
            if tried * width + sum(line.between(at, at + tried) for line in lines) <= BATCH_BYTES:
                fits = tried
            else:
                beyond = tried
            tried = (fits + beyond) // 2
        cut.append(fits)
        at += fits
    return cut


def unrolled_bytes(file: File, columns: Sequence[str], enough: int) -> int:
    """Bound the bytes that all rows of these columns take, if that is at most `enough`; else any number above it."""
    with ExitStack() as stack:
        found, width, columns_of_texts = _texts(file, columns, stack)
        total = int(found.num_rows) * width
        if total > enough:
            return total
        chunks = [chunk for column in columns_of_texts for chunk in column]
        bounds = [sum(span.total for span in chunk.bound()) for chunk in chunks]
        if total + sum(bounds) <= enough:
            return total + sum(bounds)
        total += sum(bound for chunk, bound in zip(chunks, bounds, strict=True) if chunk.is_exact())
        for chunk in chunks:
            for span in () if chunk.is_exact() else chunk.measured():
                total += span.total
                if total > enough:
                    return total
        return total


def check_unrolling(file: File, size: int, columns: Sequence[str], most: int) -> None:
    """Refuse a file whose rows take more than `FREE_BYTES`, and more than `most` bytes for each byte of the file.

    The number of bytes, which would reveal the number of rows, is only in the private part of the error.
    """
    enough = max(FREE_BYTES, most * size)
    unrolled = unrolled_bytes(file, columns, enough)
    if unrolled > enough:
        raise InvalidInput(
            f"its rows take more than {most} times the bytes of the file, and more than {FREE_BYTES} bytes",
            field="file",
            hint="Leave out columns of long texts, or write it as CSV; the server's operator can raise max_unrolling",
            private=f"at least {unrolled} bytes, from {size}",
        )


def batches_of(
    file: File, columns: Sequence[str], cut: Sequence[int], groups: range | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield all rows of a file with these columns, in batches that are the same for every choice of columns.

    Args:
        file: A Parquet file.
        columns: The columns to read.
        cut: Its `pieces`, for all columns that are ever chosen.
        groups: The row groups to read; all by default.
    """
    names = list(columns)
    with pq.ParquetFile(file) as opened:
        for name in names:
            if pa.types.is_nested(opened.schema_arrow.field(name).type):
                hint = "Flatten it before, or leave it out"
                raise DataError("a column of lists or records cannot be read", field=name, hint=hint)
        _check_footer(opened.metadata)
        if _rows_of(opened.metadata, groups) != sum(cut):
            raise DataError(
                "the file has changed while it was read", field="source", hint="Try again when it does not change"
            )
        sizes, held = iter(cut), list[pa.RecordBatch]()
        missing = next(sizes, 0)
        # the reader ends a batch at the end of a dictionary; pieces end where batches end for every choice of columns
        for part in _parts(opened, names, cut, groups):
            at = 0
            while at < part.num_rows:
                if not missing:
                    raise pa.ArrowInvalid("there are more rows than the footer says")
                held.append(part.slice(at, missing))
                at += held[-1].num_rows
                missing -= held[-1].num_rows
                if not missing:
                    yield _joined(held)
                    missing, held = next(sizes, 0), []


def _parts(
    opened: pq.ParquetFile, names: list[str], cut: Sequence[int], groups: range | None
) -> Iterator[pa.RecordBatch]:
    """Yield batches of a reader, none larger than the smallest piece of a row group: so at most two pieces."""
    steps, ends = [], list(accumulate(cut))
    start = 0
    chosen = range(opened.num_row_groups) if groups is None else groups
    for group in chosen:
        stop = start + int(opened.metadata.row_group(group).num_rows)
        first, last = bisect_right(ends, start), bisect_right(ends, stop - 1)
        # the last piece of a file is short because the file ends
        steps.append(min(cut[first : min(last, len(cut) - 2) + 1], default=max(cut[-2:], default=1)))
        start = stop
    for step, places in groupby(range(len(steps)), steps.__getitem__):
        together = [chosen[place] for place in places]
        for batch in opened.iter_batches(batch_size=step, row_groups=together, columns=names):
            yield _widened(batch.select(names))


def _texts(
    file: File, columns: Sequence[str], stack: ExitStack, groups: range | None = None
) -> tuple[pq.FileMetaData, int, list[list[_Chunk]]]:
    """Return the footer, the bytes of a row besides its texts, and the chunks of each column of texts."""
    opened = stack.enter_context(pq.ParquetFile(file, buffer_size=_BUFFER))
    found, schema = opened.metadata, opened.schema_arrow
    _check_footer(found)
    _rows_of(found, groups)  # there may be fewer groups by now
    flat = {name for name in columns if not pa.types.is_nested(schema.field(name).type)}
    places = [at for at in range(found.num_columns) if found.schema.column(at).path in flat]
    width = sum(_width(found.schema.column(at)) for at in places)
    texts = {at: found.schema.column(at).path for at in places if _is_text(found.schema.column(at))}
    if not texts:
        return found, width, []
    options = {"metadata": found, "read_dictionary": list(texts.values()), "buffer_size": _BUFFER}
    folded = stack.enter_context(pq.ParquetFile(file, **options))
    raw = stack.enter_context(file.open("rb")) if isinstance(file, Path) else file
    chunks = [
        [
            _Chunk(opened, folded, group, name, pages_of(raw, found.row_group(group).column(at)))
            for group in (range(found.num_row_groups) if groups is None else groups)
        ]
        for at, name in texts.items()
    ]
    return found, width, chunks


def _rows_of(found: pq.FileMetaData, groups: range | None) -> int:
    """Return the rows of some row groups; of all by default."""
    if groups is None:
        return int(found.num_rows)
    if groups and groups[-1] >= found.num_row_groups:
        raise DataError(
            "the file has changed while it was read", field="source", hint="Try again when it does not change"
        )
    return sum(int(found.row_group(group).num_rows) for group in groups)


def _check_footer(found: pq.FileMetaData) -> None:
    """Refuse a footer whose number of rows is not that of its row groups: readers use one or the other."""
    groups = [int(found.row_group(group).num_rows) for group in range(found.num_row_groups)]
    if any(rows < 0 for rows in groups) or sum(groups) != found.num_rows:
        raise pa.ArrowInvalid("the number of rows is not that of the row groups")


def _lengths(texts: pa.Array) -> pa.Array:
    if isinstance(texts, pa.ExtensionArray):
        texts = texts.storage
    if isinstance(texts, pa.DictionaryArray):
        return _lengths(texts.dictionary).take(texts.indices)
    if pa.types.is_string_view(texts.type) or pa.types.is_binary_view(texts.type):
        texts = texts.cast(pa.large_binary())
    return pc.binary_length(texts)


def _width(column: pq.ColumnSchema) -> int:
    """Return the bytes of a value besides its text, including its validity flag."""
    plain = _WIDTHS.get(column.physical_type) or int(column.length)
    return 1 + (max(plain, _DECIMAL) if column.logical_type.type == "DECIMAL" else plain)


def _is_text(column: pq.ColumnSchema) -> bool:
    return bool(column.physical_type == "BYTE_ARRAY" and column.logical_type.type != "DECIMAL")


def _widened(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Widen the indices so that they hold all dictionaries of a file: each row group has one of its own."""
    for at, field in enumerate(batch.schema):
        kind = field.type
        if pa.types.is_dictionary(kind) and kind.index_type.bit_width < 32:
            column = batch.column(at)
            places = column.indices.cast(pa.int32())
            wide = pa.DictionaryArray.from_arrays(places, column.dictionary, ordered=kind.ordered)
            batch = batch.set_column(at, field.with_type(wide.type), wide)
    return batch


def _joined(parts: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    if len(parts) == 1:
        return parts[0]
    (joined,) = pa.Table.from_batches(parts).unify_dictionaries().combine_chunks().to_batches()
    return joined
