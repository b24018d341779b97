"""Post-processing of unbiased frequencies: no privacy cost, a little bias, and a label that states it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.errors import InvalidInput
from tacita.tables.cells import Cells

__all__ = ["Projected", "norm_sub", "norm_sub_rows", "project_table", "to_distribution"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Projected:
    """A distribution made from an unbiased estimate, and how.

    Attributes:
        frequencies: Non-negative, with the wanted sum.
        shift: The amount subtracted from every cell that stayed positive.
        method: The name of the post-processing, for provenance.
    """

    frequencies: NDArray[np.float64]
    shift: float
    method: Literal["norm-sub"] = "norm-sub"


def norm_sub(frequencies: ArrayLike, *, total: float = 1.0) -> Projected:
    """The nearest point, in Euclidean distance, with non-negative cells that sum to `total`.

    The minimiser is max(v - t, 0) for the one t that gives the sum (first-order conditions: every positive
    cell moves by the same t, every other one is at 0 with v <= t). With the cells sorted downwards, t is
    (v_1 + .. + v_m - total) / m for the largest m whose v_m still exceeds it.

    >>> norm_sub([-0.05, 0.35, 0.70]).frequencies.round(3).tolist()
    [0.0, 0.325, 0.675]
    """
    v = np.asarray(frequencies, dtype=np.float64)
    if v.ndim != 1 or v.size == 0 or not np.isfinite(v).all():
        raise InvalidInput("must be one axis of finite numbers, at least one", field="frequencies", value=v.shape)
    if not (np.isfinite(total) and total > 0):
        raise InvalidInput("must be positive and finite", field="total", value=total)
    shift = float(_shifts(v[None, :], total)[0])
    result = np.maximum(v - shift, 0.0)
    result.setflags(write=False)
    return Projected(frequencies=result, shift=shift)


def _shifts(rows: NDArray[np.float64], total: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """The amount that `norm_sub` subtracts, for each row."""
    down = np.sort(rows, axis=1)[:, ::-1]
    shifts = (np.cumsum(down, axis=1) - np.reshape(total, (-1, 1))) / np.arange(1, rows.shape[1] + 1)
    last = rows.shape[1] - 1 - np.argmax((down > shifts)[:, ::-1], axis=1)
    return np.asarray(np.take_along_axis(shifts, last[:, None], axis=1)[:, 0])


def norm_sub_rows(rows: NDArray[np.float64], *, total: float | NDArray[np.float64] = 1.0) -> NDArray[np.float64]:
    """`norm_sub` of each row of a matrix; `total` is one number, or one for each row, all positive."""
    return np.maximum(rows - _shifts(rows, total)[:, None], 0.0)


def project_table(table: Cells) -> Cells:
    """A whole table of shares, projected as one distribution."""
    flat = norm_sub(table.values.reshape(-1)).frequencies
    return Cells(table.domain, np.asarray(flat).reshape(table.shape))


def to_distribution(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Noisy counts of any shape as the nearest distribution; uniform where noise has left no positive total.

    >>> to_distribution(np.array([[30.0, -10.0], [20.0, 0.0]])).round(2).tolist()
    [[0.62, 0.0], [0.38, 0.0]]
    """
    total = counts.sum()
    if not total > 0:
        return np.full(counts.shape, 1 / counts.size)
    kept = norm_sub(counts.reshape(-1) / total).frequencies
    return np.asarray((kept / kept.sum()).reshape(counts.shape))
