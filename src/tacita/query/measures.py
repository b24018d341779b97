"""Contributions of a row to a few sums, in whole steps of a public grid, and their sensitivity to one unit.

    Tally     one sum: a step count of `S` for each row that has a value
    Persons   one sum: S for each person who has a row in the group
    Total     one sum: the value itself, in steps of a power of two
    Moments   degree + 1 sums: the Bernstein polynomials of the value, S in all for each row
    Choice    a histogram over points of the range, of which the one nearest to a quantile is chosen  (`quantiles`)
    Tree      the same histogram, counted over coarse bins and then over fine ones near the quantiles  (`quantile_tree`)

Privacy:  with rows of at most m for each unit and K groups, the sums move by at most (claim: docs/claims/statistics.md)

                    add-remove (L1 = L2 bound)      replace-one
          Tally     m S                             m S if K = 1, else two parts of m S
          Persons   min(m, K) parts of S            min(2 m, K) parts of S
          Total     m max(|low|, |high|)            m (max(high, 0) - min(low, 0)) if K = 1, else 2 m max(|low|, |high|)
          Moments   m S                             two parts of m S
          The Bernstein polynomials of a degree are not negative and add up to 1, so that count, mean and variance
          together have the sensitivity of a count alone. The usual way, a budget for each, has more noise.
Utility:  the grid is so fine that rounding is below the noise: at most half a step for each row, of 2^-20 of the range.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacita.engines.adding import Clip, Formula, From, Over, Plus, Rounded, Square, Step, Times
from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Source, Stepped
from tacita.plans.additive import shift_event
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.numbers import Array

__all__ = ["COARSE", "FINE", "Integers", "Measure", "Moments", "Persons", "Ranged", "Tally", "Total"]

Integers = npt.NDArray[np.int64]

COARSE, FINE = 6, 20
"""Steps are 2^-6 of a row where only rows are counted, and 2^-20 of the range where values are."""


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """Sums of integers over rows, for one column or for none."""

    column: str | None = None
    bits: int = COARSE
    kind: ClassVar[str] = ""

    @property
    def steps(self) -> int:
        """S: steps for one."""
        return 1 << self.bits

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of sums for each group."""

    @property
    @abstractmethod
    def step(self) -> Fraction:
        """Value of one step."""

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Whole numbers of a row that are added up: the sums follow from theirs and from the number of rows."""
        return ()

    @property
    def counted(self) -> Formula | None:
        """Whole number of a row whose values are counted instead: a sum for each value."""
        return None

    def of_added(self, rows: Integers, added: Integers) -> Integers:
        """Sums from the numbers of rows with a value and the sums of the formulas; linear in both."""
        return added

    @abstractmethod
    def moves(self, neighbours: Neighbours, groups: int) -> tuple[int, int]:
        """Into how many parts the sums fall, and by how many steps one row moves each at most (parts come second)."""

    # -- the same for all -----------------------------------------------------------------------------------------

    def weigh(self, values: Array) -> Integers:
        """Contribution of each row to each sum; rows without a value must not be passed."""
        none = np.zeros((len(values), 0), np.int64)
        added = np.stack([formula(values) for formula in self.formulas], axis=1) if self.formulas else none
        return self.of_added(np.ones(len(values), np.int64), added)

    def sums(self, groups: int, cells: npt.NDArray[np.int64], values: Array) -> Integers:
        """Exact sums over rows of given groups."""
        there = ~np.isnan(values)
        cells, values = cells[there], values[there]
        added = np.zeros((groups, len(self.formulas)), np.int64)
        for at, formula in enumerate(self.formulas):
            # floats hold these sums exactly: a batch has fewer than 2^31 rows of at most 2^21 steps
            found = np.bincount(cells, weights=formula(values), minlength=groups)
            added[:, at] = np.rint(found).astype(np.int64)
        return self.of_added(np.bincount(cells, minlength=groups).astype(np.int64), added)

    def law(self, family: str, size: Fraction) -> Law:
        """Noise of `size` times what a row moves."""
        top = self.moves(Neighbours.ADD_REMOVE, 1)[0]
        if family == "laplace":
            return Stepped(law=DiscreteLaplace.at_least(size * top), of=self.step)
        return Stepped(law=DiscreteGaussian.at_least(size * top**2), of=self.step)

    def event(self, law: Law, unit: Unit, neighbours: Neighbours, groups: int) -> Event:
        """Cost to a unit of releasing all sums with this noise."""
        steps, parts = self.moves(neighbours, groups)
        return shift_event(law, unit.max_rows * steps, parts)

    def released(self, exact: Integers, law: Law, source: Source) -> Array:
        """Released values, one row for each group: the sums with noise, in units and not in steps."""
        draws = law.draw(exact.size, source).reshape(exact.shape)
        return np.asarray((exact + draws) * float(self.step), np.float64)

    def invented(self, groups: int) -> Array:
        """Values of the form that is released, without data: what follows noise is tried on them."""
        return np.ones((groups, self.width))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"measure": self.kind, "column": self.column, "step": str(self.step)}


@dataclass(frozen=True, kw_only=True)
class Tally(Measure):
    """Number of rows with a value in the column, or of all rows."""

    kind: ClassVar[str] = "tally"

    @property
    def width(self) -> int:
        """One."""
        return 1

    @property
    def step(self) -> Fraction:
        """A part of a row."""
        return Fraction(1, self.steps)

    def of_added(self, rows: Integers, added: Integers) -> Integers:
        """S for each row."""
        return rows[:, None] * self.steps

    def moves(self, neighbours: Neighbours, groups: int) -> tuple[int, int]:
        """S, once in the old group and once in the new one; one number cannot do both."""
        return self.steps, 2 if neighbours is Neighbours.REPLACE_ONE and groups > 1 else 1


@dataclass(frozen=True, kw_only=True)
class Persons(Tally):
    """Number of distinct persons with a row: each is counted once in a group, however many rows count."""

    kind: ClassVar[str] = "persons"

    def event(self, law: Law, unit: Unit, neighbours: Neighbours, groups: int) -> Event:
        """Each group moves by at most one person; a person is in at most as many as rows that count."""
        moved = unit.max_rows * (2 if neighbours is Neighbours.REPLACE_ONE else 1)
        return shift_event(law, self.steps, min(moved, groups))


@dataclass(frozen=True, kw_only=True)
class Ranged(Measure):
    """A measure of values between public bounds."""

    low: float
    high: float
    bits: int = FINE

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InvalidInput("must be finite and rising", field="bounds", value=[self.low, self.high])

    @property
    def range(self) -> float:
        """Width of the bounds."""
        return self.high - self.low

    @property
    def place(self) -> tuple[Step, ...]:
        """Steps from a value to its place between the bounds, from 0 to 1."""
        start: tuple[Step, ...] = (Plus(-self.low),) if self.low else ()
        return (*start, Over(self.range), Clip(0.0, 1.0))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return super().as_dict() | {"bounds": [self.low, self.high]}


@dataclass(frozen=True, kw_only=True)
class Total(Ranged):
    """The sum of the values. A step is a power of two, so that whole numbers are exact."""

    kind: ClassVar[str] = "total"

    @property
    def width(self) -> int:
        """One."""
        return 1

    @property
    def step(self) -> Fraction:
        """The power of two that makes 2^bits steps, or up to half as many, of the largest value."""
        largest = max(abs(self.low), abs(self.high))
        return Fraction(2) ** (math.frexp(largest)[1] - self.bits)

    @property
    def ends(self) -> tuple[int, int]:
        """The bounds in steps."""
        low, high = np.rint(np.array([self.low, self.high]) / float(self.step)).astype(int).tolist()
        return low, high

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The value in steps; clipped again, so that no float can leave the bounds."""
        low, high = self.ends
        return (Formula((Over(float(self.step)), Clip(float(low), float(high)), Rounded()), low, high),)

    def moves(self, neighbours: Neighbours, groups: int) -> tuple[int, int]:
        """The largest value; for replace-one from the least to the largest, where a missing value counts as 0."""
        low, high = self.ends
        top = max(abs(low), abs(high))
        if neighbours is Neighbours.ADD_REMOVE:
            return top, 1
        return (max(high, 0) - min(low, 0) if groups == 1 else 2 * top), 1


