"""Poisson sampling of the units in a step: each unit independently, with the same probability.

Privacy: this is the sampling that `SampledGaussian` is stated for. A shuffled list cut into batches is not: there a
unit is in exactly one batch of each round, which gains less.   Claim: docs/claims/dp-sgd.md
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput
from tacita.noise import Source

__all__ = ["poisson_sample"]

_BITS = 53


def poisson_sample(units: int, rate: float, source: Source) -> NDArray[np.int64]:
    """Indices of the units that are in; perhaps none.

    The chance is the rate rounded down to a multiple of 2^-53, so it is never above what is paid for.
    """
    if not 0 < rate <= 1:
        raise InvalidInput("must lie above 0 and be at most 1", field="rate", value=rate)
    below = np.uint64(math.floor(rate * 2**_BITS))
    return np.flatnonzero((source.words(units) >> np.uint64(64 - _BITS)) < below)
