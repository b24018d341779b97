"""Means of a number in bins, through devices: Duchi's coin, Piecewise, and both mixed.  [Duchi et al. 2018; Wang et al.
2019]

Privacy: local, pure; exact, from the integers of the wire (`collect/device/_line.py`), which this module only reads.
Utility: unbiased for the mean of the bins' points, exactly; the standard error is that of the reports themselves.
Cost: one report of 1 to 11 bits; a count for each report on the server.
Claim page: docs/claims/local-means.md.   Flags: unvetted.

A bin has a point on a line, an integer from 0 to P. All laws are linear in the point, so that every report y has a
value t(y) with E[t(y) | point p] = p. The mean of these values over all reports estimates the mean point; in units of
P it is a number from 0 to 1. `numeric` has the same mechanisms for numbers without bins.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.collect.channels.frequencies import MeanEstimate
from tacita.collect.channels.matrix import fill_rows
from tacita.collect.channels.numbers.numeric import HYBRID_FROM
from tacita.collect.channels.numbers.window import Window
from tacita.collect.channels.parts.exact import ExactLoss, check_codes, exp_below
from tacita.collect.channels.protocol import Reach, Traits
from tacita.collect.device.channels import Duchi, Hybrid, Piecewise
from tacita.collect.device.draw import WORD_RANGE
from tacita.domain import Domain, Numeric
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = [
    "BinnedMean",
    "DuchiBins",
    "HybridBins",
    "PiecewiseBins",
    "bin_middles",
    "duchi_for",
    "hybrid_for",
    "line_points",
    "piecewise_for",
]

_BLOCK = 2**16
_FINEST = 1024  # largest point that is kept exactly; bins on a finer line are rounded to this grid
_STEPS = 128  # points of a window at least: with fewer, its width could not be near the best one
_BITS = 53


class BinnedMean(ExactLoss):
    """Base class: a channel of a device whose law is linear in the point of a bin."""

    traits: ClassVar[Traits] = Traits(counts_reports=True)
    device: Duchi | Piecewise | Hybrid

    @property
    @abstractmethod
    def total(self) -> int:
        """The common denominator of all probabilities."""

    @abstractmethod
    def weights(self) -> NDArray[Any]:
        """Exact integer weights: a row for each bin, a column for each report."""

    @abstractmethod
    def report_points(self) -> Sequence[Fraction]:
        """The value t(y) of each report, exactly, in points."""

    # -- the numbers -------------------------------------------------------------------------------------

    @property
    def levels(self) -> int:
        """Number of bins."""
        return len(self.device.points)

    @property
    def reports(self) -> int:
        """Number of reports."""
        return self.device.index_end(self.levels)

    @property
    def report_bits(self) -> int:
        """Length of a report."""
        return (self.reports - 1).bit_length()

    @property
    def worst_ratio(self) -> Fraction:
        """The largest ratio between two bins of the probability of one report."""
        return self.device.worst_ratio(self.levels)

    def matrix(self) -> NDArray[np.float64]:
        """The transition probabilities."""
        return (self.weights() / self.total).astype(np.float64)

    @cached_property
    def _values(self) -> NDArray[np.float64]:
        """t(y) / P for each report."""
        return np.array([float(value / self.device.last) for value in self.report_points()])

    # -- sampling and counting ---------------------------------------------------------------------------

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.int64]:
        """A report for each bin in `values`.

        Args:
            values: Bins 0 .. levels - 1 on one axis.
            source: Where the words come from; a seeded one is for simulation only.
        """
        codes = check_codes(values, self.levels, field="values")
        sums = np.cumsum(self.weights(), axis=1)
        sent = np.empty(codes.size, dtype=np.int64)
        done = 0
        while done < codes.size:
            block = codes[done : done + _BLOCK]
            done += fill_rows(block, source.words(block.size), sums, sent[done : done + block.size])
        return sent

    def tally(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """Count how often each report came."""
        codes = check_codes(reports, self.reports, field="reports")
        return np.bincount(codes, minlength=self.reports).astype(np.int64)

    # -- estimation --------------------------------------------------------------------------------------

    def mean(self, counts: ArrayLike) -> MeanEstimate:
        """The mean of the points from a tally, in units of P, with its standard error about a population."""
        seen = np.asarray(counts)
        if seen.shape != (self.reports,) or seen.dtype.kind not in "iu" or (seen < 0).any() or not seen.any():
            rule = f"must be {self.reports} non-negative integers, at least one positive"
            raise InvalidInput(rule, field="counts", value=f"{seen.dtype}, shape {seen.shape}")
        n = int(seen.sum())
        mean = float(seen @ self._values) / n
        spread = float(seen @ (self._values - mean) ** 2) / n
        return MeanEstimate(mean=mean, std=math.sqrt(spread / max(n - 1, 1)), respondents=n)

    def variance(self, frequencies: ArrayLike) -> float:
        """The variance of one report's value when `frequencies` are the true shares of the bins, in units of P."""
        law = np.asarray(frequencies, dtype=np.float64) @ self.matrix()
        return float(law @ self._values**2 - (law @ self._values) ** 2)

    def reach(self) -> Reach:
        """Effect of each report on the mean."""
        return Reach(effects=self._values[None, :])

    # -- the wire ----------------------------------------------------------------------------------------

    def wire(self) -> Duchi | Piecewise | Hybrid:
        """The channel as a question carries it."""
        return self.device


