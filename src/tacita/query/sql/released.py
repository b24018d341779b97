"""Released numbers with their errors, carried through arithmetic.

A quantity has a value for each row of an answer, its slopes along the noisy values that it was computed from, and an
interval at any level. Intervals come from, in this order:

    linear    sums, differences and multiples of noisy sums: the noise adds up exactly
    ratio     a quotient of two of these: Fieller's interval, unbounded where the divisor may be zero
    own       a mean, variance or quantile as it was read off
    bounds    anything else: interval arithmetic on intervals that hold together with the level, so it may be too wide
    none      no interval is known
    public    no noise in it

Standard errors are of first order (exact where linear): the slopes times the standard deviations of the noise.

Privacy: post-processing of released values; costs nothing.   Claim: docs/claims/sql.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from tacita.noise import Law
from tacita.query.answer import Column
from tacita.query.numbers import Array
from tacita.query.statistics import width
from tacita.tables.uncertainty import AdditiveNoise

__all__ = ["Ends", "Noise", "Quantity", "apply", "choose", "combine", "extreme", "public", "total"]

Ends = Callable[[float], tuple[Array, Array]]
Slopes = Any
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Noise:
    """Independent noise of all released values: a law for each stretch of them."""

    laws: tuple[Law, ...]
    counts: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of noisy values."""
        return sum(self.counts)

    def _each(self, number: Callable[[Law], float]) -> Array:
        return np.repeat([number(law) for law in self.laws], self.counts) if self.laws else np.zeros(0)

    def variances(self) -> Array:
        """Variance of each value."""
        return self._each(lambda law: law.variance)

    def halves(self, level: float) -> Array:
        """Half-width of the interval of each value alone."""
        return self._each(lambda law: law.half_width(level))

    def widths(self, level: float) -> Array:
        """Half-width in standard deviations that holds for weighted sums of values like this one."""
        return self._each(lambda law: width(AdditiveNoise(law=law), level))


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantity:
    """A number for each row, with its error. `leaves` counts the intervals that must hold together.

    A ratio of linear quantities has these as its `parts`. `within` is the public range of the number.
    """

    noise: Noise
    value: Array
    slopes: Slopes | None
    kind: str
    ends: Ends
    leaves: int = 1
    parts: tuple[Quantity, Quantity] | None = None
    within: tuple[float, float] = (-math.inf, math.inf)

    @classmethod
    def linear(cls, noise: Noise, value: Array, slopes: Slopes) -> Quantity:
        """A weighted sum of noisy values."""
        matrix = sparse.csr_matrix(slopes)

        def ends(level: float) -> tuple[Array, Array]:
            half = half_width(noise, matrix, level)
            return value - half, value + half

        return cls(noise=noise, value=value, slopes=matrix, kind="linear", ends=ends)

    def std(self) -> Array:
        """Standard error to first order; NaN where it is not known."""
        if self.slopes is None:
            return np.full_like(self.value, math.nan)
        return np.where(np.isnan(self.value), np.nan, np.sqrt(spread(self.noise, self.slopes, self.slopes)))

    def column(self, level: float) -> Column:
        """Value, standard error and interval of each row."""
        low, high = self.ends(level)
        return Column(value=self.value, std=self.std(), low=low, high=high)

    def take(self, rows: Places) -> Quantity:
        """Some rows, in the order given."""
        return Quantity(
            noise=self.noise,
            value=self.value[rows],
            slopes=None if self.slopes is None else self.slopes[rows],
            kind=self.kind,
            ends=lambda level: tuple(end[rows] for end in self.ends(level)),  # type: ignore[arg-type, return-value]
            leaves=self.leaves,
            parts=None if self.parts is None else (self.parts[0].take(rows), self.parts[1].take(rows)),
            within=self.within,
        )

    def is_linear(self) -> bool:
        """Whether its noise adds up exactly."""
        return self.kind in ("linear", "public")


def spread(noise: Noise, one: Slopes, two: Slopes) -> Array:
    """Covariance of two quantities in each row."""
    return np.asarray(one.multiply(two) @ noise.variances(), np.float64).reshape(-1)


def half_width(noise: Noise, slopes: Slopes, level: float) -> Array:
    """Half-width of a weighted sum: that of the law itself for a single value, else a bound for any sum."""
    slopes = sparse.csr_matrix(slopes)
    slopes.eliminate_zeros()
    alone = np.asarray(abs(slopes) @ noise.halves(level)).reshape(-1)
    if not slopes.nnz:
        return np.zeros(slopes.shape[0])
    wide = (slopes != 0).multiply(noise.widths(level)[None, :]).tocsr().max(axis=1).toarray().reshape(-1)
    return np.where(np.diff(slopes.indptr) == 1, alone, np.sqrt(spread(noise, slopes, slopes)) * wide)


