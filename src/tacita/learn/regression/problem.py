"""Input of a method before it reads data, and the protocol of a method."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tacita.errors import InvalidInput
from tacita.learn.coefficient_errors import CoefficientErrors
from tacita.learn.feature_map import Array, FeatureMap, Points
from tacita.learn.regression.solve import Convexify, Penalty
from tacita.noise import Source
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["MOST_PEOPLE", "Coefficients", "Method", "Problem", "check_people", "gather"]

MOST_PEOPLE = 1 << 40


def check_people(people: int | None) -> None:
    """Refuse a public number of rows that cannot be one."""
    if people is not None and not (type(people) is int and 1 <= people <= MOST_PEOPLE):
        raise InvalidInput("must be a whole number from 1 to 2^40", field="people", value=_short(people))


def _short(value: Any) -> Any:
    return value if not isinstance(value, int) or abs(value) < 10**20 else "more than 20 digits"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """All that is public: the design, the budget, the notion, and what the model should look like.

    With `squares` the sum of squared targets is released too, where moments are.
    """

    design: FeatureMap
    budget: Budget
    unit: Unit
    neighbours: Neighbours
    penalty: Penalty
    convexify: Convexify = "floor"
    norm: float | None = None
    intercept: bool = True
    people: int | None = None
    squares: bool = False

    @property
    def times(self) -> int:
        """Number of rows of a unit added or removed at once: twice its rows where a unit is replaced."""
        return self.unit.max_rows * (1 if self.neighbours is Neighbours.ADD_REMOVE else 2)


@dataclass(frozen=True, kw_only=True, eq=False)
class Coefficients:
    """Coefficients for features and target from -1 to 1, and what the method says about them.

    `errors` are None where none are claimed.
    """

    coefficients: Array
    intercept: float
    notes: dict[str, Any]
    errors: CoefficientErrors | None = None


class Method(Protocol):
    """One way to fit, with its noise fixed."""

    @property
    def event(self) -> Event:
        """Cost of fitting to a unit, derived from the noise that is drawn."""

    def fit(self, batches: Iterable[Points], source: Source) -> Coefficients:
        """Fit to rows; add noise before anything is released."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data, `method` among it."""


def gather(batches: Iterable[Points], columns: int) -> Points:
    """All rows at once, for methods that need them so."""
    parts = list(batches)
    return Points(
        x=np.concatenate([np.zeros((0, columns)), *(part.x for part in parts)]),
        y=np.concatenate([np.zeros(0), *(part.y for part in parts)]),
        outside=sum(part.outside for part in parts),
    )
