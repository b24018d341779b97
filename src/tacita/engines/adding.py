"""Exact sums of what rows contribute, as a request to an engine: group, select, add up.

    Number      the number of a column: within public bounds, or 0 where the column only says that a value is there
    Formula     whole number of a number, by steps of IEEE 754 double arithmetic, each with public constants
    Sums        request: the codes that make the groups, formulas to add up, formulas whose values are counted
    Added       reply: a row for each combination of codes that occurs

A formula is evaluated by NumPy on streamed rows, by SQL in PostgreSQL, by a pipeline in MongoDB. Addition, product,
quotient and rounding to even are exactly specified by IEEE 754, so that all of them give the same integers. A formula
is one chain of steps: only public constants divide, so that no step fails on any value within the bounds.

Privacy: none; everything here is exact.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tacita.domain import Attribute, Boolean, Date, Numeric
from tacita.privacy.unit import Unit

__all__ = [
    "MOST",
    "Added",
    "Clip",
    "Counted",
    "Formula",
    "From",
    "Number",
    "Over",
    "Plus",
    "Rounded",
    "Square",
    "Step",
    "Sums",
    "Times",
]

Array = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

MOST = 1 << 30
"""Largest integer that a row may contribute, so that every engine has room for sums of 2^32 rows."""
_NORMAL = 2.0**-1000
"""Results above this are far from underflow; the order of a few roundings cannot change that."""


class Step(ABC):
    """One operation on a double."""

    @abstractmethod
    def __call__(self, values: Array) -> Array:
        """Compute it for many values."""

    @abstractmethod
    def least(self, least: float) -> float:
        """Bound the result away from zero, unless it is zero, given such a bound for the operand; 0 if unknown."""


@dataclass(frozen=True)
class Plus(Step):
    """The value plus a constant."""

    constant: float

    def __call__(self, values: Array) -> Array:
        """Add."""
        return values + self.constant

    def least(self, least: float) -> float:
        """Half a unit in the last place of the constant, or more: such differences are exact."""
        return abs(self.constant) * 2.0**-55 if self.constant else least


@dataclass(frozen=True)
class From(Step):
    """A constant minus the value."""

    constant: float

    def __call__(self, values: Array) -> Array:
        """Subtract."""
        return self.constant - values

    def least(self, least: float) -> float:
        """As of a sum."""
        return Plus(self.constant).least(least)


@dataclass(frozen=True)
class Times(Step):
    """The value times a positive constant."""

    constant: float

    def __call__(self, values: Array) -> Array:
        """Multiply."""
        return values * self.constant

    def least(self, least: float) -> float:
        """The bound times the constant."""
        return least * self.constant


@dataclass(frozen=True)
class Over(Step):
    """The value divided by a positive constant."""

    constant: float

    def __call__(self, values: Array) -> Array:
        """Divide."""
        return values / self.constant

    def least(self, least: float) -> float:
        """The bound divided by the constant."""
        return least / self.constant


@dataclass(frozen=True)
class Square(Step):
    """The value times itself."""

    def __call__(self, values: Array) -> Array:
        """Multiply."""
        return values * values

    def least(self, least: float) -> float:
        """The square of the bound."""
        return least * least


@dataclass(frozen=True)
class Clip(Step):
    """The value moved between two bounds."""

    low: float
    high: float

    def __call__(self, values: Array) -> Array:
        """Clip."""
        return np.asarray(np.clip(values, self.low, self.high))

    def least(self, least: float) -> float:
        """The smallest of the bounds that are not zero."""
        return min([least, *(abs(end) for end in (self.low, self.high) if end)])


@dataclass(frozen=True)
class Rounded(Step):
    """The nearest whole number; of two, the even one. Its operand must be below 2^50."""

    def __call__(self, values: Array) -> Array:
        """Round half to even."""
        return np.rint(values)

    def least(self, least: float) -> float:
        """One."""
        return 1.0


@dataclass(frozen=True)
class Formula:
    """Steps from a number to a whole number between public bounds."""

    steps: tuple[Step, ...]
    low: int
    high: int

    def __call__(self, values: Array) -> Integers:
        """Compute it for many values, none of which is NaN."""
        for step in self.steps:
            values = step(values)
        return values.astype(np.int64)

    def fits(self) -> bool:
        """Whether every engine has room for its sums."""
        return -MOST <= self.low <= self.high <= MOST

    def within(self, low: float, high: float) -> Formula:
        """The same for numbers between public bounds: without the clips that then change nothing.

        Each step is monotone, so that the ends of what comes in give the ends of what goes out.
        """
        ends, kept = np.array([low, high], np.float64), list[Step]()
        for step in self.steps:
            if isinstance(step, Clip) and step.low <= ends.min() and ends.max() <= step.high:
                continue
            if isinstance(step, Square) and ends.min() < 0:
                return self  # not monotone
            with np.errstate(all="ignore"):
                ends = step(ends)
            if not np.isfinite(ends).all():
                return self
            kept.append(step)
        return Formula(tuple(kept), self.low, self.high)

    def tiny(self, whole: bool) -> tuple[float | None, ...]:
        """For each step, the largest operand whose result underflows to zero; None for steps that cannot underflow.

        Args:
            whole: Whether the operand of the first step is a whole number.
        """
        least, found = 1.0 if whole else 5e-324, list[float | None]()
        for step in self.steps:
            after = step.least(least)
            found.append(_largest_lost(step) if isinstance(step, Times | Over | Square) and after < _NORMAL else None)
            least = max(after, 5e-324)
        return tuple(found)


def _largest_lost(step: Step) -> float | None:
    """Find the largest positive double whose result is zero, by bisection over the doubles; None if there is none."""

    def lost(bits: int) -> bool:
        with np.errstate(all="ignore"):
            return bool(step(np.array([bits], np.int64).view(np.float64))[0] == 0.0)

    low, high = 0, int(np.array([math.inf]).view(np.int64)[0]) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if lost(middle) else (low, middle - 1)
    return float(np.array([low], np.int64).view(np.float64)[0]) if low else None


@dataclass(frozen=True)
class Number:
    """The number of a column; null where there is none.

    Attributes:
        attribute: Numeric, date or boolean: the number lies within its public bounds; days since 1970-01-01 for a date,
            0 and 1 for a boolean. Another attribute with levels: 0 for each value that is in the domain.
    """

    attribute: Attribute

    @property
    def column(self) -> str:
        """Name of the column."""
        return self.attribute.name

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number."""
        if isinstance(self.attribute, Numeric | Date):
            return self.attribute.line_bounds
        return (0.0, 1.0) if isinstance(self.attribute, Boolean) else (0.0, 0.0)


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Request of sums over groups of rows.

    Attributes:
        names: Attributes whose codes make the groups, out-of-domain values included.
        only: Codes that rows must have in other attributes; by attribute.
        numbers: Numbers that are used; the rows that have one are counted.
        sums: Formulas that are added up, each with the index of its number.
        counts: Formulas whose values are counted, each with the index of its number.
        unit: Whose rows are bounded.
        ties: Columns that decide which of a person's rows with equal codes count: the least, column by column.
        persons: Whether distinct persons are counted too.
    """

    names: tuple[str, ...]
    only: tuple[tuple[str, tuple[int, ...]], ...] = ()
    numbers: tuple[Number, ...] = ()
    sums: tuple[tuple[int, Formula], ...] = ()
    counts: tuple[tuple[int, Formula], ...] = ()
    unit: Unit = field(default_factory=Unit)
    ties: tuple[str, ...] = ()
    persons: bool = False


@dataclass(frozen=True, kw_only=True, eq=False)
class Counted:
    """Values of a formula and their rows, for each combination of codes."""

    codes: Integers
    values: Integers
    rows: Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class Added:
    """Exact sums; sensitive.

    Attributes:
        codes: A row for each combination of codes that occurs; where persons are not counted, there may be several,
            whose sums belong together.
        rows: Number of rows.
        present: Rows that have each of the numbers; a column for each.
        sums: A column for each formula.
        counts: For each formula whose values are counted.
        persons: Number of distinct persons, if it was asked for.
    """

    codes: Integers
    rows: Integers
    present: Integers
    sums: Integers
    counts: tuple[Counted, ...]
    persons: Integers | None = None

    def __repr__(self) -> str:
        return "Added(…)"
