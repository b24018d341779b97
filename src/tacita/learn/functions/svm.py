"""Kernel machine: w minimises 1/2 |w|^2 + C sum_i max(0, 1 - y_i w . phi(x_i)), one function for each class.

    bias        none is free: a constant is part of the kernel (k + 1), so it is regularised and gets noise as the rest
    C           that of the sum: C_share / rows, where the number of rows is public; elsewhere the caller says about how
                many rows there are
    classes     two: one function; J > 2: one against the rest for each, on the same rows, so their noise is for all
                J together: sqrt(J)

Privacy:  solved by coordinate ascent until the duality gap is below a public limit, which the sensitivity has room for
          (`machine_sensitivity`). Nothing that the rows decide is refused: steps go on until the gap is there, or
          until they are so small that it is too; more rows than memory is for are solved without a matrix, which is
          slow.   [Hsieh et al. 2008]
Numbers:  the gap is a sum of terms that are not negative, over outputs that are computed afresh, so that no rounding
          hides it, however small C is.
Cost:     n kernel values for each step; n^2 numbers of memory without features.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from tacita.common.compiled import compiled
from tacita.learn.functions.expansion import Fitted, Space
from tacita.learn.functions.kernel import Array
from tacita.learn.functions.sensitivity import gap_allowed, machine_sensitivity
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["fit_machine", "functions_of"]

_CHUNK = 1 << 14  # rows that are turned into features at once
_SWEEPS = 10  # between two looks at the gap
_STILL, _STILL_ROWS = 1e-14, 40_000
"""Of C: with n rows and steps below it, the gap is below n^2 2 10^-14 C^2: allowed for so many rows. With more rows,
steps must be smaller, by the square of how many times more."""


def functions_of(classes: int) -> int:
    """Number of functions that separate so many classes."""
    return 1 if classes == 2 else classes


def fit_machine(
    points: Array,
    codes: npt.NDArray[np.int64],
    *,
    classes: int,
    space: Space,
    c: float,
    most: int,
    unit: Unit,
    neighbours: Neighbours,
) -> Fitted:
    """A machine for each class against the rest; with two classes, for the second against the first.

    Args:
        points: In the unit cube.
        codes: The class of each.
        classes: Number of classes.
        space: Of model and noise.
        c: Of each row.
        most: Rows that a matrix is made for; with more, kernel values are worked out again for each step.
        unit, neighbours: Unit that is protected, and notion of neighbours.
    """
    functions = functions_of(classes)
    matrix = None
    if len(points) <= most:
        matrix = space.features(points) if space.features is not None else space.gram(points, points)
    found = []
    for each in range(functions):
        signs = np.where(codes == (1 if functions == 1 else each), 1.0, -1.0)
        alpha = _solve(points, matrix, signs, c, space)
        found.append(alpha * signs)
    weights = np.stack(found, axis=1) if len(points) else np.zeros((len(points), functions))
    if space.features is not None:
        parts = range(0, len(points), _CHUNK)
        sums = [space.features(points[at : at + _CHUNK]).T @ weights[at : at + _CHUNK] for at in parts]
        weights = np.sum([np.zeros((space.features.size, functions)), *sums], axis=0)
    return Fitted(
        weights=weights,
        centres=points if space.features is None else None,
        sensitivity=machine_sensitivity(c, space.height, functions, unit, neighbours),
    )


def _solve(points: Array, matrix: Array | None, signs: Array, c: float, space: Space) -> Array:
    """Dual coefficients, between 0 and C, with a duality gap that is small enough."""
    goal = gap_allowed(c, space.height)
    by_features = matrix is not None and space.features is not None
    alpha = np.zeros(len(signs))
    state = np.zeros(matrix.shape[1] if by_features and matrix is not None else len(signs))  # weights, or outputs
    order = np.random.default_rng(0)
    still = _STILL * min(1.0, (_STILL_ROWS / max(len(signs), 1)) ** 2)

    def outputs() -> Array:
        return np.asarray(matrix @ state) if by_features and matrix is not None else state

    while True:
        if _gap(signs, alpha, outputs(), c) <= goal:
            state[:] = _afresh(points, matrix, signs * alpha, space)  # without the rounding errors of the steps
            if _gap(signs, alpha, outputs(), c) <= goal:
                return alpha
        before = alpha.copy()
        for _ in range(_SWEEPS):
            before[:], turn = alpha, order.permutation(len(signs))
            if matrix is None:
                _by_points(points, signs, alpha, state, c, turn, space)
            elif by_features:
                _by_features(matrix, signs, alpha, state, c, turn)
            else:
                _by_gram(matrix, signs, alpha, state, c, turn)
        if np.max(np.abs(alpha - before)) <= still * c:
            return alpha


def _afresh(points: Array, matrix: Array | None, weights: Array, space: Space) -> Array:
    """The state of a solver, from its coefficients alone: weights of features, or the outputs of all rows."""
    if matrix is not None:
        return np.asarray(matrix.T @ weights if space.features is not None else matrix @ weights)
    found = np.zeros(len(points))
    for row in np.flatnonzero(weights):
        for at in range(0, len(points), _CHUNK):
            found[at : at + _CHUNK] += weights[row] * space.gram(points[row : row + 1], points[at : at + _CHUNK])[0]
    return found


def _gap(signs: Array, alpha: Array, outputs: Array, c: float) -> float:
    """Primal minus dual, from the outputs of all rows, as a sum of terms that are not negative.

    With the margin m = 1 - y f, a row's part of primal minus dual is c max(0, m) - alpha m: (c - alpha) m where the row
    lies inside the margin, alpha |m| where it lies outside.
    """
    margins = 1 - signs * outputs
    return math.fsum(np.where(margins > 0, (c - alpha) * margins, -alpha * margins))


def _by_points(
    points: Array, signs: Array, alpha: Array, outputs: Array, c: float, order: npt.NDArray[np.int64], space: Space
) -> None:
    """The step of `_by_gram`, with the row of kernel values that it needs and no others."""
    for i in order:
        square = float(space.gram(points[i : i + 1], points[i : i + 1])[0, 0])
        new = min(max(alpha[i] + (1 - signs[i] * outputs[i]) / square, 0.0), c)
        step = (new - alpha[i]) * signs[i]
        if step != 0.0:
            alpha[i] = new
            for at in range(0, len(points), _CHUNK):
                outputs[at : at + _CHUNK] += step * space.gram(points[i : i + 1], points[at : at + _CHUNK])[0]


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