def public(noise: Noise, value: Array) -> Quantity:
    """A number that has no noise."""
    empty = sparse.csr_matrix((len(value), noise.size))
    return Quantity(noise=noise, value=value, slopes=empty, kind="public", ends=lambda _: (value, value), leaves=0)


def _times(factor: Array, slopes: Slopes | None) -> Slopes | None:
    return None if slopes is None else sparse.diags(np.nan_to_num(factor)) @ slopes


def _plus(one: Slopes | None, two: Slopes | None) -> Slopes | None:
    return None if one is None or two is None else (one + two).tocsr()


_OPERATORS: dict[str, Callable[[Array, Array], Array]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": lambda a, b: np.divide(a, np.where(b == 0, np.nan, b)),
    "least": np.fmin,
    "greatest": np.fmax,
}


def combine(operator: str, one: Quantity, two: Quantity) -> Quantity:
    """Two quantities, row by row."""
    noise = one.noise
    with np.errstate(all="ignore"):
        value = np.asarray(_OPERATORS[operator](one.value, two.value), np.float64)
        slopes = _slopes(operator, one, two, value)
    if one.kind == two.kind == "public":
        return public(noise, value)
    assert one.noise is two.noise
    if (
        one.is_linear()
        and two.is_linear()
        and (operator in "+-" or (operator == "*" and "public" in (one.kind, two.kind)))
    ):
        return Quantity.linear(noise, value, slopes)
    if operator == "/" and two.kind == "public" and one.kind == "linear":
        return Quantity.linear(noise, value, slopes)
    if operator == "/" and one.kind == two.kind == "linear":

        def fieller(level: float) -> tuple[Array, Array]:
            return _fieller(one, two, level)

        return Quantity(noise=noise, value=value, slopes=slopes, kind="ratio", ends=fieller, parts=(one, two))
    leaves = one.leaves + two.leaves

    def ends(level: float) -> tuple[Array, Array]:
        parts = [each.ends(1 - (1 - level) * each.leaves / leaves) for each in (one, two)]
        return _arithmetic(operator, *parts)

    kept = next((each.kind for each, other in ((one, two), (two, one)) if other.kind == "public"), "bounds")
    kind = kept if operator in "+-*/" and two.kind == "public" else "bounds"
    parts = _scaled(operator, one, two)
    return Quantity(noise=noise, value=value, slopes=slopes, kind=kind, ends=ends, leaves=leaves, parts=parts)


def _scaled(operator: str, one: Quantity, two: Quantity) -> tuple[Quantity, Quantity] | None:
    """Parts of a ratio that is multiplied or divided by a public number."""
    ratio, factor = (two, one) if one.kind == "public" and operator == "*" else (one, two)
    if ratio.parts is None or factor.kind != "public" or operator not in "*/":
        return None
    return combine(operator, ratio.parts[0], factor), ratio.parts[1]


def _slopes(operator: str, one: Quantity, two: Quantity, value: Array) -> Slopes | None:
    ones = np.ones_like(value)
    match operator:
        case "+":
            return _plus(one.slopes, two.slopes)
        case "-":
            return _plus(one.slopes, _times(-ones, two.slopes))
        case "*":
            return _plus(_times(two.value, one.slopes), _times(one.value, two.slopes))
        case "/":
            inverse = 1 / np.where(two.value == 0, np.nan, two.value)
            return _plus(_times(inverse, one.slopes), _times(-value * inverse, two.slopes))
    first = (value == one.value).astype(float)
    return _plus(_times(first, one.slopes), _times(1 - first, two.slopes))


def _arithmetic(operator: str, one: tuple[Array, Array], two: tuple[Array, Array]) -> tuple[Array, Array]:
    """Interval arithmetic; a divisor that may be zero leaves everything open."""
    with np.errstate(all="ignore"):
        every = np.array([_OPERATORS[operator](a, b) for a in one for b in two])
        # 0 times an unbounded end is 0, since the true number is finite
        if operator == "*":
            unknown = np.isnan([*one, *two]).any(axis=0)
            every = np.where(np.isnan(every) & ~unknown, 0.0, every)
        low, high = every.min(axis=0), every.max(axis=0)
    if operator == "/":
        crosses = (two[0] <= 0) & (two[1] >= 0)
        low, high = np.where(crosses, -np.inf, low), np.where(crosses, np.inf, high)
    return low, high


