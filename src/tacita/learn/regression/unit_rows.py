"""Base of objective and output perturbation: rows of a norm of at most 1, and coefficients on a grid.

    u = (1, x) / sqrt(B + 1)         the 1 only with an intercept; B blocks, so |u| <= 1 whatever the row
    b = w / sqrt(B + 1)              coefficients for x, from w for u

Loss of a row:  logistic  log(1 + exp(-y u'w)):  slope at most 1, bend at most 1/4
                linear    (u'w - y)^2 / 2 for |w| <= R:  slope at most R + 1, bend at most 1

Penalty:  the requested penalty is lambda |b|^2 beside the sum of (x'b - y)^2, as for moments. With w = sqrt(B + 1) b
          that is (L/2) |w|^2 beside the sum of (u'w - y)^2 / 2, for L = lambda / (B + 1). The loss of a logistic row
          is, to second order, that of a line for w/2: so a quarter of L, as its bend is. The penalty that privacy needs
          is on the intercept too; a requested one beyond that only in `output`, whose noise falls with the least.
"""

from __future__ import annotations

import math

import numpy as np

from tacita.learn.feature_map import Array, Points
from tacita.learn.regression.logistic import minimum
from tacita.learn.regression.problem import Coefficients, Problem

__all__ = [
    "GRID",
    "RADIUS",
    "bend",
    "fitted",
    "found_of",
    "least_in_ball",
    "ridge_of",
    "ridges_of",
    "slope",
    "unit_rows",
]

RADIUS = 2.0
"""Most that coefficients of a linear model may be long, for rows of length 1."""
GRID = 1 << 20
"""Steps of one, on which coefficients are released."""


def unit_rows(setting: Problem, points: Points) -> Array:
    """Rows of a norm of at most 1."""
    blocks = setting.design.blocks + setting.intercept
    longer = np.column_stack([np.ones(len(points)), points.x]) if setting.intercept else points.x
    return np.asarray(longer / math.sqrt(blocks))


def slope(setting: Problem) -> float:
    """The steepest that the loss of one row is."""
    return 1.0 if setting.design.task == "logistic" else RADIUS + 1.0


def bend(setting: Problem) -> float:
    """The largest eigenvalue that the second derivative of one row's loss has."""
    return 0.25 if setting.design.task == "logistic" else 1.0


def ridge_of(setting: Problem) -> float:
    """The ridge on w, beside squares of u'w - y over 2, that the penalty on b asks for."""
    return setting.penalty.size / (setting.design.blocks + setting.intercept)


def ridges_of(setting: Problem, least: float, wanted: float) -> Array:
    """A ridge for each coefficient: at least what privacy needs; a requested penalty does not touch the intercept."""
    found = np.full(setting.design.columns + setting.intercept, max(least, wanted))
    found[: int(setting.intercept)] = least
    return found


def fitted(setting: Problem, rows: Array, y: Array, ridge: Array | float, tilt: Array) -> Array:
    """The minimum of the sum of losses + ridge w^2 / 2 + tilt'w; in the ball of RADIUS where it is linear."""
    if setting.design.task == "logistic":
        return minimum(rows, y, ridge, tilt)
    return least_in_ball(rows.T @ rows + np.diag(np.broadcast_to(ridge, rows.shape[1])), rows.T @ y - tilt, RADIUS)


def least_in_ball(quadratic: Array, linear: Array, radius: float) -> Array:
    """The minimum of w'Qw/2 - c'w over |w| <= radius, for a positive definite Q: one number is searched for."""
    values, vectors = np.linalg.eigh(quadratic)
    turned = vectors.T @ linear

    def at(extra: float) -> Array:
        return np.asarray(turned / (values + extra))

    if float(np.linalg.norm(at(0.0))) <= radius:
        return np.asarray(vectors @ at(0.0))
    low, high = 0.0, float(np.linalg.norm(linear)) / radius
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if float(np.linalg.norm(at(middle))) > radius else (low, middle)
    return np.asarray(vectors @ at(high))


def found_of(setting: Problem, weights: Array, notes: dict[str, float | str]) -> Coefficients:
    """Coefficients for x of those for u."""
    scaled = weights / math.sqrt(setting.design.blocks + setting.intercept)
    first = float(scaled[0]) if setting.intercept else 0.0
    return Coefficients(coefficients=scaled[1:] if setting.intercept else scaled, intercept=first, notes=dict(notes))
