"""Statistics of independence on tables of counts, many tables at once.

    expected               counts that the hypothesis expects, from the margins of each stratum
    pearson, deviance      X2 = sum (O - E)^2 / E,   G2 = 2 sum O ln(O / E)
    degrees_of_freedom     of a hypothesis; `free_dimensions` leaves out levels that a table does not have

Every table is laid out as (strata, part 1, .., part k): the parts are mutually independent within each stratum. With
one stratum that is mutual independence; with two parts and several strata it is X independent of Y given Z, whose
degrees of freedom are (r - 1)(c - 1) a stratum. Two binary attributes given a third have 2 of them, not 3.

    E_x = prod_i m_i(x_i) / S^(k-1),   m_i the margin of part i in the stratum, S its total

Zero cells: 0 ln 0 = 0, and a cell that the margins rule out (E = 0, so O = 0 too) adds nothing. A level without people
in a stratum takes its degrees of freedom with it.

Privacy: none of its own; a statistic of an exact table must not be published.
Cost: one pass over the cells. For two parts and one stratum G2 = 2 n ln(2) I, with I of `models.information` in bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacita.errors import InvalidInput

__all__ = ["degrees_of_freedom", "deviance", "expected", "free_dimensions", "pearson", "stratum_margins"]

Array = NDArray[np.float64]
Shape = Sequence[int]


def _tables(tables: ArrayLike, shape: Shape) -> Array:
    """Tables with one axis for strata and one for each part, after any axes that count tables."""
    values = np.asarray(tables, dtype=np.float64)
    if len(shape) < 3 or values.ndim < 1 or values.shape[-1] != math.prod(shape):
        rule = f"must have {math.prod(shape)} cells on the last axis, of a stratum and at least two parts"
        raise InvalidInput(rule, field="tables", value=values.shape)
    return values.reshape(*values.shape[:-1], *shape)


def stratum_margins(table: Array, parts: int) -> list[Array]:
    """For each part its margin in each stratum, shaped to broadcast against the table."""
    axes = range(-parts, 0)
    return [table.sum(axis=tuple(other for other in axes if other != axis), keepdims=True) for axis in axes]


def expected(tables: ArrayLike, shape: Shape) -> Array:
    """Counts that the hypothesis expects, in the layout of `tables`; 0 throughout a stratum without anyone.

    Args:
        tables: Non-negative counts, the cells on the last axis.
        shape: (strata, cells of part 1, .., cells of part k).

    >>> expected([30, 10, 10, 30], (1, 2, 2)).tolist()
    [20.0, 20.0, 20.0, 20.0]
    """
    table = _tables(tables, shape)
    parts = len(shape) - 1
    margins = stratum_margins(table, parts)
    total = table.sum(axis=tuple(range(-parts, 0)), keepdims=True)
    scale = np.where(total > 0, total, 1.0) ** (parts - 1)
    found = math.prod(margins[1:], start=margins[0]) / scale
    return np.asarray(found).reshape(*found.shape[: -len(shape)], -1)


def pearson(
    tables: ArrayLike, shape: Shape, *, at: ArrayLike | None = None, noise_variance: float = 0.0
) -> NDArray[np.float64]:
    """X2 of each table.

    Args:
        tables: Counts; they may be negative where `at` is given.
        shape: As in `expected`.
        at: Expected counts; those of the tables themselves by default.
        noise_variance: Variance of noise that was added to each count. X2 weighs a cell by 1 / (E + noise_variance)
            then, because that is its variance; with 0 a cell expected near 0 would dominate a noisy table.

    >>> float(pearson([30, 10, 10, 30], (1, 2, 2)))
    20.0
    """
    observed = _tables(tables, shape).reshape(np.shape(tables))
    means = expected(tables, shape) if at is None else np.asarray(at, dtype=np.float64)
    weight = means + noise_variance
    terms = np.divide((observed - means) ** 2, weight, out=np.zeros_like(weight), where=weight > 0)
    return np.asarray(terms.sum(axis=-1))


def deviance(tables: ArrayLike, shape: Shape) -> NDArray[np.float64]:
    """G2 of each table of non-negative counts.

    >>> round(float(deviance([30, 10, 10, 30], (1, 2, 2))), 4)
    20.9299
    """
    observed = _tables(tables, shape).reshape(np.shape(tables))
    means = expected(tables, shape)
    held = (observed > 0) & (means > 0)
    ratio = np.divide(observed, means, out=np.ones_like(means), where=held)
    found = 2 * (observed * np.log(ratio)).sum(axis=-1)
    return np.asarray(np.maximum(found, 0.0))  # rounding: a product table has 0


def degrees_of_freedom(shape: Shape) -> int:
    """strata * (prod r_i - sum r_i + k - 1): the saturated model's free shares less those of the product model.

    >>> degrees_of_freedom((2, 2, 2)), degrees_of_freedom((1, 2, 4))
    (2, 3)
    """
    strata, *sizes = shape
    return strata * (math.prod(sizes) - sum(sizes) + len(sizes) - 1)


def free_dimensions(tables: ArrayLike, shape: Shape) -> NDArray[np.int64]:
    """Degrees of freedom of each table, over the levels that it has in each stratum."""
    table = _tables(tables, shape)
    parts = len(shape) - 1
    sizes = np.stack(
        [(margin > 0).sum(axis=tuple(range(-parts, 0))) for margin in stratum_margins(table, parts)]
    )  # part, table .., stratum
    sizes = np.maximum(sizes, 1)
    free = sizes.prod(axis=0) - sizes.sum(axis=0) + parts - 1
    return np.asarray(free.sum(axis=-1), dtype=np.int64)
