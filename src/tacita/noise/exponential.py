"""Private choice of the best of several candidates: report noisy max.  [McKenna, Sheldon 2020: permute and flip]

Privacy: with scores of sensitivity D and scale s, 2D/s-DP; pure. OpenDP draws, and its privacy map is what is charged.
Utility: never worse than the exponential mechanism at the same epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacita.errors import InvalidInput
from tacita.noise import _opendp
from tacita.noise.source import Source

__all__ = ["noisy_max"]


def noisy_max(scores: Sequence[float], *, sensitivity: float, epsilon: float, source: Source) -> int:
    """Index of a candidate whose score is nearly the best, at a cost of at most `epsilon`."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        raise InvalidInput("must be positive and finite", field="epsilon", value=epsilon)
    if not (math.isfinite(sensitivity) and sensitivity > 0):
        raise InvalidInput("must be positive and finite", field="sensitivity", value=sensitivity)
    if not len(scores) or not all(math.isfinite(score) for score in scores):
        raise InvalidInput("must be finite numbers, at least one", field="scores")
    scale = 2 * sensitivity / epsilon
    while _opendp.noisy_max_epsilon(scale, sensitivity) > epsilon:
        scale = math.nextafter(scale, math.inf)
    if not source.simulated:
        return _opendp.noisy_max(scores, scale)
    # permute-and-flip has the law of the largest score plus exponential noise
    uniforms = (source.words(len(scores)) >> np.uint64(11)).astype(float) * 2.0**-53
    return int(np.argmax(np.asarray(scores, float) - scale * np.log1p(-uniforms)))
