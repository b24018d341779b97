"""Distance of counted pairs from independence, and from what a third attribute explains: in rows.

    D_ab = 1/2 sum over cells |n_ab - n_a n_b / n|
    E_ab = the least of D_ab and, over all other attributes c, 1/2 sum |n_ab - sum over levels of c of n_ac n_cb / m_c|

with m_c the number of rows with this level of c, as the table counts it that has most of them. In a tree every pair
that is no edge is explained by an attribute on the path between its ends. So the mean of E over the pairs that are no
edges of the best tree says what a tree cannot hold, before any tree is chosen.

Sensitivity: one more or one fewer row moves each D and each E by at most 2. The row is in one level of c, and moves its
             product u v' / m by at most 3 in all, where u and v are its counts with a and b:
                 both move, and m:   |u| |v| / (m (m + 1)) + (|u| + |v| + 1) / (m + 1) <= 3
                 fewer of them do:   terms of this sum are 0, or m is divided by instead of m + 1 and at least |u| + 1
             With 1 for n_ab that is 4, and half of it 2. A minimum and a mean move no further than what they are of.
Cost:        a product of matrices for each attribute, of all levels with all levels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.models.chow_liu import chow_liu

__all__ = ["MOVES", "TYPICAL_ROWS", "dependence", "mean_of_rest", "mean_of_tree", "typical_dependence", "unexplained"]

MOVES = 2
"""Most that one row moves D or E of a pair."""
TYPICAL_ROWS = 10_000
"""Assumed where their number is not public."""

Pair = tuple[str, str]
Matrix = NDArray[np.float64]


def dependence(table: NDArray[Any]) -> float:
    """Rows of a table of counts that independence of its attributes does not explain: D."""
    total = float(table.sum())
    if total <= 0:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    return float(np.abs(table - expected).sum()) / 2


def typical_dependence(columns: int, cells: float) -> float:
    """Mean of D over the pairs of typical data, as a share of rows: so many columns, and cells of a pair."""
    return float(0.08 * cells**0.3 * columns**-0.55)


def unexplained(names: Sequence[str], tables: Mapping[Pair, NDArray[Any]]) -> dict[Pair, float]:
    """Rows of each pair that neither independence nor one other attribute explains: E.

    Args:
        names: At least two attributes.
        tables: Counts of all pairs, in the order of the names.
    """
    counts, starts = _joined(names, tables)
    ends = [*starts[1:].tolist(), len(counts)]
    best = np.full((len(names), len(names)), math.inf)
    for place, (start, end) in enumerate(zip(starts, ends, strict=True)):
        with_it = counts[:, start:end]
        rows = np.maximum(np.add.reduceat(with_it, starts, axis=0).max(axis=0), 1.0)
        left = np.abs(counts - (with_it / rows) @ with_it.T)
        found = np.add.reduceat(np.add.reduceat(left, starts, axis=0), starts, axis=1) / 2
        found[place, :] = found[:, place] = math.inf  # an attribute explains no pair of its own
        np.minimum(best, found, out=best)
    at = {name: place for place, name in enumerate(names)}
    return {pair: min(dependence(table), float(best[at[pair[0]], at[pair[1]]])) for pair, table in tables.items()}


def _joined(names: Sequence[str], tables: Mapping[Pair, NDArray[Any]]) -> tuple[Matrix, NDArray[np.intp]]:
    """All tables as one matrix with a row and a column for each level, 0 for an attribute with itself; first rows."""
    sizes = {name: size for pair, table in tables.items() for name, size in zip(pair, table.shape, strict=True)}
    starts = np.cumsum([0, *(sizes[name] for name in names)])
    first = dict(zip(names, starts.tolist(), strict=False))
    counts = np.zeros((int(starts[-1]), int(starts[-1])))
    for (one, other), table in tables.items():
        rows, columns = (slice(first[name], first[name] + sizes[name]) for name in (one, other))
        counts[rows, columns], counts[columns, rows] = table, table.T
    return counts, starts[:-1]


def mean_of_tree(names: Sequence[str], each: Mapping[Pair, float]) -> float:
    """Mean weight of the edges of the spanning tree with the largest sum.

    Args:
        names: At least two attributes.
        each: Weight of each pair.
    """
    parents = chow_liu(names, lambda one, other: each[one, other], least=-math.inf)
    edges = [(name, above[0]) for name, above in parents.items() if above]
    return sum(each[edge] if edge in each else each[edge[::-1]] for edge in edges) / len(edges)


def mean_of_rest(names: Sequence[str], each: Mapping[Pair, float]) -> float:
    """Sum of all weights but those of that tree, over the number of all pairs."""
    return max(sum(each.values()) - (len(names) - 1) * mean_of_tree(names, each), 0.0) / len(each)
