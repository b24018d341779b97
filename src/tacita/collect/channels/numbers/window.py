"""The law of a window: cells near the value are e^eps times as likely as the others. In integers, and exact.

    weight(j | i) = near  if i <= j < i + width,  else far       cells j = 0 .. cells - 1, values i = 0 .. cells - width

The total M = width * near + (cells - width) * far is the same for all values, so that the loss is ln(near / far),
exactly (a cell that some value has near and another has far exists as soon as there are two values). Square Wave and
the Piecewise mechanism are windows; they differ in how wide, and in what is made of the reports.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacita.collect.channels.parts.exact import ExactLoss, check_codes, exp_below
from tacita.collect.device.draw import WORD_RANGE
from tacita.common.compiled import compiled
from tacita.errors import InvalidInput
from tacita.noise.source import Source

__all__ = ["Window"]

_BLOCK = 2**16


@compiled
def _fill(
    values: NDArray[np.int64],
    words: NDArray[np.uint64],
    width: np.int64,
    near: np.int64,
    far: np.int64,
    total: np.int64,
    sent: NDArray[np.int64],
) -> int:
    word_range = np.int64(1) << 53
    bound = word_range - word_range % total
    inside = width * near
    done = 0
    for i in range(words.size):
        word = np.int64(words[i] >> np.uint64(11))
        if word >= bound:
            continue
        position = word % total
        if position < inside:
            sent[done] = values[done] + position // near
        else:
            other = (position - inside) // far
            sent[done] = other + width * (other >= values[done])
        done += 1
    return done


@dataclass(frozen=True, kw_only=True)
class Window(ExactLoss):
    """The law above.

    Args:
        cells: Number of cells. width: Cells in a window, below `cells`. near: Weight of a cell in the window.
        far: Weight of any other cell, 1 or more and below `near`.
    """

    cells: int
    width: int
    near: int
    far: int

    def __post_init__(self) -> None:
        for name in ("cells", "width", "near", "far"):
            if type(getattr(self, name)) is not int or getattr(self, name) < 1:
                raise InvalidInput("must be an integer of 1 or more", field=name, value=getattr(self, name))
        if self.width >= self.cells or self.far >= self.near or self.total > WORD_RANGE:
            rule = "must have width < cells, far < near and a total of at most 2**53"
            raise InvalidInput(rule, field="width", value=(self.cells, self.width, self.near, self.far))

    @classmethod
    def calibrated(cls, *, cells: int, width: int, epsilon: float) -> Self:
        """The integers near 2**53 in all whose loss is at most epsilon."""
        power = exp_below(epsilon)
        far = int(WORD_RANGE / (width * power + cells - width))
        near = int(power * far)
        if far < 1 or near <= far or near < 10**9:
            rule = f"cannot be represented for {cells} cells with integers up to 2**53"
            raise InvalidInput(rule, field="epsilon", value=epsilon, hint="Take an epsilon nearer to 1 or fewer cells")
        return cls(cells=cells, width=width, near=near, far=far)

    @property
    def values(self) -> int:
        """Number of values: places where the window can start."""
        return self.cells - self.width + 1

    @property
    def total(self) -> int:
        """The common denominator M."""
        return self.width * self.near + (self.cells - self.width) * self.far

    @property
    def worst_ratio(self) -> Fraction:
        """near / far."""
        return Fraction(self.near, self.far)

    def weights(self) -> NDArray[np.int64]:
        """The exact integer weights, rows values and columns cells."""
        rows = np.full((self.values, self.cells), self.far, dtype=np.int64)
        for value in range(self.values):
            rows[value, value : value + self.width] = self.near
        return rows

    def randomize(self, values: NDArray[Any], source: Source) -> NDArray[np.int64]:
        """A cell for each value, one word of 53 bits each."""
        codes = check_codes(values, self.values, field="values")
        sent = np.empty(codes.size, dtype=np.int64)
        done = 0
        while done < codes.size:
            block = codes[done : done + _BLOCK]
            words = source.words(block.size)
            done += _fill(block, words, self.width, self.near, self.far, self.total, sent[done : done + block.size])
        return sent
