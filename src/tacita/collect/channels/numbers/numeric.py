"""Means of a bounded number: Duchi's coin, Piecewise, and both mixed.  [Duchi et al. 2018; Wang et al. 2019]

Privacy: local, pure; exact, from the integers that the samplers use. How a number becomes one of the sampler's
inputs does not matter for it: every law that can run is a mixture of listed ones.
Utility: unbiased up to 2**-50 of the range; variances below, from the discretised laws themselves.
Cost: two words a report (three for the hybrid).
Claim page: docs/claims/local-means.md.   Flags: unvetted.

Numbers in public bounds [low, high] are mapped to x in [-1, 1]. A report is an integer that stands for an unbiased
value of x; an aggregator keeps the number of reports, their sum and their sum of squares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels.frequencies import MeanEstimate
from tacita.collect.channels.numbers.window import Window
from tacita.collect.channels.parts.exact import ExactLoss, exp_below
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["HYBRID_FROM", "DuchiMean", "HybridMean", "MeanChannel", "MeanEstimate", "PiecewiseMean"]

_SCALE = 2**53
_CELLS = 2**16  # outputs of the Piecewise mechanism: steps of 2e-5 of its range
HYBRID_FROM = 0.61  # below this epsilon the Piecewise part only adds variance (root of the paper's equation)


@runtime_checkable
class MeanChannel(Protocol):
    """A local randomiser of one bounded number."""

    @property
    def epsilon(self) -> float:
        """The exact local loss of the integers that the sampler uses, to the nearest float."""

    @property
    def epsilon_upper(self) -> float:
        """The exact local loss, rounded outward."""

    def randomize(self, values: NDArray[Any], source: Source, /) -> NDArray[Any]:
        """One report for each number in `values`."""

    def tally(self, reports: NDArray[Any], /) -> NDArray[np.int64]:
        """Summarise reports as counts; tallies of disjoint batches add up."""

    def estimate(self, counts: ArrayLike, /) -> MeanEstimate:
        """The mean from a tally."""

    def variance(self, values: ArrayLike, /) -> NDArray[np.float64]:
        """The variance of one report for each true number, in the units of the data."""


def _unit(values: ArrayLike, low: float, high: float) -> NDArray[np.float64]:
    """Numbers in [low, high] as x in [-1, 1]."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not ((numbers >= low) & (numbers <= high)).all():
        rule = f"must be numbers from {low:g} to {high:g} on one axis"
        raise InvalidInput(rule, field="values", hint="Clip to the public bounds first")
    return np.asarray(np.clip((2 * numbers - low - high) / (high - low), -1, 1))


def _check_bounds(low: float, high: float) -> None:
    if not (math.isfinite(low) and math.isfinite(high) and low < high and math.isfinite(high - low)):
        raise InvalidInput("must be finite and below high", field="low", value=(low, high))


def _moments(sums: ArrayLike, parts: int) -> NDArray[np.int64]:
    found = np.asarray(sums)
    if found.shape != (parts,) or found.dtype.kind not in "iu" or found[0] < 1:
        rule = f"must be a tally of {parts} integers with at least one report"
        raise InvalidInput(rule, field="counts", value=f"{found.dtype}, shape {found.shape}")
    return found.astype(np.int64)


def _estimate(x_sum: float, x_squares: float, n: int, low: float, high: float) -> MeanEstimate:
    """Mean and standard error in data units, from sums over unbiased values of x."""
    half, mean = (high - low) / 2, x_sum / n
    spread = max(x_squares / n - mean * mean, 0.0) / max(n - 1, 1)
    return MeanEstimate(mean=(low + high) / 2 + half * mean, std=half * math.sqrt(spread), respondents=n)


