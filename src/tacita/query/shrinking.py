"""Groups that share strength: noisy statistics of many groups, shrunk towards what the groups have in common.

For a statistic y_g = theta_g + e_g with noise of known standard error s_g, and a centre m_g (one number for all groups,
or the sum of effects of the grouping attributes), with t^2 the variance of theta_g around m_g and k its kurtosis:

    value      m_g + w_g (y_g - m_g),    w_g = t^2 / (t^2 + s_g^2)                         [Efron, Morris 1973]
    interval   value +- x_g w_g s_g,     x_g the least x with sup P(|E + b| > x) <= 1 - level over all laws of b with
               E b^2 = s_g^2 / t^2 and E b^4 <= k (E b^2)^2                [Armstrong, Kolesar, Plagborg-Moller 2022]

A mean or a share is a ratio of noisy sums: y_g = m + (top - m bottom) / divisor, where m is the ratio of all groups
together and the divisor is the shrunk bottom, so that its noise is additive. E is standardised noise: the worse of
Laplace and normal where Laplace noise was drawn. t^2 solves the moment equation of Paule and Mandel, k comes from
fourth moments. Both are estimated from the groups, so both are taken 1.28 standard errors larger, and t^2 not below
what noise may hide: values are shrunk too little rather than too much. The supremum is a linear programme over a grid
of b^2. The error of the centre is part of the interval.

Privacy:  post-processing of released statistics; costs nothing.   Claim: docs/claims/shrinkage.md
Utility:  the mean squared error over groups is smaller, most where noise exceeds the differences of groups. The level
          is the *average* over the groups: about this share of the intervals holds. A group that differs much from the
          others is covered less often than that, and its value is biased towards them.
Cost:     a second for a column, whatever the number of groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import optimize, special

from tacita.errors import InvalidInput
from tacita.query.answer import Column
from tacita.query.numbers import Array
from tacita.tables.uncertainty import normal_quantile

__all__ = [
    "Shrinkage",
    "Toward",
    "check_groups",
    "critical_value",
    "design_of",
    "missed",
    "ratio_values",
    "shrink_values",
]

Toward = Literal["overall", "additive"]
Shrinkage = Literal["none", "overall", "additive"]

_FEWEST_GROUPS = 10
"""Below this, the variance between groups cannot be estimated from them."""
_GRID, _KNOTS, _LEAST_KURTOSIS, _FARTHEST = 240, 8, 3.0, 1000.0
_HIDDEN = 3.0
"""Standard errors of the rows of all groups together, below which ratios are unknown."""
_CAUTION = 1.28
"""Standard errors by which variance and kurtosis of the groups are taken larger than they were estimated."""


def design_of(groups: Sequence[tuple[str, ...]], toward: Toward) -> Array:
    """Columns whose weighted sum is the centre, a row for each group.

    Args:
        groups: Labels of each group.
        toward: "overall" is one number, "additive" adds an effect for each level of each grouping attribute.
    """
    if toward not in ("overall", "additive"):
        raise InvalidInput("must be overall or additive", field="shrink", value=toward)
    found = [np.ones(len(groups))]
    for place in range(len(groups[0]) if groups and toward == "additive" else 0):
        labels = [group[place] for group in groups]
        found += [np.array([label == level for label in labels], float) for level in sorted(set(labels))[1:]]
    design = np.stack(found, axis=1)
    check_groups(len(groups), design.shape[1])
    return design


def check_groups(groups: int, effects: int) -> None:
    """Refuse too few groups for the effects of their centre."""
    least = max(_FEWEST_GROUPS, math.ceil(1.5 * effects))
    if groups < least:
        raise InvalidInput(
            f"needs at least {least} groups",
            field="shrink",
            value=groups,
            hint="Group by more levels, shrink towards the overall value, or ask without it",
        )


def shrink_values(value: Array, std: Array, design: Array, *, level: float, heavy: bool) -> Column:
    """Shrunk values and intervals of statistics with additive noise.

    Args:
        value, std: Unshrunk values and the standard errors of their noise.
        design: Columns whose weighted sum is the centre, a row for each group.
        level: Average share of the intervals that hold.
        heavy: Whether the noise is Laplace and not normal.
    """
    fit = _Fit.of(value, std, design)
    kurtosis = _kurtosis(fit.off, fit.s2, fit.spread, heavy)
    critical = _critical_values(fit.s2 / fit.spread, kurtosis, level, heavy)
    error = np.einsum("ij,jk,ik->i", design, fit.covariance, design)  # of the centre
    half = np.sqrt((critical * fit.w) ** 2 * fit.s2 + normal_quantile(level) ** 2 * (1 - fit.w) ** 2 * error)
    shrunk, half = fit.values(), fit.unit * half
    return Column(value=shrunk, std=fit.unit * np.sqrt(fit.w * fit.s2), low=shrunk - half, high=shrunk + half)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Centre, differences from it and weights, in units of the median standard error."""

    unit: float
    s2: Array
    spread: float
    centre: Array
    covariance: Array
    off: Array

    @classmethod
    def of(cls, value: Array, std: Array, design: Array) -> _Fit:
        unit = float(np.median(std))
        y, s2 = value / unit, (std / unit) ** 2
        spread = _variance(y, s2, design)
        beta, covariance = _centre(y, 1 / (spread + s2), design)
        return cls(unit, s2, spread, design @ beta, covariance, y - design @ beta)

    @property
    def w(self) -> Array:
        return self.spread / (self.spread + self.s2)

    def values(self) -> Array:
        return self.unit * (self.centre + self.w * self.off)


