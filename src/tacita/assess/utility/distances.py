"""Distances of two tables of shares.

    variation    sum |p - q| / 2                                       0 the same, 1 nothing in common
    hellinger    sqrt(sum (sqrt p - sqrt q)^2 / 2)                     0 to 1
    kl           sum p ln(p / q), with q smoothed as stated            0 to infinity, in nats
    js           mean kl to the mean of both, in bits                  0 to 1
    wasserstein  sum |P - Q| of cumulated shares, over one less than the number of levels; for ordered attributes

KL is infinite if p has a level that q has not, so q is mixed with a uniform distribution: (1 - a) q + a u; a is stated.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput

__all__ = ["SMOOTHING", "hellinger", "js", "kl", "variation", "wasserstein"]

Array = NDArray[np.float64]
SMOOTHING = 1e-3


def _shares(one: Any, other: Any) -> tuple[Array, Array]:
    p, q = np.asarray(one, np.float64).ravel(), np.asarray(other, np.float64).ravel()
    if p.shape != q.shape or not p.size:
        raise InvalidInput("must have the same cells", field="tables", value=f"{p.size} and {q.size}")
    for law in (p, q):
        if not np.isfinite(law).all() or (law < 0).any() or law.sum() <= 0:
            raise InvalidInput("must be non-negative and not all 0", field="tables")
    return p / p.sum(), q / q.sum()


def variation(one: Any, other: Any) -> float:
    """Compute total variation.

    >>> variation([1, 1], [1, 0])
    0.5
    """
    p, q = _shares(one, other)
    return float(np.abs(p - q).sum() / 2)


def hellinger(one: Any, other: Any) -> float:
    """Compute Hellinger's distance."""
    p, q = _shares(one, other)
    return float(math.sqrt(max(0.0, ((np.sqrt(p) - np.sqrt(q)) ** 2).sum() / 2)))


def kl(one: Any, other: Any, smoothing: float = SMOOTHING, *, cells: int | None = None) -> float:
    """Compute the relative entropy of `one` to `other`, in nats; `other` is smoothed.

    Args:
        one, other: Shares.
        smoothing: Weight of the uniform distribution that is mixed in.
        cells: Number of all cells, if cells that are empty in both are left out.
    """
    if not 0 <= smoothing < 1:
        raise InvalidInput("must be at least 0 and below 1", field="smoothing", value=smoothing)
    p, q = _shares(one, other)
    q = (1 - smoothing) * q + smoothing / (q.size if cells is None else cells)
    held = p > 0
    if (q[held] == 0).any():
        return math.inf
    return float((p[held] * np.log(p[held] / q[held])).sum())


def js(one: Any, other: Any) -> float:
    """Compute Jensen and Shannon's divergence, in bits."""
    p, q = _shares(one, other)
    middle = (p + q) / 2
    return (kl(p, middle, 0.0) + kl(q, middle, 0.0)) / 2 / math.log(2)


def wasserstein(one: Any, other: Any) -> float:
    """Compute the Wasserstein distance over ordered levels, as a share of the whole range."""
    p, q = _shares(one, other)
    if p.size == 1:
        return 0.0
    return float(np.abs(np.cumsum(p - q))[:-1].sum() / (p.size - 1))
