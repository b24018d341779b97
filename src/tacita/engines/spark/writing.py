"""Work of an executor that writes: rows of one part, sorted by their values, and what is counted of them afterwards.

    source part: task Spread -> distinct rows and how often each occurs, under the part that they are written to
    target part: task WritePart -> all of them, sorted, as one file -> read back -> what a check answers

Privacy: the part of a row, and its place there, follow from released values alone, so neither says which file, task or
machine a row came from. Rows are compared and sorted by bytes, as `tacita.tables.recoding.render` sorts them.

A task may run twice, or still write when another has taken its place: each run writes a file of its own, with a random
name that readers skip, and only the files that were answered with become part of the output.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacita.engines.spark.counts import Failure, raised, without_rows
from tacita.engines.spark.counts import add as added
from tacita.engines.spark.folding import packed, unpacked
from tacita.engines.spark.place import Place
from tacita.engines.spark.tasks import Batches, Guarded
from tacita.errors import InternalError
from tacita.tables.recoding.render import ranks

__all__ = ["Assign", "AtPart", "Spread", "WritePart", "Written", "write_drawn"]

Ints = NDArray[np.int64]
Check = Callable[[Iterable[tuple[pa.Table, pa.Table]]], Any]
_TIMES = "\0times"
_CHUNK = 1 << 17


@dataclass(frozen=True, eq=False)
class Written:
    """Files that were written, and what was counted of them.

    Attributes:
        files: Of each part: its number, the name of its file, its rows and bytes.
        answer: Of the check; None without one.
    """

    files: tuple[tuple[int, str, int, int], ...]
    answer: Any = None

    def __add__(self, other: Written) -> Written:
        """Add other files."""
        answer = self.answer if other.answer is None else other.answer
        both = self.answer is not None and other.answer is not None
        return Written(self.files + other.files, self.answer + other.answer if both else answer)

    @property
    def rows(self) -> int:
        """Rows of all files."""
        return sum(rows for _, _, rows, _ in self.files)


@dataclass(frozen=True)
class Spread:
    """Released rows, each distinct one once for a batch, under the number of their part."""

    release: Callable[[Batches], Iterator[tuple[int, pa.Table]]]

    def __call__(self, batches: Batches) -> Iterator[tuple[int, bytes]]:
        """Release the rows of this part of the source."""
        released = self.release(batches)
        while True:
            with without_rows("the work over the rows failed"):
                found = next(released, None)
            if found is None:
                return
            part, rows = found
            yield part, packed(_merged(rows, np.ones(rows.num_rows, np.int64)))


@dataclass(frozen=True)
class Assign:
    """Released rows of a release that must see some rows together: those that were sent to one place."""

    release: Any

    def __call__(self, items: Iterable[tuple[int, Any]]) -> Iterator[tuple[int, bytes]]:
        """Release all rows of this place."""
        received = [unpacked(raised(each) if isinstance(each, Failure) else each) for _, each in items]
        if not received:
            return
        rows = pa.concat_tables(received)
        received.clear()
        merged = _merged(rows.drop_columns([_TIMES]), rows[_TIMES].to_numpy())
        with without_rows("the work over the rows failed"):
            for part, released, times in self.release.assign(merged.drop_columns([_TIMES]), merged[_TIMES].to_numpy()):
                yield part, packed(_merged(released, times))


def _merged(rows: pa.Table, times: Ints) -> pa.Table:
    """Return the distinct rows, sorted by the values of their columns, with how often each occurs as last column."""
    order = np.lexsort([ranks(column) for column in rows.columns[::-1]]) if rows.num_rows else np.zeros(0, np.int64)
    new = np.zeros(len(order), np.bool_)
    for column in rows.columns:
        sorted_ranks = ranks(column)[order]
        new |= np.append(True, sorted_ranks[1:] != sorted_ranks[:-1])[: len(order)]
    starts = np.flatnonzero(new)
    sums = np.add.reduceat(times[order], starts) if len(starts) else times[:0]
    return rows.take(pa.array(order[starts])).append_column(_TIMES, pa.array(sums))


@dataclass(frozen=True)
class WritePart:
    """One file of rows, sorted by their values.

    Attributes:
        place: The output.
        schema: Of the columns that are written; further ones only sort equal rows, and are for the check.
        check: Answers about the rows that were written, read back from the file; None for no check.
    """

    place: Place
    schema: pa.Schema
    check: Check | None

    def part(self, index: int, items: Iterable[tuple[int, Any]]) -> Iterator[Written]:
        """Write the rows of a part."""
        received = []
        for _, each in items:
            received.append(unpacked(raised(each) if isinstance(each, Failure) else each))
        if received:
            rows = pa.concat_tables(received)
            received.clear()
            merged = _merged(rows.drop_columns([_TIMES]), rows[_TIMES].to_numpy())
            del rows
        else:
            merged = self.schema.append(pa.field(_TIMES, pa.int64())).empty_table()
        times = merged[_TIMES].to_numpy()
        where = np.repeat(np.arange(len(times)), times)
        kept, beside = merged.select(self.schema.names), merged.drop_columns([*self.schema.names, _TIMES])
        taken = (kept.take(pa.array(where[at : at + _CHUNK])) for at in range(0, len(where), _CHUNK))
        written = write(self.place, index, self.schema, taken)
        if self.check is None:
            yield written
            return
        answer = self.check(self._read_back(written, beside, where))
        yield Written(written.files, answer)

    def _read_back(self, written: Written, beside: pa.Table, where: Ints) -> Iterator[tuple[pa.Table, pa.Table]]:
        start, ((_, name, _, _),) = 0, written.files
        with self.place.read(name) as file, pq.ParquetFile(file) as opened:
            for batch in opened.iter_batches(_CHUNK):
                rows = pa.Table.from_batches([batch])
                yield rows, beside.take(pa.array(where[start : start + rows.num_rows]))
                start += rows.num_rows


def write(place: Place, index: int, schema: pa.Schema | None, batches: Iterator[pa.Table]) -> Written:
    """Write batches as a file of the output, under a name of its own."""
    name, rows = f".part-{index:05d}-{uuid.uuid4().hex}", 0
    first = next(batches, None)
    if first is None and schema is not None:
        first = schema.empty_table()
    if first is None:
        raise InternalError("a part has no rows to take its columns from", field="output")
    with place.create(name) as file, pq.ParquetWriter(file, first.schema) as writer:
        for batch in chain([first], batches):
            writer.write_table(batch)
            rows += batch.num_rows
    return Written(((index, name, rows, place.size(name)),))


@dataclass(frozen=True)
class Drawn:
    """Files of rows that functions make, one for each."""

    place: Place
    draws: Sequence[Callable[[], Iterator[pa.Table]]]

    def __call__(self, parts: Iterable[int]) -> Iterator[Written]:
        """Make and write the rows of each part."""
        for index in parts:
            with without_rows("the rows of a part could not be made"):
                yield write(self.place, index, None, self.draws[index]())


def write_drawn(session: Any, place: Place, draws: Sequence[Callable[[], Iterator[pa.Table]]]) -> Written:
    """Write a file for each function, on executors."""
    parts = session.sparkContext.parallelize(range(len(draws)), max(len(draws), 1))
    # all functions travel together, so that what they share is there once
    done = reduce(added, parts.mapPartitions(Guarded(Drawn(place, draws))).collect(), None)
    written: Written = Written(()) if done is None else raised(done)
    if sorted(part for part, *_ in written.files) != list(range(len(draws))):
        raise InternalError("not every part was written once", field="output")
    return written


@dataclass(frozen=True)
class AtPart:
    """A task that knows the number of its part."""

    task: WritePart

    def __call__(self, index: int, items: Iterable[Any]) -> Iterator[Any]:
        """Run it."""
        return Guarded(partial(self.task.part, index))(items)
