"""Paired trials of several releases: intervals of their figures, and of differences, that hold together at every look.

A trial splits the rows anew, makes every release and attacks it, with one seed for all: trials are independent given
the rows, and what is common to all releases of a trial cancels in differences.

    figures     kept and risk of each release in each trial, both between 0 and 1
    looks       6, 10, 16, 26, .. trials; the last look is at the maximum, which is public
    statements  K (K + 1) for K releases in the plan: 2 figures x (K means + K (K - 1) / 2 differences)
    alpha       0.05 / (looks x statements)
    interval    mean -+ t(1 - alpha / 2; n - 1) s / sqrt(n) of a figure, or of the differences within each trial, cut to
                its range; where s = 0 the range, until a sign test of level alpha could reject: 2^(1 - n) <= alpha

By the union bound over statements and looks, all intervals at all looks cover with 95 % together, whatever decides when
to stop and which releases go on. The level is that of Student's law, which is exact for normal figures. The target is
the mean over splits and noise for these rows, not for a population.

Privacy: none; reads figures of exact rows, for their owner.
Cost: a release takes part in later looks only while it matters for the recommendation.
Claim: docs/claims/comparison.md.  [Student 1908; Dunn 1961]
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tacita import check

__all__ = ["FIGURES", "LEVEL", "Estimate", "Figure", "PairedTrials", "look_sizes"]

Figure = Literal["kept", "risk"]
FIGURES: tuple[Figure, ...] = ("kept", "risk")
LEVEL = 0.95
_FIRST = 6
_GROWTH = 1.6
_APART = 1.25


def look_sizes(most: int) -> tuple[int, ...]:
    """Return the numbers of trials after which the figures are looked at; the last one is the maximum.

    >>> look_sizes(24)
    (6, 10, 16, 24)
    """
    check.whole(most, "most_trials", least=1)
    sizes, size = [], _FIRST
    while size * _APART <= most:
        sizes.append(size)
        size = math.ceil(size * _GROWTH)
    return (*sizes, most)


class Estimate(NamedTuple):
    """A mean over trials with its interval."""

    value: float
    low: float
    high: float
    trials: int

    @property
    def words(self) -> str:
        """The interval in words."""
        return f"{self.low:.3f} to {self.high:.3f}"

    def within(self, bound: float) -> bool:
        """Return whether the whole interval lies between -bound and bound."""
        return -bound <= self.low and self.high <= bound

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self._asdict()


@dataclass(frozen=True, kw_only=True, eq=False)
class PairedTrials:
    """Figures of releases over trials.

    Attributes:
        figures: For each release one row for each trial, in the order of the trials: `kept` and `risk`.
        releases: Number of releases in the plan, which the intervals provide for.
        most: Largest number of trials.
    """

    figures: Mapping[str, NDArray[np.float64]]
    releases: int
    most: int

    @property
    def looks(self) -> tuple[int, ...]:
        """The numbers of trials at which figures may be looked at."""
        return look_sizes(self.most)

    @property
    def alpha(self) -> float:
        """Probability that one interval of one look misses."""
        return (1 - LEVEL) / (len(self.looks) * self.releases * (self.releases + 1))

    @property
    def trials(self) -> int:
        """The largest number of trials of a release."""
        return max((len(rows) for rows in self.figures.values()), default=0)

    def estimate(self, name: str, figure: Figure) -> Estimate:
        """Return the mean of a release's figure, with its interval."""
        return self._interval(self._column(name, figure), 0.0, 1.0)

    def difference(self, one: str, other: str, figure: Figure) -> Estimate:
        """Return how much more one release has than another, over the trials that both took part in."""
        first, second = self._column(one, figure), self._column(other, figure)
        count = min(len(first), len(second))
        return self._interval(first[:count] - second[:count], -1.0, 1.0)

    def _column(self, name: str, figure: Figure) -> NDArray[np.float64]:
        column: NDArray[np.float64] = self.figures[name][:, FIGURES.index(figure)]
        return column

    def _interval(self, values: NDArray[np.float64], least: float, largest: float) -> Estimate:
        count, mean = len(values), float(values.mean())
        spread = float(values.std(ddof=1)) if count > 1 else 0.0
        if spread <= 1e-12:  # rounding aside, all trials gave the same
            known = 2.0 ** (1 - count) <= self.alpha
            return Estimate(mean, mean if known else least, mean if known else largest, count)
        half = float(stats.t.isf(self.alpha / 2, count - 1)) * spread / math.sqrt(count)
        return Estimate(mean, max(least, mean - half), min(largest, mean + half), count)
