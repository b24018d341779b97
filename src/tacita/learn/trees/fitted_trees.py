"""Released trees: splits, shares of classes in leaves, and their cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.figures.bars import estimate_bars
from tacita.figures.charts import Interval
from tacita.learn.envelope import ModelEnvelope, likeliest
from tacita.learn.feature_map import Array
from tacita.learn.trees.splitting import Codes, Split
from tacita.tables.tabular import Tabular

__all__ = ["FittedTrees", "Tree"]


@dataclass(frozen=True, eq=False)
class Tree:
    """A full tree: the splits level by level, and shares of classes of each leaf."""

    splits: tuple[Split, ...]
    shares: Array

    def leaves(self, codes: Codes) -> Codes:
        """The leaf of each row."""
        node = np.zeros(len(codes), np.int64)
        start, nodes = 0, 1
        while start < len(self.splits):
            goes = np.empty(len(codes), np.int64)
            for each in range(nodes):
                inside = node == each
                goes[inside] = 1 - self.splits[start + each].left(codes[inside]).astype(np.int64)
            node = 2 * node + goes
            start, nodes = start + nodes, 2 * nodes
        return node


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedTrees(ModelEnvelope, Tabular):
    """Released trees. A row with an out-of-domain value goes right at each split on that attribute."""

    mark: ClassVar[str] = "trees/1"

    domain: Domain = field(repr=False)
    features: tuple[str, ...]
    target: str
    trees: tuple[Tree, ...] = field(repr=False)

    def __post_init__(self) -> None:
        for tree in self.trees:
            if tree.shares.shape != (len(tree.splits) + 1, len(self.classes)) or not np.isfinite(tree.shares).all():
                raise InvalidInput("must have a share of each class in each leaf", field="trees")

    @property
    def kind(self) -> str:
        """Its name in `learn.models.KINDS`."""
        return "trees"

    @property
    def classes(self) -> tuple[str, ...]:
        """The levels of the target."""
        return self.domain[self.target].all_labels

    def to_arrow(self) -> pa.Table:
        """One row for each split: tree, place in the tree, attribute, and the rows that go left."""
        rows = [
            (number, place, self.features[split.feature], self._goes_left(split))
            for number, tree in enumerate(self.trees, start=1)
            for place, split in enumerate(tree.splits, start=1)
        ]
        names = ("tree", "split", "attribute", "goes_left")
        return pa.table([list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 4, names=list(names))

    def _goes_left(self, split: Split) -> str:
        labels = self.domain[self.features[split.feature]].all_labels
        return f"{'equal to' if split.equal else 'below'} {labels[split.at]}"

    def chart(self) -> str:
        """Draw how often each attribute splits."""
        used = Counter(self.features[split.feature] for tree in self.trees for split in tree.splits)
        rows = [Interval(label=name, value=float(used[name])) for name in self.features]
        return estimate_bars(rows, title=f"splits by attribute, for {self.target}")

    def probabilities(self, rows: pa.Table | pa.RecordBatch) -> Array:
        """Shares of the classes for each row: the mean over trees."""
        found = self.domain.encode(rows, list(self.features))
        codes = np.stack([found[name].astype(np.int64) for name in self.features], axis=1)
        return np.asarray(np.mean([tree.shares[tree.leaves(codes)] for tree in self.trees], axis=0))

    def predict(self, rows: pa.Table | pa.RecordBatch) -> pa.Array:
        """The likeliest class of each row."""
        return likeliest(self.domain, self.target, self.probabilities(rows))

    def parts(self) -> dict[str, Any]:
        """Fields of the model itself, as plain data."""
        return {
            "domain": self.domain.as_dict(),
            "features": list(self.features),
            "target": self.target,
            "trees": [_plain(tree) for tree in self.trees],
        }

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""
        return {
            "domain": Domain.from_dict(data["domain"]),
            "features": tuple(data["features"]),
            "target": data["target"],
            "trees": tuple(_tree(tree) for tree in data["trees"]),
        }


def _plain(tree: Tree) -> dict[str, Any]:
    return {"splits": [[s.feature, s.at, s.equal] for s in tree.splits], "shares": tree.shares.tolist()}


def _tree(data: Mapping[str, Any]) -> Tree:
    return Tree(splits=tuple(Split(*split) for split in data["splits"]), shares=np.array(data["shares"], float))
