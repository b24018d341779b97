"""Quantiles with intervals, read off noisy counts in two rounds: coarse bins, then fine bins where they matter.

    round 1   counts over at most 32 equal bins of the range, with a third of the cost
    round 2   counts over bins that are fine where round 1 leaves a quantile possible, and wide elsewhere

All quantiles of a column share the two histograms. With c_1, .., c_K the noisy counts of a histogram and
G_j = sum_{i<=j} c_i - q sum_i c_i, the q-quantile x_(ceil(q n)) lies in the bin j with G_{j-1} < 0 <= G_j before noise.
A bin is possible where noise of variance v ((1-q)^2 j + q^2 (K-j)) explains that G_{j-1} is not above 0 and that G_j is
not below. The interval is the intersection of the hulls of possible bins of both rounds; the first has a fifth of the
error probability. The point is where the isotonic regression of G, in round 2, crosses 0.

Privacy:  a row is in one bin of each round, so a unit of m rows moves the counts of a round by m in all (add-remove)
          or by two parts of m (replace-one), also over all groups together. The bins of round 2 are a function of the
          released counts of round 1: sequential composition of two histograms with additive noise.
          Claim: docs/claims/statistics.md
Utility:  the test is about the bin of the true quantile alone, so that no bound over all bins is needed: an end is off
          by about 2 standard deviations of G, and the bins of round 2 are as wide as this noise. The interval holds at
          any level, whatever round 1 found: the bins of round 2 cover the whole range.
Cost:     one pass over the rows; memory is one count for each point and group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import isotonic_regression

from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Source, Stepped
from tacita.plans.additive import shift_event
from tacita.privacy.event import Event, Sequence
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.answer import Column
from tacita.query.measures import COARSE, Integers
from tacita.query.numbers import Array
from tacita.query.quantiles import Points, check_q
from tacita.query.statistics import width
from tacita.tables.uncertainty import AdditiveNoise

__all__ = ["QuantileTree"]

_FIRST = 32
_FEWEST, _MOST = 4, 128
"""Bins of the first round; fewest and most fine bins of an interval in the second."""
_BY_ROWS = 0.8
"""Part of the fine bins that is shared out by the rows that round 1 counted; the rest by the width of the range."""
_FIRST_PART = 0.2
"""Part of the error probability of an interval that its first round has."""
_PER_STD = 0.42
"""Bins are so fine that the rows of one are about 2.4 standard deviations of the noise of all bins together."""
_TYPICAL, _NO_NOISE = 8, 1e-9


@dataclass(frozen=True, kw_only=True)
class QuantileTree(Points):
    """Noisy counts of coarse bins and, near the quantiles, of fine ones. Its law is that of the second round.

    Attributes:
        qs: The quantiles that are read off.
        level: Confidence level for which the bins of the second round are chosen.
    """

    qs: tuple[Fraction, ...]
    level: float = 0.95
    bits: int = COARSE
    kind: ClassVar[str] = "tree"

    def __post_init__(self) -> None:
        super().__post_init__()
        for q in self.qs:
            check_q(q)

    @property
    def step(self) -> Fraction:
        """A part of a row."""
        return Fraction(1, self.steps)

    @property
    def coarse(self) -> Integers:
        """Edges of the first round: bin j has the points from edge j up to but without edge j + 1."""
        bins = min(_FIRST, self.points)
        return np.arange(bins + 1, dtype=np.int64) * self.points // bins

    @property
    def once(self) -> bool:
        """Whether the coarse bins are the points themselves, so that one round is enough."""
        return self.points <= _FIRST

    # -- cost -----------------------------------------------------------------------------------------------------

    def moves(self, neighbours: Neighbours, groups: int) -> tuple[int, int]:
        """S in one bin, and for a replaced row S in another."""
        return self.steps, 2 if neighbours is Neighbours.REPLACE_ONE else 1

    def law(self, family: str, size: Fraction) -> Law:
        """Noise of the second round, which has two thirds of the cost; of the only round, all of it."""
        return super().law(family, size if self.once else size * Fraction(3, 2))

    def first(self, law: Law) -> Law:
        """Noise of the first round: half the cost of the second one, epsilon or rho."""
        assert isinstance(law, Stepped)
        if isinstance(law.law, DiscreteLaplace):
            return Stepped(law=DiscreteLaplace.at_least(2 * law.law.scale), of=law.of)
        assert isinstance(law.law, DiscreteGaussian)
        return Stepped(law=DiscreteGaussian.at_least(2 * law.law.sigma2), of=law.of)

    def event(self, law: Law, unit: Unit, neighbours: Neighbours, groups: int) -> Event:
        """Cost of both rounds, one after the other."""
        steps, parts = self.moves(neighbours, groups)
        laws = (law,) if self.once else (self.first(law), law)
        events = tuple(shift_event(each, unit.max_rows * steps, parts) for each in laws)
        return events[0] if self.once else Sequence(events=events)

    def rank_error(self, q: Fraction, law: Law) -> float:
        """Standard deviation of G at the quantile, in ranks, where values fill the range and bins are few."""
        bins = self.points if self.once else _TYPICAL * len(self.qs)
        return law.std * math.sqrt(bins / 2 * float((1 - q) ** 2 + q**2))

    # -- release --------------------------------------------------------------------------------------------------

    def released(self, exact: Integers, law: Law, source: Source) -> Array:
        """Noisy counts of each group: coarse bins; then edges and counts of the fine ones.

        Groups with fewer fine bins are filled up with bins that have no points and no noise.
        """
        upto = np.concatenate([np.zeros((len(exact), 1), np.int64), exact.cumsum(axis=1)], axis=1)
        coarse = self.coarse
        if self.once:
            return self._noisy(np.diff(upto[:, coarse], axis=1), law, source)
        first = self.first(law)
        counts = self._noisy(np.diff(upto[:, coarse], axis=1), first, source)
        edges = [self.refine(row, first, law) for row in counts]
        bins = max((len(each) - 1 for each in edges), default=1)
        padded = np.array([[*each, *[self.points] * (bins + 1 - len(each))] for each in edges], np.int64)
        padded = padded.reshape(len(exact), bins + 1)
        there = np.diff(padded, axis=1) > 0
        fine = np.diff(np.take_along_axis(upto, padded, axis=1), axis=1)
        found = np.zeros(fine.shape)
        found[there] = self._noisy(fine[there], law, source)
        return np.concatenate([counts, padded, found], axis=1)

    def _noisy(self, counts: Integers, law: Law, source: Source) -> Array:
        draws = law.draw(counts.size, source).reshape(counts.shape)
        return np.asarray((counts * self.steps + draws) * float(self.step), np.float64)

    def refine(self, counts: Array, first: Law, law: Law) -> Integers:
        """Edges of the second round for a group, from its released counts of the first."""
        edges, spans = self.coarse, list[list[int]]()
        for low, high in sorted(_possible(counts, q, first, 1 - (1 - self.level) * _FIRST_PART) for q in self.qs):
            if spans and low <= spans[-1][1]:
                spans[-1][1] = max(spans[-1][1], high)
            else:
                spans.append([low, high])
        parts = [np.array([0, self.points], np.int64)]
        for low, high in spans:
            rows = max(float(counts[low : high + 1].sum()), 0.0)
            wanted = (_PER_STD * rows / max(law.std * math.sqrt(len(spans)), _NO_NOISE)) ** (2 / 3)
            span = edges[low : high + 2]
            bins = min(max(round(wanted), _FEWEST), _MOST, int(span[-1] - span[0]))
            weights = counts[low : high + 1].clip(0) + 1e-300
            share = (1 - _BY_ROWS) * np.diff(span) / (span[-1] - span[0]) + _BY_ROWS * weights / weights.sum()
            upto = np.append(0.0, np.cumsum(share))
            at = np.interp(np.arange(1, bins) * upto[-1] / bins, upto, span)
            parts += [span[[0, -1]], np.rint(at).astype(np.int64)]
        return np.unique(np.concatenate(parts))

    def invented(self, groups: int) -> Array:
        """One row in each bin; in the second round, in the only one."""
        more = [] if self.once else [0.0, float(self.points), 1.0]
        return np.tile([*[1.0] * (len(self.coarse) - 1), *more], (groups, 1))

    # -- reading --------------------------------------------------------------------------------------------------

    def read(self, q: Fraction, released: Array, law: Law, level: float) -> Column:
        """Quantile and interval of each group."""
        rows = np.array([self._group(q, row, law, level) for row in released], float).reshape(len(released), 3)
        value, low, high = rows.T
        half = 0.0 if self.exact else self.gap / 2
        value, low, high = (
            np.clip(self.low + self.gap * at, self.low, self.high)
            for at in (value, low - half / self.gap, high + half / self.gap)
        )
        return Column(value=value, std=np.full_like(value, np.nan), low=low, high=high)

    def _group(self, q: Fraction, row: Array, law: Law, level: float) -> tuple[int, int, int]:
        """Indices of points: that of the quantile, and the ends of its interval."""
        edges, bins = self.coarse, len(self.coarse) - 1
        if self.once:
            low, high = _possible(row, q, law, level)
            return _within(_crossing(edges, row, q), int(edges[low]), int(edges[high + 1]) - 1)
        error, counts = 1 - level, row[:bins]
        size = (len(row) - bins - 1) // 2
        fine = row[bins : bins + size + 1].astype(np.int64)
        there = np.diff(fine) > 0
        fine, found = np.append(fine[:-1][there], self.points), row[bins + size + 1 :][there]
        low, high = _possible(found, q, law, 1 - error * (1 - _FIRST_PART))
        start, end = int(fine[low]), int(fine[high + 1])
        low, high = _possible(counts, q, self.first(law), 1 - error * _FIRST_PART)
        before, after = int(edges[low]), int(edges[high + 1])
        if max(start, before) < min(end, after):  # rounds that contradict each other leave the second
            start, end = max(start, before), min(end, after)
        return _within(_crossing(fine, found, q), start, end - 1)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return super().as_dict() | {"qs": [str(q) for q in self.qs], "rounds": 1 if self.once else 2}


def _within(at: int, low: int, high: int) -> tuple[int, int, int]:
    return min(max(at, low), high), low, high


def _gaps(counts: Array, q: Fraction) -> Array:
    """G at the end of each bin."""
    upto = np.cumsum(counts)
    return np.asarray(upto - float(q) * upto[-1], np.float64)


def _possible(counts: Array, q: Fraction, law: Law, level: float) -> tuple[int, int]:
    """First and last bin that noise leaves possible: two one-sided tests, each with half of the error probability."""
    bins = len(counts)
    used = np.arange(1, bins + 1)
    margin = law.std * np.sqrt(float((1 - q) ** 2) * used + float(q**2) * (bins - used))
    margin *= width(AdditiveNoise(law=law), level) if law.std > _NO_NOISE else 0.0
    margin += _NO_NOISE * np.abs(counts).sum()  # rounding of floats
    gaps = _gaps(counts, q)
    reached = gaps >= -margin
    reached[-1] = True  # all rows are below the end of the range, whatever the noise says
    not_passed = np.append(True, (gaps <= margin)[:-1])
    possible = np.flatnonzero(reached & not_passed)
    return (int(possible[0]), int(possible[-1])) if len(possible) else (0, bins - 1)


def _crossing(edges: Integers, counts: Array, q: Fraction) -> int:
    """The point at which G, made to rise by isotonic regression, crosses 0; linear within a bin."""
    total = max(float(counts.sum()), 0.0)
    rising = isotonic_regression(np.append(-float(q) * total, _gaps(counts, q))).x
    after = int(np.searchsorted(rising, 0.0))
    if after == 0 or after == len(rising):
        return int(edges[0] + edges[-1]) // 2 if total == 0 else int(edges[-1 if after else 0])
    part = -rising[after - 1] / (rising[after] - rising[after - 1])
    return int(edges[after - 1]) + math.floor(float(part) * int(edges[after] - edges[after - 1]))
