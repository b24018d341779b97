"""Released trees: splits, shares of classes in leaves, and what they cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.learn.design import Array
from tacita.learn.fitted import promise
from tacita.learn.splitting import Codes, Split
from tacita.privacy.event import Event, event_from_dict
from tacita.privacy.unit import Neighbours, Unit
from tacita.release import Provenance

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
class FittedTrees:
    """Released trees. A row with a value that has no place goes right at each split that asks for it."""

    domain: Domain = field(repr=False)
    features: tuple[str, ...]
    target: str
    trees: tuple[Tree, ...] = field(repr=False)
    event: Event = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    provenance: Provenance = field(repr=False)

    def statement(self) -> str:
        """What is promised, in words."""
        return promise(self.event, self.provenance, self.unit, self.neighbours)

    def probabilities(self, rows: pa.Table | pa.RecordBatch) -> Array:
        """Shares of the classes for each row: the mean over trees."""
        found = self.domain.encode(rows, list(self.features))
        codes = np.stack([found[name].astype(np.int64) for name in self.features], axis=1)
        return np.asarray(np.mean([tree.shares[tree.leaves(codes)] for tree in self.trees], axis=0))

    def predict(self, rows: pa.Table | pa.RecordBatch) -> pa.Array:
        """The likeliest class of each row."""
        labels = np.array(self.domain[self.target].all_labels)
        return pa.array(labels[self.probabilities(rows).argmax(axis=1)])

    def with_charge(self, charge: str, dataset: str | None) -> FittedTrees:
        """The same, naming the ledger's charge that paid for it."""
        return replace(self, provenance=replace(self.provenance, charge=charge, dataset=dataset))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tacita": "trees/1",
            "domain": self.domain.as_dict(),
            "features": list(self.features),
            "target": self.target,
            "trees": [_plain(tree) for tree in self.trees],
            "statement": self.statement(),
            "event": self.event.as_dict(),
            "unit": self.unit.as_dict(),
            "neighbours": str(self.neighbours),
            "provenance": self.provenance.as_dict(),
        }

    def to_json(self) -> str:
        """All of it as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> FittedTrees:
        """What `to_json` wrote."""
        data = json.loads(text)
        if data.get("tacita") != "trees/1":
            raise InvalidInput("must be `trees/1`", field="tacita", value=data.get("tacita"))
        return cls(
            domain=Domain.from_dict(data["domain"]),
            features=tuple(data["features"]),
            target=data["target"],
            trees=tuple(_tree(tree) for tree in data["trees"]),
            event=event_from_dict(data["event"]),
            unit=Unit.from_dict(data["unit"]),
            neighbours=Neighbours(data["neighbours"]),
            provenance=Provenance(**data["provenance"]),
        )


def _plain(tree: Tree) -> dict[str, Any]:
    return {"splits": [[s.feature, s.at, s.equal] for s in tree.splits], "shares": tree.shares.tolist()}


def _tree(data: Mapping[str, Any]) -> Tree:
    return Tree(splits=tuple(Split(*split) for split in data["splits"]), shares=np.array(data["shares"], float))
