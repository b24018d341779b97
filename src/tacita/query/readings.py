"""Statistics read off noisy sums, with their errors and intervals.

Bernstein sums are a soft histogram: the sum of each polynomial counts rows at its control point: low, middle, high. So

    mean       sum(x_k c_k) / sum(c_k),                 x_k the control points
    variance   sum(b_k c_k) / sum(c_k),                 b_k the coefficients of (t - mean)^2: m^2, m^2 - m, (1-m)^2

and the interval of such a ratio is Fieller's, which covers the whole range when there is more noise than people.
Rounding to the grid moves a ratio by at most half a step for each row, and that is part of the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.noise import Law
from tacita.query.answer import Column
from tacita.query.measures import Moments
from tacita.query.numbers import Array
from tacita.query.statistics import Ends, ratio_ends, width
from tacita.tables.uncertainty import AdditiveNoise

__all__ = ["Reading", "read_sum"]


def read_sum(noisy: Array, law: Law, level: float) -> Column:
    """A noisy sum as it is: its error is that of the noise, whatever the data."""
    half = law.half_width(level)
    return Column(value=noisy, std=np.full_like(noisy, law.std), low=noisy - half, high=noisy + half)


@dataclass(frozen=True)
class Reading:
    """One kind of statistic of Bernstein sums under a law of noise."""

    kind: str
    measure: Moments
    law: Law

    @property
    def _points(self) -> Array:
        """The control points as places from 0 to 1."""
        return np.linspace(0, 1, self.measure.width)

    def worst(self) -> dict[str, Any]:
        """The largest standard error that any data can have, and what it is still to be divided by."""
        noise, wide = self.law.std, self.measure.range
        values = self.measure.low + wide * self._points
        if self.kind == "count":
            return {"std": noise * math.sqrt(self.measure.width), "per": "answer"}
        if self.kind == "sum":
            return {"std": noise * float(np.linalg.norm(values)), "per": "answer"}
        if self.kind == "mean":
            return {"std": noise * wide * float(np.linalg.norm(self._points)), "per": "rows"}
        # at the bounds (t - mean)^2 has the coefficients 0, 0, 1; anywhere else they are smaller
        return {"std": noise * wide**2, "per": "rows"} if self.kind == "var" else {"std": None, "per": "rows"}

    def column(self, noisy: Array, level: float) -> Column:
        """The statistic of every group."""
        rows = [self._group(counts, level) for counts in noisy]
        value, std, low, high = np.array(rows, float).T.reshape(4, len(rows))
        return Column(value=value, std=std, low=low, high=high)

    def _group(self, counts: Array, level: float) -> tuple[float, float, float, float]:
        low, wide = self.measure.low, self.measure.range
        if self.kind in ("count", "sum"):
            weights = np.ones(len(counts)) if self.kind == "count" else low + wide * self._points
            value, std = float(weights @ counts), self.law.std * float(np.linalg.norm(weights))
            half = std * width(AdditiveNoise(law=self.law), level)
            return value, std, value - half, value + half
        if self.kind == "mean":
            value, std, ends = self._ratio(self._points, counts, level)
            return low + wide * value, wide * std, low + wide * ends[0], low + wide * ends[1]
        value, std, ends = self._variance(counts, level)
        if self.kind == "var":
            return wide**2 * value, wide**2 * std, wide**2 * ends[0], wide**2 * ends[1]
        root = math.sqrt(value) if value >= 0 else math.nan
        slope = std / (2 * root) if root > 0 else math.nan
        return wide * root, wide * slope, wide * math.sqrt(ends[0]), wide * math.sqrt(ends[1])

    def _ratio(self, top: Array, counts: Array, level: float) -> tuple[float, float, Ends]:
        """A ratio of sums, its standard error to first order, and its interval with the grid."""
        n = float(counts.sum())
        low, high = ratio_ends(top, counts, AdditiveNoise(law=self.law), level)
        off = float(np.abs(np.diff(top)).sum()) / (2 * self.measure.steps)
        ends = max(low - off, float(top.min())), min(high + off, float(top.max()))
        if n <= 0:  # the noise exceeds the count
            return math.nan, math.nan, ends
        value = min(max(float(top @ counts) / n, float(top.min())), float(top.max()))  # no mean lies beyond its values
        return value, self.law.std * float(np.linalg.norm(top - value)) / n, ends

    def _variance(self, counts: Array, level: float) -> tuple[float, float, Ends]:
        """E(t - c)^2 - (mean - c)^2 with c the noisy mean: the second part only widens the interval.

        Both intervals are taken at half of what the level leaves.
        """
        both = 1 - (1 - level) / 2
        mean, _, around = self._ratio(self._points, counts, both)
        if math.isnan(mean):
            return math.nan, math.nan, (0.0, 0.25)
        c = min(max(mean, 0.0), 1.0)
        value, std, (low, high) = self._ratio(np.array([c * c, c * c - c, (1 - c) ** 2]), counts, both)
        off = max((end - c) ** 2 for end in around)
        return min(max(value, 0.0), 0.25), std, (min(max(low - off, 0.0), 0.25), min(max(high, 0.0), 0.25))