def ratio_values(
    top: Array, bottom: Array, aa: Array, ab: Array, bb: Array, within: tuple[float, float] = (-math.inf, math.inf)
) -> tuple[Array, Array]:
    """Ratios of noisy sums as values with additive noise, and its standard error.

    top - m bottom, with m the ratio of all groups together, is (ratio - m) times the true divisor, and noise of known
    variance. It is divided by the shrunk divisor and not by the noisy one, which may be near 0 or below.

    Where noise hides the total of all divisors, the ratios are unknown: NaN.

    Args:
        top, bottom: Noisy sums of each group.
        aa, ab, bb: Variances and covariance of their noise.
        within: Public range of the ratio, where there is one.
    """
    total = float(bottom.sum())
    if total <= _HIDDEN * math.sqrt(float(bb.sum())):
        return np.full_like(top, math.nan), np.full_like(top, math.nan)
    m = float(np.clip(top.sum() / total, *within))
    divisor = np.maximum(_Fit.of(bottom, np.sqrt(bb), np.ones((len(top), 1))).values(), np.sqrt(bb))
    return m + (top - m * bottom) / divisor, np.sqrt(aa - 2 * m * ab + m**2 * bb) / divisor


def _centre(y: Array, weights: Array, x: Array) -> tuple[Array, Array]:
    """Weighted least squares: coefficients and their covariance."""
    inverse = np.asarray(np.linalg.pinv((x * weights[:, None]).T @ x), np.float64)
    return inverse @ ((x * weights[:, None]).T @ y), inverse


def _variance(y: Array, s2: Array, x: Array) -> float:
    """Upper bound of the variance between groups; not below sqrt(groups) / sum 1/s^2.

    sum (y - centre)^2 / (t^2 + s^2) has the degrees of freedom as its mean; its standard error is that of its terms.
    """
    free = len(y) - int(np.linalg.matrix_rank(x))

    def excess(spread: float) -> float:
        weights = 1 / (spread + s2)
        beta, _ = _centre(y, weights, x)
        terms = weights * (y - x @ beta) ** 2
        return float(terms.sum() + _CAUTION * math.sqrt(len(y)) * terms.std()) - free

    least = math.sqrt(len(y)) / float((1 / s2).sum())  # what noise alone may hide
    if excess(least) <= 0:
        return least
    high = 2 * max(float(np.var(y)), least)
    while excess(high) > 0:
        high *= 4
    return float(optimize.brentq(excess, least, high, rtol=1e-6))


