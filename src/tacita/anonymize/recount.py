"""Measure the criteria of a table from the values in it alone, as a reader of the release would see them.

Every release is checked here and nowhere else. The check counts for itself and shares no code with the methods that
make a release but the formula of a criterion, and not even that where the criterion is compiled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.anonymize.criteria.anonymity import uniqueness_of
from tacita.anonymize.criteria.conditions import Achieved, Conditions
from tacita.anonymize.criteria.criterion import Classes, Criterion, Sensitive
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
    attributes: Sequence[Sensitive] = (),
    persons: Ints | None = None,
    times: Ints | None = None,
) -> Achieved:
    """Measure the criteria that hold for all classes; not those about a population, which released rows do not show.

    Args:
        classes: The class of each row.
        values: Codes of the sensitive attributes.
        conditions: Gives the criteria, with the kinds of diversity and of distance.
        attributes: The sensitive attributes, in the table that t and others compare with.
        persons: Person of each row; every row is a person by default.
        times: Number of equal rows, of the same person, that each row represents; one by default.
    """
    count = int(classes.max(initial=-1)) + 1
    rows = np.bincount(classes, weights=times, minlength=count).astype(np.int64)
    people = rows if persons is None else np.bincount(distinct_pairs(classes, persons)[0], minlength=count)
    sizes = Classes(people=people, rows=rows, population=rows)
    measured = [criterion for criterion in conditions.criteria if criterion.always or criterion.asked]
    found: dict[str, Any] = {}
    for criterion in measured:
        if criterion.about == "people":
            found[criterion.name] = criterion.worst(criterion.measure(sizes)) if count else 0
        elif criterion.about == "values":
            found[criterion.name] = {}
    about = [criterion for criterion in measured if criterion.about == "values"]
    for attribute in attributes:
        for criterion, figure in _figures(about, sizes, attribute, *_cells(classes, values, attribute, persons, times)):
            found[criterion.name][attribute.name] = figure
    own = {name: found.pop(name) for name in ("k", "l", "t", "alpha")}
    return Achieved(
        people=int(rows.sum()) if persons is None else len(np.unique(persons[persons >= 0])),
        classes=count,
        unique=uniqueness_of(sizes.people),
        **own,
        more=found,
    )


def _cells(
    classes: Ints,
    values: Mapping[str, NDArray[np.int32]],
    attribute: Sensitive,
    persons: Ints | None,
    times: Ints | None = None,
) -> tuple[Ints, Ints]:
    """The cells of classes and values that occur, and the people in each."""
    cells = classes * max(len(attribute.whole), 1) + values[attribute.name]
    if persons is not None:
        cells = distinct_pairs(cells, persons)[0]
    elif times is not None:
        found, which = np.unique(cells, return_inverse=True)
        return found, np.bincount(which.reshape(-1), weights=times, minlength=len(found)).astype(np.int64)
    return np.unique(cells, return_counts=True)


def _figures(
    criteria: Sequence[Criterion], sizes: Classes, attribute: Sensitive, cells: Ints, times: Ints
) -> Iterator[tuple[Criterion, Any]]:
    """Yield the figure of the worst class, for each criterion; nothing when there is no class."""
    size, count = max(len(attribute.whole), 1), len(sizes.people)
    step = max(_CELLS // size, 1)
    figures: list[list[NDArray[np.float64]]] = [[] for _ in criteria]
    for first in range(0, count, step):
        last = min(first + step, count)
        start, end = np.searchsorted(cells, [first * size, last * size])
        counts = np.zeros((last - first, size), np.int64)
        counts.reshape(-1)[cells[start:end] - first * size] = times[start:end]
        part = Classes(
            people=sizes.people[first:last],
            rows=sizes.rows[first:last],
            population=sizes.population[first:last],
            counts=counts,
            attribute=attribute,
        )
        for place, criterion in enumerate(criteria):
            figures[place].append(criterion.measure(part))
    for criterion, found in zip(criteria, figures, strict=True):
        if found:
            yield criterion, criterion.worst(np.concatenate(found))


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
        conditions: Gives the criteria, with the kinds of diversity and of distance.

    >>> table = pa.table({"age": ["20..29"] * 3 + ["30..39"] * 2, "ill": ["a", "b", "c", "a", "b"]})
    >>> measure(table, ["age"], sensitive=["ill"]).as_dict()["k"]
    2
    """
    asked = conditions or Conditions(k=1)
    persons = None if person is None else _numbered(table.column(person)).astype(np.int64)
    classes = classes_of(table, quasi)
    values, attributes = {}, []
    for name in sensitive:
        column = table.column(name).combine_chunks()
        codes = _numbered(column)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        ordered = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
        if ordered:
            codes = _sorted_codes(column)
        values[name] = codes
        attribute = Sensitive(
            name=name,
            whole=np.zeros(int(codes.max(initial=-1)) + 1, np.int64),
            missing=int(codes[np.flatnonzero(_nulls(column))[0]]) if column.null_count else None,
            kind="ordered" if ordered else "equal",
        )
        cells, times = _cells(classes, values, attribute, persons)
        np.add.at(attribute.whole, cells % max(len(attribute.whole), 1), times)
        attributes.append(attribute)
    return recount(classes, values, asked, attributes=attributes, persons=persons)


def _nulls(column: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), np.bool_)


def _sorted_codes(column: pa.Array) -> NDArray[np.int32]:
    """Codes in the order of the values; null comes last."""
    encoded = column.dictionary_encode()
    place = np.empty(len(encoded.dictionary) + 1, np.int32)
    place[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(encoded.dictionary), dtype=np.int32)
    place[-1] = len(encoded.dictionary)
    rows = pc.fill_null(encoded.indices.cast(pa.int64()), len(encoded.dictionary))
    return np.asarray(place[rows.to_numpy(zero_copy_only=False)])
