"""Released statistics: one row for each group, one column with error and interval for each statistic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from tacita.errors import UnknownName
from tacita.figures.bars import estimate_bars
from tacita.figures.charts import Interval
from tacita.query.numbers import Array
from tacita.tables.envelope import Envelope
from tacita.tables.tabular import Tabular

__all__ = ["Answer", "Column"]

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
class Answer(Envelope, Tabular):
    """Released statistics by groups.

    Attributes:
        by: The attributes of the groups.
        groups: Labels of each group, in the order of the columns' values.
        columns: The statistics by name.
        level: Confidence level of the intervals, each by itself.
    """

    mark: ClassVar[str] = "statistics/1"

    by: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    columns: Mapping[str, Column]
    level: float

    def __getitem__(self, name: str) -> Column:
        if name not in self.columns:
            raise UnknownName(name, field="statistic", available=self.columns)
        return self.columns[name]

    def to_arrow(self) -> pa.Table:
        """One row for each group: labels, then value, error and ends of every statistic."""
        labels = {name: pa.array([group[i] for group in self.groups]) for i, name in enumerate(self.by)}
        numbers = {
            name if part == "value" else f"{name}_{part}": pa.array(getattr(column, part))
            for name, column in self.columns.items()
            for part in _NUMBERS
        }
        return pa.table(labels | numbers)

    def chart(self) -> str:
        """Draw the first statistic of every group, with its interval."""
        name, column = next(iter(self.columns.items()))
        rows = [
            Interval(label=" · ".join(group) or "all", value=value, low=low, high=high)
            for group, value, low, high in zip(self.groups, column.value, column.low, column.high, strict=True)
        ]
        return estimate_bars(rows, title=" by ".join([name, *self.by]))

    def parts(self) -> dict[str, Any]:
        """Fields of the answer itself, as plain data."""
        return {
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
        }
