"""Kernel density: how many rows there are around a point, as a density in the units of the data.

    f(x) = sum_i k(x, x_i),     density(x) = (f(x) + noise(x)) / (rows * integral of k * volume of the box)

Privacy:  noise has covariance k itself, of variance 1, and what makes a density of the sum is divided by afterwards.
          Where the number of rows is public (replace-one, rows) it divides; elsewhere a noisy one does, for a share of
          the budget. A row without a point counts as a row and adds nothing. Sensitivity: `sum_sensitivity`.
Utility:  noise of one standard deviation at every point alike, however many are asked; a density may come out negative.
"""

from __future__ import annotations

import numpy as np

from tacita.learn.functions.expansion import Fitted, Space
from tacita.learn.functions.kernel import Array, Kernel
from tacita.learn.functions.sensitivity import sum_sensitivity
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["density_scale", "fit_density"]


def fit_density(
    points: Array, *, space: Space, divisor: float, volume: float, unit: Unit, neighbours: Neighbours
) -> Fitted:
    """The sum of kernels, with what makes a density of it.

    Args:
        points: In the unit cube, without missing numbers.
        space: Of model and noise.
        divisor: The number of rows: public, or with noise.
        volume: Of the box that the unit cube represents.
        unit, neighbours: Unit that is protected, and notion of neighbours.
    """
    centres, weights = None, np.ones((len(points), 1))
    if space.features is None:
        centres = points
    else:
        weights = space.features(points).sum(axis=0)[:, None]
    return Fitted(
        weights=weights,
        centres=centres,
        sensitivity=sum_sensitivity(space.height, unit, neighbours, negative=space.negative),
        scale=density_scale(divisor, space.kernel, points.shape[1], volume),
    )


def density_scale(rows: float, kernel: Kernel, dimensions: int, volume: float) -> float:
    """Factor that turns a sum of kernels into a density."""
    return 1 / (max(rows, 1.0) * kernel.integral(dimensions) * volume)
