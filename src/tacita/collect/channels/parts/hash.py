"""A keyed mixer that a browser computes with the same bits: 32-bit integer operations only.

    mix(h):            h ^= h >> 16;  h *= 0x7feb352d;  h ^= h >> 15;  h *= 0x846ca68b;  h ^= h >> 16     (mod 2**32)
    hash(seed, v):     mix(seed ^ mix(v + 0x9e3779b9))
    cell of g:         floor(hash * g / 2**32)

`mix` is a bijection with good avalanche (the constants are those of Wellons' `lowbias32`, public domain). In
JavaScript: `Math.imul` for the products, `>>> 0` after each step, and `Math.floor(h * g / 4294967296)`, which is exact
for g <= 2**20 because h * g < 2**53. For a uniform seed each hash is uniform, each cell has a chance within 2**-32 of
1 / g, and two levels meet in one with a chance near 1 / g: as by a random function, not proven universal.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled

__all__ = ["MOST_CELLS", "add_supports", "cells_of", "mixed"]

MOST_CELLS = 2**20
_GOLDEN = np.uint32(0x9E3779B9)


@compiled
def _mix(h: np.uint32) -> np.uint32:
    h = np.uint32(h ^ (h >> np.uint32(16)))
    h = np.uint32(h * np.uint32(0x7FEB352D))
    h = np.uint32(h ^ (h >> np.uint32(15)))
    h = np.uint32(h * np.uint32(0x846CA68B))
    return np.uint32(h ^ (h >> np.uint32(16)))


@compiled
def mixed(levels: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The inner round, mix(v + 0x9e3779b9): it does not depend on the seed and is made once for each level."""
    inner = np.empty(levels.size, dtype=np.uint32)
    for i in range(levels.size):
        inner[i] = _mix(np.uint32(levels[i] + _GOLDEN))
    return inner


@compiled
def cells_of(seeds: NDArray[np.uint32], inner: NDArray[np.uint32], g: np.int64) -> NDArray[np.int64]:
    """The cell of each pair of a seed and an inner round."""
    cells = np.empty(seeds.size, dtype=np.int64)
    for i in range(seeds.size):
        cells[i] = (np.int64(_mix(np.uint32(seeds[i] ^ inner[i]))) * g) >> 32
    return cells


@compiled
def add_supports(
    seeds: NDArray[np.uint32],
    lows: NDArray[np.uint32],
    widths: NDArray[np.uint32],
    inner: NDArray[np.uint32],
    counts: NDArray[np.uint32],
) -> None:
    """Add 1 to each level whose hash lies in the range of hashes that the reported cell stands for.

    A cell is a range of hashes, so that no product is needed to know whether a hash falls into it; and the inner loop
    is over levels with 32-bit numbers only, which a compiler turns into vectors.
    """
    for i in range(seeds.size):
        seed, low, width = seeds[i], lows[i], widths[i]
        for v in range(inner.size):
            counts[v] += np.uint32(np.uint32(_mix(np.uint32(seed ^ inner[v])) - low) < width)
