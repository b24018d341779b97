"""The epsilon of a mechanism whose outputs can be listed, from their probabilities alone.

    delta(e) = sum over outputs of max(0, P(o) - exp(e) Q(o))          and the same with P and Q swapped
    epsilon at delta: the smallest e with delta(e) <= delta, in both directions

With delta 0 it is the largest |ln P(o)/Q(o)|. It is infinite if an output is possible on one side only.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from tacita.errors import InvalidInput

__all__ = ["exact_delta", "exact_epsilon", "matrix_epsilon"]

_ROUNDING = 1e-9


def exact_delta(one: Any, other: Any, epsilon: float) -> float:
    """Compute the delta at an epsilon, in the worse of both directions."""
    p, q = _laws(one, other)
    with np.errstate(over="ignore"):
        scale = math.exp(min(epsilon, 700.0))
    return float(max(np.maximum(0, p - scale * q).sum(), np.maximum(0, q - scale * p).sum()))


def exact_epsilon(one: Any, other: Any, delta: float = 0.0) -> float:
    """Compute the smallest epsilon at a delta.

    >>> round(exact_epsilon([0.75, 0.25], [0.25, 0.75]), 6)  # a fair coin before the truth: ln 3
    1.098612
    """
    if not 0 <= delta < 1:
        raise InvalidInput("must be between 0 and 1", field="delta", value=delta)
    p, q = _laws(one, other)
    if exact_delta(p, q, 0.0) <= delta:
        return 0.0
    both = (p > 0) & (q > 0)
    largest = float(np.abs(np.log(p[both] / q[both])).max(initial=0.0))
    only = max(float(p[q == 0].sum()), float(q[p == 0].sum()))  # no epsilon helps against these
    if only > delta or (delta == 0 and only > 0):
        return math.inf
    if delta == 0:
        return largest
    if exact_delta(p, q, largest) > delta:  # rounding
        return largest
    return float(optimize.brentq(lambda e: exact_delta(p, q, e) - delta, 0.0, largest, xtol=1e-13))


def matrix_epsilon(matrix: Any, delta: float = 0.0) -> float:
    """Compute the epsilon of a channel from its matrix: a row for each input, a column for each output."""
    rows = np.asarray(matrix, np.float64)
    if rows.ndim != 2 or len(rows) < 2:
        raise InvalidInput("must have at least two rows", field="matrix", value=rows.shape)
    if delta == 0:
        low, high = rows.min(axis=0), rows.max(axis=0)
        used = high > 0
        with np.errstate(divide="ignore"):
            return float(np.log(high[used] / low[used]).max())
    return max(exact_epsilon(a, b, delta) for a, b in combinations(rows, 2))


def _laws(one: Any, other: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    p, q = np.asarray(one, np.float64).ravel(), np.asarray(other, np.float64).ravel()
    if p.shape != q.shape:
        raise InvalidInput("must be about the same outputs", field="laws", value=f"{p.size} and {q.size}")
    for law in (p, q):
        if (law < 0).any() or not math.isclose(law.sum(), 1.0, abs_tol=_ROUNDING):
            raise InvalidInput("must be probabilities that sum to 1", field="laws", value=float(law.sum()))
    return p, q
