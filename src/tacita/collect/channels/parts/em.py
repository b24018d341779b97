"""Maximum likelihood of a distribution behind a channel: the iterative Bayesian update, that is EM.

Legend: C_ab = P(b | a), o_b the counts of the reports, x the distribution. One step is

    x_a <- x_a sum_b (o_b / n) C_ab / r_b,        r_b = sum_c C_cb x_c

It raises the likelihood sum_b o_b ln r_b, which is concave, from any positive start to its maximum. The start is
uniform: a start at the observed shares would keep at 0 what was never reported. With smoothing (EMS) each step is
followed by a mean with the neighbours, weights 1, 2, 1: a prior for curves without jumps. [Li et al. 2020]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.errors import InvalidInput

__all__ = ["Fitted", "expectation_maximisation"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """A distribution fitted to reports; biased towards what is possible, and labelled so.

    Attributes:
        frequencies: Non-negative, sum to 1. steps: How many were made. converged: Whether they stopped by themselves.
        log_likelihood: Per report. method: The name of the estimator, for provenance.
    """

    frequencies: NDArray[np.float64]
    steps: int
    converged: bool
    log_likelihood: float
    method: Literal["em", "ems"]


def expectation_maximisation(
    matrix: NDArray[np.float64],
    counts: ArrayLike,
    *,
    smooth: bool = False,
    tolerance: float = 1e-9,
    most_steps: int = 10_000,
) -> Fitted:
    """Fit a distribution.

    Args:
        matrix: The channel's probabilities, rows values and columns reports.
        counts: How often each report came.
        smooth: Whether to average with the neighbours after each step.
        tolerance: Stop when the log likelihood per report changes by less.
        most_steps: Stop here in any case, and say so.
    """
    seen = np.asarray(counts)
    if seen.shape != (matrix.shape[1],) or seen.dtype.kind not in "iu" or (seen < 0).any() or not seen.any():
        rule = f"must be {matrix.shape[1]} non-negative integers, not all 0"
        raise InvalidInput(rule, field="counts", value=f"{seen.dtype}, shape {seen.shape}")
    kept = seen > 0
    share, seen_only = seen[kept] / seen.sum(), np.ascontiguousarray(matrix[:, kept])
    x = np.full(matrix.shape[0], 1 / matrix.shape[0])
    likelihood, step, converged = -np.inf, 0, False
    while step < most_steps and not converged:
        r = x @ seen_only
        before, likelihood = likelihood, float(share @ np.log(r))
        converged = abs(likelihood - before) < tolerance
        x = x * (seen_only @ (share / r))
        x = _smoothed(x) if smooth else x
        x /= x.sum()
        step += 1
    x.setflags(write=False)
    method: Any = "ems" if smooth else "em"
    return Fitted(frequencies=x, steps=step, converged=converged, log_likelihood=likelihood, method=method)


def _smoothed(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means with weights 1, 2, 1; at the ends 2, 1."""
    wide = np.concatenate([[0.0], x, [0.0]])
    ones = np.concatenate([[0.0], np.ones(x.size), [0.0]])
    weight = ones[:-2] + 2 * ones[1:-1] + ones[2:]
    return np.asarray((wide[:-2] + 2 * wide[1:-1] + wide[2:]) / weight)
