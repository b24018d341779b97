"""Loss of a node of the lattice: the figure that full-domain methods minimise.

    gcp             mean loss of a cell as its label says it: (leaves below - 1)/(leaves - 1); 1 for a suppressed cell
    precision       mean level over height [Sweeney 2002]; 1 for a suppressed cell
    entropy         non-uniform entropy over what suppressing everything loses [Gionis, Tassa 2009]
    discernibility  sum of squared class sizes, plus the whole table for each suppressed row [Bayardo, Agrawal 2005]

A row loses more, the higher its node, and most when it is suppressed. So the loss of all rows at a node when none is
suppressed is the least that any node above it can lose (`bound`), although the loss itself may fall on the way up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.hierarchies.hierarchy import Tree
from tacita.anonymize.loss import discernibility
from tacita.anonymize.methods.grouping import Grouping, Groups
from tacita.errors import InvalidInput

__all__ = ["Cells", "NodeLoss", "cells_of", "check_loss", "cost_of"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NodeLoss = Literal["gcp", "precision", "entropy", "discernibility"]


def check_loss(loss: str) -> None:
    """Refuse what is no loss."""
    if loss not in ("gcp", "precision", "entropy", "discernibility"):
        raise InvalidInput("must be gcp, precision, entropy or discernibility", field="loss", value=loss)


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """The loss of cells, in shares of the worst total.

    Attributes:
        levels: For each attribute, level and code, what a cell loses.
        gone: For each attribute and code, what a suppressed cell loses.
    """

    levels: tuple[Floats, ...]
    gone: tuple[Floats, ...]


def cells_of(grouping: Grouping, loss: NodeLoss) -> Cells | None:
    """The loss of cells; None for discernibility, which is not about cells."""
    if loss == "discernibility":
        return None
    levels: list[Floats] = []
    gone: list[Floats] = []
    distinct, total = grouping.distinct, max(int(grouping.rows.sum()), 1)
    for axis, tree, counts in zip(distinct.axes, distinct.trees, grouping.counts, strict=True):
        height = 1 if tree is None else tree.levels - 1
        table = np.zeros((height + 1, len(axis)))
        lost = np.ones(len(axis))
        for level in range(height + 1):
            if loss == "precision":
                table[level] = level / max(height, 1)
            elif loss == "entropy":
                covered = _covered(counts, _nodes(tree, len(axis), level))
                table[level] = np.log(np.maximum(covered, 1) / np.maximum(counts, 1))
            elif tree is not None:
                table[level] = tree.loss(tree.ancestors[:, height - level])
            else:
                table[level] = float(level > 0 and len(axis) > 1)
        if loss == "entropy":
            lost = np.log(total / np.maximum(counts, 1))
        levels.append(table)
        gone.append(lost)
    most = sum(float(lost @ counts) for lost, counts in zip(gone, grouping.counts, strict=True))  # of suppressing all
    scale = most if most > 0 else 1.0
    return Cells(levels=tuple(table / scale for table in levels), gone=tuple(lost / scale for lost in gone))


def _nodes(tree: Tree | None, size: int, level: int) -> Ints:
    """A number for the node that each code is raised to."""
    if tree is None:
        return np.arange(size) if level == 0 else np.zeros(size, np.int64)
    return tree.ancestors[:, tree.levels - 1 - level].astype(np.int64)


def _covered(counts: Floats, nodes: Ints) -> Floats:
    """Rows below the node of each code."""
    return np.bincount(nodes, weights=counts).astype(np.float64)[nodes]


def cost_of(
    grouping: Grouping, groups: Groups, chosen: Sequence[Floats] | None, gone: Sequence[Floats] | None
) -> tuple[float, float]:
    """The loss of groups of which those that are no class are suppressed; and the same if nothing were suppressed.

    Args:
        grouping: The people.
        groups: Groups of rows.
        chosen: For each attribute, what a cell of each code loses; None for discernibility.
        gone: The same when it is suppressed.
    """
    if chosen is None or gone is None:
        whole = float((groups.rows**2).sum())
        return float(discernibility(groups.rows[groups.good], groups.suppressed)), whole
    bad = np.flatnonzero(~groups.good[groups.of])
    rows, codes = grouping.rows[bad], grouping.distinct.codes[bad]
    whole = sum(float(counts @ cells) for counts, cells in zip(grouping.counts, chosen, strict=True))
    more = sum(
        float(rows @ (lost - cells)[codes[:, j]]) for j, (cells, lost) in enumerate(zip(chosen, gone, strict=True))
    )
    return whole + more, whole
