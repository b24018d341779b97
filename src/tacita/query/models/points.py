"""Rows as points of a public box, and what recipes over points share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacita.domain import Domain
from tacita.engines.base import Engine, Folds
from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Stepped
from tacita.plans.additive import Family, families_of, shift_event
from tacita.plans.recipe import CalibratedPlan
from tacita.privacy.budget import Budget
from tacita.privacy.calibrate import smallest
from tacita.privacy.event import Event, Repeated
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.counted import counted_rows
from tacita.query.models.point_model import PointModel
from tacita.query.numbers import Array, bounds_of, measurable, numbers

__all__ = ["STEPS", "CalibratedPoints", "PointSums", "box", "fit_noise", "points"]

STEPS = 1 << 12
"""Steps of the grid for one, from end to end of the box."""


def box(domain: Domain, columns: Sequence[str]) -> Array:
    """Public bounds of the columns: one row of two numbers for each."""
    if len(set(columns)) != len(columns) or not columns:
        raise InvalidInput("must be distinct columns, at least one", field="columns", value=list(columns))
    return np.array([bounds_of(measurable(domain, name)) for name in columns])


def points(engine: Engine, columns: Sequence[str], unit: Unit) -> Array:
    """Places from 0 to 1 of the rows that count and have all of the values; sensitive."""
    return _placed(engine.domain, columns, counted_rows(engine, list(columns), unit))


def _placed(domain: Domain, columns: Sequence[str], batches: Iterable[pa.RecordBatch]) -> Array:
    ends, attributes = box(domain, columns), [measurable(domain, name) for name in columns]
    parts = []
    for batch in batches:
        pairs = zip(attributes, columns, strict=True)
        values = np.stack([numbers(attribute, batch.column(name), domain.nulls) for attribute, name in pairs], axis=1)
        parts.append(((values - ends[:, 0]) / (ends[:, 1] - ends[:, 0]))[~np.isnan(values).any(axis=1)])
    return np.concatenate([np.zeros((0, len(columns))), *parts]).clip(0, 1)


@dataclass(frozen=True)
class _Measured:
    """Sum of a function over the points of some rows, a few points at a time."""

    domain: Domain
    columns: tuple[str, ...]
    measure: Callable[[Array], npt.NDArray[np.int64]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> npt.NDArray[np.int64]:
        total = self.measure(np.zeros((0, len(self.columns))))
        for batch in batches:
            total = total + self.measure(_placed(self.domain, self.columns, [batch]))
        return total


@dataclass(frozen=True, kw_only=True, eq=False)
class PointSums:
    """Exact sums over points: where the rows are, if the engine can; else over points that are read once and held."""

    engine: Engine = field(repr=False)
    columns: tuple[str, ...]
    unit: Unit

    @cached_property
    def _held(self) -> Array:
        return points(self.engine, self.columns, self.unit)

    def of(self, measure: Callable[[Array], npt.NDArray[np.int64]]) -> npt.NDArray[np.int64]:
        """Return a sum over all points; sensitive. It is whole, so that the parts may be added up in any order."""
        if isinstance(self.engine, Folds):
            return self.engine.fold(_Measured(self.engine.domain, self.columns, measure), self.columns, self.unit)
        return measure(self._held)


def fit_noise(
    family: Family,
    budget: Budget,
    neighbours: Neighbours,
    *,
    moves: Any,
    rounds: int,
    unit: Unit,
) -> tuple[Law, Event]:
    """The narrowest noise for sums that are released `rounds` times, and what it costs.

    `moves(family, neighbours)` says how far one row moves the sums, in steps, and in how many parts.
    """

    def laws(kind: Family, size: Fraction) -> Law:
        law = DiscreteLaplace.at_least(size) if kind == "laplace" else DiscreteGaussian.at_least(size)
        return Stepped(law=law, of=Fraction(1, STEPS))

    def event(kind: Family, size: Fraction) -> Event:
        shift, parts = moves(kind, neighbours)
        once = shift_event(laws(kind, size), unit.max_rows * shift, parts)
        return once if rounds == 1 else Repeated(event=once, count=rounds)

    found = []
    for kind in families_of(family, budget):
        size = smallest(lambda x, kind=kind: event(kind, x), budget, neighbours)  # type: ignore[misc]
        found.append((laws(kind, size), event(kind, size)))
    return min(found, key=lambda pair: pair[0].variance)


@dataclass(frozen=True, kw_only=True)
class CalibratedPoints(CalibratedPlan[PointModel]):
    """Base of the plans of recipes over points."""

    answer = PointModel

    recipe: Any
    domain: Domain = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    law: Law
    event: Event

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {
            "noise": self.law.as_dict(),
        }
