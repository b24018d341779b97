"""The monomials of a row, their sensitivity to one row, and their exact sums.

With features x of B blocks (see `design`) and target y, both from -1 to 1, put on a grid of S steps, a row has these
monomials. Those that are 0 whatever the row (two levels of one feature) are not released at all.

    x_j x_j, 2 x_j x_l, 2 f x_j (with an intercept), 2 f x_j y, and y^2 where it is asked for

The linear weight f is a whole number: terms linear in the coefficients get an f-th of the noise. The published
mechanism has f = 1. More is better where there are many features, since the dependence of the target on a feature
counts more than that between two features: see `functional.linear_weight`.

Sensitivity:  let s bound the sum of |x_j| and q the sum of x_j^2 of a row: both are B, and s = r sqrt(B), q = r^2 for
              rows that are scaled down to a norm r. Adding or removing a row moves the monomials by at most

                  L1     S^2 (s^2 + 2 f s [intercept] + 2 f s + [y^2])
                  L2     S^2 sqrt(q^2 + 2 f^2 q [intercept] + 2 f^2 q + [y^2])      products counted over sqrt 2

              Rows are cut off to the grid towards 0 before they are multiplied, so sums are whole and these bounds are
              exact.   Claim: docs/claims/functional-mechanism.md
Cost:         one pass, O(n d^2).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array, FeatureMap, Points, add_up

__all__ = ["ExactMoments", "Integers", "Monomials", "functional_sensitivity"]

Integers = npt.NDArray[np.int64]

_FLOATS = 1e-9  # relative; what floats may do to a norm


def functional_sensitivity(columns: int, *, ball: bool = False, constant: bool = True) -> float:
    """Sensitivity of the monomials of a squared loss without an intercept to replacing one row, in L1.

    Features and target lie between -1 and 1 each (2 (d+1)^2), or features have a norm of at most 1 (`ball`). Without
    the constant y^2, which no minimum depends on, one less.  [Zhang et al. 2012]

    >>> [functional_sensitivity(d) for d in (4, 8, 11)]
    [50.0, 162.0, 288.0]
    """
    reach = math.sqrt(columns) if ball else float(columns)
    return 2 * (reach**2 + 2 * reach + constant)


@dataclass(frozen=True, kw_only=True)
class Monomials:
    """Released monomials, and their sensitivity to one row.

    Args:
        design: Map from rows to columns.
        norm: The longest that a row of features may be; longer ones are scaled down. None: no scaling.
        intercept: Whether the model has one.
        constant: Whether y^2 is released too.
        linear_weight: How many times less noise the terms linear in the coefficients get.
    """

    design: FeatureMap
    norm: float | None = None
    intercept: bool = True
    constant: bool = False
    linear_weight: int = 3

    def __post_init__(self) -> None:
        if self.norm is not None and not 0 < self.norm < math.inf:
            raise InvalidInput("must be positive and finite", field="norm", value=self.norm)
        if type(self.linear_weight) is not int or not 1 <= self.linear_weight <= 16:
            raise InvalidInput("must be a whole number from 1 to 16", field="linear_weight", value=self.linear_weight)

    @property
    def reach(self) -> float:
        """Most that |x_j| of a row add up to."""
        blocks = float(self.design.blocks)
        return blocks if self.norm is None else min(blocks, self.norm * math.sqrt(blocks) * (1 + _FLOATS))

    @property
    def square(self) -> float:
        """Most that x_j^2 of a row add up to."""
        blocks = float(self.design.blocks)
        return blocks if self.norm is None else min(blocks, self.norm**2 * (1 + _FLOATS))

    @property
    def l1(self) -> float:
        """L1 sensitivity of the coefficients of the monomials to adding or removing one row."""
        return self.reach**2 + 2 * self.linear_weight * self.reach * (1 + self.intercept) + self.constant

    @property
    def l2(self) -> float:
        """The same as a length, with products counted over sqrt 2: the Frobenius norm of the matrix of moments."""
        linear = 2 * self.linear_weight**2 * self.square * (1 + self.intercept)
        return math.sqrt(self.square**2 + linear + self.constant)

    @property
    def released(self) -> npt.NDArray[np.bool_]:
        """Mask of the released monomials, in the upper triangle of the matrix over (1, x, y)."""
        d = self.design.columns
        own = self.design.owners
        mask = np.zeros((d + 2, d + 2), np.bool_)
        mask[1:-1, 1:-1] = (own[:, None] != own[None, :]) | np.eye(d, dtype=np.bool_)
        mask[0, 1:-1] = self.intercept
        mask[1:-1, -1] = True
        mask[-1, -1] = self.constant
        return np.triu(mask)

    @property
    def weights(self) -> Integers:
        """Factor of each entry of the matrix over (1, x, y) before noise is added."""
        found = np.ones((self.design.columns + 2,) * 2, np.int64)
        found[0, 1:-1] = found[1:-1, -1] = self.linear_weight
        return found

    def scaled(self, x: Array) -> Array:
        """Rows of features, none longer than the norm."""
        if self.norm is None:
            return x
        lengths = np.sqrt((x**2).sum(axis=1, keepdims=True))
        return np.asarray(x * np.minimum(1, self.norm / np.maximum(lengths, 1e-300)))


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactMoments:
    """Sums over all rows in whole steps. Exact: for mechanisms only."""

    matrix: Integers
    levels: Integers
    outside: int

    @classmethod
    def of(cls, monomials: Monomials, batches: Iterable[Points], bits: int) -> ExactMoments:
        """Add up all rows, each cut off to the grid towards 0."""
        return add_up(batches, partial(cls._of, monomials, bits))

    def __add__(self, other: ExactMoments) -> ExactMoments:
        """Add the sums over other rows."""
        return ExactMoments(
            matrix=self.matrix + other.matrix, levels=self.levels + other.levels, outside=self.outside + other.outside
        )

    @classmethod
    def _of(cls, monomials: Monomials, bits: int, batches: Iterable[Points]) -> ExactMoments:
        steps, d = 1 << bits, monomials.design.columns
        matrix, levels, outside = np.zeros((d + 2, d + 2), np.int64), np.zeros(2, np.int64), 0
        for points in batches:
            rows = np.column_stack([np.ones(len(points)), monomials.scaled(points.x), points.y])
            whole = np.trunc(rows * steps)
            # all partial sums are whole and far below 2^53, so floats add them exactly, in whatever order
            matrix += (whole.T @ whole).astype(np.int64)
            targets = whole[:, -1].astype(np.int64)
            levels += [int((steps + targets).sum()), int((steps - targets).sum())]
            outside += points.outside
        return cls(matrix=matrix, levels=levels, outside=outside)
