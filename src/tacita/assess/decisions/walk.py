"""Independent draws from a density on the simplex, many at once: hit-and-run with slices.  [Smith 1984; Neal 2003]

A chain moves along a line through its point: a level is drawn below the density there, and a point of the line above
that level is accepted, the interval shrinking towards where the chain is. That leaves the density unchanged, whatever
the lines are; lines drawn with the covariance of the density, mixed with exchanges between two cells, make few steps
enough. Each draw is the end of a chain of its own, so that draws are independent of each other.

The densities here are functions of linear features of the point, x A + a, so a line costs one product with A and not
one for each point that is tried.

Privacy: none of its own; it reads what was released or reported.
Cost: steps * draws * (features) a shrinkage; about ten shrinkages a step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacita.tables.simplex import norm_sub_rows

__all__ = ["Density", "walk"]

Array = NDArray[np.float64]
_INSIDE = 0.01
_MOST_SHRINKAGES = 200


@dataclass(frozen=True, kw_only=True, eq=False)
class Density:
    """A density on the simplex, up to a factor.

    Attributes:
        matrix, offset: Features of a point x are x @ matrix + offset.
        log: Log density of each row of features.
        centre: A point near its mode; it may lie outside of the simplex.
        root: R with R' R about its covariance: a row of normal draws times R is a typical step.
    """

    matrix: Array
    offset: Array
    log: Callable[[Array], Array]
    centre: Array
    root: Array


def steps_for(cells: int) -> int:
    """Steps of a chain before its point is taken: a few for each dimension."""
    return 30 + 6 * cells


def walk(density: Density, count: int, rng: np.random.Generator, *, steps: int | None = None) -> Array:
    """Draw `count` points, one row each.

    Args:
        density: To draw from.
        count: Number of points, each from a chain of its own.
        rng: Randomness of the draws; post-processing, so that it protects no one.
        steps: Of each chain; by the number of cells by default.
    """
    cells = density.centre.size
    begin = density.centre + rng.standard_normal((count, density.root.shape[0])) @ density.root
    x = (1 - _INSIDE) * norm_sub_rows(begin) + _INSIDE / cells
    for step in range(steps or steps_for(cells)):
        x = _move(density, x, _lines(density, count, step, rng), rng)
    return x


def _lines(density: Density, count: int, step: int, rng: np.random.Generator) -> Array:
    """Directions whose cells sum to 0: by the covariance, or from one cell to another."""
    cells = density.centre.size
    if step % 2 == 0:
        lines = rng.standard_normal((count, density.root.shape[0])) @ density.root
        return np.asarray(lines - lines.mean(axis=1, keepdims=True))
    first = rng.integers(cells, size=count)
    second = (first + rng.integers(1, cells, size=count)) % cells
    lines = np.zeros((count, cells))
    rows = np.arange(count)
    lines[rows, first], lines[rows, second] = 1.0, -1.0
    return lines


def _move(density: Density, x: Array, lines: Array, rng: np.random.Generator) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = -x / lines
    low = np.where(lines > 0, ratio, -np.inf).max(axis=1)
    high = np.where(lines < 0, ratio, np.inf).min(axis=1)
    here, along = x @ density.matrix + density.offset, lines @ density.matrix
    level = density.log(here) - rng.standard_exponential(len(x))
    moved = np.zeros(len(x))
    left = np.arange(len(x))
    for _ in range(_MOST_SHRINKAGES):
        at = low[left] + (high[left] - low[left]) * rng.random(left.size)
        good = density.log(here[left] + at[:, None] * along[left]) >= level[left]
        moved[left[good]] = at[good]
        left, at = left[~good], at[~good]
        if not left.size:
            break
        low[left] = np.where(at < 0, at, low[left])
        high[left] = np.where(at < 0, high[left], at)
    return np.maximum(x + moved[:, None] * lines, 0.0)
