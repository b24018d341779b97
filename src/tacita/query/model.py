"""A released model: named arrays of numbers that were read off noisy sums, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.errors import InvalidInput, UnknownName
from tacita.privacy.event import Event, event_from_dict
from tacita.privacy.unit import Neighbours, Unit
from tacita.release import Provenance

__all__ = ["Model"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """Numbers by name over some columns.

    Attributes:
        kind: Which recipe made it.
        columns: The attributes that the last axis of most arrays runs over.
        arrays: The numbers.
        event, unit, neighbours: What it cost, who is protected, against what change.
        provenance: Recipe, versions, time, charge; `simulated` when the noise could be repeated.
    """

    kind: str
    columns: tuple[str, ...]
    arrays: Mapping[str, npt.NDArray[np.float64]]
    event: Event
    unit: Unit
    neighbours: Neighbours
    provenance: Provenance

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        if name not in self.arrays:
            raise UnknownName(name, field="array", available=self.arrays)
        return self.arrays[name]

    def with_charge(self, charge: str, dataset: str) -> Model:
        """The same model, naming what paid for it."""
        return replace(self, provenance=replace(self.provenance, charge=charge, dataset=dataset))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tacita": "model/1",
            "kind": self.kind,
            "columns": list(self.columns),
            "arrays": {name: array.tolist() for name, array in self.arrays.items()},
            "event": self.event.as_dict(),
            "unit": self.unit.as_dict(),
            "neighbours": str(self.neighbours),
            "provenance": self.provenance.as_dict(),
        }

    def to_json(self) -> str:
        """The model as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Model:
        """The model that `to_json` wrote."""
        data = json.loads(text)
        if data.get("tacita") != "model/1":
            raise InvalidInput("must be `model/1`", field="tacita", value=data.get("tacita"))
        return cls(
            kind=data["kind"],
            columns=tuple(data["columns"]),
            arrays={name: np.array(array, float) for name, array in data["arrays"].items()},
            event=event_from_dict(data["event"]),
            unit=Unit.from_dict(data["unit"]),
            neighbours=Neighbours(data["neighbours"]),
            provenance=Provenance(**data["provenance"]),
        )
