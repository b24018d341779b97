"""Kernel machine: w minimises 1/2 |w|^2 + C sum_i max(0, 1 - y_i w . phi(x_i)), one function for each class.

    bias        none is free: a constant is part of the kernel (k + 1), so it is regularised and gets noise as the rest
    C           that of the sum: C_share / rows, where the number of rows is public; elsewhere the caller says about how
                many rows there are
    classes     two: one function; J > 2: one against the rest for each, on the same rows, so their noise is for all
                J together: sqrt(J)

Privacy:  solved by coordinate ascent until the duality gap is below a public limit, which the sensitivity has room for
          (`machine_sensitivity`); a solution that is not there in time is refused.   [Hsieh et al. 2008]
Cost:     n kernel values for each step; n^2 numbers of memory without features.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tacita.compiled import compiled
from tacita.errors import DataError
from tacita.learn.functions.expansion import Fitted, Space
from tacita.learn.functions.kernel import Array
from tacita.learn.functions.sensitivity import gap_allowed, machine_sensitivity
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["fit_machine", "functions_of"]

_SWEEPS = 20_000


def functions_of(classes: int) -> int:
    """How many functions tell so many classes apart."""
    return 1 if classes == 2 else classes


def fit_machine(
    points: Array,
    codes: npt.NDArray[np.int64],
    *,
    classes: int,
    space: Space,
    c: float,
    unit: Unit,
    neighbours: Neighbours,
) -> Fitted:
    """A machine for each class against the rest; with two classes, for the second against the first."""
    functions = functions_of(classes)
    matrix = space.features(points) if space.features is not None else space.gram(points, points)
    found = []
    for each in range(functions):
        signs = np.where(codes == (1 if functions == 1 else each), 1.0, -1.0)
        alpha = _solve(matrix, signs, c, space)
        found.append(alpha * signs)
    weights = np.stack(found, axis=1) if len(points) else np.zeros((len(points), functions))
    if space.features is not None:
        weights = matrix.T @ weights
    return Fitted(
        weights=weights,
        centres=points if space.features is None else None,
        sensitivity=machine_sensitivity(c, space.height, functions, unit, neighbours),
    )


def _solve(matrix: Array, signs: Array, c: float, space: Space) -> Array:
    """Dual coefficients, between 0 and C, with a duality gap that is small enough."""
    goal = gap_allowed(c, space.height)
    ascend = _by_gram if space.features is None else _by_features
    alpha, state = np.zeros(len(signs)), np.zeros(matrix.shape[1])
    order = np.random.default_rng(0)
    sweeps = 0
    while _gap(matrix, signs, alpha, state, c, space) > goal:
        if sweeps >= _SWEEPS:
            raise DataError(
                "the machine was not solved closely enough to say how private it is",
                field="c",
                hint="Use a smaller C or a wider kernel",
            )
        for _ in range(10):
            ascend(matrix, signs, alpha, state, c, order.permutation(len(signs)))
        sweeps += 10
    return alpha


def _gap(matrix: Array, signs: Array, alpha: Array, state: Array, c: float, space: Space) -> float:
    """Primal minus dual, from the state that steps have kept: outputs of all rows, or the weights."""
    outputs = state if space.features is None else matrix @ state
    square = float(alpha * signs @ outputs)
    return square + c * math.fsum(np.maximum(0.0, 1 - signs * outputs)) - math.fsum(alpha)


@compiled
def _by_gram(
    gram: Array, signs: Array, alpha: Array, outputs: Array, c: float, order: npt.NDArray[np.int64]
) -> None:  # pragma: no cover - compiled
    for i in order:
        new = min(max(alpha[i] + (1 - signs[i] * outputs[i]) / gram[i, i], 0.0), c)
        step = (new - alpha[i]) * signs[i]
        if step != 0.0:
            alpha[i] = new
            for j in range(len(outputs)):
                outputs[j] += step * gram[i, j]


@compiled
def _by_features(
    rows: Array, signs: Array, alpha: Array, weights: Array, c: float, order: npt.NDArray[np.int64]
) -> None:  # pragma: no cover - compiled
    for i in order:
        output, square = 0.0, 0.0
        for j in range(len(weights)):
            output += rows[i, j] * weights[j]
            square += rows[i, j] * rows[i, j]
        new = min(max(alpha[i] + (1 - signs[i] * output) / square, 0.0), c)
        step = (new - alpha[i]) * signs[i]
        if step != 0.0:
            alpha[i] = new
            for j in range(len(weights)):
                weights[j] += step * rows[i, j]
