"""Base of models with a feature map: names of features and target, and conversion of scores to units of the target."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tacita.domain import Domain
from tacita.learn.envelope import ModelEnvelope
from tacita.learn.feature_map import Array, FeatureMap

__all__ = ["Designed"]


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