@dataclass(frozen=True, kw_only=True)
class DuchiMean(ExactLoss):
    """One coin: heads with probability threshold(x) / 2**53, linear in x from `least` to 2**53 - `least`.

    Args:
        least: Weight of heads for x = -1 and of tails for x = 1, 1 or more and below 2**52.
        low: Public lower bound of the data. high: Public upper bound.
    """

    least: int
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        _check_bounds(self.low, self.high)
        if type(self.least) is not int or not 1 <= self.least < _SCALE // 2:
            raise InvalidInput("must be an integer from 1 to 2**52 - 1", field="least", value=self.least)

    @classmethod
    def of(cls, *, epsilon: float, low: float = -1.0, high: float = 1.0) -> Self:
        """The coin with a loss of at most epsilon."""
        least = -(-_SCALE // (1 + exp_below(epsilon)))
        if least >= _SCALE // 2:
            raise InvalidInput("is too small for thresholds of 53 bits", field="epsilon", value=epsilon)
        return cls(least=int(least), low=low, high=high)

    @property
    def worst_ratio(self) -> Fraction:
        """(T - least) / least: both ends of the range are reached, nothing lies beyond them."""
        return Fraction(_SCALE - self.least, self.least)

    def thresholds(self, x: NDArray[np.float64]) -> NDArray[np.int64]:
        """Weight of heads for x in [-1, 1]."""
        span = _SCALE - 2 * self.least
        # in floats, then held to the promised range: rounding may bias by 2**-52, it cannot cost privacy
        wanted = np.rint((x + 1) / 2 * span).astype(np.int64) + self.least
        return np.clip(wanted, self.least, _SCALE - self.least)

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.uint8]:
        """1 for heads, 0 for tails, for each number in `values`."""
        x = _unit(values, self.low, self.high)
        drawn = (source.words(x.size) >> np.uint64(11)).astype(np.int64)
        return (drawn < self.thresholds(x)).astype(np.uint8)

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """The number of reports and of heads."""
        sent = np.asarray(reports)
        if sent.ndim != 1 or sent.dtype.kind not in "iu" or (sent.size and not (sent.min() >= 0 and sent.max() <= 1)):
            raise InvalidInput("must be 0 or 1 on one axis", field="reports")
        return np.array([sent.size, sent.sum(dtype=np.int64)], dtype=np.int64)

    @property
    def reach(self) -> float:
        """The value C that heads stand for, -C for tails: C = T / (T - 2 least), (e^eps + 1) / (e^eps - 1)."""
        return _SCALE / (_SCALE - 2 * self.least)

    def estimate(self, counts: ArrayLike) -> MeanEstimate:
        """The mean from a tally: E(report) = x for reports of C and -C, as P(heads) = (1 + x / C) / 2."""
        n, heads = (int(part) for part in _moments(counts, 2))
        reach = self.reach
        return _estimate(reach * (2 * heads - n), reach * reach * n, n, self.low, self.high)

    def variance(self, values: ArrayLike) -> NDArray[np.float64]:
        """C^2 - x^2, in the units of the data."""
        x = _unit(values, self.low, self.high)
        return np.asarray((self.reach**2 - x * x) * ((self.high - self.low) / 2) ** 2)


