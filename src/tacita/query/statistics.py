"""Statistics read off a release: they cost nothing, because they read only what is released.

Each comes with an interval that carries the noise of all cells it uses, and stays valid when there is more noise than
people: it then covers the whole range. A bin stands for its middle; how far the truth may lie from that is part of the
interval. Values that were moved to the bounds of the schema count as the bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita import check
from tacita.domain import Binned, Date
from tacita.errors import InvalidInput
from tacita.tables.release import Release
from tacita.tables.uncertainty import AdditiveNoise, normal_quantile

__all__ = ["Statistic", "mean", "quantile", "ratio_ends", "share", "top", "total", "width"]

Array = npt.NDArray[np.float64]
Ends = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """One number, its interval at any level, and the part of the interval that is due to bins."""

    name: str
    value: float
    ends: Callable[[float], Ends] = field(repr=False)
    bin_error: float = 0.0

    def interval(self, level: float = 0.95) -> Ends:
        """An interval that holds the exact statistic of the data with at least about this probability."""
        check.inside(level, "level", 0, 1)
        return self.ends(level)

    def as_dict(self) -> dict[str, Any]:
        """Plain data; null for a value where noise exceeds the count."""
        low, high = self.interval()
        value = self.value if math.isfinite(self.value) else None
        return {"name": self.name, "value": value, "low": low, "high": high, "bin_error": self.bin_error}


def total(release: Release) -> Statistic:
    """Number of all that are counted."""
    whole = release.project([])

    def ends(level: float) -> Ends:
        low, high = whole.interval(level)
        return float(low), float(high)

    return Statistic(name="total", value=float(whole.values), ends=ends)


def _noise(release: Release) -> AdditiveNoise:
    """The noise of each cell; what follows needs it to be independent and of one law."""
    if not isinstance(release.uncertainty, AdditiveNoise):
        raise InvalidInput("needs a release with additive noise", field="release", value=release.trust)
    return release.uncertainty


def width(noise: AdditiveNoise, level: float) -> float:
    """Half-width in standard deviations that holds for any weighted sum of cells.

    A single draw of Laplace noise has wider tails than the normal law, and sums lie between the two.
    """
    single = noise.law.half_width(level, noise.terms) / math.sqrt(noise.law.variance * noise.terms)
    return max(single, normal_quantile(level))


def ratio_ends(top: Array, counts: Array, noise: AdditiveNoise, level: float) -> Ends:
    """Fieller's interval of R = sum(top * counts) / sum(counts).

    For the true R, sum((top - R) * counts) is noise alone, of variance v * sum((top - R)^2). The R for which it is
    not too large solve a quadratic; when the total may be zero, every R does.
    """
    a, n = float(top @ counts), float(counts.sum())
    margin = width(noise, level) ** 2 * noise.law.variance * noise.terms
    square = n * n - margin * len(top)
    linear = a * n - margin * float(top.sum())
    constant = a * a - margin * float(top @ top)
    everything = float(top.min()), float(top.max())
    if square <= 0:
        return everything
    root = math.sqrt(max(linear * linear - square * constant, 0.0))
    ends = np.clip([(linear - root) / square, (linear + root) / square], *everything)
    return float(ends[0]), float(ends[1])


def share(release: Release, attribute: str, level: str) -> Statistic:
    """Share of this level among all that are counted."""
    marginal = release.project([attribute])
    labels = marginal.domain[attribute].all_labels
    if level not in labels:
        raise InvalidInput("must be one of " + ", ".join(labels), field=attribute, value=level)
    top = np.array([label == level for label in labels], float)
    counts, noise = marginal.values.astype(float), _noise(marginal)
    return Statistic(
        name=f"share of {attribute} = {level}",
        value=_quotient(top, counts),
        ends=lambda confidence: ratio_ends(top, counts, noise, confidence),
    )


def top(release: Release, k: int) -> list[tuple[tuple[str, ...], Statistic]]:
    """The k cells with the largest counts, largest first, with the counts.

    A row is in one cell, so all counts together cost no more than one: choosing among them afterwards is free, where
    choosing k times in private would share the budget k ways. The intervals hold for all cells together, since
    those at the top are there for their noise too.
    """
    if not 1 <= k <= release.values.size:
        raise InvalidInput(f"must be 1 to {release.values.size}", field="k", value=k)
    counts = release.values.reshape(-1).astype(float)

    def ends_of(place: int) -> Callable[[float], Ends]:
        def ends(level: float) -> Ends:
            low, high = release.interval(1 - (1 - level) / counts.size)
            return float(np.ravel(low)[place]), float(np.ravel(high)[place])

        return ends

    found = []
    for place in np.argsort(-counts, kind="stable")[:k].tolist():
        codes = np.unravel_index(place, release.values.shape)
        labels = tuple(release.domain[n].all_labels[i] for n, i in zip(release.attributes, codes, strict=True))
        found.append((labels, Statistic(name=" x ".join(labels), value=counts[place], ends=ends_of(place))))
    return found


def _quotient(top: Array, counts: Array) -> float:
    n = float(counts.sum())
    return float(top @ counts) / n if n > 0 else math.nan  # n <= 0: the noise exceeds the count


@dataclass(frozen=True)
class _Line:
    """The marginal of a binned attribute without its buckets: first and last value of each bin, and counts."""

    firsts: Array
    lasts: Array
    counts: Array
    noise: AdditiveNoise

    @classmethod
    def of(cls, release: Release, attribute: str) -> _Line:
        described = release.domain[attribute]
        if not isinstance(described, Binned):
            raise InvalidInput("must be numeric or a date", field=attribute, value=described.kind)
        marginal = release.project([attribute])
        firsts = np.asarray(described.starts)
        whole = isinstance(described, Date) or described.integer
        lasts = np.append(firsts[1:] - whole, described.line_bounds[1])
        counts = marginal.values[: len(firsts)].astype(float)
        return cls(firsts, lasts, counts, _noise(marginal))

    @property
    def middles(self) -> Array:
        return (self.firsts + self.lasts) / 2

    @property
    def halves(self) -> Array:
        return (self.lasts - self.firsts) / 2


def mean(release: Release, attribute: str) -> Statistic:
    """Mean of a numeric attribute (of a date, in days since 1970) among those who have one.

    The mean lies between that of all bins' first values and that of their last ones, each with its own interval.
    """
    line = _Line.of(release, attribute)
    kept = line.counts.clip(0)
    off = float(line.halves @ kept / kept.sum()) if kept.any() else float(line.halves.max())

    def ends(level: float) -> Ends:
        low = ratio_ends(line.firsts, line.counts, line.noise, level)[0]
        return low, ratio_ends(line.lasts, line.counts, line.noise, level)[1]

    return Statistic(name=f"mean of {attribute}", value=_quotient(line.middles, line.counts), ends=ends, bin_error=off)


def quantile(release: Release, attribute: str, q: float) -> Statistic:
    """The q-quantile of a numeric attribute among those who have one: the middle of its bin.

    With D_j = (1-q) sum_{i<=j} c_i - q sum_{i>j} c_i, the true quantile lies in the bin j where D_{j-1} < 0 <= D_j.
    The interval is made of all bins for which the noisy D contradicts neither.
    """
    check.inside(q, "q", 0, 1)
    line = _Line.of(release, attribute)
    bins = len(line.counts)
    below = np.cumsum(line.counts)
    gaps = below - q * below[-1]
    used = np.arange(1, bins + 1)
    spread = np.sqrt(line.noise.law.variance * line.noise.terms * ((1 - q) ** 2 * used + q**2 * (bins - used)))

    def ends(level: float) -> Ends:
        # two one-sided tests, each of half of what the level leaves
        z = width(line.noise, level)
        reached = gaps >= -z * spread
        reached[-1] = True  # all are below the last bin's end, whatever the noise says
        not_passed = np.append(True, (gaps <= z * spread)[:-1])
        possible = np.flatnonzero(reached & not_passed)
        if not len(possible):
            return float(line.firsts[0]), float(line.lasts[-1])
        return float(line.firsts[possible[0]]), float(line.lasts[possible[-1]])

    at = int(np.argmax(gaps >= 0))
    drowned = below[-1] <= 0
    return Statistic(
        name=f"{q:g}-quantile of {attribute}",
        value=math.nan if drowned else float(line.middles[at]),
        ends=ends,
        bin_error=float(line.halves[at]),
    )