def _fieller(one: Quantity, two: Quantity, level: float) -> tuple[Array, Array]:
    """The ratios r for which one - r two is not larger than its noise explains; all of them if two may be zero."""
    noise = one.noise
    wide = np.maximum(*(_widest(noise, each.slopes, level) for each in (one, two)))
    z2 = wide**2
    a, b = one.value, two.value
    aa, ab, bb = (
        spread(noise, x, y) for x, y in ((one.slopes, one.slopes), (one.slopes, two.slopes), (two.slopes, two.slopes))
    )
    square, middle, rest = b**2 - z2 * bb, a * b - z2 * ab, a**2 - z2 * aa
    with np.errstate(all="ignore"):
        root = np.sqrt(np.maximum(middle**2 - square * rest, 0))
        low, high = (middle - root) / square, (middle + root) / square
    bounded = square > 0
    return np.where(bounded, low, -np.inf), np.where(bounded, high, np.inf)


def _widest(noise: Noise, slopes: Slopes, level: float) -> Array:
    used = (slopes != 0).multiply(noise.widths(level)[None, :]).tocsr()
    return np.asarray(used.max(axis=1).toarray().reshape(-1))


def apply(function: Callable[[Array], Array], of: Quantity, slope: Array, low: float = -math.inf) -> Quantity:
    """A rising function of one quantity; values below `low` have none, and ends are moved to it."""
    with np.errstate(all="ignore"):
        value = np.asarray(function(np.where(of.value < low, np.nan, of.value)), np.float64)
    if of.kind == "public":
        return public(of.noise, value)

    def ends(level: float) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            first, last = (np.asarray(function(np.maximum(end, low)), np.float64) for end in of.ends(level))
        return first, last

    return Quantity(
        noise=of.noise, value=value, slopes=_times(slope, of.slopes), kind="bounds", ends=ends, leaves=of.leaves
    )


def choose(picked: Places, branches: Sequence[Quantity], *, by_noise: bool) -> Quantity:
    """In each row the branch that is picked. If noise picked it, the intervals of all branches hold together."""
    rows, noise = np.arange(len(picked)), branches[0].noise
    value = np.stack([each.value for each in branches])[picked, rows]
    slopes: Slopes | None = None
    if all(each.slopes is not None for each in branches):
        slopes = sparse.csr_matrix((len(picked), noise.size))
        for at, each in enumerate(branches):
            slopes = _plus(slopes, _times((picked == at).astype(float), each.slopes))
    if all(each.kind == "public" for each in branches):
        return public(noise, value)
    if not by_noise and all(each.is_linear() for each in branches):
        return Quantity.linear(noise, value, slopes)
    leaves = sum(each.leaves for each in branches)

    def ends(level: float) -> tuple[Array, Array]:
        parts = [each.ends(1 - (1 - level) * (each.leaves / leaves if by_noise else 1)) for each in branches]
        return (
            np.stack([low for low, _ in parts])[picked, rows],
            np.stack([high for _, high in parts])[picked, rows],
        )

    return Quantity(noise=noise, value=value, slopes=slopes, kind="bounds", ends=ends, leaves=leaves)


def total(of: Quantity, groups: Places, count: int) -> Quantity:
    """Sums over the rows of each group."""
    gather = sparse.csr_matrix((np.ones(len(groups)), (groups, np.arange(len(groups)))), (count, len(groups)))
    there = np.nan_to_num(of.value)  # NULL is left out
    value = np.asarray(gather @ there, np.float64).reshape(-1)
    slopes = None if of.slopes is None else gather @ of.slopes
    if of.kind == "public":
        return public(of.noise, value)
    if of.kind == "linear":
        return Quantity.linear(of.noise, value, slopes)
    most = max(int(np.bincount(groups, minlength=count).max()), 1)

    def ends(level: float) -> tuple[Array, Array]:
        low, high = of.ends(1 - (1 - level) / most)
        return gather @ low, gather @ high

    return Quantity(noise=of.noise, value=value, slopes=slopes, kind="bounds", ends=ends, leaves=of.leaves * most)


def extreme(of: Quantity, groups: Places, count: int, pick: Callable[[Array], float]) -> Quantity:
    """Least, largest or median value of each group of rows, with the same of the ends."""

    def each(values: Array) -> Array:
        parts = [values[groups == group] for group in range(count)]
        return np.array([pick(part[~np.isnan(part)]) if (~np.isnan(part)).any() else math.nan for part in parts])

    if of.kind == "public":
        return public(of.noise, each(of.value))
    most = max(int(np.bincount(groups, minlength=count).max()), 1)

    def ends(level: float) -> tuple[Array, Array]:
        low, high = of.ends(1 - (1 - level) / most)
        return each(low), each(high)

    return Quantity(
        noise=of.noise, value=each(of.value), slopes=None, kind="bounds", ends=ends, leaves=of.leaves * most
    )
