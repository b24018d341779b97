"""The model of noisy moments: centre, make convex, minimise. Reads only what was released, so it costs nothing.

    centre      C = M - s s' / n,  c = v - s t / n        s sums of features, t of the target, n rows: all noisy
    convexify   floor:  eigenvalues of C below a level are raised to it
                trim:   directions with eigenvalues below the level are left out
                ridge:  the level is added to all eigenvalues
    minimise    b' C b - 2 c' b + lambda (alpha |b|_2^2 + (1 - alpha) |b|_1)     alpha 1 is ridge, alpha 0 is LASSO
    stretch     b times g = max(0, c'b - e^2 tr C^-1) / max(b'Cb + lambda alpha |b|^2, 4 sqrt 2 std |b|^2)
                the best length along b, less what noise of standard deviation e in c adds to c'b; not with LASSO

The level is 1.5 times 2 std sqrt(k), the largest eigenvalue that noise alone has in a symmetric matrix of k columns.
An indefinite quadratic has no minimum, and an L1 penalty does not give it one: so convexity always comes first. Lifting
eigenvalues makes coefficients too short, which stretching corrects: along one direction there is much less noise than
along the worst of k. Where all is noise, g is 0 and the mean is predicted. The same holds where the noise in c, of
length e sqrt(k), exceeds n, which no column of c can exceed.

Utility:  1.5 and 4 were chosen on synthetic data, with a look at one public table (Adult).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array
from tacita.learn.regression.moments import NoisyMoments

__all__ = ["Convexify", "Diagnosis", "Penalty", "Solved", "coordinate_descent", "solve_moments"]

Convexify = Literal["floor", "trim", "ridge"]
_LEVEL, _AT_LEAST = 1.5, 4.0
_LARGEST = 1e15  # beside sums over rows: all coefficients are 0 long before
_ROUNDS, _TOLERANCE = 2000, 1e-10


@dataclass(frozen=True, kw_only=True)
class Penalty:
    """lambda (alpha |b|_2^2 + (1 - alpha) |b|_1), on the scale of sums over rows, with features from -1 to 1.

    `alpha` 1 is ridge and 0 is LASSO: the reverse of scikit-learn's `l1_ratio`.
    """

    size: float = 0.0
    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.size <= _LARGEST:
            raise InvalidInput(f"must lie between 0 and {_LARGEST:g}", field="penalty", value=self.size)
        if not 0 <= self.alpha <= 1:
            raise InvalidInput("must lie between 0 and 1", field="alpha", value=self.alpha)


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Changes made to the noisy objective. Read off released numbers, so it may be released too.

    Attributes:
        least, level: The least eigenvalue of the noisy moments, and the level it was lifted to.
        convexified: Whether it was below the level.
        indefinite: Whether it was negative: without lifting, there would be no minimum.
        lifted: Number of eigenvalues that were below the level.
        stretch: Factor of the coefficients, except with LASSO; 0 when all was noise.
        rows, outside: Approximate numbers of rows in total, and beyond the bounds.
    """

    method: Convexify
    least: float
    level: float
    convexified: bool
    lifted: int
    indefinite: bool
    stretch: float
    rows: float
    outside: float
    outside_std: float

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """Coefficients for features from -1 to 1, an intercept, and what it took.

    `inverse` is that of the centred moments as they were solved, and `before` has the coefficients before they were
    stretched; None with a penalty.
    """

    coefficients: Array
    intercept: float
    diagnosis: Diagnosis
    inverse: Array | None = None
    before: Array | None = None


def solve_moments(
    moments: NoisyMoments, *, convexify: Convexify = "floor", penalty: Penalty | None = None, intercept: bool = True
) -> Solved:
    """The penalised least squares of noisy moments."""
    if convexify not in ("floor", "trim", "ridge"):
        raise InvalidInput("must be floor, trim or ridge", field="convexify", value=convexify)
    penalty = penalty or Penalty()
    rows, columns = moments.rows, moments.design.columns
    sums = moments.matrix[0, 1:].clip(-rows, rows) if intercept else np.zeros(columns + 1)
    centred = moments.matrix[1:, 1:] - np.outer(sums, sums) / rows
    quadratic, linear = centred[:-1, :-1], centred[:-1, -1]
    level = _LEVEL * 2 * moments.std * math.sqrt(columns)
    values, vectors = np.linalg.eigh(quadratic)
    lifted = {
        "floor": np.maximum(values, level),
        "ridge": np.maximum(values + level, level / _LEVEL),
        "trim": np.where(values > level, values, np.inf),
    }[convexify]
    ridge = penalty.size * penalty.alpha
    inverse = 1 / (lifted + ridge)
    turned = vectors.T @ linear
    found, stretch = inverse * turned, 1.0
    length = float(found @ found)
    gain = float(turned @ found) - moments.linear_std**2 * float(inverse.sum())
    bend = float(found**2 @ values) + ridge * length
    stretch = max(0.0, gain) / max(bend, _AT_LEAST * math.sqrt(2) * moments.std * length) if length else 0.0
    if moments.linear_std * math.sqrt(columns) > rows:
        stretch, linear = 0.0, np.zeros(columns)
    if penalty.size and penalty.alpha < 1:
        finite = np.where(np.isfinite(lifted), lifted, values.max() * 1e6 + level)
        coefficients = coordinate_descent((vectors * finite) @ vectors.T, linear, penalty, vectors @ found)
    else:
        coefficients = stretch * (vectors @ found)
    diagnosis = Diagnosis(
        method=convexify,
        least=float(values.min()),
        level=level,
        convexified=bool(values.min() < level),
        lifted=int((values < level).sum()),
        indefinite=bool(values.min() < 0),
        stretch=stretch,
        rows=rows,
        outside=moments.outside[0],
        outside_std=moments.outside[1],
    )
    at = float((sums[-1] - sums[:-1] @ coefficients) / rows) if intercept else 0.0
    solved = Solved(coefficients=coefficients, intercept=at, diagnosis=diagnosis)
    if penalty.size:
        return solved
    return replace(solved, inverse=(vectors * inverse) @ vectors.T, before=vectors @ found)


def coordinate_descent(quadratic: Array, linear: Array, penalty: Penalty, start: Array) -> Array:
    """The minimum of b' Q b - 2 c' b + the penalty, for a positive definite Q.  [Friedman et al. 2010]"""
    found = start.copy()
    threshold, ridge = penalty.size * (1 - penalty.alpha) / 2, penalty.size * penalty.alpha
    diagonal = np.diag(quadratic)
    gradient = linear - quadratic @ found
    for _ in range(_ROUNDS):
        largest = 0.0
        for j in range(len(found)):
            wanted = gradient[j] + diagonal[j] * found[j]
            new = math.copysign(max(abs(wanted) - threshold, 0.0), wanted) / (diagonal[j] + ridge)
            step = new - found[j]
            if step:
                gradient -= quadratic[:, j] * step
                found[j] = new
                largest = max(largest, abs(step))
        if largest <= _TOLERANCE:
            break
    return found
