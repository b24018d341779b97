"""A released network: its layers, how rows become columns, and what it cost. Predicts without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tacita.errors import InvalidInput
from tacita.learn.envelope import Designed, likeliest, softmax
from tacita.learn.feature_map import Array, FeatureMap
from tacita.learn.neural.layers import Layers

__all__ = ["FittedNetwork"]


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedNetwork(Designed):
    """A network that predicts the class of a row, or a number.

    Attributes:
        layers: Weights and biases.
        notes: How it was trained.
    """

    mark: ClassVar[str] = "network/1"

    layers: Layers
    notes: Mapping[str, Any]

    def __post_init__(self) -> None:
        if (self.layers.inputs, self.layers.outputs) != shape_of(self.design):
            raise InvalidInput("must fit the schema", field="layers", value=[self.layers.inputs, self.layers.outputs])

    @property
    def kind(self) -> str:
        """Its name in `learn.models.KINDS`."""
        return "network"

    @property
    def classes(self) -> tuple[str, ...] | None:
        """The levels of the target; None where it predicts a number."""
        return self.domain[self.target].all_labels if self.design.task == "classes" else None

    def scores(self, rows: pa.Table | pa.RecordBatch) -> Array:
        """Output of the last layer; NaN for a row that lacks a number."""
        return self.layers(self.design.matrix(rows)[0])

    def probabilities(self, rows: pa.Table | pa.RecordBatch) -> Array:
        """The probability of each class of each row."""
        if self.design.task != "classes":
            raise InvalidInput("a number has no probabilities", field="task", value=self.design.task)
        return softmax(self.scores(rows))

    def predict(self, rows: pa.Table | pa.RecordBatch) -> pa.Array:
        """The likeliest class, or a number within the public bounds; null for a row that lacks a number."""
        if self.design.task == "classes":
            return likeliest(self.domain, self.target, self.probabilities(rows))
        score = self.scores(rows)[:, 0]
        return pa.array(np.clip(self.in_units(score), *self.design.target_ends), mask=np.isnan(score))

    def parts(self) -> dict[str, Any]:
        """Fields of the model itself, as plain data."""
        return {"design": self.design.as_dict(), "layers": self.layers.as_list(), "notes": dict(self.notes)}

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""
        layers = Layers.from_list(data["layers"])
        return {"design": FeatureMap.from_dict(data["design"]), "layers": layers, "notes": data["notes"]}


def shape_of(design: FeatureMap) -> tuple[int, int]:
    """Numbers that go in and come out."""
    return design.columns, design.domain[design.target].size if design.task == "classes" else 1
