"""Decision trees: a row falls to a leaf and takes a value of those who are there.   [Reiter 2005; Caiola, Reiter 2010]

    Cart     one tree on rows that are weighted anew in each release (Bayesian bootstrap), as its leaves' values are
    Forest   trees whose rows are weighted each in its own way besides; each row falls down a tree drawn at random

Numbers are smoothed, so that no extreme value leaves as it is: a Gaussian of the leaf's spread times 1.06 n^-1/5 is
added, then all is drawn towards the mean so that the leaf's variance stays. A leaf whose values are all equal gives
that value, which at least `least` rows share: weights, unlike a bootstrap, never repeat a row.

The published forest draws numbers from the means of its trees' leaves. Means differ far less than values do, unless
leaves hold one row, whose value then leaves as it is. Here a tree is drawn, then a value of its leaf; for classes that
is the mean of the trees' shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.synthesize.imputation.backend import Drawer, Target

__all__ = ["Cart", "Forest"]

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Cart:
    """One tree.

    Args:
        least: Fewest rows in a leaf.
    """

    least: int = 5

    def __post_init__(self) -> None:
        check.whole(self.least, "least", least=1)

    def fit(self, features: Array, values: Array, target: Target, rng: np.random.Generator) -> Drawer:
        """A tree on rows with weights of their own."""
        return _Tree(features, values, rng.exponential(size=values.size), target, self.least, None, rng).draw

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"backend": "cart", "least": self.least}


@dataclass(frozen=True, kw_only=True)
class Forest:
    """Several trees, each on some of the features at every split.

    Args:
        trees: Number of trees.
        least: Fewest rows in a leaf.
    """

    trees: int = 50
    least: int = 5

    def __post_init__(self) -> None:
        for name in ("trees", "least"):
            check.whole(getattr(self, name), name, least=1)

    def fit(self, features: Array, values: Array, target: Target, rng: np.random.Generator) -> Drawer:
        """Trees with weights on top of weights: the common ones differ between releases, the others even out."""
        common, some = rng.exponential(size=values.size), max(1, features.shape[1] // 3)
        trees = []
        for _ in range(self.trees):
            weights = common * rng.exponential(size=values.size)
            trees.append(_Tree(features, values, weights, target, self.least, some, rng))

        def draw(rows: Array, rng: np.random.Generator) -> Array:
            which, drawn = rng.integers(0, len(trees), len(rows)), np.empty(len(rows))
            for place, tree in enumerate(trees):
                mine = which == place
                if mine.any():
                    drawn[mine] = tree.draw(rows[mine], rng)
            return drawn

        return draw

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"backend": "forest", "trees": self.trees, "least": self.least}


class _Tree:
    """A fitted tree with the values of each leaf and their weights."""

    def __init__(
        self,
        features: Array,
        values: Array,
        weights: Array,
        target: Target,
        least: int,
        some: int | None,
        rng: np.random.Generator,
    ) -> None:
        from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

        kind = DecisionTreeRegressor if target.number else DecisionTreeClassifier
        made = kind(min_samples_leaf=least, max_features=some, random_state=int(rng.integers(1 << 31)))
        self._tree, self._target = made.fit(features, values, sample_weight=weights), target
        leaves = self._tree.apply(features)
        order = np.argsort(leaves, kind="stable")
        self._values = values[order]
        self._heights = np.concatenate([[0.0], np.cumsum(weights[order])])
        counts = np.bincount(leaves, minlength=self._tree.tree_.node_count)
        self._end = np.cumsum(counts)
        self._start = self._end - counts
        if target.number:
            held = np.maximum(counts, 1)
            self._mean = np.bincount(leaves, values, counts.size) / held
            self._std = np.sqrt(np.bincount(leaves, (values - self._mean[leaves]) ** 2, counts.size) / held)
            self._band = 1.06 * held**-0.2

    def draw(self, rows: Array, rng: np.random.Generator) -> Array:
        leaves = self._tree.apply(rows)
        low, high = self._heights[self._start[leaves]], self._heights[self._end[leaves]]
        places = np.searchsorted(self._heights, low + rng.random(len(rows)) * (high - low), side="right") - 1
        drawn = self._values[np.clip(places, self._start[leaves], self._end[leaves] - 1)]
        if not self._target.number:
            return np.asarray(drawn)
        mean, band = self._mean[leaves], self._band[leaves]
        smooth = drawn - mean + band * self._std[leaves] * rng.standard_normal(len(rows))
        return self._target.inside(mean + smooth / np.sqrt(1 + band**2))
