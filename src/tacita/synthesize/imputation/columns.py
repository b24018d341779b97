"""Rows as columns of numbers that models can read, and back into the types of their attributes.

Numbers and dates are points of the number line within the public bounds, NaN where missing; all else is codes. A value
without a place in the schema is refused: a model could neither read nor redraw it.

Privacy: these are the private rows themselves; nothing here may leave.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Attribute, Binned, Categorical, Date, Domain, decode, encode
from tacita.domain.line import points_of
from tacita.engines.base import Engine
from tacita.errors import DataError, InvalidInput

__all__ = ["Column", "Columns", "check_columns", "design", "read_columns", "rows_of"]

Array = NDArray[np.float64]
Columns = Mapping[str, "Column"]

_MOST_COLUMNS = 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """The values of one attribute, one for each row."""

    attribute: Attribute
    values: Array = field(repr=False)

    @property
    def number(self) -> bool:
        """Whether its values are points of the number line."""
        return isinstance(self.attribute, Binned)

    @cached_property
    def absent(self) -> NDArray[np.bool_]:
        """Rows without a value."""
        if self.number:
            return np.isnan(self.values)
        return np.asarray(self.values == self.attribute.missing_code)

    def at(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> Column:
        """Some of the rows."""
        return replace(self, values=self.values[rows])

    def arrow(self) -> pa.Array:
        """The values in the type of their attribute."""
        if not isinstance(self.attribute, Binned):
            return decode(self.attribute, self.values.astype(np.int64))
        plain = pa.array(np.where(self.absent, 0, self.values), pa.float64(), mask=self.absent)
        if isinstance(self.attribute, Date):
            return plain.cast(pa.int32()).cast(pa.date32())
        return plain.cast(pa.int64()) if self.attribute.integer else plain


def read_columns(engine: Engine, names: Iterable[str]) -> dict[str, Column]:
    """All rows of some attributes."""
    domain, chosen = engine.domain, tuple(names)
    parts: dict[str, list[Array]] = {name: [] for name in chosen}
    for batch in engine.rows(chosen):
        for name in chosen:
            parts[name].append(_values(domain, domain[name], batch.column(name)))
    read = {name: np.concatenate(found) if found else np.zeros(0) for name, found in parts.items()}
    return {name: Column(attribute=domain[name], values=values) for name, values in read.items()}


def rows_of(columns: Columns) -> int:
    """Number of rows."""
    return next(iter(columns.values())).values.size


def _values(domain: Domain, attribute: Attribute, column: pa.Array) -> Array:
    codes = encode(attribute, column, domain.nulls)
    if (codes == attribute.out_of_domain).any():
        raise DataError(
            "has values without a place in the schema",
            field=attribute.name,
            hint="Run `tacita schema check`; declare `missing: true` or `other: true`, or add the levels",
        )
    if not isinstance(attribute, Binned):
        return codes.astype(float)
    return np.where(codes < len(attribute.labels), points_of(attribute, column, domain.nulls), np.nan)


def check_columns(domain: Domain, names: Iterable[str]) -> None:
    """Refuse attributes with more levels than models can take as columns; says what to group."""
    sizes = {name: domain[name].size for name in names if isinstance(domain[name], Categorical)}
    if sum(sizes.values()) > _MOST_COLUMNS:
        widest = sorted(sizes, key=lambda name: -sizes[name])[:3]
        raise InvalidInput(
            f"unordered attributes together may have {_MOST_COLUMNS} levels",
            field="attributes",
            value=sum(sizes.values()),
            hint="Group or leave out the widest: " + ", ".join(f"{name} ({sizes[name]})" for name in widest),
        )


def design(columns: Columns, names: Iterable[str]) -> Array:
    """Features of a model: numbers and ordered levels as shares of their public range, other levels one by one.

    Buckets have columns of their own. The scales are public, so that they are the same for all rows and releases.
    """
    parts = [part for name in names for part in _parts(columns[name])]
    return np.stack(parts, axis=1) if parts else np.zeros((rows_of(columns), 1))


def _parts(column: Column) -> list[Array]:
    attribute, values = column.attribute, column.values
    levels = len(attribute.labels)
    if isinstance(attribute, Binned):
        low, high = attribute.line_bounds
        scaled = [np.where(column.absent, 0.5, (values - low) / (high - low))]
        return scaled + ([column.absent.astype(float)] if attribute.missing or attribute.other else [])
    if isinstance(attribute, Categorical) and levels > 2:
        return [(values == code).astype(float) for code in range(1, attribute.size)]
    scaled = [np.where(values < levels, values / max(1, levels - 1), 0.5)]
    return scaled + [(values == code).astype(float) for code in range(levels, attribute.size)]
