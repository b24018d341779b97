"""Gaussian noise that is added to whole numbers.

A sum of gradients is rounded to a grid, and noise that is rounded to the same grid is added: the same as rounding a
noisy sum, so it is post-processing of Gaussian noise. What comes out are whole numbers, whose last bits tell nothing
about the sum, as those of a sum of floats would.

Privacy: as Gaussian noise, but for the 53 bits of the uniform numbers behind it: nothing lies beyond 8.5 standard
deviations.   Claim: docs/claims/dp-sgd.md
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.noise import Source

__all__ = ["rounded_normal"]


def rounded_normal(count: int, std: float, source: Source) -> NDArray[np.float64]:
    """Independent normal numbers of this standard deviation, rounded to whole ones.  [Box, Muller 1958]"""
    half = (count + 1) // 2
    words = source.words(2 * half) >> np.uint64(11)
    radius = np.sqrt(-2 * np.log((words[:half].astype(float) + 1) * 2.0**-53))
    angle = words[half:].astype(float) * (2 * np.pi * 2.0**-53)
    normal = np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:count]
    return np.asarray(np.rint(normal * std))