@dataclass(frozen=True, kw_only=True)
class PiecewiseMean:
    """A window of likelier cells whose place is linear in x: the mean of a report is, too.

    Args:
        window: The law; its values are the grid -1 .. 1 of x. Numbers between two grid points take one of them at
            random, so that the mean stays right.
        low: Public lower bound of the data. high: Public upper bound.
    """

    window: Window
    low: float = -1.0
    high: float = 1.0

    def __post_init__(self) -> None:
        _check_bounds(self.low, self.high)

    @classmethod
    def of(cls, *, epsilon: float, low: float = -1.0, high: float = 1.0) -> Self:
        """The window with the paper's width, 1 / (e^(epsilon / 2) + 1) of all cells, and a loss of at most epsilon."""
        exp_below(epsilon)  # refuses what is no loss
        width = min(max(round(_CELLS / (math.exp(epsilon / 2) + 1)), 1), _CELLS // 2)
        return cls(window=Window.calibrated(cells=_CELLS, width=width, epsilon=epsilon), low=low, high=high)

    @property
    def epsilon(self) -> float:
        """The exact local loss, to the nearest float."""
        return self.window.epsilon

    @property
    def epsilon_upper(self) -> float:
        """The exact local loss, rounded outward."""
        return self.window.epsilon_upper

    @cached_property
    def _slope(self) -> float:
        # Cell j stands for its centre c_j = 2 j - (J - 1); the centres sum to 0. A window that starts at i has mean
        # centre 2 i - (J - w) = x (J - w) with x = 2 i / (J - w) - 1. So E(c | x) = w (near - far) / M * (J - w) * x.
        w = self.window
        return float(Fraction(w.width * (w.near - w.far) * (w.cells - w.width), w.total))

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.uint16]:
        """A cell for each number in `values`."""
        return self._send(_unit(values, self.low, self.high), source)

    def _send(self, x: NDArray[np.float64], source: Source) -> NDArray[np.uint16]:
        place = (x + 1) / 2 * (self.window.values - 1)
        below = np.floor(place)
        up = (source.words(x.size) >> np.uint64(11)) * 2.0**-53 < place - below
        return self.window.randomize(below.astype(np.int64) + up, source).astype(np.uint16)

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """The number of reports, the sum of their centres and of the squares of these."""
        sent = np.asarray(reports)
        if (
            sent.ndim != 1
            or sent.dtype.kind not in "iu"
            or (sent.size and not (sent.min() >= 0 and sent.max() < self.window.cells))
        ):
            raise InvalidInput(f"must be cells 0 to {self.window.cells - 1} on one axis", field="reports")
        centres = 2 * sent.astype(np.int64) - (self.window.cells - 1)
        return np.array([sent.size, centres.sum(), centres @ centres], dtype=np.int64)

    def estimate(self, counts: ArrayLike) -> MeanEstimate:
        """The mean from a tally."""
        n, total, squares = (int(part) for part in _moments(counts, 3))
        return _estimate(total / self._slope, squares / self._slope**2, n, self.low, self.high)

    def variance(self, values: ArrayLike) -> NDArray[np.float64]:
        """The variance of one report, exact for the discretised law; between grid points that of the mixture."""
        x = _unit(values, self.low, self.high)
        return np.asarray((self._second(x) - x * x) * ((self.high - self.low) / 2) ** 2)

    def _second(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """E(report^2) for x, in units of x."""
        # The squares of m centres in steps of 2 around c sum to m c^2 + m (m^2 - 1) / 3.
        w = self.window
        place = (x + 1) / 2 * (w.values - 1)
        up = place - np.floor(place)
        centre = 2 * place - (w.cells - w.width)  # of the window; its second moment adds that of the random rounding
        inside = w.width * (centre**2 + 4 * up * (1 - up)) + w.width * (w.width**2 - 1) / 3
        everywhere = w.cells * (w.cells**2 - 1) / 3
        return np.asarray(((w.near - w.far) * inside + w.far * everywhere) / w.total / self._slope**2)


@dataclass(frozen=True, kw_only=True)
class HybridMean:
    """The Piecewise mechanism with probability mix / 2**53, else Duchi's coin; the report says which.

    Args:
        coin: Duchi's part.
        piecewise: The other part, with the same bounds.
        mix: Integer threshold of taking it.
    """

    coin: DuchiMean
    piecewise: PiecewiseMean
    mix: int

    def __post_init__(self) -> None:
        if (self.coin.low, self.coin.high) != (self.piecewise.low, self.piecewise.high):
            raise InvalidInput("must have the bounds of the coin", field="piecewise")
        if type(self.mix) is not int or not 0 <= self.mix <= _SCALE:
            raise InvalidInput("must be an integer from 0 to 2**53", field="mix", value=self.mix)

    @classmethod
    def of(cls, *, epsilon: float, low: float = -1.0, high: float = 1.0) -> Self:
        """The mixture with the least worst-case variance: 1 - e^(-epsilon / 2) of Piecewise above 0.61, none below."""
        coin = DuchiMean.of(epsilon=epsilon, low=low, high=high)
        mix = int(-math.expm1(-epsilon / 2) * _SCALE) if epsilon > HYBRID_FROM else 0
        return cls(coin=coin, piecewise=PiecewiseMean.of(epsilon=epsilon, low=low, high=high), mix=mix)

    @property
    def epsilon(self) -> float:
        """The larger loss of the parts that can run: which one does, does not depend on the data."""
        return max(part.epsilon for part in self._parts)

    @property
    def epsilon_upper(self) -> float:
        """The exact local loss, rounded outward."""
        return max(part.epsilon_upper for part in self._parts)

    @property
    def _parts(self) -> tuple[DuchiMean | PiecewiseMean, ...]:
        if self.mix == 0:
            return (self.coin,)
        return (self.piecewise,) if self.mix == _SCALE else (self.coin, self.piecewise)

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.int32]:
        """A cell of the Piecewise mechanism, or -1 for tails and -2 for heads, for each number in `values`."""
        numbers = np.asarray(values, dtype=np.float64)
        _unit(numbers, self.coin.low, self.coin.high)
        taken = (source.words(numbers.size) >> np.uint64(11)) < np.uint64(self.mix)
        sent = np.empty(numbers.size, dtype=np.int32)
        sent[taken] = self.piecewise.randomize(numbers[taken], source)
        sent[~taken] = -1 - self.coin.randomize(numbers[~taken], source).astype(np.int32)
        return sent

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """The tally of Duchi's part, then that of the Piecewise part."""
        sent = np.asarray(reports)
        if sent.ndim != 1 or sent.dtype.kind not in "iu" or (sent.size and sent.min() < -2):
            raise InvalidInput("must be cells, -1 or -2 on one axis", field="reports")
        coins = sent < 0
        return np.concatenate([self.coin.tally(-1 - sent[coins]), self.piecewise.tally(sent[~coins])])

    def estimate(self, counts: ArrayLike) -> MeanEstimate:
        """The mean of all reports, each unbiased by itself."""
        sums = np.asarray(counts)
        if sums.shape != (5,) or sums.dtype.kind not in "iu" or sums[0] + sums[2] < 1:
            raise InvalidInput("must be a tally of 5 integers with at least one report", field="counts")
        coins, heads, cells, total, squares = (int(part) for part in sums)
        reach, slope = self.coin.reach, self.piecewise._slope
        x_sum = reach * (2 * heads - coins) + total / slope
        x_squares = reach * reach * coins + squares / slope**2
        return _estimate(x_sum, x_squares, coins + cells, self.coin.low, self.coin.high)

    def variance(self, values: ArrayLike) -> NDArray[np.float64]:
        """The variance of one report: both parts have the mean x, so the variances mix."""
        share = self.mix / _SCALE
        return np.asarray(share * self.piecewise.variance(values) + (1 - share) * self.coin.variance(values))
