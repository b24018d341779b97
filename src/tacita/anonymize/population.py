"""Everyone, beside those in the data: what delta-presence is measured against.  [Nergiz, Atzori, Clifton 2007]

    for every class of the release:   low <= rows in the data / rows of the population <= high

The population is public and holds the quasi-identifiers of everyone, those in the data among them. Of each combination,
the rows that the data does not account for are added to the data as rows that are never released.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.anonymize.quasi import distinct_rows
from tacita.domain import Domain
from tacita.errors import DataError, InvalidInput
from tacita.tables.recoding import Axis
from tacita.tables.recoding.axis import read_keys

__all__ = ["add_population"]


def add_population(
    domain: Domain, table: pa.Table, population: pa.Table, quasi: Sequence[str]
) -> tuple[pa.Table, NDArray[np.bool_]]:
    """The rows of the data and then those of everyone else, with which of them are in the data.

    Args:
        domain: Public description of them.
        table: The data.
        population: The quasi-identifiers of everyone, those in the data among them.
        quasi: The quasi-identifiers.
    """
    absent = [name for name in quasi if name not in population.column_names]
    if absent:
        raise DataError("must have every quasi-identifier as a column", field="population", value=absent[0])
    both = {name: _stacked(table.column(name), population.column(name)) for name in quasi}
    axes, codes = [], []
    for name, column in both.items():
        indices, keys = read_keys(domain[name], column, domain.nulls)
        axis = Axis.of(domain[name], [keys[i] for i in np.flatnonzero(np.bincount(indices, minlength=len(keys)))])
        axes.append(axis)
        codes.append(axis.encode(indices, keys))
    _, which = distinct_rows(np.stack(codes, axis=1), [len(axis) for axis in axes])
    inside, outside = which[: table.num_rows], which[table.num_rows :]
    size = int(which.max(initial=-1)) + 1
    taken = np.bincount(inside, minlength=size)
    if (taken > np.bincount(outside, minlength=size)).any():
        raise InvalidInput(
            "must hold everyone, those in the data among them: it has too few rows of some combination",
            field="population",
            hint="Give the whole population with the same spelling of values",
        )
    # of each combination, as many rows as the data does not account for
    order = np.argsort(outside, kind="stable")
    starts = np.searchsorted(outside[order], np.arange(size))
    rank = np.arange(len(order)) - starts[outside[order]]
    more = np.sort(order[rank >= taken[outside[order]]])
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if name in both:
            columns[name] = both[name].take(pa.array(np.concatenate([np.arange(len(inside)), len(inside) + more])))
        else:
            columns[name] = pa.chunked_array([*column.chunks, pa.nulls(len(more), column.type)])
    return pa.table(columns), np.arange(len(inside) + len(more)) < len(inside)


def _stacked(one: pa.ChunkedArray, other: pa.ChunkedArray) -> pa.ChunkedArray:
    """Both behind each other, as texts where their types differ."""
    one, other = (
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in (one, other)
    )
    if one.type != other.type:
        one, other = one.cast(pa.string()), other.cast(pa.string())
    return pa.chunked_array([*one.chunks, *other.chunks], type=one.type)
