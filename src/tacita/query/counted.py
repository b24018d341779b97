"""The rows that count: all of them, or at most so many of each person.

Privacy:  of a person with more rows than the unit allows, the rows that `Engine.tables` would count are kept, chosen by
          a rule that looks at that person's rows alone, in whatever order they come: by their codes, and of rows with
          equal codes by their values.
Cost:     one pass, so that a change of the source cannot slip in between; for persons, the codes and the columns that
          are asked for are held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacita.engines.base import Engine, Folds
from tacita.engines.local.bound import Bound, key_texts
from tacita.privacy.unit import Unit

__all__ = ["counted_rows", "fold_counted"]

_T = TypeVar("_T")
_Keyed = tuple[Any, Any]
"""Keys of persons, and codes of all attributes, of a batch."""


def counted_rows(engine: Engine, columns: Sequence[str], unit: Unit) -> Iterator[pa.RecordBatch]:
    """Raw columns of the rows that count, batch by batch."""
    domain = engine.domain
    unit.check(domain)
    if unit.person is None:
        yield from engine.rows(columns)
        return
    keyed, kept = [], []
    for batch in engine.rows(dict.fromkeys([*columns, *domain.countable, unit.person])):
        codes = [code.astype(np.uint32) for code in domain.encode(batch).values()]
        keyed.append((key_texts(batch.column(unit.person), domain.nulls, unit.person), np.array(codes)))
        kept.append(_without_views(batch.select(columns)))
    persons = Bound.count_persons(keys for keys, _ in keyed)
    over = [key for key, rows in persons.items() if rows > unit.max_rows]
    if over:
        keyed, kept = _in_order(keyed, kept, over)
    bound = Bound.find(over, unit.max_rows, keyed)
    for batch, mask in zip(kept, bound.keep(keyed), strict=True):
        yield batch.filter(pa.array(mask))


def fold_counted(
    engine: Engine, task: Callable[[Iterable[pa.RecordBatch]], _T], columns: Sequence[str], unit: Unit
) -> _T:
    """Return what a task answers about the rows that count: where they are, if the engine can; else here.

    See `Folds.fold` for what a task must be.
    """
    if isinstance(engine, Folds):
        return engine.fold(task, columns, unit)
    return task(counted_rows(engine, columns, unit))


def _without_views(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Texts of polars are views, which Arrow can neither take nor sort."""
    whole = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    columns = [column.cast(whole.get(column.type, column.type)) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _in_order(keyed: list[_Keyed], kept: list[pa.RecordBatch], over: list[str]) -> tuple[list[_Keyed], list[Any]]:
    """Return all rows as one batch, in which the rows of persons with too many come by their values.

    The order of a source may depend on threads, or on other persons' rows; that of the values does not.
    """
    rows = pa.Table.from_batches(kept).combine_chunks()
    parts = [pa.array(each) for each, _ in keyed]
    keys = pa.concat_arrays([part.dictionary_decode() if pa.types.is_dictionary(part.type) else part for part in parts])
    codes = np.concatenate([each for _, each in keyed], axis=1)
    places = np.flatnonzero(pc.is_in(keys, value_set=pa.array(over, keys.type)).to_numpy(zero_copy_only=False))
    theirs = pa.table(
        {
            f"{at}": column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
            for at, column in enumerate(rows.take(pa.array(places)).columns)
            if not pa.types.is_null(column.type)
        }
    )
    order = np.arange(rows.num_rows)
    if theirs.num_columns:
        by = [(name, "ascending") for name in theirs.column_names]
        order[places] = places[pc.sort_indices(theirs, sort_keys=by).to_numpy()]
    index = pa.array(order)
    (batch,) = rows.take(index).combine_chunks().to_batches() or [kept[0].slice(0, 0)]
    return [(keys.take(index).dictionary_encode(), codes[:, order])], [batch]
