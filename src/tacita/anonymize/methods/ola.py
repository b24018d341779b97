"""OLA [El Emam et al. 2009]: the node that loses least, of all that hold.

Heights are halved again and again. A node that holds is tagged with all above it, one that does not with all below it,
so most are never counted. The published method then takes the best of the lowest nodes that hold, which is right for a
loss that only grows on the way up. With suppression a loss may fall on the way up, because fewer rows are suppressed.
So here all nodes that hold are compared, by branch and bound: optimal for every loss in `node_loss`.
Where nodes do not roll up (docs/claims/full-domain.md) nothing is tagged, and the bound alone cuts the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.methods.full_domain import FullDomain
from tacita.anonymize.methods.grouping import impossible
from tacita.anonymize.methods.lattice import Lattice, Node, above, below

__all__ = ["Ola", "holding_nodes", "minimal_nodes"]

_UNKNOWN, _NO, _YES = 0, 1, 2


@dataclass(frozen=True, kw_only=True)
class Ola(FullDomain):
    """Least loss."""

    method: ClassVar[str] = "ola"
    summary: ClassVar[str] = "least loss of all full-domain recodings"

    def choose(self, lattice: Lattice) -> Node:
        """The node to take."""
        allowed = np.ones(lattice.shape, np.bool_)
        if lattice.grouping.rolls_up:
            lattice.check()
            allowed = holding_nodes(lattice)
        best = lattice.cheapest(allowed)
        if best is None:
            raise impossible(lattice.grouping.conditions)
        return best


def holding_nodes(lattice: Lattice) -> NDArray[np.bool_]:
    """Mark the nodes that meet the conditions, by tagging; only for lattices that roll up."""
    tags = np.zeros(lattice.shape, np.int8)
    for height in _halving(0, sum(lattice.top)):
        for node in lattice.nodes_at(height):
            if tags[node] == _UNKNOWN:
                if lattice.holds(node):
                    tags[above(node)] = _YES
                else:
                    tags[below(node)] = _NO
    return np.asarray(tags == _YES)


def minimal_nodes(lattice: Lattice) -> list[Node]:
    """The nodes that hold and have none below them that does."""
    holds = holding_nodes(lattice)
    lower = np.zeros_like(holds)
    for j in range(holds.ndim):
        to = tuple(slice(1, None) if a == j else slice(None) for a in range(holds.ndim))
        come = tuple(slice(None, -1) if a == j else slice(None) for a in range(holds.ndim))
        lower[to] |= holds[come]
    return [tuple(node) for node in np.argwhere(holds & ~lower).tolist()]


def _halving(low: int, high: int) -> Iterator[int]:
    """The numbers from `low` to `high`, the middle first, then the middles of both halves."""
    parts = [(low, high)]
    for first, last in parts:  # grows on the way
        if first <= last:
            middle = (first + last) // 2
            yield middle
            parts += [(first, middle - 1), (middle + 1, last)]
