"""Bins of a number from estimated shares of fine parts: about equal shares, and heavy values in bins of their own.

Privacy: post-processing of released counts.   Claim: docs/claims/fine-numbers.md
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacita.synthesize.numbers.tree import Leaves

__all__ = ["bin_leaves", "bins_for"]

Integers = NDArray[np.int64]

_FEWEST, _MOST = 2, 32
_FACTOR = 1.5
"""Of the cube root of rows per standard deviation of noise. A model of pairs of k bins misses about 1 / k of their
rows, and noise adds k^2 counts: together they are least where k grows with the cube root."""


def bins_for(people: int, std: float) -> int:
    """Return the most bins of a number, from public facts.

    Args:
        people: Approximate number of rows.
        std: Standard deviation of noise, if the single attributes were all that is measured.

    >>> bins_for(10_000, 1000.0), bins_for(10_000, 9.0), bins_for(10**9, 1.0)
    (3, 15, 32)
    """
    wanted: float = _FACTOR * (people / max(std, 1e-9)) ** (1 / 3)
    return min(max(math.floor(wanted), _FEWEST), _MOST)


def bin_leaves(leaves: Leaves, most: int) -> Integers:
    """Return the first leaf of each bin: at most so many bins.

    A leaf with at least the share of a bin is a bin; what lies between such leaves is divided into equal shares.
    """
    heavy = leaves.shares >= 1 / most
    bounds = np.flatnonzero(heavy[1:] | heavy[:-1]) + 1
    starts = [0, *bounds.tolist()]
    ends = [*starts[1:], len(leaves)]
    shares = [float(leaves.shares[a:b].sum()) for a, b in zip(starts, ends, strict=True)]
    light = [at for at, start in enumerate(starts) if not heavy[start]]
    room = most - len(starts)
    extra = _shared_out([shares[at] for at in light], room)
    found = list(starts)
    for at, more in zip(light, extra, strict=True):
        upto = np.cumsum(leaves.shares[starts[at] : ends[at]])
        wanted = upto[-1] * np.arange(1, more + 1) / (more + 1)
        found += (starts[at] + 1 + np.searchsorted(upto, wanted - 1e-12)).tolist()
    edges = sorted({each for each in found if each < len(leaves)})
    return _merged(np.array(edges, np.int64), leaves, most)


def _shared_out(shares: list[float], room: int) -> list[int]:
    """Give each of `room` further bins to the span whose bins have the largest share."""
    extra = [0] * len(shares)
    for _ in range(max(room, 0) if shares else 0):
        at = max(range(len(shares)), key=lambda each: shares[each] / (extra[each] + 1))
        extra[at] += 1
    return extra


def _merged(edges: Integers, leaves: Leaves, most: int) -> Integers:
    """Merge the neighbours with the smallest share together until there are few enough bins."""
    while len(edges) > most:
        shares = np.add.reduceat(leaves.shares, edges)
        edges = np.delete(edges, int(np.argmin(shares[:-1] + shares[1:])) + 1)
    return edges
