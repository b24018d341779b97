"""The lattice of full-domain recodings: for each quasi-identifier the level that all its values are raised to.

A node is one level for each attribute: 0 leaves values as they are, the highest is the root of the hierarchy. An
attribute without a hierarchy has two levels, its values and `*`. The height of a node is the sum of its levels. Nodes
are counted on distinct combinations, once each.

Privacy: groups that do not hold the conditions are suppressed, within the budget, or the node is not taken; what leaves
is counted again by the caller. docs/claims/full-domain.md says which nodes may be skipped.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.hierarchies.hierarchy import ROOT
from tacita.anonymize.methods.grouping import Grouping, Labels, impossible, words_of
from tacita.anonymize.methods.node_loss import Cells, NodeLoss, cells_of, cost_of
from tacita.anonymize.quasi import DistinctRows
from tacita.errors import InvalidInput
from tacita.tables.recoding import Recoding

__all__ = ["MOST_NODES", "Lattice", "Node", "Seen", "above", "below"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Node = tuple[int, ...]
MOST_NODES = 5_000_000
"""Larger lattices are refused: they are held as an array."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Result at a node.

    Attributes:
        suppressed: Rows that have to be suppressed.
        cost: Its loss.
        bound: The least that any node above it, or itself, can lose.
    """

    suppressed: int
    cost: float
    bound: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Lattice:
    """All nodes for some people, conditions, budget and loss."""

    grouping: Grouping
    loss: NodeLoss = "gcp"
    _seen: dict[Node, Seen] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, distinct: DistinctRows, conditions: Conditions, *, budget: int = 0, loss: NodeLoss = "gcp") -> Lattice:
        """Return the lattice of some rows."""
        return cls(grouping=Grouping(distinct=distinct, conditions=conditions, budget=budget), loss=loss)

    # -- nodes ----------------------------------------------------------------------------------------------------

    @cached_property
    def top(self) -> Node:
        """The root of every attribute."""
        return tuple(1 if tree is None else tree.levels - 1 for tree in self.grouping.distinct.trees)

    @cached_property
    def shape(self) -> Node:
        """Number of levels of each attribute."""
        return tuple(level + 1 for level in self.top)

    @cached_property
    def heights(self) -> Ints:
        """The height of every node, as an array with a dimension for each attribute."""
        size = int(np.prod(self.shape, dtype=np.float64))
        if size > MOST_NODES:
            raise InvalidInput(
                f"the lattice has more than {MOST_NODES:,} nodes",
                field="hierarchies",
                value=size,
                hint="Give fewer levels or quasi-identifiers, or use datafly or mondrian",
            )
        return np.asarray(reduce(np.add.outer, [np.arange(levels) for levels in self.shape]))

    def nodes_at(self, height: int) -> Iterator[Node]:
        """All nodes of a height, in the order of their levels."""
        for levels in np.argwhere(self.heights == height).tolist():
            yield tuple(levels)

    def nodes(self) -> Iterator[Node]:
        """All nodes."""
        return itertools.product(*(range(levels) for levels in self.shape))

    # -- what a node does -----------------------------------------------------------------------------------------

    @cached_property
    def _becomes(self) -> tuple[tuple[Ints, ...], ...]:
        """For each attribute and level, the number that each code becomes."""
        found: list[tuple[Ints, ...]] = []
        for axis, tree in zip(self.grouping.distinct.axes, self.grouping.distinct.trees, strict=True):
            if tree is None:
                found.append((np.arange(len(axis)), np.zeros(len(axis), np.int64)))
                continue
            levels = [np.unique(tree.ancestors[:, level], return_inverse=True)[1] for level in range(tree.levels)]
            found.append(tuple(numbers.reshape(-1).astype(np.int64) for numbers in reversed(levels)))
        return tuple(found)

    def _texts(self, j: int, level: int) -> list[str]:
        axis, tree = self.grouping.distinct.axes[j], self.grouping.distinct.trees[j]
        if tree is not None:
            return [tree.labels[node] for node in np.unique(tree.ancestors[:, tree.levels - 1 - level])]
        return words_of(axis, np.arange(len(axis))) if level == 0 else [ROOT]

    @cached_property
    def cells(self) -> Cells | None:
        """Loss of cells; None for discernibility."""
        return cells_of(self.grouping, self.loss)

    def distinct(self, j: int, level: int) -> int:
        """Number of values of an attribute at a level."""
        return int(self._becomes[j][level].max(initial=-1)) + 1

    def look(self, node: Node) -> Seen:
        """Evaluate a node; counted once."""
        if node not in self._seen:
            groups = self.grouping.groups([self._becomes[j][level] for j, level in enumerate(node)])
            chosen = None if self.cells is None else [self.cells.levels[j][level] for j, level in enumerate(node)]
            gone = None if self.cells is None else self.cells.gone
            cost, bound = cost_of(self.grouping, groups, chosen, gone)
            self._seen[node] = Seen(suppressed=groups.suppressed, cost=cost, bound=bound)
        return self._seen[node]

    def holds(self, node: Node) -> bool:
        """Whether no more than the budget has to be suppressed."""
        return self.look(node).suppressed <= self.grouping.budget

    def check(self) -> None:
        """Refuse what no node can hold; only to be asked where nodes roll up."""
        if not self.holds(self.top):
            raise impossible(self.grouping.conditions)

    @property
    def looked(self) -> int:
        """Number of nodes that were counted."""
        return len(self._seen)

    def recoding(self, node: Node, labels: Labels = "level") -> Recoding:
        """The recoding that a node means."""
        becomes = [self._becomes[j][level] for j, level in enumerate(node)]
        texts = [self._texts(j, level) for j, level in enumerate(node)]
        return self.grouping.recoding(self.grouping.groups(becomes), becomes, texts, labels)

    # -- the least loss -------------------------------------------------------------------------------------------

    @cached_property
    def bounds(self) -> Floats:
        """For every node the least that it or a node above it can lose, before anything is counted."""
        if self.cells is None:
            return np.zeros(self.shape)
        sums = [table @ counts for table, counts in zip(self.cells.levels, self.grouping.counts, strict=True)]
        return np.asarray(reduce(np.add.outer, sums))

    def cheapest(self, allowed: NDArray[np.bool_]) -> Node | None:
        """The node that holds and loses least, of those that are allowed; the first in order of levels if several do.

        Branch and bound: nodes in the order of what they lose at least, until that is more than was found.
        """
        places = np.flatnonzero(allowed)
        order = places[np.lexsort((self.heights.reshape(-1)[places], self.bounds.reshape(-1)[places]))]
        beaten = np.zeros(self.shape, np.bool_)
        best: tuple[float, Node] | None = None
        for place in order.tolist():
            node = tuple(int(level) for level in np.unravel_index(place, self.shape))
            if best is not None and self.bounds[node] > best[0] * (1 + 1e-12):
                break
            if beaten[node]:
                continue
            seen = self.look(node)
            if best is not None and seen.bound > best[0]:
                beaten[above(node)] = True
            elif seen.suppressed <= self.grouping.budget and (best is None or (seen.cost, node) < best):
                best = (seen.cost, node)
        return None if best is None else best[1]


def above(node: Node) -> tuple[slice, ...]:
    """A node and all that are more general."""
    return tuple(slice(level, None) for level in node)


def below(node: Node) -> tuple[slice, ...]:
    """A node and all that are more specific."""
    return tuple(slice(None, level + 1) for level in node)
