"""Quantiles without an interval: one point chosen in private.

For q = a/b and a point c of a public grid, let D(c) = (b-a) * rows below c - a * rows above c: it rises with c and is
nearest to 0 at the quantile.

    Points    a histogram over evenly spaced points of the range, which `quantile_tree` counts too
    Choice    the point of the largest -|D(c)| after noise (report noisy max)

Privacy:  D moves with one row by at most t = max(a, b-a) if added or removed, and by b when it goes from one side to
          the other. With at most m rows for each unit, the scores of all groups together move by
          m t (add-remove), m b (replace-one, one group), 2 m t (replace-one, several groups).
          Choosing costs 2/scale of that, pure.   Claim: docs/claims/statistics.md
Utility:  the chosen point is within a few ranks of the quantile; ranks do not depend on the data, values do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacita.engines.adding import Formula, Rounded, Times
from tacita.errors import InvalidInput
from tacita.noise import DiscreteLaplace, Law, Source, Stepped
from tacita.privacy.event import Event, Pure
from tacita.privacy.selection import noisy_max
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.measures import Integers, Ranged
from tacita.query.numbers import Array

__all__ = ["Points", "QuantileChoice", "check_q"]


def check_q(q: Fraction) -> Fraction:
    """Refuse a quantile that is none."""
    if not 0 < q < 1:
        raise InvalidInput("must lie strictly between 0 and 1", field="q", value=float(q))
    return q


@dataclass(frozen=True, kw_only=True)
class Points(Ranged):
    """A histogram over evenly spaced points; it stays inside."""

    points: int

    @property
    def width(self) -> int:
        """One for each point."""
        return self.points

    @property
    def gap(self) -> float:
        """Distance of two points."""
        return self.range / max(self.points - 1, 1)

    @property
    def exact(self) -> bool:
        """Whether the points are whole numbers one apart, so that whole numbers are not rounded."""
        return self.gap == 1 and float(self.low).is_integer()

    @property
    def counted(self) -> Formula:
        """Index of the nearest point."""
        last = self.points - 1
        return Formula((*self.place, Times(float(last)), Rounded()), 0, last)

    def weigh(self, values: Array) -> Integers:
        """One in the nearest point."""
        return np.eye(self.points, dtype=np.int64)[self.counted(values)]

    def sums(self, groups: int, cells: npt.NDArray[np.int64], values: Array) -> Integers:
        """A histogram over the points for each group."""
        there = ~np.isnan(values)
        places = cells[there] * self.points + self.counted(values[there])
        return np.bincount(places, minlength=groups * self.points).astype(np.int64).reshape(groups, self.points)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return super().as_dict() | {"points": self.points}


@dataclass(frozen=True, kw_only=True)
class QuantileChoice(Points):
    """The point nearest to the quantile, by report noisy max. Its law is that of the noise on the scores."""

    q: Fraction
    bits: int = 0
    kind: ClassVar[str] = "choice"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_q(self.q)

    @property
    def step(self) -> Fraction:
        """A part of a row: D counts b times as many."""
        return Fraction(1, self.steps * self.q.denominator)

    def moves(self, neighbours: Neighbours, groups: int) -> tuple[int, int]:
        """Sensitivity of D, in steps, all groups together."""
        a, b = self.q.numerator, self.q.denominator
        top = max(a, b - a)
        if neighbours is Neighbours.ADD_REMOVE:
            return self.steps * top, 1
        return self.steps * (b if groups == 1 else 2 * top), 1

    def sides(self, histogram: Integers) -> Integers:
        """D at every point of every group, in steps."""
        a, b = self.q.numerator, self.q.denominator
        upto = histogram.cumsum(axis=1)
        return np.asarray(self.steps * ((b - a) * (upto - histogram) - a * (upto[:, -1:] - upto)), np.int64)

    def law(self, family: str, size: Fraction) -> Law:
        """Noise of twice the size, because the best score may fall while another rises.

        Under a Gaussian budget the share is a rho, of which epsilon is the root of twice as much.
        """
        top = self.moves(Neighbours.ADD_REMOVE, 1)[0]
        wide = size if family == "laplace" else Fraction(math.sqrt(size) * (1 + 1e-9)).limit_denominator(10**6)
        return Stepped(law=DiscreteLaplace.at_least(2 * top * wide), of=self.step)

    def event(self, law: Law, unit: Unit, neighbours: Neighbours, groups: int) -> Event:
        """Twice what all scores together move, over the scale."""
        assert isinstance(law, Stepped)
        assert isinstance(law.law, DiscreteLaplace)
        return Pure(epsilon=2 * unit.max_rows * self.moves(neighbours, groups)[0] / law.law.scale)

    def released(self, exact: Integers, law: Law, source: Source) -> Array:
        """The chosen value in each group."""
        assert isinstance(law, Stepped)
        assert isinstance(law.law, DiscreteLaplace)
        each = float(
            2 / law.law.scale
        )  # what scores of sensitivity 1 cost; rounded down, so that noise is not narrower
        each = each if Fraction(each) <= 2 / law.law.scale else math.nextafter(each, 0)
        scores = -np.abs(self.sides(exact)).astype(float)
        picked = [noisy_max(row.tolist(), sensitivity=1.0, epsilon=each, source=source) for row in scores]
        return np.asarray(self.low + self.gap * np.array(picked), np.float64)[:, None]

    def invented(self, groups: int) -> Array:
        """One value for each group."""
        return np.ones((groups, 1))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return super().as_dict() | {"q": str(self.q)}
