"""Means of numbers from a tally, each with its standard error.

    asked for its mean     the mean of the reports' values (`channels/binned_means.py`), unbiased
    asked for its table    the shares of the bins times their middles, unbiased, with the covariance of the shares

Both are means of the middles of the bins: rounding a number to its bin is not undone. Where one number was asked in
both ways, both means are given.

Privacy: post-processing of reports; nothing is spent.   Claim page: docs/claims/local-means.md.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from tacita import check
from tacita.collect.channels.numbers.binned_means import bin_middles
from tacita.collect.channels.protocol import MeanRandomizer
from tacita.collect.estimating.tally import Tally
from tacita.domain import Numeric
from tacita.tables.release import Release
from tacita.tables.uncertainty import Correlated

__all__ = ["CollectedMean", "collected_means"]


@dataclass(frozen=True, kw_only=True)
class CollectedMean:
    """A mean of a number, about the population, in the units of the data.

    Attributes:
        attribute: The number. channel: What it was asked through. respondents: How many answered.
        mean: Unbiased; it may lie beyond the bins. std: Its standard error. low, high: Its interval. level: Of it.
        bounds: Middles of the first and the last bin.
        epsilon: The most that a respondent has lost. simulated: Whether the reports were drawn from a seed.
    """

    attribute: str
    channel: str
    respondents: int
    mean: float
    std: float
    low: float
    high: float
    level: float
    bounds: tuple[float, float]
    epsilon: float
    simulated: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self) | {"bounds": list(self.bounds)}


def collected_means(tally: Tally, *, level: float = 0.95) -> list[CollectedMean]:
    """The mean of every number that was asked by itself.

    Args:
        tally: What was counted.
        level: Of each interval.
    """
    check.inside(level, "level", 0, 1)
    found = _asked_for(tally, level)
    if any(True for _ in tally):
        found += [made for release in tally.releases().values() for made in _from_table(tally, release, level)]
    return found


def _asked_for(tally: Tally, level: float) -> list[CollectedMean]:
    found = []
    for asked, counts in tally.questions():
        if isinstance(asked.channel, MeanRandomizer):
            (name,) = asked.attributes
            estimate = asked.channel.mean(counts)
            points = _middles(tally, name)
            low, span = points[0], points[-1] - points[0]
            mean, std = low + span * estimate.mean, span * estimate.std
            found.append(_made(tally, name, type(asked.channel).__name__, estimate.respondents, mean, std, level))
    return found


def _from_table(tally: Tally, release: Release, level: float) -> list[CollectedMean]:
    name, attribute = release.attributes[0], tally.design.domain[release.attributes[0]]
    numbers = isinstance(attribute, Numeric) and attribute.size == len(attribute.labels)
    if len(release.attributes) > 1 or not numbers or not isinstance(release.uncertainty, Correlated):
        return []
    points = _middles(tally, name)
    centre = (points[0] + points[-1]) / 2  # of shares that need not sum to 1: their error in the sum then counts least
    mean = centre + float((points - centre) @ release.values)
    std = math.sqrt(max(release.uncertainty.covariance.of(points - centre), 0.0))
    recipe = release.provenance.recipe
    return [_made(tally, name, recipe["channel"], recipe["respondents"], mean, std, level)]


def _middles(tally: Tally, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    attribute = tally.design.domain[name]
    assert isinstance(attribute, Numeric), "a mean is asked of numbers only"
    return np.array([float(middle) for middle in bin_middles(attribute)])


def _made(
    tally: Tally, name: str, channel: str, respondents: int, mean: float, std: float, level: float
) -> CollectedMean:
    points = _middles(tally, name)
    half = NormalDist().inv_cdf((1 + level) / 2) * std
    cost = max(
        tally.design.loss(tally.design.view_of[number])
        for number, asked in enumerate(tally.design.questions)
        if asked.attributes == (name,)
    )
    return CollectedMean(
        attribute=name,
        channel=channel,
        respondents=respondents,
        mean=mean,
        std=std,
        low=mean - half,
        high=mean + half,
        level=level,
        bounds=(float(points[0]), float(points[-1])),
        epsilon=cost,
        simulated=tally.simulated,
    )
