"""Statistics read off a release: free, because they look at nothing but what has left already.

Each comes with a standard error that carries the noise of all cells it uses. Bins stand for their middle, so a mean or
quantile of a binned attribute also has an error of at most half a bin that no interval shows; `bin_error` states it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.domain import Binned
from tacita.domain.encode import decode
from tacita.errors import InvalidInput
from tacita.release import Release
from tacita.uncertainty import AdditiveNoise, normal_quantile

__all__ = ["Statistic", "mean", "quantile", "share", "total"]

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """One number with its error."""

    name: str
    value: float
    std: float
    bin_error: float = 0.0

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A normal interval for the noise, widened by the error of the bins."""
        half = normal_quantile(level) * self.std + self.bin_error
        return self.value - half, self.value + half

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        low, high = self.interval()
        return {
            "name": self.name,
            "value": self.value,
            "std": self.std,
            "bin_error": self.bin_error,
            "low": low,
            "high": high,
        }


def total(release: Release) -> Statistic:
    """How many there are in all."""
    whole = release.project([])
    return Statistic(name="total", value=float(whole.values), std=float(whole.std()))


def _cell_variance(release: Release) -> float:
    """Variance of one cell; ratios of cells below assume that all cells have independent noise of one law."""
    if not isinstance(release.uncertainty, AdditiveNoise):
        raise InvalidInput("needs a release with additive noise", field="release", value=release.trust)
    return release.uncertainty.law.variance * release.uncertainty.terms


def _ratio(top: Array, counts: Array, variance: float) -> tuple[float, float]:
    """sum(top * counts) / sum(counts) and its standard error by the delta method.

    With R the ratio and N the sum, dR/dcount_i = (top_i - R)/N, and the cells' noise is independent.
    """
    n = float(counts.sum())
    if n <= 0:
        return math.nan, math.inf  # the noise has drowned everybody; say so rather than divide
    value = float(top @ counts) / n
    return value, math.sqrt(variance * float(np.sum((top - value) ** 2))) / n


def share(release: Release, attribute: str, level: str) -> Statistic:
    """Which part of all that are counted has this level."""
    marginal = release.project([attribute])
    labels = marginal.domain[attribute].all_labels
    if level not in labels:
        raise InvalidInput("must be one of " + ", ".join(labels), field=attribute, value=level)
    top = np.array([label == level for label in labels], float)
    value, std = _ratio(top, marginal.values.astype(float), _cell_variance(marginal))
    return Statistic(name=f"share of {attribute} = {level}", value=value, std=std)


def _line(release: Release, attribute: str) -> tuple[Release, Array, Array, Array]:
    """The marginal of a binned attribute without its buckets: middles, counts and half of each bin's width."""
    described = release.domain[attribute]
    if not isinstance(described, Binned):
        raise InvalidInput("must be numeric or a date", field=attribute, value=described.kind)
    marginal = release.project([attribute])
    bins = len(described.starts)
    middles = decode(described, np.arange(bins), "mid")
    line = np.asarray(middles.cast("int32") if described.kind == "date" else middles, float)
    edges = np.append(np.asarray(described.starts), described.line_bounds[1])
    single = described.kind != "date" and described.integer and bool((np.diff(edges[:-1]) == 1).all())
    halves = np.zeros(bins) if single else np.diff(edges) / 2
    return marginal, line, marginal.values[:bins].astype(float), halves


def mean(release: Release, attribute: str) -> Statistic:
    """Mean of a numeric attribute (of a date, in days since 1970) among those who have one."""
    marginal, line, counts, halves = _line(release, attribute)
    value, std = _ratio(line, counts, _cell_variance(marginal))
    kept = counts.clip(0)  # everybody at the far end of their bin: the worst that binning can do to a mean
    off = float(halves @ kept / kept.sum()) if kept.any() else 0.0
    return Statistic(name=f"mean of {attribute}", value=value, std=std, bin_error=off)


def quantile(release: Release, attribute: str, q: float) -> Statistic:
    """The bin that holds the q-quantile of a numeric attribute, by its middle.

    The standard error is that of the cumulative count at the bin over the local density of the release.
    """
    if not 0 < q < 1:
        raise InvalidInput("must lie strictly between 0 and 1", field="q", value=q)
    marginal, line, counts, halves = _line(release, attribute)
    n = float(counts.sum())
    name = f"{q:g}-quantile of {attribute}"
    if n <= 0:
        return Statistic(name=name, value=math.nan, std=math.inf)
    at = int(np.argmax(np.cumsum(counts) >= q * n))
    variance = _cell_variance(marginal) * ((1 - q) ** 2 * (at + 1) + q**2 * (len(counts) - at - 1))
    nearby = max(float(np.mean(counts[max(0, at - 1) : at + 2])), 1.0)
    step = float(np.mean(np.diff(line))) if len(line) > 1 else 0.0
    return Statistic(
        name=name, value=float(line[at]), std=math.sqrt(variance) / nearby * step, bin_error=float(halves[at])
    )
