"""Noisy second moments with noise by the largest of them: narrower than Laplace noise where features are numbers.

A row of numbers moves all products at once, each by little. Laplace noise pays for the sum of the moves; noise on a
cube (`noise.cube`) for the largest. With levels it is the other way round: a row moves few of many products, by 1 in
sum for two features, and Laplace noise is right. So the release is cut into parts, each with the noise that fits it:

                                 of numbers           with a level
    x_j x_l                      cube                 Laplace
    x_j (with an intercept)      cube                 Laplace
    x_j y                        cube                 Laplace

and beside, as in `moments`: the number of rows and the sum of targets, and how many rows lie beyond the bounds.

Privacy:  pure. With all |x_j|, |y| <= 1 adding or removing a row moves each number of a cube by at most 1. Those with
          a level it moves by 1 in sum for each pair of features, and for each feature. Rows that are scaled down to a
          norm r move products by at most r^2, and the rest by r, where that is less.
          Claim: docs/claims/functional-mechanism.md
Utility:  shares of epsilon are those that make the error of the linear system C b = c least, for coefficients of
          length 1/3 and a mean target of 1/3. A part whose error at epsilon 1 is w then gets a share as w^(2/3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array
from tacita.learn.regression.moments import BITS, LEVELS, OUTSIDE, Noise, NoisyMoments
from tacita.learn.regression.monomials import ExactMoments, Integers, Monomials
from tacita.noise import DiscreteCube, DiscreteLaplace, Source
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import DiscreteLaplaceNoise, Event, Pure, Sequence
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["LENGTH", "CubeNoise", "Part"]

LENGTH = 1 / 3
"""How long coefficients are taken to be, and how large the mean target, where noise is shared out."""
_SHARES = 10**6


@dataclass(frozen=True, kw_only=True, eq=False)
class Part:
    """Some of the moments, with the same noise.

    Attributes:
        cells: Mask of the matrix over (1, x, y), in its upper triangle.
        cube: Whether by the largest of them, else Laplace noise on each.
        moved: How far a row moves them, the largest or in sum, as a whole number of what a cell can be moved by.
        power: 2 for products of features, 1 for a feature alone or times the target: how the norm counts.
        weight: Weight of an error in one of them.
    """

    cells: npt.NDArray[np.bool_]
    cube: bool
    moved: int
    power: int
    weight: float

    @property
    def many(self) -> int:
        """Number of released numbers."""
        return int(self.cells.sum())

    @property
    def blur(self) -> float:
        """Squared error of the whole part at an epsilon of 1, counted by its weight."""
        one = (self.many + 1) * (self.many + 2) / 3 if self.cube else 2.0 * self.moved**2
        return one * self.many * self.weight


def parts_of(monomials: Monomials) -> tuple[Part, ...]:
    """Partition of the moments; empty parts are left out."""
    design = monomials.design
    lone = np.array(design.widths)[design.owners] == 1
    numbers, levels = int(lone.sum()), sum(width > 1 for width in design.widths)
    pairs = levels * (levels + 1) // 2 + levels * numbers
    released = monomials.released
    both = np.zeros(released.shape, np.bool_)
    both[1:-1, 1:-1] = lone[:, None] & lone[None, :]
    inner, first, last = np.zeros((3, *released.shape), np.bool_)
    inner[1:-1, 1:-1], first[0, 1:-1], last[1:-1, -1] = True, True, True
    alone = np.zeros(released.shape, np.bool_)
    alone[0, 1:-1] = alone[1:-1, -1] = lone
    # a product counts twice in the matrix; in C b, each with a coefficient of LENGTH / sqrt(columns)
    crossed, mean = 2 * LENGTH**2 / design.columns, LENGTH**2
    found = (
        Part(cells=released & inner & both, cube=True, moved=1, power=2, weight=crossed),
        Part(cells=released & inner & ~both, cube=False, moved=pairs, power=2, weight=crossed),
        Part(cells=released & first & alone, cube=True, moved=1, power=1, weight=mean),
        Part(cells=released & first & ~alone, cube=False, moved=levels, power=1, weight=mean),
        Part(cells=released & last & alone, cube=True, moved=1, power=1, weight=1.0),
        Part(cells=released & last & ~alone, cube=False, moved=levels, power=1, weight=1.0),
    )
    return tuple(part for part in found if part.many)


@dataclass(frozen=True, kw_only=True)
class CubeNoise:
    """Noise for all parts, fixed. `size` is one over the epsilon of all of them together."""

    monomials: Monomials
    bits: int
    size: Fraction
    unit: Unit
    neighbours: Neighbours
    noise: ClassVar[Noise] = "cube"

    @classmethod
    def calibrate(cls, monomials: Monomials, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CubeNoise:
        """The least noise that epsilon allows, on the finest grid that exact noise can have; a delta is not used."""
        if budget.epsilon is None:
            raise InvalidInput("noise on a cube needs a budget in epsilon", field="budget", hint="Use Gaussian noise")
        if monomials.constant or monomials.linear_weight != 1:
            raise InvalidInput("noise on a cube has neither y^2 nor a linear weight above 1", field="monomials")
        for bits in BITS:
            plan = cls(monomials=monomials, bits=bits, size=1 / exact(budget.epsilon), unit=unit, neighbours=neighbours)
            try:
                _ = plan.event  # a very small budget needs more steps than exact noise has: then the grid is coarser
            except InvalidInput as error:
                if error.field != "scale":
                    raise
                continue
            return plan
        raise InvalidInput("no exact noise is wide enough for this budget", field="budget", value=str(budget))

    def sized(self, size: Fraction) -> CubeNoise:
        """The same with other noise."""
        return CubeNoise(
            monomials=self.monomials, bits=self.bits, size=size, unit=self.unit, neighbours=self.neighbours
        )

    # -- how far things move, and what noise they get, in steps -------------------------------------------------------

    @property
    def _times(self) -> int:
        return self.unit.max_rows * (1 if self.neighbours is Neighbours.ADD_REMOVE else 2)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """Released parts, except the levels and the rows outside."""
        return parts_of(self.monomials)

    def moved(self, part: Part) -> int:
        """Sensitivity of a part to one unit: of the largest of its numbers, or of all in sum."""
        return self._times * part.moved * math.ceil(self._cell(part) * (1 << (2 * self.bits)) - 1e-6)

    def _cell(self, part: Part) -> float:
        """Sensitivity of one number of a part to one row."""
        return min(1.0, math.pow(self.monomials.square, part.power / 2))

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """Share of epsilon of each part; together a little less than levels and outside leave."""
        roots = [math.pow(part.blur * self._cell(part) ** 2, 1 / 3) for part in self.parts]
        rest = 1 - LEVELS["laplace"] - OUTSIDE
        return tuple(rest * Fraction(max(1, int(root / sum(roots) * (_SHARES - 10))), _SHARES) for root in roots)

    @cached_property
    def laws(self) -> tuple[DiscreteCube | DiscreteLaplace, ...]:
        """The noise of each part."""
        sizes = [self.moved(part) * self.size / share for part, share in zip(self.parts, self.shares, strict=True)]
        return tuple(
            DiscreteCube.at_least(size, part.many) if part.cube else DiscreteLaplace.at_least(size)
            for part, size in zip(self.parts, sizes, strict=True)
        )

    @property
    def finest(self) -> Fraction:
        """The least size for which drawing is quick: noise of as many steps as a cube has coordinates."""
        found = zip(self.parts, self.shares, strict=True)
        return max((share * part.many / self.moved(part) for part, share in found if part.cube), default=Fraction(0))

    @property
    def _levels_moved(self) -> int:
        return self._times * (2 << self.bits)

    @property
    def _levels_law(self) -> DiscreteLaplace:
        return DiscreteLaplace.at_least(self._levels_moved * self.size / LEVELS["laplace"])

    @property
    def _outside_law(self) -> DiscreteLaplace:
        return DiscreteLaplace.at_least(self._times * self.size / OUTSIDE)

    @property
    def event(self) -> Event:
        """Cost of all parts to a unit, derived from the noise."""
        events: list[Event] = []
        for part, law in zip(self.parts, self.laws, strict=True):
            moved = self.moved(part)
            cost = Pure(epsilon=law.epsilon(moved)) if isinstance(law, DiscreteCube) else None
            events.append(cost or DiscreteLaplaceNoise(scale=law.scale, sensitivity=moved))
        events.append(DiscreteLaplaceNoise(scale=self._levels_law.scale, sensitivity=self._levels_moved))
        events.append(DiscreteLaplaceNoise(scale=self._outside_law.scale, sensitivity=self._times))
        return Sequence(events=tuple(events))

    # -- drawing ------------------------------------------------------------------------------------------------------

    def release(self, sums: ExactMoments, source: Source) -> NoisyMoments:
        """Add noise to everything that is released, once."""
        matrix: Integers = np.zeros_like(sums.matrix)
        for part, law in zip(self.parts, self.laws, strict=True):
            drawn = law.draw(source) if isinstance(law, DiscreteCube) else law.draw(part.many, source)
            matrix[part.cells] = sums.matrix[part.cells] + drawn
        levels = sums.levels + self._levels_law.draw(2, source)
        outside = sums.outside + int(self._outside_law.draw(1, source)[0])
        return NoisyMoments.of(
            self.monomials.design,
            matrix / float(1 << (2 * self.bits)),
            levels / (1 << self.bits),
            std=self.std,
            linear_std=self.linear_std,
            rows_std=self._levels_law.std / math.sqrt(2) / (1 << self.bits),
            outside=(float(outside), self._outside_law.std),
            variances=self.variances,
        )

    @cached_property
    def _variances(self) -> Array:
        """Of the noise on each number of the matrix over (1, x, y)."""
        found = np.zeros(self.monomials.released.shape)
        for part, law in zip(self.parts, self.laws, strict=True):
            found[part.cells] = law.std**2
        return (found + np.triu(found, 1).T) / float(1 << (4 * self.bits))

    @property
    def variances(self) -> Array:
        """Variance of the noise on each entry of the matrix over (1, x, y), levels included."""
        found = self._variances.copy()
        rows = self._levels_law.variance / 2 / float(1 << (2 * self.bits))
        found[0, 0] = found[0, -1] = found[-1, 0] = rows
        return found

    @property
    def std(self) -> float:
        """Standard deviation of the noise on a product of two columns; over the column where it is largest."""
        return math.sqrt(float(self._variances[1:-1, 1:-1].mean(axis=0).max()))

    @property
    def linear_std(self) -> float:
        """Standard deviation of the noise on a column times the target, over all columns."""
        return math.sqrt(float(self._variances[1:-1, -1].mean()))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        laws = [law.as_dict() for law in self.laws]
        return {"law": "cube", "parts": laws, "step": f"1/{1 << (2 * self.bits)}", "std": self.std}
