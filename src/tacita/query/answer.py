"""Released statistics: one row for each group, one column with error and interval for each statistic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tacita.errors import UnknownName
from tacita.figures.bars import estimate_bars
from tacita.figures.charts import Interval
from tacita.query.numbers import Array
from tacita.tables.envelope import Envelope
from tacita.tables.tabular import Tabular

__all__ = ["Answer", "Column", "Measured"]

_NUMBERS = ("value", "std", "low", "high")


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """One statistic in every group. `std` is NaN where no standard error is known, a value where noise hides it."""

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
class Measured:
    """Released values of each measure, one row for each group, and the private keys that were named.

    Everything in an answer is computed from it at no cost.
    """

    values: tuple[Array, ...]
    keys: tuple[tuple[str, ...], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        keys = {"keys": [list(key) for key in self.keys]} if self.keys else {}
        return {"values": [[[float(x) for x in row] for row in part.tolist()] for part in self.values]} | keys

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Measured:
        """The values that `as_dict` wrote."""
        values = tuple(np.array(part, float).reshape(len(part), -1 if part else 1) for part in data["values"])
        return cls(values=values, keys=tuple(tuple(key) for key in data.get("keys", ())))


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer(Envelope, Tabular):
    """Released statistics by groups.

    Attributes:
        by: Headings of the groups' labels.
        groups: Labels of each group, in the order of the columns' values.
        columns: The statistics by heading.
        level: Confidence level of the intervals, each by itself.
        headings: All headings in the order that was asked for; those of the groups first, if none was.
        intervals: Where the interval of each statistic comes from, if it was computed after noise.
        measured: Released values that all of it was computed from, so that other expressions of them are free.
    """

    mark: ClassVar[str] = "statistics/1"

    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    columns: Mapping[str, Column]
    level: float
    headings: tuple[str, ...] = ()
    intervals: Mapping[str, str] = field(default_factory=dict)
    measured: Measured | None = field(default=None, repr=False)

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise UnknownName(name, field="statistic", available=self.columns)
        return self.columns[name]

    def to_arrow(self) -> pa.Table:
        """One row for each group: labels, then value, error and ends of every statistic."""
        labels = {name: pa.array([group[i] for group in self.groups]) for i, name in enumerate(self.by)}
        numbers = {
            name: {name if part == "value" else f"{name}_{part}": pa.array(getattr(column, part)) for part in _NUMBERS}
            for name, column in self.columns.items()
        }
        shown: dict[str, pa.Array] = {}
        for name in self.headings or (*self.by, *self.columns):
            shown |= {name: labels[name]} if name in labels else numbers[name]
        return pa.table(shown)

    def chart(self) -> str:
        """Draw the first statistic of every group, with its interval."""
        if not self.columns:
            return estimate_bars([], title="no statistic")
        name, column = next(iter(self.columns.items()))
        rows = [
            Interval(label=" · ".join(group) or "all", value=value, low=low, high=high)
            for group, value, low, high in zip(self.groups, column.value, column.low, column.high, strict=True)
        ]
        return estimate_bars(rows, title=" by ".join([name, *self.by]))

    def parts(self) -> dict[str, Any]:
        """Fields of the answer itself, as plain data."""
        more: dict[str, Any] = {"headings": list(self.headings)} if self.headings else {}
        more |= {"intervals": dict(self.intervals)} if self.intervals else {}
        more |= {} if self.measured is None else {"measured": self.measured.as_dict()}
        return more | {
            "by": list(self.by),
            "groups": [list(group) for group in self.groups],
            "columns": {name: column.as_dict() for name, column in self.columns.items()},
            "level": self.level,
        }

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""
        return {
            "by": tuple(data["by"]),
            "groups": tuple(tuple(group) for group in data["groups"]),
            "columns": {name: Column.from_dict(column) for name, column in data["columns"].items()},
            "level": data["level"],
            "headings": tuple(data.get("headings", ())),
            "intervals": data.get("intervals", {}),
            "measured": Measured.from_dict(data["measured"]) if data.get("measured") is not None else None,
        }