def _coin_weights(device: Duchi | Hybrid) -> NDArray[Any]:
    """Rows of tails and heads."""
    heads = np.array([device.least + device.step * point for point in device.points], dtype=object)
    total = 2 * device.least + device.step * device.last
    return np.stack([total - heads, heads], axis=1)


def _coin_points(device: Duchi | Hybrid) -> list[Fraction]:
    """With P(heads) = (least + step p) / M: -least / step for tails, and M / step more for heads."""
    tails = Fraction(-device.least, device.step)
    return [tails, tails + Fraction(2 * device.least + device.step * device.last, device.step)]


def _window_weights(device: Piecewise | Hybrid) -> NDArray[Any]:
    """Rows with `near` in the window and `far` elsewhere."""
    window = _window(device)
    return window.weights()[list(device.points)].astype(object)


def _window(device: Piecewise | Hybrid) -> Window:
    return Window(cells=device.last + device.width, width=device.width, near=device.near, far=device.far)


def _window_points(device: Piecewise | Hybrid) -> list[Fraction]:
    """(y - c) / s: E[y | p] = c + s p, with s = width (near - far) / M, and c what the start 0 gives."""
    window = _window(device)
    more = window.near - window.far
    slope = Fraction(window.width * more, window.total)
    every, first = window.cells * (window.cells - 1) // 2, window.width * (window.width - 1) // 2
    start = Fraction(window.far * every + more * first, window.total)
    return [(y - start) / slope for y in range(window.cells)]


def _coin(points: tuple[int, ...], epsilon: float) -> tuple[int, int]:
    """Weights `least` and `step` of the coin near 2**53 in all whose loss is at most epsilon."""
    odds = exp_below(epsilon) - 1
    least = int(WORD_RANGE / (2 + odds))
    step = int(odds * least / max(points))
    if least < 1 or step < 1 or step * max(points) < 10**6:
        hint = "Take an epsilon nearer to 1, or fewer bins"
        raise InvalidInput("cannot be represented with integers up to 2**53", field="epsilon", value=epsilon, hint=hint)
    return least, step


