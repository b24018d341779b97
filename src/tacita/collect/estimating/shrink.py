"""Shrinkage of singular values to those above the noise.  [Gavish, Donoho 2017]

A matrix of pure noise, r x c with standard deviation s, has singular values up to about s (sqrt r + sqrt c). A
value above that edge is too large by a known amount; one below it carries no information. `shrink` corrects the first
and drops the second, which is the best possible in squared error when the truth has low rank.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["shrink", "shrink_weighted"]

Array = NDArray[np.float64]


def shrink(matrix: Array, noise: float) -> Array:
    """The matrix with its singular values corrected for independent noise of this standard deviation."""
    short, long = sorted(matrix.shape)
    unit = noise * math.sqrt(long)
    aspect = short / long
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    y = values / unit
    above = y > 1 + math.sqrt(aspect)
    kept = np.zeros_like(values)
    kept[above] = unit * np.sqrt((y[above] ** 2 - aspect - 1) ** 2 - 4 * aspect) / y[above]
    return np.asarray((left * kept) @ right)


def shrink_weighted(matrix: Array, variance: Array) -> Array:
    """The same for noise whose variance differs between cells, as far as a row and a column factor describe it."""
    rows, columns = np.sqrt(variance.mean(axis=1)), np.sqrt(variance.mean(axis=0) / variance.mean())
    scale = np.outer(rows, columns)
    return np.asarray(scale * shrink(matrix / scale, 1.0))
