"""Work over raw rows on executors: one answer for each part, of all rows or of the rows that count.

To bound contributions, rows with their keys and digests are exchanged, so that all rows of a person are in one part. Of
each person the rows with the smallest digests count; of equal digests, which equal codes have, those with the smallest
values, as `tacita.query.counted` chooses. Each batch sends at most `max_rows` rows of a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.local.bound import key_texts
from tacita.engines.local.digests import digests_of
from tacita.engines.local.files.base import READ_ROWS
from tacita.engines.spark.counts import Failure, raised, without_rows
from tacita.engines.spark.tasks import Batches
from tacita.tables.recoding.render import plain

__all__ = ["ChooseRows", "ExchangeRows", "Fold", "RawRows", "packed", "unpacked"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Fold:
    """A task of `Folds.fold`; an error of it that is not ours has neither text nor values."""

    task: Callable[[Batches], Any]

    def __call__(self, batches: Batches) -> Iterator[Any]:
        """Answer about the rows of this part."""
        task = self.task.at(_part()) if hasattr(self.task, "at") else self.task
        with without_rows("the work over the rows failed"):
            answer = task(batches)
        yield answer


def _part() -> int:
    """Return the number of the part that this process works on; 0 in a process that is no worker."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else int(context.partitionId())


@dataclass(frozen=True, eq=False)
class RawRows:
    """Raw rows of some persons, as an Arrow stream: with the key of each, and its digest."""

    keys: pa.LargeStringArray
    digests: NDArray[np.uint64]
    rows: bytes


@dataclass(frozen=True)
class ExchangeRows:
    """Raw rows of each person, under the number of the task that chooses among them."""

    domain: Domain
    columns: tuple[str, ...]
    max_rows: int
    tasks: int

    def __call__(self, batches: Batches) -> Iterator[tuple[int, RawRows]]:
        """Send at most `max_rows` rows of a person from each batch."""
        person, names = str(self.domain.person), self.domain.countable
        for batch in batches:
            keys = key_texts(batch.column(person), self.domain.nulls, person)
            rows = np.flatnonzero(keys.indices.is_valid().to_numpy(zero_copy_only=False))
            if not len(rows):
                continue
            who = keys.indices.take(pa.array(rows)).cast(pa.int64()).to_numpy()
            codes = self.domain.encode(batch, names)
            together = np.array([codes[name][rows] for name in names]).reshape(len(names), len(rows))
            digests = digests_of(keys.dictionary, who, together)
            raw = pa.table({name: plain(batch.column(name)) for name in self.columns}).take(pa.array(rows))
            kept = chosen_rows(who, digests, raw, self.max_rows)
            who, digests, raw = who[kept], digests[kept], raw.take(pa.array(kept))
            # equal keys have equal digests on every machine, and are spread evenly
            count = len(keys.dictionary)
            spread = digests_of(keys.dictionary, np.arange(count), np.zeros((0, count), np.int64))
            target = (spread[who, 0] % np.uint64(self.tasks)).astype(np.int64)
            for task in np.unique(target).tolist():
                mine = pa.array(np.flatnonzero(target == task))
                texts = keys.dictionary.take(pa.array(who).take(mine)).cast(pa.large_string())
                yield task, RawRows(texts, digests[mine.to_numpy()], packed(raw.take(mine)))


@dataclass(frozen=True)
class ChooseRows:
    """The rows that count, of all rows of some persons, as batches."""

    max_rows: int

    def __call__(self, items: Iterable[tuple[int, Any]]) -> Iterator[pa.RecordBatch]:
        """Choose among all rows of each person."""
        received = [rows for _, rows in items]
        for rows in received:
            if isinstance(rows, Failure):
                raised(rows)
        if not received:
            return
        keys = pa.concat_arrays([rows.keys for rows in received]).dictionary_encode()
        digests = np.concatenate([rows.digests for rows in received])
        raw = pa.concat_tables([unpacked(rows.rows) for rows in received], promote_options="permissive")
        received.clear()
        kept = chosen_rows(keys.indices.to_numpy().astype(np.int64), digests, raw, self.max_rows)
        for start in range(0, len(kept), READ_ROWS):
            part = raw.take(pa.array(kept[start : start + READ_ROWS])).combine_chunks()
            yield from part.to_batches()


def chosen_rows(who: Ints, digests: NDArray[np.uint64], rows: pa.Table, most: int) -> Ints:
    """Return the rows that count of each person, in their order: the least digests, then the least values."""
    over = np.bincount(who)[who] > most
    if not over.any():
        return np.arange(len(who))
    places = np.flatnonzero(over)
    order = np.lexsort((_value_ranks(rows.take(pa.array(places))), *digests[places].T[::-1], who[places]))
    starts = np.flatnonzero(np.diff(who[places][order], prepend=-1))
    ranks = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    return np.sort(np.concatenate([np.flatnonzero(~over), places[order[ranks < most]]]))


def _value_ranks(rows: pa.Table) -> Ints:
    """Return the place of each row in the order of its values; equal rows have any order."""
    named = {f"{at}": column for at, column in enumerate(rows.columns) if not pa.types.is_null(column.type)}
    ranks = np.zeros(rows.num_rows, np.int64)
    if named:
        order = pc.sort_indices(pa.table(named), sort_keys=[(name, "ascending") for name in named])
        ranks[order.to_numpy()] = np.arange(rows.num_rows)
    return ranks


def schema_of_plain(schema: pa.Schema) -> pa.Schema:
    """The same without dictionaries."""
    return pa.schema(
        [(field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type) for field in schema]
    )


def packed(rows: pa.Table) -> bytes:
    """Rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpacked(stream: bytes) -> pa.Table:
    """Rows of an Arrow stream."""
    with pa.ipc.open_stream(stream) as opened:
        return opened.read_all()
