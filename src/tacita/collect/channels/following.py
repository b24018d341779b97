"""Channels of later blocks: fakes that follow what earlier blocks have learnt.

Privacy:  the promise and the floor stay; the table that fakes follow is one that may be published, since the channel is
          sent to every device.   Claim: docs/claims/rrba.md
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tacita.collect.channels.channel import RandomizedResponse
from tacita.tables.simplex import norm_sub

__all__ = ["following_channel"]


def following_channel(learnt: npt.ArrayLike, *, epsilon: float, floor: float) -> RandomizedResponse:
    """Randomized response whose fakes are drawn from an estimated table.

    Args:
        learnt: Unbiased frequencies of all cells, which may be negative.
        epsilon: What a report may cost.
        floor: Share of the fakes that stays even over all cells.
    """
    shares = norm_sub(np.asarray(learnt, float).reshape(-1)).frequencies
    return RandomizedResponse.with_fakes(distribution=shares.tolist(), epsilon=epsilon, floor=floor)
