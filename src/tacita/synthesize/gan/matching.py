"""Distance of a generator's tables from released ones: a loss that reads no data.

With y a released share, s its standard error, and p the mean over a batch of the products of the generator's shares:

    loss = mean over cells of (p - y)^2 / s^2

Tables are over one or two attributes, or over the given attribute and two others.

Privacy: post-processing of released tables.   Claim: docs/claims/dp-sgd.md
Utility: the truth has a loss of about 1. The mean of products is over starts, not over drawn rows, so its slopes are
those of the generator itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacita.models.measurement import Measurement
from tacita.models.neural.backend import load_torch
from tacita.synthesize.gan.encode import Encoding

__all__ = ["Matching"]


class Matching:
    """Released tables laid out over all codes, once for each level of the given attribute if there is one."""

    def __init__(self, encoding: Encoding, targets: Sequence[Measurement], given: str | None, device: Any) -> None:
        torch, width = load_torch(), encoding.width
        self._given = encoding.blocks[given] if given else None
        levels = encoding.domain[given].size if given else 1
        pairs, pair_weights = np.zeros((2, levels, width, width), np.float32)
        ones, one_weights = np.zeros((2, width), np.float32)
        cells = sum(target.values.size for target in targets)
        for target in targets:
            weight = 1 / (cells * target.variance)
            shares = target.values
            if len(target.attributes) == 1:
                block = encoding.blocks[target.attributes[0]]
                ones[block], one_weights[block] = shares, weight
                continue
            if given:
                shares = np.moveaxis(shares, target.attributes.index(given), 0)
            first, second = (encoding.blocks[name] for name in target.attributes if name != given)
            pairs[:, first, second], pair_weights[:, first, second] = shares, weight
        tensors = (pairs, pair_weights, ones, one_weights)
        self._pairs, self._pair_weights, self._ones, self._one_weights = (
            torch.from_numpy(each).to(device) for each in tensors
        )
        self._has_pairs = bool(pair_weights.any())

    def loss(self, shares: Any) -> Any:
        """Of a batch of the generator's shares, (starts, codes)."""
        off = shares.mean(0) - self._ones
        total = (off.square() * self._one_weights).sum()
        if self._has_pairs:
            levels = shares[:, self._given].T if self._given else shares.new_ones(1, len(shares))
            for pairs, weights, level in zip(self._pairs, self._pair_weights, levels, strict=True):
                off = (shares * level[:, None]).T @ shares / len(shares) - pairs
                total = total + (off.square() * weights).sum()
        return total
