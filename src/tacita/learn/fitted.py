"""A released linear or logistic model: coefficients, what they cost, and what it took to get them."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.errors import InvalidInput
from tacita.learn.design import Array, Design
from tacita.learn.logistic import probabilities
from tacita.privacy.event import Event, NonPrivate, event_from_dict
from tacita.privacy.unit import Neighbours, Unit
from tacita.release import Provenance

__all__ = ["FittedModel", "promise"]


def promise(event: Event, provenance: Provenance, unit: Unit, neighbours: Neighbours) -> str:
    """What is promised about a model, in words."""
    if isinstance(event, NonPrivate):
        return f"No guarantee: {event.reason}."
    if provenance.simulated:
        return "The model is simulated: NOT private, its noise can be repeated."
    return f"The model is private, and so is whatever is predicted with it; protected is a {unit} under {neighbours}."


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedModel:
    """A line for a number, or for the odds of the second of two levels.

    Attributes:
        design: How a row becomes columns from -1 to 1.
        coefficients: One for each column of the design.
        intercept: What is predicted where all columns are 0, with the target from -1 to 1.
        method: What fitted it, and why that.
        notes: What the method says: for moments, whether they had to be made convex.
        event, unit, neighbours: What it cost, who is protected, against what change.
        provenance: Recipe, versions, time, charge; `simulated` when the noise could be repeated.
    """

    design: Design = field(repr=False)
    coefficients: Array
    intercept: float
    method: str
    why: str
    notes: Mapping[str, Any]
    event: Event = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    provenance: Provenance = field(repr=False)

    def statement(self) -> str:
        """What is promised, in words."""
        return promise(self.event, self.provenance, self.unit, self.neighbours)

    # -- in the units of the data -----------------------------------------------------------------------------------

    @property
    def named(self) -> dict[str, float]:
        """Coefficients by column, in units of the target for a unit of the feature; of the log odds if logistic."""
        half = (self.design.ends[:, 1] - self.design.ends[:, 0]) / 2
        return dict(zip(self.design.names, (self.coefficients * self._half / half).tolist(), strict=True))

    @property
    def at_zero(self) -> float:
        """What is predicted where all features are 0, in units of the target."""
        ends = self.design.ends
        half, middle = (ends[:, 1] - ends[:, 0]) / 2, ends.mean(axis=1)
        low, high = self.design.target_ends
        lift = 0.0 if self.design.task == "logistic" else (low + high) / 2
        return lift + self._half * (self.intercept - float((self.coefficients * middle / half).sum()))

    @property
    def _half(self) -> float:
        low, high = self.design.target_ends
        return 1.0 if self.design.task == "logistic" else (high - low) / 2

    # -- predicting -------------------------------------------------------------------------------------------------

    def scores(self, rows: pa.Table | pa.RecordBatch) -> Array:
        """The number that is predicted, or the log odds; NaN for a row that lacks a number."""
        x, _ = self.design.matrix(rows)
        score = x @ self.coefficients + self.intercept
        if self.design.task == "logistic":
            return np.asarray(score)
        low, high = self.design.target_ends
        return np.asarray((low + high) / 2 + self._half * score)

    def probabilities(self, rows: pa.Table | pa.RecordBatch) -> Array:
        """The probability of the second level."""
        if self.design.task != "logistic":
            raise InvalidInput("a linear model has no probabilities", field="task", value=self.design.task)
        return probabilities(self.scores(rows))

    def predict(self, rows: pa.Table | pa.RecordBatch) -> pa.Array:
        """A number within the public bounds, or a level; null for a row that lacks a number."""
        score = self.scores(rows)
        absent = np.isnan(score)
        if self.design.task == "linear":
            return pa.array(np.clip(score, *self.design.target_ends), mask=absent)
        labels = np.array(self.design.domain[self.design.target].labels)
        return pa.array(labels[(np.nan_to_num(score) > 0).astype(int)], mask=absent)

    # -- plain data -------------------------------------------------------------------------------------------------

    def with_charge(self, charge: str, dataset: str | None) -> FittedModel:
        """The same, naming the ledger's charge that paid for it."""
        return replace(self, provenance=replace(self.provenance, charge=charge, dataset=dataset))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tacita": "fitted/1",
            "design": self.design.as_dict(),
            "coefficients": self.coefficients.tolist(),
            "intercept": self.intercept,
            "method": self.method,
            "why": self.why,
            "notes": {name: _plain(value) for name, value in self.notes.items()},
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
    def from_json(cls, text: str) -> FittedModel:
        """What `to_json` wrote."""
        data = json.loads(text)
        if data.get("tacita") != "fitted/1":
            raise InvalidInput("must be `fitted/1`", field="tacita", value=data.get("tacita"))
        return cls(
            design=Design.from_dict(data["design"]),
            coefficients=np.array(data["coefficients"], float),
            intercept=data["intercept"],
            method=data["method"],
            why=data["why"],
            notes=data["notes"],
            event=event_from_dict(data["event"]),
            unit=Unit.from_dict(data["unit"]),
            neighbours=Neighbours(data["neighbours"]),
            provenance=Provenance(**data["provenance"]),
        )


def _plain(value: Any) -> Any:
    """A number that JSON can hold; what is infinite is none."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
