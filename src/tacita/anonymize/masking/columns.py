"""Rows while they are masked: one array for each attribute, and back to a table in an order that reveals nothing.

    numbers, dates     floats (days since 1970 for dates), NaN where missing
    levels             codes into the labels of the schema, -1 where missing; undeclared texts are `(other)`

Values are read by their meaning, so an unusual spelling of a number cannot single out its author.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Attribute, Date, Domain, Numeric
from tacita.tables.recoding.axis import MISSING, OTHER, read_keys
from tacita.tables.recoding.render import ranks

__all__ = ["NO_VALUE", "Column", "Columns", "labels_of", "read_columns", "unit_of"]

NO_VALUE = -1
"""Code of a level that is missing."""
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


def labels_of(attribute: Attribute) -> tuple[str, ...]:
    """Texts of the codes of an attribute with levels; `(other)` is for what the schema does not declare."""
    return (*attribute.labels, OTHER)


def unit_of(values: Floats) -> float:
    """A power of two near the largest value, so that squares and sums of values in this unit stay finite.

    Dividing by it loses no digits. NaN is left out; 1 where there are no values but 0.

    >>> unit_of(np.array([3.0, -5.0, np.nan])), unit_of(np.zeros(2))
    (8.0, 1.0)
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    return 2.0 ** min(int(np.frexp(largest)[1]), 1023) if largest > 0 else 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """One attribute of all rows: floats, or codes into `labels`."""

    name: str
    kind: str
    values: Floats | Codes = field(repr=False)
    labels: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    """Levels of the schema, with the buckets that it reserves."""

    @property
    def is_number(self) -> bool:
        """Whether it holds numbers or dates."""
        return not self.labels

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Mask of the cells without a value."""
        return np.isnan(self.values) if self.is_number else np.asarray(self.values == NO_VALUE)

    def with_values(self, values: Floats | Codes) -> Column:
        """The same attribute with other values."""
        return replace(self, values=values)

    def without(self, cells: NDArray[np.bool_]) -> Column:
        """The same attribute with some cells set missing."""
        return self.with_values(np.where(cells, np.nan if self.is_number else NO_VALUE, self.values))

    @property
    def numbered(self) -> Codes:
        """Equal numbers for equal values, missing among them."""
        return np.asarray(np.unique(self.values, return_inverse=True)[1].reshape(-1), np.int64)

    def to_arrow(self) -> pa.Array:
        """The released form: whole numbers where all are, dates, texts; null where missing."""
        absent = self.missing
        if not self.is_number:
            texts = pa.array([*self.labels, None], pa.string())
            return texts.take(pa.array(np.where(absent, len(self.labels), self.values)))
        if self.kind == "date":
            return pa.array(np.nan_to_num(self.values).astype(np.int32), mask=absent).cast(pa.date32())
        whole = np.abs(self.values) <= 2.0**53
        whole &= self.values == np.round(self.values)
        if (whole | absent).all():
            return pa.array(np.nan_to_num(self.values).astype(np.int64), mask=absent)
        return pa.array(self.values, mask=absent)


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """All attributes that are released, and the weights of the rows."""

    columns: Mapping[str, Column]
    rows: int
    weights: Floats | None = None
    persons: Codes | None = None
    """Person of each row, -1 without a key; None when every row is a person."""

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def replaced(self, changed: Iterable[Column]) -> Columns:
        """The same rows with some attributes changed."""
        return replace(self, columns={**self.columns, **{column.name: column for column in changed}})

    def to_arrow(self) -> tuple[pa.Table, NDArray[np.int64]]:
        """Rows sorted by all their values, and the index of each (for checks; must not be released)."""
        table = pa.table({name: column.to_arrow() for name, column in self.columns.items()})
        keys = [ranks(column) for column in table.columns]
        order = np.lexsort(keys[::-1]) if keys else np.zeros(0, np.int64)
        return table.take(pa.array(order)), order


def read_columns(domain: Domain, table: pa.Table, names: Sequence[str]) -> Columns:
    """Read some attributes of a table; an out-of-domain number, date or ordered level is refused without its value."""
    found = {}
    for name in names:
        attribute = domain[name]
        indices, keys = read_keys(attribute, table.column(name), domain.nulls)
        if isinstance(attribute, Numeric | Date):
            numbers = np.array([np.nan if key is None else float(key) for key in keys])
            found[name] = Column(name=name, kind=attribute.kind, values=numbers[indices])
            continue
        labels = labels_of(attribute)
        place = {label: code for code, label in enumerate(labels)} | {None: NO_VALUE, MISSING: NO_VALUE}
        codes = np.array([place[key] for key in keys], np.int64)  # type: ignore[index]
        found[name] = Column(
            name=name, kind=attribute.kind, values=codes[indices], labels=labels, declared=attribute.all_labels
        )
    return Columns(columns=found, rows=table.num_rows)
