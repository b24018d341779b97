"""Envelope of every released model, and its guarantee in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.domain import Domain
from tacita.learn.feature_map import Array
from tacita.privacy.event import Event, NonPrivate
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.envelope import Envelope
from tacita.tables.release import Provenance

__all__ = ["ModelEnvelope", "likeliest", "promise", "softmax"]


def promise(event: Event, provenance: Provenance, unit: Unit, neighbours: Neighbours) -> str:
    """State the guarantee of a model in words."""
    if isinstance(event, NonPrivate):
        return f"No guarantee: {event.reason}."
    if provenance.simulated:
        return "The model is simulated: NOT private, its noise can be repeated."
    return f"The model is private, and so is whatever is predicted with it; protected is a {unit} under {neighbours}."


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
    """The part that all models share: it also says what is promised."""

    event: Event = field(repr=False)

    def statement(self) -> str:
        """Guarantee in words."""
        return promise(self.event, self.provenance, self.unit, self.neighbours)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"tacita": self.mark} | self.parts() | {"statement": self.statement()} | self.paid()
