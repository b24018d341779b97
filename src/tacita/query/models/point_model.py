"""A released model: named arrays of numbers that were read off noisy sums, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacita.errors import UnknownName
from tacita.figures.bars import estimate_bars
from tacita.figures.charts import Interval
from tacita.tables.envelope import Envelope
from tacita.tables.tabular import Tabular

__all__ = ["PointModel"]

_NORMAL = 1.96  # a 95 % interval of normal noise


@dataclass(frozen=True, kw_only=True, eq=False)
class PointModel(Envelope, Tabular):
    """Numbers by name over some columns.

    Attributes:
        kind: Recipe that made it.
        columns: The attributes that the last axis of most arrays runs over.
        arrays: The numbers.
    """

    mark: ClassVar[str] = "model/1"

    kind: str
    columns: tuple[str, ...]
    arrays: Mapping[str, npt.NDArray[np.float64]]

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        if name not in self.arrays:
            raise UnknownName(name, field="array", available=self.arrays)
        return self.arrays[name]

    def to_arrow(self) -> pa.Table:
        """One row for each centre with its size, or for each component with its variance."""
        if self.kind == "k-means":
            centres = dict(zip(self.columns, self["centres"].T, strict=True))
            return pa.table(centres | {"size": self["sizes"], "size_std": self["sizes_std"]})
        variances = self["variances"]
        shares = variances / variances.sum() if variances.sum() > 0 else variances
        loadings = dict(zip(self.columns, self["components"].T, strict=True))
        return pa.table({"variance": variances, "share": shares} | loadings)

    def chart(self) -> str:
        """Draw the sizes of the clusters, or the shares of the variance."""
        table = self.to_arrow()
        sized = self.kind == "k-means"
        values, errors = table["size" if sized else "share"].to_pylist(), [None] * table.num_rows
        if sized:
            errors = table["size_std"].to_pylist()
        rows = [
            Interval(
                label=f"{'cluster' if sized else 'component'} {number}",
                value=value,
                low=None if error is None else value - _NORMAL * error,
                high=None if error is None else value + _NORMAL * error,
            )
            for number, (value, error) in enumerate(zip(values, errors, strict=True), start=1)
        ]
        return estimate_bars(rows, share=not sized, title="sizes of clusters" if sized else "shares of the variance")

    def parts(self) -> dict[str, Any]:
        """Fields of the model itself, as plain data."""
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "arrays": {name: array.tolist() for name, array in self.arrays.items()},
        }

    @staticmethod
    def parts_of(data: Mapping[str, Any]) -> dict[str, Any]:
        """The same as arguments again."""
        return {
            "kind": data["kind"],
            "columns": tuple(data["columns"]),
            "arrays": {name: np.array(array, float) for name, array in data["arrays"].items()},
        }
