"""Splits of coded rows, their scores, and how a tree grows by whatever chooses among them.

    score(split) = sum over its two sides of  sum_k n_k^2 / n        n_k rows of class k: Gini, times n

Sensitivity:  adding or removing a row moves a score by at most 1, since it changes one side, and there
              f = sum_k n_k^2 / n  changes by  (n (2 n_j + 1) - sum_k n_k^2) / (n (n + 1)),  from -(n-1)/(n+1) to 1.
              Claim: docs/claims/private-trees.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.domain import Binned, Domain, Ordinal
from tacita.learn.feature_map import Array

__all__ = ["Codes", "Split", "grow", "scores_of", "shrink_leaves", "splits_of"]

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Rows go left when their code is below `at`, or is `at` where `equal`."""

    feature: int
    at: int
    equal: bool

    def left(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Rows that go left."""
        column = codes[:, self.feature]
        return np.asarray(column == self.at if self.equal else column < self.at)


def splits_of(domain: Domain, features: tuple[str, ...]) -> tuple[Split, ...]:
    """All splits that the schema allows."""
    found: list[Split] = []
    for place, name in enumerate(features):
        attribute = domain[name]
        ordered = isinstance(attribute, Binned | Ordinal)
        found += [Split(place, at, equal=not ordered) for at in range(int(ordered), attribute.size)]
    return tuple(found)


def scores_of(tables: list[npt.NDArray[Any]], splits: tuple[Split, ...]) -> Array:
    """The score of each split of one node. `tables` has the counts of codes by classes, one for each feature."""
    found = np.empty(len(splits))
    below = [np.concatenate([np.zeros((1, table.shape[1]), table.dtype), table.cumsum(axis=0)]) for table in tables]
    for place, split in enumerate(splits):
        left = tables[split.feature][split.at] if split.equal else below[split.feature][split.at]
        found[place] = _purity(left) + _purity(below[split.feature][-1] - left)
    return found


def _purity(counts: npt.NDArray[Any]) -> float:
    rows = float(counts.sum())
    return float((counts.astype(float) ** 2).sum() / rows) if rows > 0 else 0.0


def grow(
    codes: Codes,
    classes: Codes,
    sizes: list[int],
    kinds: int,
    splits: tuple[Split, ...],
    depth: int,
    best: Callable[[Array], int],
    weights: Array | None = None,
) -> tuple[tuple[Split, ...], npt.NDArray[Any]]:
    """The splits that `best` chooses by their scores, level by level, and the counts of classes in leaves."""
    node = np.zeros(len(codes), np.int64)
    chosen: list[Split] = []

    def count(places: Codes, size: int) -> npt.NDArray[Any]:
        return np.bincount(places, weights=weights, minlength=size)

    for level in range(depth):
        nodes = 1 << level
        tables = [
            count((node * size + column) * kinds + classes, nodes * size * kinds).reshape(nodes, size, kinds)
            for column, size in zip(codes.T, sizes, strict=True)
        ]
        here = [splits[best(scores_of([table[each] for table in tables], splits))] for each in range(nodes)]
        right = np.ones(len(codes), np.int64)
        for each, split in enumerate(here):
            inside = node == each
            right[inside] = 1 - split.left(codes[inside]).astype(np.int64)
        node = 2 * node + right
        chosen += here
    return tuple(chosen), count(node * kinds + classes, (1 << depth) * kinds).reshape(-1, kinds)


def shrink_leaves(leaves: Array, std: float) -> Array:
    """Shares of classes in each leaf: each node counts as so many rows like the node above as its noise is wide."""
    levels = [leaves]
    while len(levels[-1]) > 1:
        levels.append(levels[-1].reshape(len(levels[-1]) // 2, 2, -1).sum(axis=1))
    top = np.clip(levels[-1], 0, None) + 1
    shares = top / top.sum(axis=1, keepdims=True)
    for counts in reversed(levels[:-1]):
        rows = np.clip(counts, 0, None)
        above = np.repeat(shares, 2, axis=0)
        weight = 2 * std + 1
        shares = (rows + weight * above) / (rows.sum(axis=1, keepdims=True) + weight)
    return np.asarray(shares)
