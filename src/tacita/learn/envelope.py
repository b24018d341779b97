"""Envelope of every released model, and the base of models with a feature map."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tacita.domain import Domain
from tacita.learn.feature_map import Array, FeatureMap
from tacita.privacy.event import Event
from tacita.tables.envelope import Envelope

__all__ = ["MODEL", "Designed", "ModelEnvelope", "likeliest", "softmax"]

MODEL = "The model, and all that is predicted with it, is"
"""Subject and verb of the statement of a model."""


def softmax(scores: Array) -> Array:
    """Shares of the classes of each row, from the logarithms of their odds."""
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def likeliest(domain: Domain, target: str, shares: Array) -> pa.Array:
    """The label of the class with the largest share of each row; null where shares are no numbers."""
    labels = np.array(domain[target].all_labels)
    absent = np.isnan(shares).any(axis=1)
    return pa.array(labels[np.nan_to_num(shares).argmax(axis=1)], mask=absent)


@dataclass(frozen=True, kw_only=True, eq=False)
class ModelEnvelope(Envelope):
    """The part that all models share; their plain data has the guarantee in words."""

    released: ClassVar[str] = MODEL

    event: Event = field(repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"tacita": self.mark} | self.parts() | {"statement": self.statement()} | self.paid()


@dataclass(frozen=True, kw_only=True, eq=False)
class Designed(ModelEnvelope):
    """A model that takes rows as a design makes them.

    Attributes:
        design: Map from a row to columns from -1 to 1.
    """

    design: FeatureMap = field(repr=False)

    @property
    def domain(self) -> Domain:
        """The public schema of features and target."""
        return self.design.domain

    @property
    def features(self) -> tuple[str, ...]:
        """Attributes that it predicts from."""
        return self.design.features

    @property
    def target(self) -> str:
        """Attribute that it predicts."""
        return self.design.target

    def in_units(self, scores: Array) -> Array:
        """Numbers in units of the target; scores of -1 and 1 are its bounds."""
        low, high = self.design.target_ends
        return np.asarray((low + high) / 2 + (high - low) / 2 * scores)
