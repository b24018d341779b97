"""Recoded rows: labels instead of values, other columns unchanged, in an order that reveals nothing.

Rows are sorted by the released columns. So the result has the same bytes whatever the order of the input, and the order
of the source, by which released rows could be matched with it, is removed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.tables.recoding.axis import hold_back, read_keys
from tacita.tables.recoding.recoding import SUPPRESSED, Recoding

__all__ = ["check_leaving", "encode_rows", "plain", "ranks", "recode", "render"]

Ints = NDArray[np.int64]


def recode(recoding: Recoding, domain: Domain, table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The rows of a table under a recoding.

    Args:
        recoding: Made for just these rows.
        domain: What is public about them.
        table: The rows, with the quasi-identifiers and all of `columns`.
        columns: Further columns to release unchanged, in this order, after the quasi-identifiers.
    """
    check_leaving(recoding, columns)
    return render(recoding, domain, recoding.combinations(encode_rows(recoding, domain, table)), table, columns)[0]


def check_leaving(recoding: Recoding, columns: Sequence[str]) -> None:
    """Refuse to release a column twice, once recoded and once unchanged."""
    clash = next((name for name in columns if name in recoding.names), None)
    if clash is not None:
        raise InvalidInput("is recoded and cannot be released unchanged too", field="columns", value=clash)


def encode_rows(recoding: Recoding, domain: Domain, table: pa.Table) -> NDArray[np.int32]:
    """The codes of a table's rows along the axes of a recoding; -1 where a value is not on its axis."""
    columns = [
        axis.encode(*read_keys(domain[axis.name], table.column(axis.name), domain.nulls)) for axis in recoding.axes
    ]
    return np.stack(columns, axis=1) if columns else np.zeros((table.num_rows, 0), np.int32)


def render(
    recoding: Recoding,
    domain: Domain,
    combinations: Ints,
    table: pa.Table,
    columns: Sequence[str],
    leaving: NDArray[np.bool_] | None = None,
) -> tuple[pa.Table, Ints]:
    """Return the recoded rows, and the index of each in the table (for checks; must not be released).

    Args:
        recoding: The class of each combination.
        domain: The public domain: an undeclared level is released as `(other)`.
        combinations: The combination of each row.
        table: The rows.
        columns: The columns to release unchanged.
        leaving: A mask of the rows to release; by default all that are not suppressed.
    """
    unchanged = [hold_back(domain[name], plain(table.column(name)), domain.nulls) for name in columns]
    others = [ranks(column) for column in unchanged]
    among = np.lexsort(others[::-1]) if others and recoding.shares is not None else None
    classes = recoding.place(combinations, None if recoding.shares is None else _positions(among, len(combinations)))
    rows = np.flatnonzero(classes != SUPPRESSED if leaving is None else (classes != SUPPRESSED) & leaving)
    keys = [rank[rows] for rank in (*others[::-1], classes)]  # the last one is the first to be sorted by
    rows = rows[_order(keys)]
    chosen = pa.array(rows)
    arrays = []
    for place, words in enumerate(recoding.texts):
        labels = recoding.labels[classes[rows], place] if len(rows) else np.zeros(0, np.int32)
        arrays.append(pa.array(words, pa.string()).take(pa.array(labels)))
    arrays += [column.take(chosen) for column in unchanged]
    return pa.table(arrays, names=[*recoding.names, *columns]), rows


def plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return a column without a dictionary.

    A dictionary holds the values of all rows, also of those that are not released, in the order of the source.
    """
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def _positions(order: Ints | None, rows: int) -> Ints:
    """The rank of each row in an order; all the same when there is nothing to order by."""
    positions = np.zeros(rows, np.int64)
    if order is not None:
        positions[order] = np.arange(rows)
    return positions


def _order(keys: Sequence[Ints]) -> Ints:
    """Sort like lexsort, by one number for each row where 64 bits suffice, which is much faster."""
    number, size = np.zeros(len(keys[0]), np.int64), 1
    for key in keys[::-1]:
        span = int(key.max()) + 1 if len(key) else 1
        size *= span
        if size >= 2**62:
            return np.lexsort(keys)
        number = number * span + key
    return np.argsort(number, kind="stable")


def ranks(column: pa.Array | pa.ChunkedArray) -> Ints:
    """A number for each value, equal for equal bytes only, rising with the value where it has an order."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_nested(column.type):
        raise InvalidInput("nested values cannot be released", field="columns", value=str(column.type))
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        return _float_ranks(column)
    encoded = column.dictionary_encode()
    values = encoded.dictionary
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = values.cast(pa.large_binary())  # sorted by bytes: text may not be UTF-8
    place = np.empty(len(values) + 1, np.int64)
    place[pc.sort_indices(values).to_numpy()] = np.arange(len(values))
    place[len(values)] = len(values)  # null comes last
    return np.asarray(place[pc.fill_null(encoded.indices.cast(pa.int64()), len(values)).to_numpy(zero_copy_only=False)])


def _float_ranks(column: pa.Array) -> Ints:
    """Rank floats by their bits, so that 0.0 and -0.0, which are equal, differ, and null differs from NaN."""
    missing = column.is_null().to_numpy(zero_copy_only=False)
    bits = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False).view(np.int64)
    rising = np.where(bits < 0, ~bits ^ np.int64(-(2**63)), bits)  # the bits of negative numbers fall as they rise
    _, rank = np.unique(rising, return_inverse=True)
    return np.where(missing, rank.max(initial=0) + 1, rank).astype(np.int64)
