"""Measure the criteria of a table from the values in it alone, as a reader of the release would see them.

Every release is checked here and nowhere else. The check shares no code with the methods that make one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.anonymize.criteria import (
    Achieved,
    Conditions,
    Distance,
    Edges,
    alpha_of,
    closeness_of,
    diversity_of,
    edges_of,
    uniqueness_of,
)
from tacita.anonymize.quasi import distinct_pairs, distinct_rows

__all__ = ["classes_of", "measure", "recount"]

Ints = NDArray[np.int64]
_CELLS = 1 << 23  # counts that are held at once


def classes_of(table: pa.Table, quasi: Sequence[str]) -> Ints:
    """The class of each row: rows with the same values are in the same class; null is a value."""
    columns = [_numbered(table.column(name)) for name in quasi]
    if not columns:
        return np.zeros(table.num_rows, np.int64)
    return distinct_rows(np.stack(columns, axis=1), [int(column.max(initial=-1)) + 1 for column in columns])[1]


def _numbered(column: pa.ChunkedArray | pa.Array) -> NDArray[np.int32]:
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode(null_encoding="encode")
    numbers = pc.fill_null(column.indices.cast(pa.int32()), len(column.dictionary))
    return np.asarray(numbers.to_numpy(zero_copy_only=False), np.int32)


def recount(
    classes: Ints,
    values: Mapping[str, NDArray[np.int32]],
    conditions: Conditions,
    *,
    sizes: Mapping[str, int],
    edges: Mapping[str, Edges],
    missing: Mapping[str, int] | None = None,
    whole: Mapping[str, Ints] | None = None,
    persons: Ints | None = None,
) -> Achieved:
    """Measure the criteria that hold for all classes.

    Args:
        classes: The class of each row.
        values: Codes of the sensitive attributes.
        conditions: Gives the kind of diversity.
        sizes: Number of values of each sensitive attribute.
        edges: The metric of each.
        missing: The code that means missing, of those that have one: it makes no class more diverse.
        whole: People with each value in the table that t is about; in these rows by default.
        persons: Person of each row; every row is a person by default.
    """
    count = int(classes.max(initial=-1)) + 1
    place = classes if persons is None else distinct_pairs(classes, persons)[0]
    people = np.bincount(place, minlength=count)
    l: dict[str, float] = {}  # noqa: E741
    t: dict[str, float] = {}
    alpha: dict[str, float] = {}
    for name, codes in values.items():
        size = max(sizes[name], 1)
        cells = classes * size + codes
        if persons is not None:
            cells = distinct_pairs(cells, persons)[0]
        cells, times = np.unique(cells, return_counts=True)
        total = np.bincount(cells % size, weights=times, minlength=size).astype(np.int64)
        absent = (missing or {}).get(name)
        against = total if whole is None else whole[name]
        found = []
        step = max(_CELLS // size, 1)
        for first in range(0, count, step):
            last = min(first + step, count)
            start, end = np.searchsorted(cells, [first * size, last * size])
            counts = np.zeros((last - first, size), np.int64)
            counts.reshape(-1)[cells[start:end] - first * size] = times[start:end]
            found.append(
                (
                    min(diversity_of(part, conditions.l_kind, conditions.c) for part in _present(counts, absent)),
                    closeness_of(counts, against, edges[name]),
                    alpha_of(counts),
                )
            )
        if found:
            l[name], t[name] = min(part[0] for part in found), max(part[1] for part in found)
            alpha[name] = max(part[2] for part in found)
    return Achieved(
        k=int(people.min(initial=people.max(initial=0))),
        people=len(place) if persons is None else len(np.unique(persons[persons >= 0])),
        classes=count,
        unique=uniqueness_of(people),
        l=l,
        t=t,
        alpha=alpha,
    )


def _present(counts: Ints, absent: int | None) -> Sequence[Ints]:
    """The counts, and those without the missing value: a class must be diverse in both."""
    return (counts,) if absent is None else (counts, np.delete(counts, absent, axis=1))


def measure(
    table: pa.Table,
    quasi: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    person: str | None = None,
    conditions: Conditions | None = None,
) -> Achieved:
    """Measure the criteria that hold for any table of values.

    Args:
        table: The rows.
        quasi: Columns that an attacker could know.
        sensitive: Columns that no one should learn. Distances are ordered for numbers and dates and equal otherwise,
            unless the conditions say which.
        person: A column that identifies the person of each row.
        conditions: Gives the kind of diversity and of distance.

    >>> table = pa.table({"age": ["20..29"] * 3 + ["30..39"] * 2, "ill": ["a", "b", "c", "a", "b"]})
    >>> measure(table, ["age"], sensitive=["ill"]).as_dict()["k"]
    2
    """
    asked = conditions or Conditions(k=1)
    values, sizes, edges, missing = {}, {}, {}, dict[str, int]()
    for name in sensitive:
        column = table.column(name).combine_chunks()
        codes = _numbered(column)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        ordered = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
        if ordered:
            codes = _sorted_codes(column)
        sizes[name] = int(codes.max(initial=-1)) + 1
        distance: Distance = asked.t_distance or ("ordered" if ordered else "equal")
        values[name], edges[name] = codes, edges_of(sizes[name], distance)
        if column.null_count:
            missing[name] = int(codes[np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0]])
    persons = None if person is None else _numbered(table.column(person)).astype(np.int64)
    classes = classes_of(table, quasi)
    return recount(classes, values, asked, sizes=sizes, edges=edges, missing=missing, persons=persons)


def _sorted_codes(column: pa.Array) -> NDArray[np.int32]:
    """Codes in the order of the values; null comes last."""
    encoded = column.dictionary_encode()
    place = np.empty(len(encoded.dictionary) + 1, np.int32)
    place[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary), dtype=np.int32)
    place[-1] = len(encoded.dictionary)
    rows = pc.fill_null(encoded.indices.cast(pa.int64()), len(encoded.dictionary))
    return np.asarray(place[rows.to_numpy(zero_copy_only=False)])
