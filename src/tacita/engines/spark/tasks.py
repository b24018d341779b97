"""Work of an executor on one part of the rows: encode, count, bound, check.

A task is a function of batches of rows that yields what is sent on. It runs in Python workers, which import this
module: the executors need Tacita of the same version. It holds no values of rows but those that it passes on, and an
error of it has none.

Contribution bounding: the rows of a person may be in any part, so keys, digests and codes are exchanged: all rows of a
person go to one task, which counts those with the smallest digests. Each part sends at most `max_rows` of a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita._version import __version__
from tacita.domain import Domain
from tacita.engines.local.bound import key_texts
from tacita.engines.local.counter import Counter
from tacita.engines.local.digests import digests_of
from tacita.engines.local.files.base import READ_ROWS, Checked, Narrowable
from tacita.engines.local.files.open import open_source
from tacita.engines.local.files.stored import StoredFile
from tacita.engines.local.layout import Layout, Planes
from tacita.engines.spark.counts import Counts, Failure
from tacita.errors import DataError, SourceUnavailable, TacitaError

__all__ = [
    "Bounded",
    "Check",
    "CountBlocks",
    "Encode",
    "Exchange",
    "Guarded",
    "KeyedRows",
    "ReadFiles",
    "Send",
    "Then",
    "Totals",
]

Batches: TypeAlias = Iterable[pa.RecordBatch]


@dataclass(frozen=True)
class Guarded:
    """A task whose errors become values, without the text of any error that is not ours."""

    task: Callable[[Iterable[Any]], Iterator[Any]]
    version: str = __version__
    again: bool = False
    """Whether Spark tries a task again: then a source that cannot be reached is tried twice."""

    def __call__(self, items: Iterable[Any]) -> Iterator[Any]:
        """Run the task."""
        pa.set_cpu_count(1)  # a task has one core
        try:
            if self.version != __version__:
                raise SourceUnavailable(
                    "the executors have another version of Tacita", field="source", value=__version__, hint=self._hint
                )
            yield from self.task(items)
        except TacitaError as error:
            if self.again and isinstance(error, SourceUnavailable) and _is_first():
                raise RuntimeError("the source cannot be reached; it is tried again") from None
            yield Failure.of(error)
        except (MemoryError, pa.ArrowException, UnicodeError, ValueError, TypeError, OverflowError) as error:
            problem = DataError("the rows cannot be read", field="source", private=type(error).__name__)
            yield Failure.of(problem)

    @property
    def _hint(self) -> str:
        return f"Install tacita=={self.version} in the Python environment of the executors"


def _is_first() -> bool:
    """Whether Spark runs this task for the first time; no in a process that is no worker."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return context is not None and context.attemptNumber() == 0


@dataclass(frozen=True)
class ReadFiles:
    """Rows of some files, for a task."""

    domain: Domain
    columns: tuple[str, ...]
    then: Callable[[Batches], Iterator[Any]]
    strict: bool = False
    table: str | None = None

    def __call__(self, files: Iterable[StoredFile]) -> Iterator[Any]:
        """Read the files one by one."""
        return self.then(self._batches(files))

    def _batches(self, files: Iterable[StoredFile]) -> Iterator[pa.RecordBatch]:
        for file in files:
            source = open_source([file], self.domain, table=self.table)
            if isinstance(source, Narrowable):
                source = source.only(self.domain.names)
            read = source.checked if self.strict and isinstance(source, Checked) else source.batches
            yield from read(self.columns)


@dataclass(frozen=True)
class Encode:
    """Codes of the rows, as blocks of planes."""

    domain: Domain
    names: tuple[str, ...]

    def __call__(self, batches: Batches) -> Iterator[Planes]:
        """Encode batch by batch."""
        layout = Layout(self.domain, self.names)
        for batch in batches:
            yield layout.split(self.domain.encode(batch, self.names), batch.num_rows)


@dataclass(frozen=True)
class CountBlocks:
    """Tables over blocks of codes."""

    domain: Domain
    names: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]
    outside: frozenset[str]
    rows: int | None

    def __call__(self, blocks: Iterable[Any]) -> Iterator[Counts | Failure]:
        """Count all blocks together."""
        counter = Counter(Layout(self.domain, self.names), self.keys, self.outside, self.rows, threads=1)
        for block in blocks:
            if isinstance(block, Failure):
                yield block
                return
            counter.add(block)
        yield Counts.of(counter)


