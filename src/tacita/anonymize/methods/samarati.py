"""Samarati's method [2001]: the least height at which a node holds, found by halving the heights of the lattice.

The search is over the height of the whole lattice. When no node of a height holds, none below it does; so one half of
the heights falls away with each step. Where nodes do not roll up (docs/claims/full-domain.md) every height is tried
from below. Of the nodes of that height the one that loses least is taken.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacita.anonymize.methods.full_domain import FullDomain
from tacita.anonymize.methods.grouping import impossible
from tacita.anonymize.methods.lattice import Lattice, Node

__all__ = ["Samarati"]


@dataclass(frozen=True, kw_only=True)
class Samarati(FullDomain):
    """Least height, then least loss."""

    method: ClassVar[str] = "samarati"
    summary: ClassVar[str] = "the fewest steps up the hierarchies"

    def choose(self, lattice: Lattice) -> Node:
        """The node to take."""
        best = lattice.cheapest(lattice.heights == self.least_height(lattice))
        assert best is not None
        return best

    def least_height(self, lattice: Lattice) -> int:
        """The least height at which a node holds."""
        low, high = 0, sum(lattice.top)
        if not lattice.grouping.rolls_up:
            for height in range(high + 1):
                if any(lattice.holds(node) for node in lattice.nodes_at(height)):
                    return height
            raise impossible(lattice.grouping.conditions)
        lattice.check()
        while low < high:
            middle = (low + high) // 2
            if any(lattice.holds(node) for node in lattice.nodes_at(middle)):
                high = middle
            else:
                low = middle + 1
        return low
