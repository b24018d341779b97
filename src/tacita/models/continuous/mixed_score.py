"""Conditional linear Gaussian (CLG) structures over mixed columns: discrete parents choose the regression of a number.

A discrete column has discrete parents only; a number has any. Given the cell q of its discrete parents, a number is
linear in its numeric parents, with coefficients and variance of that cell  [Lauritzen, Wermuth 1989]:

    bic of a number   sum_q -n_q/2 (ln(2 pi s_q^2) + 1) - k/2 ln n,   k = (|numeric parents| + 2) x cells with rows
    bic of a level    as `discrete_score`

Cells with too few rows for a regression of their own (fewer than `LEAST` for each coefficient) use the regression of
all rows; so a rare cell cannot win by fitting its rows exactly.

Sufficient statistics are computed once: for each distinct cell of all discrete columns, the number of rows, the sums
and the sums of products of the numbers. Cells of fewer columns are sums of these.

Privacy: none of its own; exact statistics have no JSON form.
Cost: one pass; O(cells x d^2) memory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from tacita.errors import InvalidInput
from tacita.models.continuous.gaussian_score import independence_p
from tacita.models.continuous.moments import Array, Line, Moments, matrix_of
from tacita.models.discrete_score import DiscreteCounts, DiscreteScore

__all__ = ["LEAST", "GroupedMoments", "MixedScore"]

Key = tuple[str, ...]
LEAST = 5
"""Rows that a cell needs for each coefficient of a regression of its own."""
_FLOOR = 1e-6  # of the variance of the column: a number that is constant in a cell has no density


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupedMoments:
    """Moments of the numbers in each distinct cell of the discrete columns. Exact: sensitive.

    Args:
        counts: Distinct cells of the discrete columns, with their number of rows.
        moments: Of the numbers over all rows.
        sums, products: Of the standardised numbers in each cell.
    """

    counts: DiscreteCounts
    moments: Moments
    sums: Array = field(repr=False)
    products: Array = field(repr=False)

    @classmethod
    def of(
        cls, numbers: Mapping[str, Any], sizes: Mapping[str, int], codes: Mapping[str, NDArray[Any]]
    ) -> GroupedMoments:
        """Read columns of numbers, and columns of codes with their numbers of levels."""
        values = matrix_of(numbers)
        moments = Moments.of(numbers)
        moments.check_regular()
        rows = np.zeros((len(values), 0), np.int64)
        if sizes:
            rows = np.stack([np.asarray(codes[name], np.int64) for name in sizes], axis=1)
        cells, owner = np.unique(rows, axis=0, return_inverse=True)
        owner = owner.reshape(-1)
        counts = DiscreteCounts(
            sizes=dict(sizes), cells=cells, counts=np.bincount(owner, minlength=len(cells)).astype(np.float64)
        )
        scaled = (values - moments.mean) / np.sqrt(np.diag(moments.covariance))
        sums = _grouped(owner, scaled, len(cells))
        d = values.shape[1]
        pairs = [(i, j) for i in range(d) for j in range(i, d)]
        upper = _grouped(owner, np.stack([scaled[:, i] * scaled[:, j] for i, j in pairs], axis=1), len(cells))
        products = np.zeros((len(cells), d, d))
        for place, (i, j) in enumerate(pairs):
            products[:, i, j] = products[:, j, i] = upper[:, place]
        return cls(counts=counts, moments=moments, sums=sums, products=products)

    @property
    def names(self) -> tuple[str, ...]:
        """All columns: numbers, then levels."""
        return (*self.moments.names, *self.counts.sizes)

    @cached_property
    def _sd(self) -> Array:
        return np.sqrt(np.diag(self.moments.covariance))

    def within(self, discrete: Sequence[str]) -> dict[int, Moments]:
        """Return the moments of the numbers in each cell of some discrete columns that has rows, in original units."""
        index, _ = self.counts.index(discrete)
        cells, owner = np.unique(index, return_inverse=True)
        counts = np.bincount(owner, weights=self.counts.counts)
        sums, products = _grouped(owner, self.sums, len(cells)), _grouped(owner, self.products, len(cells))
        found = {}
        for place, cell in enumerate(cells.tolist()):
            mean = sums[place] / counts[place]
            covariance = products[place] / counts[place] - np.outer(mean, mean)
            found[cell] = Moments(
                names=self.moments.names,
                count=float(counts[place]),
                mean=self.moments.mean + self._sd * mean,
                covariance=covariance * np.outer(self._sd, self._sd),
            )
        return found


def _grouped(owner: NDArray[np.int64], values: Array, groups: int) -> Array:
    found = np.zeros((groups, *values.shape[1:]))
    np.add.at(found, owner, values)
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class MixedScore:
    """CLG BIC of a child with its parents, and tests of independence."""

    grouped: GroupedMoments

    @cached_property
    def _discrete(self) -> DiscreteScore:
        return DiscreteScore(counts=self.grouped.counts)

    @cached_property
    def _within(self) -> Any:
        return lru_cache(maxsize=256)(self.grouped.within)

    def _split(self, names: Key) -> tuple[Key, Key]:
        numbers = tuple(name for name in names if name in self.grouped.moments.names)
        return numbers, tuple(name for name in names if name not in numbers)

    def __call__(self, child: str, parents: Key) -> float:
        """Return the local score; minus infinity for a discrete child of a number."""
        numbers, levels = self._split(parents)
        if child in self.grouped.counts.sizes:
            return -math.inf if numbers else self._discrete(child, levels)
        likelihood, free = self.likelihood(child, numbers, levels)
        return likelihood - free / 2 * math.log(self.grouped.moments.count)

    def likelihood(self, child: str, numbers: Key, levels: Key) -> tuple[float, int]:
        """Return the log-likelihood of a number given its parents, and the number of parameters."""
        total, free, pooled_used = 0.0, 0, False
        pooled = self.grouped.moments.line(child, numbers)
        for moments in self._within(levels).values():
            line = self.line_of(moments, child, numbers)
            if line is None:
                total += _likelihood(moments, child, pooled)
                pooled_used = True
            else:
                total += -moments.count / 2 * (math.log(2 * math.pi * line.variance) + 1)
                free += len(numbers) + 2
        return total, free + (len(numbers) + 2 if pooled_used else 0)

    def line_of(self, moments: Moments, child: str, numbers: Key) -> Line | None:
        """Return the regression of a cell; None where it has too few rows, or rows that do not determine one."""
        if moments.count < LEAST * (len(numbers) + 1):
            return None
        overall = self.grouped.moments
        at = [overall.place(name) for name in numbers]
        sd = np.sqrt(np.diag(overall.covariance))
        scaled = moments.covariance / np.outer(sd, sd)
        if at and np.linalg.eigvalsh(scaled[np.ix_(at, at)])[0] < 1e-9:
            return None
        place = overall.place(child)
        weights = np.linalg.solve(scaled[np.ix_(at, at)], scaled[at, place]) if at else np.zeros(0)
        residual = max(float(scaled[place, place] - weights @ scaled[at, place]), _FLOOR)
        coefficients = weights * sd[place] / sd[at]
        return Line(
            intercept=float(moments.mean[place] - coefficients @ moments.mean[at]),
            coefficients=dict(zip(numbers, coefficients.tolist(), strict=True)),
            variance=residual * float(overall.covariance[place, place]),
        )

    # -- tests ----------------------------------------------------------------------------------------------------

    def test(self, one: str, other: str, given: Key) -> float:
        """Return the p-value of independence: exact t for numbers, G^2 for levels, likelihood ratio for a mixture.

        With a level and a number, the number's regressions with and without the level are compared. Given numbers, two
        levels are compared as if the numbers were not given: a level has no regression on numbers.
        """
        numbers, levels = self._split(given)
        counted = self.grouped.counts.sizes
        if one in counted and other in counted:
            return self._discrete.test(one, other, levels)
        if not levels and one not in counted and other not in counted:
            return independence_p(self.grouped.moments, one, other, numbers)
        child, parent = (other, one) if one in counted else (one, other)
        before, few = self.likelihood(child, numbers, levels)
        more = self._split((*given, parent))
        after, many = self.likelihood(child, *more)
        return float(chi2.sf(max(2 * (after - before), 0.0), many - few)) if many > few else 1.0


def _likelihood(moments: Moments, child: str, line: Line) -> float:
    """The log-likelihood of the rows of a cell under a line that was not fitted to them."""
    if line.variance <= 0:
        raise InvalidInput("must vary: all its values are equal", field=child)
    at, place = [moments.place(name) for name in line.coefficients], moments.place(child)
    weights = np.zeros(len(moments.names))
    weights[place] = 1.0
    weights[at] = [-each for each in line.coefficients.values()]
    squared = float(weights @ moments.covariance @ weights + (weights @ moments.mean - line.intercept) ** 2)
    return -moments.count / 2 * (math.log(2 * math.pi * line.variance) + squared / line.variance)
