"""Logistic regression: its loss, its polynomial form, and its exact minimum.

Loss of a row with target y of -1 or 1:  log(1 + exp(-y x'b)),  to second order around 0:

    log 2 - y x'b / 2 + (x'b)^2 / 8  =  (x'(b/2) - y)^2 / 2 + (what b does not change)

so half the coefficients are those of a linear model of y. The form is good where odds are not extreme; far out it
understates them, which moves no class from one side to the other.
"""

from __future__ import annotations

import numpy as np

from tacita.learn.feature_map import Array
from tacita.learn.regression.problem import Coefficients

__all__ = ["minimum", "probabilities", "unfold"]

_ROUNDS, _TOLERANCE = 1000, 2.0**-32
_SHORTEST, _SAME = 1e-8, 1e-14


def unfold(found: Coefficients) -> Coefficients:
    """The logistic model whose polynomial form has this linear model."""
    return Coefficients(
        coefficients=2 * found.coefficients,
        intercept=2 * found.intercept,
        notes=found.notes,
        errors=None if found.errors is None else found.errors.scaled(2.0),
    )


def probabilities(scores: Array) -> Array:
    """The probability of 1 at each score."""
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -500, 500))))


def minimum(x: Array, y: Array, ridge: Array | float, tilt: Array, weights: Array | float = 1.0) -> Array:
    """Minimise sum log(1 + exp(-y x'b)) + ridge b^2 / 2 + tilt'b by Newton, with one ridge for all or one for each.

    The distance to the minimum is at most |slope| / least ridge, since the objective is so strongly convex. Steps go on
    until this bound is below 2^-32, or floats allow no better. A step that makes the slope grow is not taken.
    """
    found = np.zeros(x.shape[1])
    ridges = np.broadcast_to(np.asarray(ridge, float), found.shape)

    def value(b: Array) -> float:
        return float((weights * np.logaddexp(0, -y * (x @ b))).sum() + ridges @ (b * b) / 2 + tilt @ b)

    def slope_at(b: Array) -> tuple[Array, Array]:
        odds = probabilities(-y * (x @ b))
        return -(x.T @ (weights * y * odds)) + ridges * b + tilt, odds

    slope, odds = slope_at(found)
    for _ in range(_ROUNDS):
        if float(np.linalg.norm(slope)) <= _TOLERANCE * float(ridges.min()):
            break
        bend = (x.T * (weights * odds * (1 - odds))) @ x + np.diag(ridges)
        step = np.linalg.solve(bend, slope)
        size, at = 1.0, value(found)
        # near the minimum values differ by less than floats resolve: there the slope decides alone
        while size > _SHORTEST and value(found - size * step) > at + _SAME * abs(at):
            size /= 2
        moved = found - size * step
        steeper, odds_there = slope_at(moved)
        if size == 1.0 and value(moved) >= at and np.linalg.norm(steeper) >= np.linalg.norm(slope):
            break  # the last digits of a float
        found, slope, odds = moved, steeper, odds_there
    return found
