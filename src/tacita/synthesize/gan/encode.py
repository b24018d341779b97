"""Encode rows for networks: one-hot codes, and the position of ordered levels and bins on a line.

Privacy: all of it comes from the schema; nothing is scaled by data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Date, Domain, Numeric, Ordinal

__all__ = ["Encoding"]

Array = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """Positions of each attribute's codes in a one-hot row."""

    domain: Domain = field(repr=False)

    @property
    def width(self) -> int:
        """Codes of all attributes together."""
        return sum(self.domain.shape)

    @cached_property
    def blocks(self) -> dict[str, slice]:
        """The places of each attribute's codes."""
        ends = np.cumsum(self.domain.shape).tolist()
        names = zip(self.domain.names, ends, self.domain.shape, strict=True)
        return {name: slice(end - size, end) for name, end, size in names}

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first place of each attribute."""
        return np.array([block.start for block in self.blocks.values()], np.int64)

    @cached_property
    def seen(self) -> Array:
        """The matrix that turns places of codes into what a critic sees: the places, and positions on lines."""
        lines = []
        for name, block in self.blocks.items():
            line = _line(self.domain[name])
            if line is not None:
                column = np.zeros(self.width, np.float32)
                column[block.start : block.start + line.size] = line
                lines.append(column)
        return np.concatenate([np.eye(self.width, dtype=np.float32), *(line[:, None] for line in lines)], axis=1)

    def one_hot(self, codes: NDArray[Any]) -> Array:
        """Codes (..., attributes) as ones among zeros (..., width)."""
        placed = np.zeros((*codes.shape[:-1], self.width), np.float32)
        np.put_along_axis(placed, codes.astype(np.int64) + self.starts, 1, axis=-1)
        return placed


def _line(attribute: Any) -> Array | None:
    """Positions of declared levels or bins between -1 and 1, where they have an order; buckets stand at 0."""
    if isinstance(attribute, Ordinal):
        return np.linspace(-1, 1, len(attribute.labels), dtype=np.float32)
    if isinstance(attribute, Numeric | Date):
        low, high = attribute.line_bounds
        ends = np.array([*attribute.starts, high], float)
        middles = (ends[:-1] + ends[1:]) / 2
        return np.asarray(2 * (middles - low) / (high - low) - 1, np.float32)
    return None
