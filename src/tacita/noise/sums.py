"""Weighted sums of independent noise of several laws, and how wide they are: for averages of noisy tables.

Privacy: none of its own; it reads laws and no data.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np

from tacita.errors import InvalidInput
from tacita.noise.law import Law

__all__ = ["Part", "half_width_of_sum"]

_SMOOTH = 0.002
"""Standard deviation of the normal number that is added to a sum, in those of the sum: a 200th of its width."""
_END = 8  # standard deviations beyond which the transform of that number is taken as 0
_SLACK = 1e-3  # share of the misses that pays for it
_DIGITS = 10
_SMALLEST = 1e-12  # weight, relative to the largest


@dataclass(frozen=True)
class Part:
    """A term of a weighted sum: `weight` times the sum of `terms` draws of a law."""

    law: Law
    terms: int
    weight: float = 1.0

    @property
    def variance(self) -> float:
        """Variance of the term."""
        return self.weight**2 * self.terms * self.law.variance


def half_width_of_sum(parts: Iterable[Part], level: float) -> float:
    """An h with P(|sum of the parts| <= h) >= level, at most a hundredth more than the smallest.

    It is the smallest for a single law and weight. Else a normal number of a 500th of the sum's standard deviation is
    added, which makes the sum's transform, the product of those of its parts, short enough to invert. What it adds is
    added to h.

    >>> from tacita.noise import DiscreteLaplace
    >>> law = DiscreteLaplace.at_least(10)
    >>> half_width_of_sum([Part(law, 3), Part(law, 4)], 0.95)
    74.0
    """
    given = list(parts)
    if not 0 < level < 1:
        raise InvalidInput("must lie between 0 and 1", field="level", value=level)
    if not given or any(part.terms < 1 or not math.isfinite(part.weight) for part in given):
        raise InvalidInput("must be at least one, each with a finite weight", field="parts")
    largest = max(abs(part.weight) for part in given)
    if not largest:
        return 0.0
    merged: Counter[tuple[Law, float]] = Counter()
    for part in given:
        weight = round(abs(part.weight) / largest, _DIGITS)  # laws are symmetric, so signs do not matter
        if weight > _SMALLEST:
            merged[part.law, weight] += part.terms
    found = tuple(sorted(((law, weight, terms) for (law, weight), terms in merged.items()), key=str))
    if len(found) == 1:
        ((law, weight, terms),) = found
        return law.half_width(level, terms) * weight * largest
    return _half_width(found, level) * largest


@lru_cache(maxsize=16_384)
def _half_width(parts: tuple[tuple[Law, float, int], ...], level: float) -> float:
    miss = 1 - level
    std = math.sqrt(sum(weight**2 * terms * law.variance for law, weight, terms in parts))
    if not std:
        return 0.0
    smooth = _SMOOTH * std
    # Laplace tails need 40 scales, the sum's bulk 12 standard deviations
    reach = 12 * std + 40 * max(weight * law.std for law, weight, _ in parts)
    size = 1 << math.ceil(math.log2(2 * reach * _END / smooth / math.pi))
    gap = math.pi / reach  # between frequencies, so that the period is twice the reach
    at = gap * np.arange(size // 2 + 1)
    whole = np.exp(-((smooth * at) ** 2) / 2)
    for law, weight, terms in parts:
        whole *= law.transform(weight * at) ** terms
    chances = np.fft.irfft(whole, size)
    chances[1 : size // 2] += chances[-1 : -(size // 2) : -1]
    step = 2 * reach / size
    place = int(np.searchsorted(np.cumsum(chances[: size // 2]), 1 - (1 - _SLACK) * miss))
    return (place + 1) * step - NormalDist().inv_cdf(_SLACK * miss / 2) * smooth
