"""Rows in coordinates without redundant ones, and how far one row reaches in them.

A feature with m levels has m columns that add up to the intercept's column. Its coefficients are taken to add up to 0,
and m - 1 orthonormal coordinates describe them: a row with level l is e_l - 1/m there, a row without a level is 0. A
number keeps its column, from -1 to 1.

    N(g) = largest, over the blocks of a vector, of  |g|  for a number or the intercept,
                                                     sum_l |g_l - median(g)|  for m levels      (sum_l g_l = 0)

The gradient of one row's logistic loss is c (1, x) with |c| <= 1, so N of it is at most 1: N(e_l - 1/m) = 1. The unit
ball of a block with levels is the convex hull of all e_l - 1/m and their negatives, the smallest set with that property
that is convex and symmetric.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacita.learn.feature_map import Array, FeatureMap, Points
from tacita.noise import Source
from tacita.noise.continuous import exponentials

__all__ = ["Contrasts", "draw_in_block", "zero_sum_basis"]

_SPREAD = 0.15  # mean square of a number from -1 to 1, where nothing else is known: for the choice of a ridge only


def zero_sum_basis(levels: int) -> Array:
    """Orthonormal columns that span the vectors of so many entries that add up to 0."""
    whole = np.column_stack([np.ones(levels), np.eye(levels)[:, : levels - 1]])
    return np.asarray(np.linalg.qr(whole)[0][:, 1:])


def draw_in_block(levels: int, source: Source) -> Array:
    """Draw evenly from the unit ball of a block: from -1 to 1 for a number (1), or a vector that adds up to 0.

    Up to a shift, a vector of the ball has one entry 0, the next half of the others above it and the rest below, and
    absolute values that add up to at most 1. By symmetry these parts have the same volume.
    """
    if levels == 1:
        return np.asarray((source.words(1) >> np.uint64(11)).astype(float) * 2.0**-52 - 1)
    order = np.argsort(source.words(levels), kind="stable")
    spacings = exponentials(levels, source)
    found = np.zeros(levels)
    found[order[1:]] = spacings[:-1] / spacings.sum()
    found[order[1 + (levels - 1) // 2 :]] *= -1
    return np.asarray(found - found.mean())


@dataclass(frozen=True, kw_only=True)
class Contrasts:
    """Coordinates of the rows of a design."""

    widths: tuple[int, ...]
    intercept: bool

    @classmethod
    def of(cls, design: FeatureMap, *, intercept: bool) -> Contrasts:
        """Those of a design. A feature with one level only has no coordinate: it is the intercept."""
        return cls(widths=design.widths, intercept=intercept)

    @cached_property
    def blocks(self) -> tuple[int, ...]:
        """Levels of each block, 1 for numbers; the intercept's first."""
        return (1,) * self.intercept + self.widths

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return sum(max(1, levels - 1) for levels in self.blocks)

    @property
    def reach(self) -> float:
        """Largest squared length of a row, without the intercept."""
        return float(sum(1.0 if levels == 1 else 1 - 1 / levels for levels in self.widths))

    @property
    def spread(self) -> float:
        """Expected squared length of a row, without the intercept: a rule of thumb, not a bound."""
        return float(sum(_SPREAD if levels == 1 else 1 - 1 / levels for levels in self.widths))

    @cached_property
    def _bases(self) -> tuple[Array, ...]:
        return tuple(np.eye(1) if levels == 1 else zero_sum_basis(levels) for levels in self.widths)

    def rows(self, points: Points) -> Array:
        """Rows in these coordinates."""
        parts, start = [np.ones((len(points), 1))] if self.intercept else [], 0
        for levels, basis in zip(self.widths, self._bases, strict=True):
            parts.append(points.x[:, start : start + levels] @ basis)
            start += levels
        return np.concatenate(parts, axis=1)

    def coefficients(self, found: Array) -> tuple[Array, float]:
        """Coefficients of the columns of a design, and the intercept."""
        parts, start = [], int(self.intercept)
        for basis in self._bases:
            parts.append(basis @ found[start : start + basis.shape[1]])
            start += basis.shape[1]
        return np.concatenate(parts), float(found[0]) if self.intercept else 0.0

    # -- the norm N ---------------------------------------------------------------------------------------------------

    def draw_in_ball(self, source: Source) -> Array:
        """Draw evenly from the unit ball of N."""
        bases = ((np.eye(1),) if self.intercept else ()) + self._bases
        return np.concatenate(
            [basis.T @ draw_in_block(levels, source) for levels, basis in zip(self.blocks, bases, strict=True)]
        )

    @property
    def squared_length(self) -> float:
        """Mean squared length of an even draw from the unit ball."""
        found = 0.0
        for levels in self.blocks:
            if levels == 1:
                found += 1 / 3
                continue
            # m spacings of which m - 1 are entries: mean of a square 2 / (m (m + 1)), of a product half of it
            up = (levels - 1) // 2
            pairs = levels * (levels + 1)
            squares = 2 * (levels - 1) / pairs
            total = ((2 * up - levels + 1) ** 2 + levels - 1) / pairs  # mean square of the sum of all entries
            found += squares - total / levels
        return found
