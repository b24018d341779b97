"""Codes as bytes: an attribute takes one, two or four planes, each a row of bytes.

Plane p of an attribute holds byte p of its codes, the lowest first. All codes of a block are one matrix then,
with the smallest type that holds each attribute, and a cell of a table is a weighted sum of planes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain, code_dtype
from tacita.engines.checking import check_codes

__all__ = ["Layout", "Planes"]

Planes = NDArray[np.uint8]


@dataclass(frozen=True)
class Layout:
    """Layout of the planes of all attributes."""

    domain: Domain
    names: tuple[str, ...]

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Bytes of each attribute's codes."""
        return tuple(np.dtype(code_dtype(self.domain[name].size)).itemsize for name in self.names)

    @property
    def width(self) -> int:
        """Bytes of one row."""
        return sum(self.widths)

    @cached_property
    def _first(self) -> dict[str, tuple[int, int]]:
        starts = np.cumsum((0, *self.widths)).tolist()
        return {name: (starts[i], self.widths[i]) for i, name in enumerate(self.names)}

    def planes_of(self, name: str) -> range:
        """Return the planes of an attribute, lowest byte first."""
        start, width = self._first[name]
        return range(start, start + width)

    def split(self, codes: Mapping[str, NDArray[Any]], rows: int) -> Planes:
        """Split the codes of some rows into a block of planes."""
        block = np.empty((self.width, rows), np.uint8)
        for name in self.names:
            check_codes(name, codes[name], self.domain[name].size + 1)  # a byte would hide a code that is too large
            for byte, plane in enumerate(self.planes_of(name)):
                block[plane] = codes[name] if byte == 0 and self._first[name][1] == 1 else codes[name] >> (8 * byte)
        return block

    def codes(self, block: Planes, name: str) -> NDArray[Any]:
        """Return the codes of an attribute in a block."""
        planes = self.planes_of(name)
        if len(planes) == 1:
            return np.asarray(block[planes[0]])
        whole: NDArray[np.uint32] = block[planes[0]].astype(np.uint32)
        for byte, plane in enumerate(planes[1:], start=1):
            whole |= block[plane].astype(np.uint32) << (8 * byte)
        return whole

    def weights(self, names: Sequence[str], strides: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the planes of several attributes, and their weights in the number of the cell."""
        used, weights = [], []
        for name, stride in zip(names, strides, strict=True):
            for byte, plane in enumerate(self.planes_of(name)):
                used.append(plane)
                weights.append(stride << (8 * byte))
        return used, weights
