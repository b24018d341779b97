"""Datafly [Sweeney 1997]: raise the attribute with the most distinct values, until few rows are left to suppress.

A group is a class when it has k people or more, and the attribute is chosen by how many values it has (not by their
spread). Fast, and it ignores the loss: it tends to raise too far. Where conditions other than k make a higher node
suppress more, it goes on all the same, so it may miss nodes that would do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacita.anonymize.methods.full_domain import FullDomain
from tacita.anonymize.methods.grouping import impossible
from tacita.anonymize.methods.lattice import Lattice, Node

__all__ = ["Datafly"]


@dataclass(frozen=True, kw_only=True)
class Datafly(FullDomain):
    """The heuristic; `loss` plays no part in it."""

    method: ClassVar[str] = "datafly"
    summary: ClassVar[str] = "raise the column with most values until few rows are left to suppress; fast, loses most"

    def choose(self, lattice: Lattice) -> Node:
        """The first node on its way up that holds; of attributes with as many values the first is raised."""
        node = (0,) * len(lattice.top)
        while not lattice.holds(node):
            lower = [j for j, level in enumerate(node) if level < lattice.top[j]]
            if not lower:
                raise impossible(lattice.grouping.conditions)
            chosen = max(lower, key=lambda j: (lattice.distinct(j, node[j]), -j))
            node = tuple(level + (j == chosen) for j, level in enumerate(node))
        return node
