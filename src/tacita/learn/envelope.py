"""What every released model carries: what it cost, who is protected, where it comes from, and its JSON."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.learn.design import Array
from tacita.privacy.event import Event, NonPrivate, event_from_dict
from tacita.privacy.unit import Neighbours, Unit
from tacita.release import Provenance

__all__ = ["Envelope", "likeliest", "promise"]


def promise(event: Event, provenance: Provenance, unit: Unit, neighbours: Neighbours) -> str:
    """What is promised about a model, in words."""
    if isinstance(event, NonPrivate):
        return f"No guarantee: {event.reason}."
    if provenance.simulated:
        return "The model is simulated: NOT private, its noise can be repeated."
    return f"The model is private, and so is whatever is predicted with it; protected is a {unit} under {neighbours}."


def likeliest(domain: Domain, target: str, shares: Array) -> pa.Array:
    """The label of the class with the largest share of each row; null where shares are no numbers."""
    labels = np.array(domain[target].all_labels)
    absent = np.isnan(shares).any(axis=1)
    return pa.array(labels[np.nan_to_num(shares).argmax(axis=1)], mask=absent)


@dataclass(frozen=True, kw_only=True, eq=False)
class Envelope(ABC):
    """The part that all models share; a model adds `mark`, `parts` and `parts_of`.

    Attributes:
        event, unit, neighbours: What it cost, who is protected, against what change.
        provenance: Recipe, versions, time, charge; `simulated` when the noise could be repeated.
    """

    mark: ClassVar[str]

    event: Event = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    provenance: Provenance = field(repr=False)

    @abstractmethod
    def parts(self) -> dict[str, Any]:
        """What is the model's own, as plain data."""

    @staticmethod
    @abstractmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""

    def statement(self) -> str:
        """What is promised, in words."""
        return promise(self.event, self.provenance, self.unit, self.neighbours)

    def with_charge(self, charge: str, dataset: str | None) -> Self:
        """The same, naming the ledger's charge that paid for it."""
        return replace(self, provenance=replace(self.provenance, charge=charge, dataset=dataset))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        about = {
            "statement": self.statement(),
            "event": self.event.as_dict(),
            "unit": self.unit.as_dict(),
            "neighbours": str(self.neighbours),
            "provenance": self.provenance.as_dict(),
        }
        return {"tacita": self.mark} | self.parts() | about

    def to_json(self) -> str:
        """All of it as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What `to_json` wrote."""
        data = json.loads(text)
        if data.get("tacita") != cls.mark:
            raise InvalidInput(f"must be `{cls.mark}`", field="tacita", value=data.get("tacita"))
        return cls(
            **cls.parts_of(data),
            event=event_from_dict(data["event"]),
            unit=Unit.from_dict(data["unit"]),
            neighbours=Neighbours(data["neighbours"]),
            provenance=Provenance(**data["provenance"]),
        )
