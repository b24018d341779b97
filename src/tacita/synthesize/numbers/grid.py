"""Public fine grids of numbers and dates, over which their values are counted.

    whole numbers, dates    a cell for each value; where there are very many, groups of a round size, and 0 by itself
    real numbers            equal parts of each declared bin

A grid reads the schema alone. Declared edges are edges of the grid, so that bins that widen with the numbers give cells
that do.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Binned, Date, Domain
from tacita.domain.rebin import rebin, singles

__all__ = ["Grid"]

Array = NDArray[np.float64]

_MOST_CELLS = 250_000
_REAL_CELLS = 1 << 15
_MOST_PARTS = 64
"""Most parts of a cell of one round in the next."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Grid:
    """Cells of a grid, from the lower bound to the upper one.

    Attributes:
        starts: Lower edge of each cell on the number line.
        end: Where the last cell ends: the upper bound, or one more where numbers are whole.
        rounds: Number of noisy counts by which cells are found.
        parts: Most parts into which a round divides a cell.
    """

    starts: Array = field(repr=False)
    end: float
    rounds: int
    parts: int

    @classmethod
    def of(cls, attribute: Binned) -> Grid:
        """Return the grid of a number or date.

        >>> from tacita.domain import Numeric
        >>> grid = Grid.of(Numeric(name="age", bounds=(0, 99), bins=2, integer=True))
        >>> len(grid), grid.rounds, grid.parts
        (100, 2, 10)
        """
        low, high = attribute.line_bounds
        whole = isinstance(attribute, Date) or attribute.integer
        declared = np.asarray(attribute.starts)
        if whole:
            starts = _whole(declared, low, high, explicit=attribute.edges is not None)
        else:
            starts = _divided(declared, high, max(1, _REAL_CELLS // len(declared)))
        rounds = max(1, int(np.ceil(np.log(len(starts)) / np.log(_MOST_PARTS) - 1e-9)))
        parts = int(np.ceil(len(starts) ** (1 / rounds) - 1e-9))
        return cls(starts=starts, end=high + whole, rounds=rounds, parts=max(parts, 2))

    @property
    def single(self) -> bool:
        """Whether each cell is one whole number or day."""
        return bool((np.diff(self.edges) == 1).all())

    def attribute(self, attribute: Binned) -> Binned:
        """Return the attribute with a level for each cell."""
        if self.single and (isinstance(attribute, Date) or attribute.integer):
            return singles(attribute)
        made = rebin(Domain(attributes=(attribute,)), {attribute.name: self.starts.tolist()})[attribute.name]
        assert isinstance(made, Binned)
        return made

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def edges(self) -> Array:
        """All edges: one more than cells."""
        return np.append(self.starts, self.end)


def _whole(declared: Array, low: float, high: float, *, explicit: bool) -> Array:
    if high - low < _MOST_CELLS:
        return np.arange(low, high + 1)
    if explicit:
        starts = np.floor(_divided(declared, high, max(1, _MOST_CELLS // len(declared) - 1)))
    else:
        size = _round_up((high - low) / _MOST_CELLS)
        starts = np.append(np.arange(np.ceil(low / size), np.ceil(high / size)) * size, declared)
    starts = np.unique(np.append(starts, (0.0, 1.0)))
    return starts[(starts >= low) & (starts < high)]


def _round_up(size: float) -> float:
    """The least of 1, 2, 5, 10, 20, .. that is no smaller."""
    power = 10.0 ** np.floor(np.log10(size))
    return float(next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= size))


def _divided(starts: Array, high: float, parts: int) -> Array:
    """Each bin in so many equal parts."""
    ends = np.append(starts[1:], high)
    inner = starts[:, None] + (ends - starts)[:, None] * np.arange(parts) / parts
    found = np.unique(np.concatenate([inner.reshape(-1), starts]))
    return found[found < high]