@dataclass(frozen=True, kw_only=True)
class Moments(Ranged):
    """Bernstein sums: of 1-t and t, or of (1-t)^2, 2t(1-t) and t^2, where t is the place between the bounds."""

    degree: int = 1
    kind: ClassVar[str] = "moments"

    @property
    def width(self) -> int:
        """One for each polynomial."""
        return self.degree + 1

    @property
    def step(self) -> Fraction:
        """A part of a row."""
        return Fraction(1, self.steps)

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The borders between the shares of S: 1-t, or (1-t)^2 and 1-t^2; rounded, so that shares add up to S."""
        one: tuple[tuple[Step, ...], ...] = ((From(1.0),),)
        borders = one if self.degree == 1 else ((From(1.0), Square()), (Square(), From(1.0)))
        end = (Times(float(self.steps)), Rounded())
        return tuple(Formula((*self.place, *border, *end), 0, self.steps) for border in borders)

    def of_added(self, rows: Integers, added: Integers) -> Integers:
        """Differences of the borders, from 0 to S for each row."""
        return np.diff(added, axis=1, prepend=0, append=rows[:, None] * self.steps)

    def moves(self, neighbours: Neighbours, groups: int) -> tuple[int, int]:
        """S down and S up."""
        return self.steps, 2 if neighbours is Neighbours.REPLACE_ONE else 1

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return super().as_dict() | {"degree": self.degree}
