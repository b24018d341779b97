"""Weighted sums of independent noise of several laws, and how wide they are: for averages of noisy tables.

Privacy: none of its own; it reads laws and no data.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from tacita.errors import InvalidInput
from tacita.noise.law import FINEST_GRID, MANY_TERMS, Law, normal_half_width

__all__ = ["Part", "half_width_of_sum"]


@dataclass(frozen=True)
class Part:
    """A term of a weighted sum: `weight` times the sum of `terms` draws of a law."""

    law: Law
    terms: int
    weight: int = 1

    @property
    def variance(self) -> float:
        """Variance of the term."""
        return self.weight**2 * self.terms * self.law.variance


def half_width_of_sum(parts: Iterable[Part], level: float) -> float:
    """Smallest h with P(|sum of the parts| <= h) >= level; exact up to rounding of the transform.

    The transform of the law of `weight` times a draw is that of the draw at `weight` times the frequency, so one
    transform of each law gives the law of the whole sum. Very wide sums, and sums of very many draws, are rounded
    outward.

    >>> from tacita.noise import DiscreteLaplace
    >>> law = DiscreteLaplace.at_least(10)
    >>> half_width_of_sum([Part(law, 1)], 0.95), half_width_of_sum([Part(law, 1), Part(law, 1, 2)], 0.95)
    (30.0, 65.0)
    """
    found = tuple(sorted(parts, key=lambda part: (str(part.law), part.terms, part.weight)))
    if not 0 < level < 1:
        raise InvalidInput("must lie between 0 and 1", field="level", value=level)
    if not found or any(part.terms < 1 or part.weight < 1 for part in found):
        raise InvalidInput("must be at least one, each with a positive weight", field="parts")
    steps = {part.law.step for part in found}
    if len(steps) != 1:
        raise InvalidInput("must all be on one grid", field="parts", value=sorted(map(str, steps)))
    return _half_width(found, level) * float(steps.pop())


@lru_cache(maxsize=4096)
def _half_width(parts: tuple[Part, ...], level: float) -> float:
    """In steps of the grid."""
    spreads = [part.law.std / float(part.law.step) for part in parts]
    std = math.sqrt(sum(part.weight**2 * part.terms * spread**2 for part, spread in zip(parts, spreads, strict=True)))
    if min(part.terms for part in parts) > MANY_TERMS:
        return normal_half_width(std, level)
    reach = 40 * max(part.weight * spread for part, spread in zip(parts, spreads, strict=True)) + 12 * std + 8
    if reach > FINEST_GRID // 2:
        factor = math.ceil(reach / (FINEST_GRID // 4))
        coarse = tuple(Part(part.law.coarser(factor), part.terms, part.weight) for part in parts)
        return factor * (_half_width(coarse, level) + sum(part.weight for part in parts))
    size = 1 << math.ceil(math.log2(2 * reach))
    grid, frequencies = np.fft.fftfreq(size, 1 / size), np.arange(size // 2 + 1)
    transforms = {law: np.fft.fft(law.pmf(grid)).real for law in {part.law for part in parts}}
    whole = np.ones(size // 2 + 1)
    for part in parts:
        whole *= transforms[part.law][part.weight * frequencies % size] ** part.terms
    sums = np.clip(np.fft.irfft(whole, size), 0, None)
    folded = sums[: size // 2].copy()
    folded[1:] += sums[-1 : -(size // 2) : -1]
    return float(np.searchsorted(np.cumsum(folded), level - 1e-12))
