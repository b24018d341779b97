"""Incognito [LeFevre, DeWitt, Ramakrishnan 2005]: find all nodes that meet the conditions, by ever larger
sets of attributes.

Two rules cut the search:

    roll-up    when a node holds, so does every more general one
    subset     when a node does not hold for some attributes, none with the same levels and more attributes does

Nodes above one that failed stay candidates. To leave an attribute out is to raise it to its root,
so the second rule is the first one in the whole lattice. Where nodes do not roll up (docs/claims/full-domain.md)
neither rule is used, and every node is counted. Of all nodes the one that loses least is taken.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.methods.full_domain import FullDomain
from tacita.anonymize.methods.grouping import impossible
from tacita.anonymize.methods.lattice import Lattice, Node, above

__all__ = ["Incognito"]

Passing = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Incognito(FullDomain):
    """All nodes, then least loss."""

    method: ClassVar[str] = "incognito"
    summary: ClassVar[str] = "all full-domain recodings that hold, then the least loss"

    def choose(self, lattice: Lattice) -> Node:
        """The node to take."""
        best = lattice.cheapest(self.holding(lattice))
        if best is None:
            raise impossible(lattice.grouping.conditions)
        return best

    def holding(self, lattice: Lattice) -> Passing:
        """Mark the nodes of the whole lattice that meet the conditions."""
        if not lattice.grouping.rolls_up:
            found = np.zeros(lattice.heights.shape, np.bool_)
            for node in lattice.nodes():
                found[node] = lattice.holds(node)
            return found
        attributes = range(len(lattice.top))
        smaller: dict[Node, Passing] = {}
        for size in range(1, len(lattice.top) + 1):
            smaller = {chosen: _held(lattice, chosen, smaller) for chosen in itertools.combinations(attributes, size)}
        return smaller[tuple(attributes)]


def _held(lattice: Lattice, chosen: Node, smaller: dict[Node, Passing]) -> Passing:
    """Mark the levels of the chosen attributes that meet the conditions, with the others at their roots."""
    lattice_size = lattice.heights.shape
    candidates = np.ones([lattice_size[j] for j in chosen], np.bool_)
    for place in range(len(chosen)):
        rest = chosen[:place] + chosen[place + 1 :]
        if rest:
            candidates &= np.expand_dims(smaller[rest], place)
    found = np.zeros_like(candidates)
    levels = np.argwhere(candidates)
    for part in levels[np.argsort(levels.sum(axis=1), kind="stable")].tolist():
        if found[tuple(part)]:
            continue
        node = list(lattice.top)
        for j, level in zip(chosen, part, strict=True):
            node[j] = level
        if lattice.holds(tuple(node)):
            found[above(tuple(part))] = True
    return found