def _kurtosis(off: Array, s2: Array, spread: float, heavy: bool) -> float:
    """Upper bound of the kurtosis of the groups' differences: fourth moments without those of the noise.

    Those of the noise are 6 s^4 where it is Laplace and 3 s^4 where it is normal.
    """
    weights = 1 / (spread + s2) ** 2
    weights = weights / weights.sum()
    terms = off**4 - 6 * s2 * off**2 + (0.0 if heavy else 3.0) * s2**2
    mean = float(weights @ terms)
    error = math.sqrt(float(weights**2 @ (terms - mean) ** 2))
    return max((mean + _CAUTION * error) / spread**2, _LEAST_KURTOSIS)


def _critical_values(ratios: Array, kurtosis: float, level: float, heavy: bool) -> Array:
    """Critical value of each group: computed for a few ratios and interpolated."""
    low, high = float(ratios.min()), float(ratios.max())
    if high <= low * (1 + 1e-9):
        return np.full_like(ratios, critical_value(high, kurtosis, level, heavy=heavy))
    knots = np.geomspace(low, high, _KNOTS)
    found = [critical_value(float(knot), kurtosis, level, heavy=heavy) for knot in knots]
    return np.asarray(np.exp(np.interp(np.log(ratios), np.log(knots), np.log(found))))


def critical_value(ratio: float, kurtosis: float, level: float, *, heavy: bool) -> float:
    """Least x with P(|E + b| > x) <= 1 - level for every law of b with E b^2 = ratio and at most this kurtosis."""
    least = max(normal_quantile(level), -math.log(1 - level) / math.sqrt(2) if heavy else 0.0)
    most = math.sqrt((1 + ratio) / (1 - level)) + 1  # Chebyshev

    def excess(x: float) -> float:
        return missed(ratio, kurtosis, x, heavy=heavy) - (1 - level)

    if excess(least) <= 0:
        return least
    return most if excess(most) >= 0 else float(optimize.brentq(excess, least, most, xtol=1e-3))


def missed(ratio: float, kurtosis: float, x: float, *, heavy: bool) -> float:
    """Largest P(|E + b| > x) over laws of b with E b^2 = ratio and at most this kurtosis."""
    root = math.sqrt(ratio)
    far = max(x + 8, 2 * root) * np.linspace(0, 1, _GRID) ** 1.5
    b = np.unique(np.concatenate([far, [root], root * np.geomspace(0.1, 3 * math.sqrt(kurtosis) + 2, _GRID // 3)]))
    t = b**2 / ratio
    b, t = (
        b[t <= _FARTHEST * math.sqrt(kurtosis)],
        t[t <= _FARTHEST * math.sqrt(kurtosis)],
    )  # beyond, less than 1e-6 fits
    result = optimize.linprog(
        -_miss(b, x, heavy),
        A_eq=np.stack([np.ones_like(t), t]),
        b_eq=[1.0, 1.0],
        A_ub=t[None, :] ** 2 / kurtosis,
        b_ub=[1.0],
        bounds=(0, None),
        method="highs",
    )
    return 1.0 if result.fun is None else float(-result.fun)


def _miss(b: Array, x: float, heavy: bool) -> Array:
    """P(|E + b| > x) for standardised noise."""
    normal = special.ndtr(-x - b) + special.ndtr(b - x)
    if not heavy:
        return np.asarray(normal)

    def tail(z: Array) -> Array:
        beyond = 0.5 * np.exp(-math.sqrt(2) * np.abs(z))
        return np.where(z >= 0, beyond, 1 - beyond)

    return np.asarray(np.maximum(normal, tail(x + b) + tail(x - b)))
