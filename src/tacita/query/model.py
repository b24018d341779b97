"""A released model: named arrays of numbers that were read off noisy sums, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacita.errors import UnknownName
from tacita.tables.envelope import Envelope

__all__ = ["PointModel"]


@dataclass(frozen=True, kw_only=True, eq=False)
class PointModel(Envelope):
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
