"""Logistic regression: its loss, its polynomial form, and its exact minimum.

Loss of a row with target y of -1 or 1:  log(1 + exp(-y x'b)),  to second order around 0:

    log 2 - y x'b / 2 + (x'b)^2 / 8  =  (x'(b/2) - y)^2 / 2 + (what b does not change)

so half the coefficients are those of a linear model of y. The form is good where odds are not extreme; far out it
understates them, which moves no class from one side to the other.
"""

from __future__ import annotations

import numpy as np

from tacita.learn.design import Array
from tacita.learn.setting import Found

__all__ = ["minimum", "probabilities", "unfolded"]

_ROUNDS, _TOLERANCE = 100, 1e-12


def unfolded(found: Found) -> Found:
    """The logistic model whose polynomial form has this linear model."""
    return Found(coefficients=2 * found.coefficients, intercept=2 * found.intercept, notes=found.notes)


def probabilities(scores: Array) -> Array:
    """The probability of 1 at each score."""
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -500, 500))))


def minimum(x: Array, y: Array, ridge: float, tilt: Array, weights: Array | float = 1.0) -> Array:
    """Where sum log(1 + exp(-y x'b)) + ridge |b|^2 / 2 + tilt'b is least, to the last digits: Newton with halving."""
    found = np.zeros(x.shape[1])

    def value(b: Array) -> float:
        return float((weights * np.logaddexp(0, -y * (x @ b))).sum() + ridge * (b @ b) / 2 + tilt @ b)

    at = value(found)
    for _ in range(_ROUNDS):
        odds = probabilities(-y * (x @ found))
        slope = -(x.T @ (weights * y * odds)) + ridge * found + tilt
        bend = (x.T * (weights * odds * (1 - odds))) @ x + ridge * np.eye(len(found))
        step = np.linalg.solve(bend, slope)
        size = 1.0
        while value(found - size * step) > at and size > 1e-8:
            size /= 2
        found = found - size * step
        at = value(found)
        if float(np.abs(slope).max()) < _TOLERANCE * max(1, len(y)):
            break
    return found
