"""Regression by a Gaussian process: the mean of the posterior, A y with A = k(., X) (K + s I)^-1.

Privacy:  *responses are private, inputs are not*: neighbours differ in one response and have the same inputs, which the
          caller must say are public. A response that is missing counts as the middle of its bounds, so that whether it
          is there is private too. The posterior's variance has no response in it and would show inputs only.
          Sensitivity: `mean_sensitivity`, worked out from the inputs alone.
Utility:  s is the variance of the responses' noise over that of the signal; a small one lets one response move a lot.
Cost:     n^3 with a kernel, n D^2 with D features.
"""

from __future__ import annotations

import math

import numpy as np

from tacita.learn.functions.expansion import Fitted, Space
from tacita.learn.functions.kernel import Array
from tacita.learn.functions.sensitivity import mean_sensitivity
from tacita.privacy.unit import Unit

__all__ = ["fit_mean", "response_sensitivity"]


def fit_mean(
    points: Array, responses: Array, *, space: Space, noise: float, ends: tuple[float, float], unit: Unit
) -> Fitted:
    """The mean of the posterior, with responses between public ends; NaN where one is missing."""
    low, high = ends
    middle = (low + high) / 2
    y = np.where(np.isnan(responses), 0.0, (np.clip(responses, low, high) - middle) / (high - low))
    if space.features is None:
        gram = space.gram(points, points)
        weights = np.asarray(np.linalg.solve(gram + noise * np.eye(len(gram)), y), np.float64)
        centres, moved = points, mean_sensitivity(gram, noise, unit)
    else:
        pulls = _pulls(space.features(points), noise)
        weights, centres, moved = pulls @ y, None, _largest(pulls, unit)
    return Fitted(
        weights=weights[:, None], centres=centres, sensitivity=moved, scale=high - low, offset=middle, rows=len(points)
    )


def response_sensitivity(points: Array, *, space: Space, noise: float, unit: Unit) -> float:
    """Sensitivity of the mean to one response: from the inputs alone, which are public."""
    if space.features is None:
        return mean_sensitivity(space.gram(points, points), noise, unit)
    return _largest(_pulls(space.features(points), noise), unit)


def _pulls(columns: Array, noise: float) -> Array:
    """(Phi' Phi + s I)^-1 Phi', whose columns are what one response moves."""
    inverse = np.linalg.inv(columns.T @ columns + noise * np.eye(columns.shape[1]))
    return np.asarray(inverse @ columns.T, np.float64)


def _largest(pulls: Array, unit: Unit) -> float:
    return unit.max_rows * math.sqrt(float(np.max(np.sum(pulls**2, axis=0), initial=0.0)))
