"""Gaussian noise that is added to whole numbers.

A sum of gradients is rounded to a grid, and noise that is rounded to the same grid is added: the same as rounding a
noisy sum, so it is post-processing of Gaussian noise. What comes out are whole numbers, whose last bits reveal nothing
about the sum, as those of a sum of floats would.

Privacy: as Gaussian noise, whose tails have no end, drawn in floats.   Claim: docs/claims/dp-sgd.md
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.noise import Source
from tacita.noise.continuous import normals

__all__ = ["rounded_normal"]


def rounded_normal(count: int, std: float, source: Source) -> NDArray[np.float64]:
    """Independent normal numbers of this standard deviation, rounded to whole ones."""
    return np.asarray(np.rint(normals(count, source) * std))