@dataclass(frozen=True)
class Then:
    """One task after another, in one pass."""

    first: Callable[[Iterable[Any]], Iterator[Any]]
    second: Callable[[Iterable[Any]], Iterator[Any]]

    def __call__(self, items: Iterable[Any]) -> Iterator[Any]:
        """Give what the first yields to the second."""
        return self.second(self.first(items))


@dataclass(frozen=True)
class Send:
    """Rows as Arrow streams."""

    names: tuple[str, ...]

    def __call__(self, batches: Batches) -> Iterator[bytes]:
        """Write each batch as a stream of its own."""
        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield sink.getvalue().to_pybytes()


# -- contribution bounding ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Rows of some persons: the key of each, its digest, its codes."""

    keys: pa.LargeStringArray
    digests: NDArray[np.uint64]
    block: Planes


@dataclass(frozen=True)
class Exchange:
    """Rows of each person, under the number of the task that chooses among them."""

    domain: Domain
    max_rows: int
    tasks: int

    def __call__(self, batches: Batches) -> Iterator[tuple[int, KeyedRows]]:
        """Send at most `max_rows` rows of a person from each batch."""
        layout, person = Layout(self.domain, self.domain.countable), str(self.domain.person)
        for batch in batches:
            keys = key_texts(batch.column(person), self.domain.nulls, person)
            rows = np.flatnonzero(keys.indices.is_valid().to_numpy(zero_copy_only=False))
            if not len(rows):
                continue
            who = keys.indices.take(pa.array(rows)).cast(pa.int64()).to_numpy()
            codes = self.domain.encode(batch, layout.names)
            together = np.array([codes[name][rows] for name in layout.names]).reshape(len(layout.names), len(rows))
            digests = digests_of(keys.dictionary, who, together)
            kept = _least(who, digests, self.max_rows)
            block = layout.split({name: code[rows[kept]] for name, code in codes.items()}, len(kept))
            who, digests = who[kept], digests[kept]
            # equal keys have equal digests on every machine, and are spread evenly
            spread = digests_of(
                keys.dictionary, np.arange(len(keys.dictionary)), np.zeros((0, len(keys.dictionary)), np.int64)
            )
            target = (spread[who, 0] % np.uint64(self.tasks)).astype(np.int64)
            for task in np.unique(target).tolist():
                mine = np.flatnonzero(target == task)
                texts = keys.dictionary.take(pa.array(who[mine])).cast(pa.large_string())
                yield task, KeyedRows(texts, digests[mine], np.ascontiguousarray(block[:, mine]))


@dataclass(frozen=True)
class Bounded:
    """The rows that count, as blocks of codes, of all rows of some persons."""

    max_rows: int

    def __call__(self, items: Iterable[tuple[int, Any]]) -> Iterator[Any]:
        """Choose among all rows of each person."""
        received = [rows for _, rows in items]
        failed = next((rows for rows in received if isinstance(rows, Failure)), None)
        if failed is not None:
            yield failed
            return
        if not received:
            return
        keys = pa.concat_arrays([rows.keys for rows in received]).dictionary_encode()
        digests = np.concatenate([rows.digests for rows in received])
        kept = _least(keys.indices.to_numpy().astype(np.int64), digests, self.max_rows)
        block = np.concatenate([rows.block for rows in received], axis=1)
        for start in range(0, len(kept), READ_ROWS):
            yield np.ascontiguousarray(block[:, kept[start : start + READ_ROWS]])


def _least(who: NDArray[np.int64], digests: NDArray[np.uint64], most: int) -> NDArray[np.int64]:
    """Return the rows with the smallest digests of each person, at most so many."""
    order = np.lexsort((digests[:, 1], digests[:, 0], who))
    starts = np.flatnonzero(np.diff(who[order], prepend=-1))
    ranks = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return order[ranks < most]


# -- checks ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Totals:
    """Rows, and how many of them have each code, with those out of domain."""

    rows: int
    totals: dict[str, NDArray[np.int64]]

    def __add__(self, other: Totals) -> Totals:
        """Add those of other rows."""
        return Totals(self.rows + other.rows, {name: mine + other.totals[name] for name, mine in self.totals.items()})


@dataclass(frozen=True)
class Check:
    """Totals of each attribute."""

    domain: Domain
    names: Sequence[str]

    def __call__(self, batches: Batches) -> Iterator[Totals]:
        """Count the codes of each attribute."""
        rows, totals = 0, {name: np.zeros(self.domain[name].size + 1, np.int64) for name in self.names}
        for batch in batches:
            rows += batch.num_rows
            for name, codes in self.domain.encode(batch, self.names).items():
                totals[name] += np.bincount(codes, minlength=len(totals[name]))
        yield Totals(rows, totals)
