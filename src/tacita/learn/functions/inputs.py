"""Rows and queries as points of the unit cube, by public bounds alone.

A row without one of the numbers has no point. In rows, a value beyond the bounds is moved to them, since no row may be
refused for its values; in queries, it is refused. Queried points are rounded to a grid of 2^-30, so that a point has
one name: the whole numbers that noise is stored under.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacita.domain import Boolean, Date, Domain, Numeric
from tacita.domain.encode import parse_line
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.learn.functions.kernel import Array
from tacita.privacy.unit import Unit
from tacita.query.counted import counted_rows
from tacita.query.numbers import Measurable, bounds_of, measurable, numbers

__all__ = ["MOST_QUERIES", "Inputs", "check_queries", "points_of", "rows_of"]

MOST_QUERIES = 10_000
_STEPS = float(1 << 30)


def check_queries(queries: Sequence[Sequence[Any]], dimensions: int) -> None:
    """Refuse what is no batch of points with so many values each."""
    if isinstance(queries, str) or not isinstance(queries, Sequence):
        raise InvalidInput("must be a list of points", field="points")
    if not 1 <= len(queries) <= MOST_QUERIES:
        raise InvalidInput(f"must have 1 to {MOST_QUERIES:,} points", field="points", value=len(queries))
    for place, point in enumerate(queries):
        if isinstance(point, str) or not isinstance(point, Sequence) or len(point) != dimensions:
            value = len(point) if isinstance(point, Sequence) else type(point).__name__
            raise InvalidInput(f"must have {dimensions} value(s)", field=f"points[{place}]", value=value)


def points_of(rows: Sequence[Mapping[str, Any]], features: Sequence[str]) -> list[list[Any]]:
    """Rows that name their values, as points in the order of the features."""
    for place, row in enumerate(rows):
        for name in row:
            if name not in features:
                raise InvalidInput(
                    "is no feature of it",
                    field=f"rows[{place}]",
                    value=name[:200],
                    hint="Features are " + ", ".join(features),
                )
        for name in features:
            if name not in row:
                raise InvalidInput("must be given", field=f"rows[{place}].{name}")
    return [[row[name] for name in features] for row in rows]


def rows_of(domain: Domain, features: Sequence[str], queries: Sequence[Sequence[Any]]) -> pa.Table:
    """Queries as a table; refused where a value is missing, no number, beyond its bounds, or no level."""
    check_queries(queries, len(features))
    return pa.table({name: _column(domain, name, [each[at] for each in queries]) for at, name in enumerate(features)})


def _column(domain: Domain, name: str, values: Sequence[Any]) -> pa.Array:
    kind = domain[name]
    if isinstance(kind, Numeric | Date):
        line = [_number(kind, value, f"points[{place}].{name}") for place, value in enumerate(values)]
        return (
            pa.array(line) if isinstance(kind, Numeric) else pa.array(map(math.floor, line), pa.int32()).cast("date32")
        )
    for place, value in enumerate(values):
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            raise InvalidInput("must be a value", field=f"points[{place}].{name}", value=value)
    texts = [str(value).lower() if isinstance(value, bool) else str(value) for value in values]
    column = pa.array(texts, pa.string())
    for place, code in enumerate(domain.encode(pa.table({name: column}), [name])[name]):
        if code >= kind.size:
            raise InvalidInput("has no such value", field=f"points[{place}].{name}", value=texts[place])
    return column


def _number(kind: Measurable, value: Any, where: str) -> float:
    if isinstance(value, str) and isinstance(kind, Date):
        number = parse_line(kind, value)
    else:
        plain = isinstance(value, int | float) and (not isinstance(value, bool) or isinstance(kind, Boolean))
        number = _float(value) if plain else math.nan
    low, high = (float(end) for end in bounds_of(kind))
    if not math.isfinite(number):
        raise InvalidInput("must be a finite number", field=where, value=value)
    if not low <= number <= high:
        raise InvalidInput(f"must lie between {low:g} and {high:g}", field=where, value=value)
    return number


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The numbers that a function takes, in order."""

    domain: Domain = field(repr=False)
    features: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features or len(set(self.features)) != len(self.features):
            raise InvalidInput("must be distinct, at least one", field="features", value=list(self.features))
        for name in self.features:
            measurable(self.domain, name)

    @property
    def dimensions(self) -> int:
        """Numbers of a point."""
        return len(self.features)

    @cached_property
    def ends(self) -> Array:
        """Public bounds, one row for each number."""
        return np.array([bounds_of(measurable(self.domain, name)) for name in self.features])

    @property
    def volume(self) -> float:
        """Of the box that the bounds make, in the units of the data."""
        return float(np.prod(self.ends[:, 1] - self.ends[:, 0]))

    def read(self, engine: Engine, unit: Unit, more: Sequence[str] = ()) -> Iterator[tuple[Array, pa.RecordBatch]]:
        """The points of the rows that count, NaN where a number is missing, and the columns beside them; sensitive."""
        for batch in counted_rows(engine, [*self.features, *more], unit):
            yield self.points(batch), batch

    def points(self, batch: pa.RecordBatch | pa.Table) -> Array:
        """One row of numbers from 0 to 1 for each row."""
        low, high = self.ends[:, 0], self.ends[:, 1]
        kinds = [measurable(self.domain, name) for name in self.features]
        columns = [numbers(kind, batch.column(kind.name), self.domain.nulls) for kind in kinds]
        return np.asarray((np.stack(columns, axis=1) - low) / (high - low))

    def places(self, queries: Sequence[Sequence[Any]]) -> npt.NDArray[np.int64]:
        """Queries in the units of the data, as the whole numbers that name their points."""
        check_queries(queries, self.dimensions)
        kinds = [measurable(self.domain, name) for name in self.features]
        found = np.array(
            [
                [_number(kind, each, f"points[{place}].{kind.name}") for kind, each in zip(kinds, query, strict=True)]
                for place, query in enumerate(queries)
            ]
        )
        low, high = self.ends[:, 0], self.ends[:, 1]
        return np.rint((found - low) / (high - low) * _STEPS).astype(np.int64)

    @staticmethod
    def at(places: npt.NDArray[np.int64]) -> Array:
        """The points that whole numbers name."""
        return places / _STEPS


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        return math.inf
