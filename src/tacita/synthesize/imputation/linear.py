"""Linear regression for numbers, multinomial logistic regression for classes, both drawn from their posterior.

Numbers.  With features X of rank r and n rows, residual sum R, flat prior on b and ln sigma  [Rubin 1987]:

    sigma^2 = R / chi2(n - r)      b ~ N(b^, sigma^2 (X'X)^-1)      y ~ N(x b, sigma^2)

Classes.  Mode b^ of the posterior under independent N(0, 10) on all coefficients, then b ~ N(b^, H^-1) with H the
          matrix of second derivatives there, then a class from the softmax of x b.
Utility:  right where the model is; a number that is not normal given the others comes out normal, cut at its bounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, solve_triangular
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax

from tacita.errors import InvalidInput
from tacita.synthesize.imputation.backend import Drawer, Target

__all__ = ["Linear", "draw_class"]

Array = NDArray[np.float64]

_PRIOR = 0.1  # one over the prior variance of a coefficient
_MOST = 2000  # coefficients whose second derivatives are held
_RANK = 1e-10  # singular values below this part of the largest count as none


@dataclass(frozen=True, kw_only=True)
class Linear:
    """Regression on all features, with a proper draw of its coefficients."""

    def fit(self, features: Array, values: Array, target: Target, rng: np.random.Generator) -> Drawer:
        """Coefficients drawn from their posterior."""
        with_one = np.column_stack([np.ones(len(features)), features])
        if not target.number:
            return _classes(with_one, values, rng)
        coefficients, sigma = posterior_draw(with_one, values, rng)

        def draw(rows: Array, rng: np.random.Generator) -> Array:
            mean = coefficients[0] + rows @ coefficients[1:]
            return target.inside(mean + sigma * rng.standard_normal(len(rows)))

        return draw

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"backend": "linear"}


def posterior_draw(features: Array, values: Array, rng: np.random.Generator) -> tuple[Array, float]:
    """Coefficients and standard deviation; directions that the rows do not determine stay at 0."""
    left, sizes, right = np.linalg.svd(features, full_matrices=False)
    kept = sizes > _RANK * sizes[0]
    free = len(values) - int(kept.sum())
    if free < 1:
        raise InvalidInput(
            "has fewer rows than coefficients", field="rows", value=len(values), hint="Take cart, or train on all rows"
        )
    along = left[:, kept].T @ values
    residual = float(((values - left[:, kept] @ along) ** 2).sum())
    sigma = float(np.sqrt(residual / rng.chisquare(free)))
    drawn = along + sigma * rng.standard_normal(along.size)
    return right[kept].T @ (drawn / sizes[kept]), sigma


def _classes(features: Array, values: Array, rng: np.random.Generator) -> Drawer:
    present, codes = np.unique(values, return_inverse=True)
    wide, others = features.shape[1], present.size - 1
    if not others:
        return lambda rows, rng: np.full(len(rows), present[0])
    if wide * others > _MOST:
        raise InvalidInput(
            f"needs more than {_MOST} coefficients", field="backend", value=wide * others, hint="Take cart or forest"
        )
    one_hot = np.eye(present.size)[codes]

    def loss(flat: Array) -> tuple[float, Array]:
        scores = _scores(features, flat.reshape(wide, others))
        logs = log_softmax(scores, axis=1)
        gradient = features.T @ (np.exp(logs) - one_hot)[:, 1:]
        value = -(logs * one_hot).sum() + _PRIOR / 2 * (flat @ flat)
        return float(value), gradient.reshape(-1) + _PRIOR * flat

    mode = minimize(loss, np.zeros(wide * others), jac=True, method="L-BFGS-B", options={"maxiter": 500}).x
    shares = softmax(_scores(features, mode.reshape(wide, others)), axis=1)[:, 1:]
    lower, _ = cho_factor(_curvature(features, shares), lower=True)
    drawn = mode + solve_triangular(lower, rng.standard_normal(mode.size), lower=True, trans=1)
    coefficients = drawn.reshape(wide, others)

    def draw(rows: Array, rng: np.random.Generator) -> Array:
        with_one = np.column_stack([np.ones(len(rows)), rows])
        return np.asarray(present[draw_class(softmax(_scores(with_one, coefficients), axis=1), rng)])

    return draw


def _scores(features: Array, coefficients: Array) -> Array:
    """The first class is the one that the others are compared with."""
    return np.column_stack([np.zeros(len(features)), features @ coefficients])


def _curvature(features: Array, shares: Array) -> Array:
    """Second derivatives of minus the log posterior: blocks X' diag(p_k (1[k=l] - p_l)) X, and the prior."""
    wide, others = features.shape[1], shares.shape[1]
    full = np.empty((wide, others, wide, others))
    for k in range(others):
        for j in range(k, others):
            weight = shares[:, k] * ((k == j) - shares[:, j])
            full[:, k, :, j] = full[:, j, :, k] = features.T @ (weight[:, None] * features)
    return np.asarray(full.reshape(wide * others, -1) + _PRIOR * np.eye(wide * others))


def draw_class(shares: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """One class for each row of probabilities."""
    heights = np.cumsum(shares, axis=1)
    heights /= heights[:, -1:]
    return np.asarray((rng.random(len(shares))[:, None] >= heights[:, :-1]).sum(axis=1))
