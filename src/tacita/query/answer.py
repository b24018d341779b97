"""Released statistics: one row for each group, one column with error and interval for each statistic."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.errors import InvalidInput, UnknownName
from tacita.privacy.event import Event, event_from_dict
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.numbers import Array
from tacita.release import Provenance

__all__ = ["Answer", "Column"]

_NUMBERS = ("value", "std", "low", "high")


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """One statistic in every group. `std` is NaN where no standard error is known, a value where noise drowned all."""

    value: Array
    std: Array
    low: Array
    high: Array

    def as_dict(self) -> dict[str, list[float | None]]:
        """Plain data; what is not finite is null."""
        return {name: [x if math.isfinite(x) else None for x in getattr(self, name).tolist()] for name in _NUMBERS}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Column:
        """The column that `as_dict` wrote."""
        return cls(**{name: np.array([math.nan if x is None else x for x in data[name]], float) for name in _NUMBERS})


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """Statistics by groups; all that leaves.

    Attributes:
        by: The attributes of the groups.
        groups: Labels of each group, in the order of the columns' values.
        columns: The statistics by name.
        level: What the intervals hold, each by itself.
        event, unit, neighbours: What it cost, who is protected, against what change.
        provenance: Recipe, versions, time, charge; `simulated` when the noise could be repeated.
    """

    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    columns: Mapping[str, Column]
    level: float
    event: Event
    unit: Unit
    neighbours: Neighbours
    provenance: Provenance

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise UnknownName(name, field="statistic", available=self.columns)
        return self.columns[name]

    def with_charge(self, charge: str, dataset: str) -> Answer:
        """The same answer, naming what paid for it."""
        return replace(self, provenance=replace(self.provenance, charge=charge, dataset=dataset))

    def to_arrow(self) -> pa.Table:
        """One row for each group: labels, then value, error and ends of every statistic."""
        labels = {name: pa.array([group[i] for group in self.groups]) for i, name in enumerate(self.by)}
        numbers = {
            name if part == "value" else f"{name}_{part}": pa.array(getattr(column, part))
            for name, column in self.columns.items()
            for part in _NUMBERS
        }
        return pa.table(labels | numbers)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tacita": "statistics/1",
            "by": list(self.by),
            "groups": [list(group) for group in self.groups],
            "columns": {name: column.as_dict() for name, column in self.columns.items()},
            "level": self.level,
            "event": self.event.as_dict(),
            "unit": self.unit.as_dict(),
            "neighbours": str(self.neighbours),
            "provenance": self.provenance.as_dict(),
        }

    def to_json(self) -> str:
        """The answer as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Answer:
        """The answer that `to_json` wrote."""
        data = json.loads(text)
        if data.get("tacita") != "statistics/1":
            raise InvalidInput("must be `statistics/1`", field="tacita", value=data.get("tacita"))
        return cls(
            by=tuple(data["by"]),
            groups=tuple(tuple(group) for group in data["groups"]),
            columns={name: Column.from_dict(column) for name, column in data["columns"].items()},
            level=data["level"],
            event=event_from_dict(data["event"]),
            unit=Unit.from_dict(data["unit"]),
            neighbours=Neighbours(data["neighbours"]),
            provenance=Provenance(**data["provenance"]),
        )
