"""Expected errors of three methods of synthesis, and the best one given what is known of the data.

What decides is how dependent a pair is, in rows (`models.pairs.dependence`):

    F: mean over all pairs of D, what independence misses      H: the mean of E over all pairs, taken as 0 for a tree

    expected error, in rows                         of           noise, in rows
    |F, 0.53 A|                                     independent  A: two singles
    |1.1 F^0.17 H^0.83, 0.4 (1 + 4 F / n) B|        mst          B: two of its singles
    0.82 d^-0.3 C^0.8 F^0.2                         pairs        C: a pair of c cells, among d columns
      but at least c^-0.25 (d - 1)^-0.5 C                        noise of singles that are summed from pairs

|x, y| is (x^1.2 + y^1.2)^(1/1.2), a cell's noise counts with its mean absolute value, and n is the number of rows. A
and B are means, C and c geometric means: wide tables among narrow ones have many empty cells, where a fit is near. The
factors were fitted to errors on generated tables (`bench/generated.py`), whose logarithms deviate from the formulas by
0.07, 0.25 and 0.26.

What is likely: the logarithms of F and of H / F are normal, with means and deviations of such tables. The best method
has the least expected logarithm of the error, given F and H with noise, or given nothing. Knowing both saves what the
best method then has less of it, averaged over all that is likely to be measured.

Privacy:  public sizes and noisy numbers only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.models.pairs.dependence import typical_dependence
from tacita.noise import DiscreteLaplace, Law

__all__ = ["ExpectedErrors", "Likely", "Seen"]

Array = NDArray[np.float64]

_MEAN_SPREAD, _LEFT_SPREAD = 0.9, 1.28  # standard deviations of the logarithms of F and H / F
_LEFT = 0.18  # median of H / F
_MOST_MEAN, _MOST_LEFT = 0.7, 0.95  # F as a share of rows, H as one of F
_LEAST = 1e-7  # share of rows below which nothing counts
_NOISES = 7  # quantiles of a noise


@dataclass(frozen=True, kw_only=True)
class ExpectedErrors:
    """Noise of the three methods, in rows, with which their errors are expected: A, B, C, c and d above."""

    singles: float
    tree: float
    pairs: float
    cells: float
    columns: int

    def logs(self, people: float, mean: Any, left: Any) -> Array:
        """Logarithms of the expected errors of independent, mst and pairs, as shares of rows: a row for each.

        Args:
            people: Number of rows.
            mean, left: F and H, in rows; one number each, or as many as there are.
        """
        mean, left = (np.maximum(np.asarray(part, float) / people, _LEAST) for part in (mean, left))
        singles, tree, pairs = (noise / people for noise in (self.singles, self.tree, self.pairs))
        path = 1 + 4 * mean  # the noise of edges adds up along a path of dependent ones
        least = self.cells**-0.25 * (self.columns - 1) ** -0.5 * pairs
        found = (
            _both(mean, 0.53 * singles),
            _both(1.1 * mean**0.17 * left**0.83, 0.4 * path * tree),
            np.maximum(0.82 * self.columns**-0.3 * pairs**0.8 * mean**0.2, least),
        )
        return np.asarray(np.log(np.stack(found)))

    def times(self, factor: float) -> ExpectedErrors:
        """The same methods with so much more noise."""
        return replace(self, singles=self.singles * factor, tree=self.tree * factor, pairs=self.pairs * factor)


def _both(missed: Any, noise: Any) -> Any:
    """Error of a method that misses so much and has so much noise: less than their sum."""
    return (missed**1.2 + noise**1.2) ** (1 / 1.2)


@dataclass(frozen=True, kw_only=True)
class Seen:
    """F or H as it was measured, in rows, or is to be.

    Attributes:
        value: The noisy number, or several.
        law: Its noise.
        grid: Steps of a row, in which the noise is drawn.
    """

    value: Any = 0.0
    law: Law
    grid: int

    def log_chances(self, truth: Array) -> Array:
        """Logarithms of the chances of each noisy number, up to a constant: a row for each, a column for each truth."""
        off = (np.atleast_1d(self.value)[:, None] - truth) * self.grid
        if isinstance(self.law, DiscreteLaplace):
            return np.asarray(-np.abs(off) / float(self.law.scale))
        return np.asarray(-(off**2) / (2 * self.law.variance))

    def noises(self) -> Array:
        """Some quantiles of the noise, in rows."""
        levels = (np.arange(_NOISES) + 0.5) / _NOISES
        if isinstance(self.law, DiscreteLaplace):
            tails = np.where(levels < 0.5, np.log(2 * levels), -np.log(2 - 2 * levels))
            return np.asarray(tails * float(self.law.scale) / self.grid)
        return np.array([NormalDist().inv_cdf(level) for level in levels]) * self.law.std / self.grid


@dataclass(frozen=True, kw_only=True, eq=False)
class Likely:
    """Values of F and H that are likely before anything is measured, all equally so.

    Attributes:
        people: Number of rows.
        mean, left: F and H of each point, in rows.
    """

    people: float
    mean: Array
    left: Array

    @classmethod
    def of(cls, errors: ExpectedErrors, people: float, *, points: int = 25) -> Likely:
        """For a table of so many rows; a number of points squared."""
        levels = [NormalDist().inv_cdf((at + 0.5) / points) for at in range(points)]
        spread = np.exp(np.outer(levels, [_MEAN_SPREAD, _LEFT_SPREAD]))
        mean = np.minimum(typical_dependence(errors.columns, errors.cells) * spread[:, 0], _MOST_MEAN) * people
        share = np.minimum(_LEFT * spread[:, 1], _MOST_LEFT)
        return cls(people=people, mean=np.repeat(mean, points), left=np.outer(mean, share).ravel())

    def expected(self, errors: ExpectedErrors, seen: Sequence[Seen] = ()) -> Array:
        """Expected logarithms of the errors: a row for each method, a column for each noisy number seen, one if none.

        Args:
            errors: Of the methods.
            seen: F and H with noise, if they were measured.
        """
        logs = errors.logs(self.people, self.mean, self.left)
        chances = np.zeros((1, len(self.mean)))
        for each, truth in zip(seen, (self.mean, self.left), strict=bool(seen)):
            chances = chances + each.log_chances(truth)
        weights = np.exp(chances - chances.max(axis=1, keepdims=True))
        return np.asarray(logs @ (weights / weights.sum(axis=1, keepdims=True)).T)

    def best(self, errors: ExpectedErrors, seen: Sequence[Seen] = ()) -> int:
        """Index of the best method."""
        return int(np.argmin(self.expected(errors, seen)[:, 0]))

    def saved(self, errors: ExpectedErrors, measured: Sequence[Law], grid: int, factor: float) -> float:
        """Expected fall of the logarithm of the error if F and H are measured.

        Args:
            errors: Of the methods with the whole budget.
            measured: Noise of F and of H.
            grid: Steps of a row, in which it is drawn.
            factor: By which the noise of the methods grows because the measurement is paid for.
        """
        alone = float(self.expected(errors).min())
        noises = np.meshgrid(*(Seen(law=law, grid=grid).noises() for law in measured))
        seen = [
            Seen(value=(truth[:, None] + noise.ravel()).ravel(), law=law, grid=grid)
            for truth, noise, law in zip((self.mean, self.left), noises, measured, strict=True)
        ]
        found = self.expected(errors.times(factor), seen).min(axis=0)
        return alone - float(np.mean(found))