@dataclass(frozen=True, kw_only=True)
class DuchiBins(BinnedMean):
    """Duchi's coin over bins.

    Args:
        device: Its integers.
    """

    device: Duchi

    @classmethod
    def of(cls, *, points: tuple[int, ...], epsilon: float) -> Self:
        """The coin with a loss of at most epsilon.

        Args:
            points: Of each bin, from 0 on. epsilon: The loss wanted.
        """
        least, step = _coin(points, epsilon)
        return cls(device=Duchi(least=least, step=step, points=points))

    @property
    def total(self) -> int:
        """2 least + step P."""
        return 2 * self.device.least + self.device.step * self.device.last

    def weights(self) -> NDArray[np.int64]:
        """Tails and heads."""
        return _coin_weights(self.device).astype(np.int64)

    def report_points(self) -> Sequence[Fraction]:
        """Of tails and heads."""
        return _coin_points(self.device)

    @classmethod
    def of_wire(cls, device: Duchi, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        return cls(device=device)


def _best_width(last: int, epsilon: float) -> int:
    """The paper's width, 1 / (e^(epsilon / 2) + 1) of all reports."""
    return max(round(last * math.exp(-epsilon / 2)), 1)


@dataclass(frozen=True, kw_only=True)
class PiecewiseBins(BinnedMean):
    """The Piecewise mechanism over bins.

    Args:
        device: Its integers.
    """

    device: Piecewise

    @classmethod
    def of(cls, *, points: tuple[int, ...], epsilon: float) -> Self:
        """The window with the paper's width and a loss of at most epsilon.

        Args:
            points: Of each bin, from 0 on. epsilon: The loss wanted.
        """
        fine = _spread(points)
        width = _best_width(max(fine), epsilon)
        window = Window.calibrated(cells=max(fine) + width, width=width, epsilon=epsilon)
        return cls(device=Piecewise(width=width, near=window.near, far=window.far, points=fine))

    @property
    def total(self) -> int:
        """That of the window."""
        return _window(self.device).total

    def weights(self) -> NDArray[np.int64]:
        """Rows of the window."""
        return _window_weights(self.device).astype(np.int64)

    def report_points(self) -> Sequence[Fraction]:
        """Of each report of the window."""
        return _window_points(self.device)

    @classmethod
    def of_wire(cls, device: Piecewise, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        return cls(device=device)


def _spread(points: tuple[int, ...]) -> tuple[int, ...]:
    """The same points on a finer line."""
    factor = -(-_STEPS // max(points))
    return tuple(factor * point for point in points)


@dataclass(frozen=True, kw_only=True)
class HybridBins(BinnedMean):
    """Piecewise with probability mix / 2**bits, else Duchi's coin, over bins.

    Args:
        device: Its integers.
    """

    device: Hybrid

    @classmethod
    def of(cls, *, points: tuple[int, ...], epsilon: float) -> Self:
        """The mixture with the least worst-case variance: 1 - e^(-epsilon / 2) of Piecewise.

        Args:
            points: Of each bin, from 0 on. epsilon: The loss wanted, above 0.61; below, Duchi's coin alone is best.
        """
        if epsilon <= HYBRID_FROM:
            hint = "Use Duchi's coin"
            raise InvalidInput(f"must be above {HYBRID_FROM} for a mixture", field="epsilon", value=epsilon, hint=hint)
        window = PiecewiseBins.of(points=points, epsilon=epsilon).device
        least, step = _coin(window.points, epsilon)
        mix = int(-math.expm1(-epsilon / 2) * 2**_BITS)
        return cls(
            device=Hybrid(
                mix=mix,
                bits=_BITS,
                least=least,
                step=step,
                width=window.width,
                near=window.near,
                far=window.far,
                points=window.points,
            )
        )

    @property
    def _totals(self) -> tuple[int, int, int]:
        """Of the coin for the part, of the window, and of Duchi's coin."""
        coin = 2 * self.device.least + self.device.step * self.device.last
        return 2**self.device.bits, _window(self.device).total, coin

    @property
    def total(self) -> int:
        """The product of the totals of all three draws."""
        return math.prod(self._totals)

    def weights(self) -> NDArray[Any]:
        """The reports of the window, then tails and heads."""
        scale, window, coin = self._totals
        inside = self.device.mix * coin * _window_weights(self.device)
        return np.hstack([inside, (scale - self.device.mix) * window * _coin_weights(self.device)])

    def report_points(self) -> Sequence[Fraction]:
        """Of each part: every report has no bias given its part."""
        return [*_window_points(self.device), *_coin_points(self.device)]

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.int64]:
        """A report for each bin in `values`: the part is drawn first."""
        codes = check_codes(values, self.levels, field="values")
        device = self.device
        taken = (source.words(codes.size) >> np.uint64(64 - device.bits)) < np.uint64(device.mix)
        window = Piecewise(width=device.width, near=device.near, far=device.far, points=device.points)
        coin = Duchi(least=device.least, step=device.step, points=device.points)
        sent = np.empty(codes.size, dtype=np.int64)
        sent[taken] = PiecewiseBins(device=window).randomize(codes[taken], source)
        sent[~taken] = device.last + device.width + DuchiBins(device=coin).randomize(codes[~taken], source)
        return sent

    @classmethod
    def of_wire(cls, device: Hybrid, cells: int) -> Self:
        """The channel that estimates from what such devices send."""
        return cls(device=device)


# -- from the bins of a schema -------------------------------------------------------------------------------


def bin_middles(attribute: Numeric) -> tuple[Fraction, ...]:
    """Middle of every bin, exactly: for whole numbers that of the first and the last number in it.

    >>> [str(middle) for middle in bin_middles(Numeric(name="age", bounds=(0, 9), edges=(0, 5, 9), integer=True))]
    ['2', '7']
    """
    low, high = (Fraction(repr(bound)) for bound in attribute.bounds)
    if attribute.bins is not None and not attribute.integer:  # of equal width: decimals of the starts would be rounded
        width = (high - low) / attribute.bins
        return tuple(low + width * (2 * i + 1) / 2 for i in range(attribute.bins))
    starts = [Fraction(repr(start)) for start in attribute.starts]
    ends = [start - attribute.integer for start in starts[1:]] + [high]
    return tuple((start + end) / 2 for start, end in zip(starts, ends, strict=True))


def line_points(domain: Domain) -> tuple[int, ...]:
    """Points of the bins of a number: the least integers in proportion to their middles, or the nearest of 1,025.

    Args:
        domain: Of a table with one numeric attribute without buckets.
    """
    attribute = domain[domain.names[0]]
    if len(domain.names) != 1 or not isinstance(attribute, Numeric):
        rule = "a mean needs a table of one numeric attribute"
        raise InvalidInput(
            rule,
            field="channel",
            value=" x ".join(domain.names),
            hint="Ask for a number alone, or choose another channel",
        )
    if attribute.size != len(attribute.labels) or attribute.size < 2:
        rule = "must have two bins or more, and no bucket beside them, to be asked for a mean"
        raise InvalidInput(rule, field=attribute.name, hint="A missing value has no position on the line")
    middles = bin_middles(attribute)
    steps = [middle - middles[0] for middle in middles]
    common = math.lcm(*(step.denominator for step in steps))
    whole = [int(step * common) for step in steps]
    shared = math.gcd(*whole)
    if whole[-1] // shared <= _FINEST:
        return tuple(step // shared for step in whole)
    return tuple(round(step / steps[-1] * _FINEST) for step in steps)


def duchi_for(domain: Domain, epsilon: float) -> DuchiBins:
    """Make Duchi's coin for the mean of a number."""
    return DuchiBins.of(points=line_points(domain), epsilon=epsilon)


def piecewise_for(domain: Domain, epsilon: float) -> PiecewiseBins:
    """Make the Piecewise mechanism for the mean of a number."""
    return PiecewiseBins.of(points=line_points(domain), epsilon=epsilon)


def hybrid_for(domain: Domain, epsilon: float) -> DuchiBins | HybridBins:
    """Make the hybrid for the mean of a number; at a small epsilon it is Duchi's coin alone."""
    points = line_points(domain)
    if epsilon <= HYBRID_FROM:
        return DuchiBins.of(points=points, epsilon=epsilon)
    return HybridBins.of(points=points, epsilon=epsilon)
