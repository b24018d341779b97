"""Noisy second moments: the one statistic that linear models and the polynomial form of logistic ones need.

Privacy:  each monomial (`monomials`) gets noise once. Number of rows and sum of targets leave beside, as the sums of
          S + y and S - y, which a row moves by 2 S in all; so does the number of rows beyond the bounds. A unit of m
          rows moves all of them by m times as much, and by twice that under replace-one.
          Claim: docs/claims/functional-mechanism.md
Utility:  Laplace noise of scale t has t on squares and t/2 on products; Gaussian noise has sigma and sigma / sqrt 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array, FeatureMap
from tacita.learn.regression.monomials import ExactMoments, Integers, Monomials
from tacita.models.neural.grid_noise import rounded_normal
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Source
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.calibrate import narrowest, noise_multiplier
from tacita.privacy.event import DiscreteLaplaceNoise, Event, SampledGaussian, Sequence, Zcdp
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["BITS", "LEVELS", "OUTSIDE", "MomentNoise", "Noise", "NoisyMoments", "gaussian_multiplier"]

Noise = Literal["laplace", "cube", "gaussian"]

BITS = (10, 8, 6, 4)
"""Of the grid: steps of one, from fine to coarse."""
LEVELS: dict[Noise, Fraction] = {"laplace": Fraction(1, 10), "gaussian": Fraction(1, 5)}
"""Share of the loss for the number of rows and the sum of targets: without these two nothing else can be read."""
OUTSIDE = Fraction(1, 50)
"""Share of the loss for counting rows beyond the bounds."""
_FLOATS = 1e-9  # relative; what floats may do to a norm


@dataclass(frozen=True, kw_only=True, eq=False)
class NoisyMoments:
    """Released moments: the matrix over (1, x, y), with the number of rows and the sum of targets in it.

    Attributes:
        matrix: Symmetric. Entries that are never released are 0.
        std: Of the noise on a product of two columns. linear_std: Of that on a column times the target, or alone.
        rows_std: Of the noise on the number of rows, and on the sum of targets.
        outside: Approximate number of rows beyond the bounds, with its standard error.
        variances: Of the noise on each entry of the matrix; independent, or at least uncorrelated.
        squares: Sum of squared targets, where it was released.
    """

    design: FeatureMap
    matrix: Array
    std: float
    linear_std: float
    rows_std: float
    outside: tuple[float, float]
    variances: Array | None = None
    squares: float | None = None

    @classmethod
    def of(cls, design: FeatureMap, upper: Array, levels: Array, **more: Any) -> NoisyMoments:
        """The upper triangle without the levels, and the sums of 1 + y and 1 - y."""
        matrix = upper.copy()
        matrix[0, 0], matrix[0, -1] = (levels[0] + levels[1]) / 2, (levels[0] - levels[1]) / 2
        return cls(design=design, matrix=matrix + np.triu(matrix, 1).T, **more)

    @property
    def rows(self) -> float:
        """Approximate number of rows; never below its noise, so that moments below the noise count little."""
        return math.hypot(max(float(self.matrix[0, 0]), 1.0), self.rows_std)


@dataclass(frozen=True, kw_only=True)
class MomentNoise:
    """Noise for monomials, levels and the rows outside, fixed.

    `size` is the scale of Laplace noise, or the standard deviation of Gaussian noise, in steps, for a square.
    """

    monomials: Monomials
    noise: Noise
    bits: int
    size: Fraction
    unit: Unit
    neighbours: Neighbours
    analytic: bool = False

    @classmethod
    def calibrate(
        cls, monomials: Monomials, noise: Noise, budget: Budget, *, unit: Unit, neighbours: Neighbours
    ) -> MomentNoise:
        """The least noise that the budget allows, on the finest grid that exact noise can have."""
        analytic = budget.currency == "approx" and neighbours is Neighbours.ADD_REMOVE and noise == "gaussian"
        if noise == "gaussian" and budget.currency == "pure":
            raise InvalidInput("Gaussian noise has no pure epsilon", field="method", hint="Give a delta, or functional")
        for bits in BITS:
            plan = cls(
                monomials=monomials,
                noise=noise,
                bits=bits,
                size=Fraction(1),
                unit=unit,
                neighbours=neighbours,
                analytic=analytic,
            )
            try:
                fixed = plan.sized(plan._least(budget))
                _ = fixed.event  # a very small budget needs more steps than exact noise has: then the grid is coarser
            except InvalidInput as error:
                if error.field != "scale":
                    raise
                continue
            return fixed
        raise InvalidInput("no exact noise is wide enough for this budget", field="budget", value=str(budget))

    def _least(self, budget: Budget) -> Fraction:
        """The least size of noise that the budget allows."""
        start = Fraction(self.moved)
        more = Fraction(1_000_001, 1_000_000)  # pays for ratios that the samplers round up
        if self.analytic:
            multiplier = gaussian_multiplier(budget)
            return start * Fraction(multiplier) * more / _root(self._rest)
        if budget.currency == "pure":
            return start * more * cost([(self.sized(start).event, 1)], budget, self.neighbours) / exact(budget.amount)
        return narrowest(lambda size: self.sized(size).event, budget, self.neighbours, start=start, within=10**4)

    def sized(self, size: Fraction) -> MomentNoise:
        """The same with other noise."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return MomentNoise(**fields | {"size": size})

    @property
    def finest(self) -> Fraction:
        """The least size for which drawing is quick: any."""
        return Fraction(0)

    # -- how far things move, in steps --------------------------------------------------------------------------------

    @property
    def _times(self) -> int:
        return self.unit.max_rows * (1 if self.neighbours is Neighbours.ADD_REMOVE else 2)

    @property
    def moved(self) -> int:
        """Sensitivity of the monomials to one unit: L1 for Laplace, L2 for Gaussian noise."""
        far = self.monomials.l1 if self.noise == "laplace" else self.monomials.l2
        return self._times * math.ceil(far * (1 << (2 * self.bits)) - 1e-6)

    @property
    def levels_moved(self) -> int:
        """Sensitivity of the two levels to one unit, in L1 and so in L2."""
        return self._times * (2 << self.bits)

    @property
    def _rest(self) -> Fraction:
        """The share of the loss for the monomials."""
        return 1 - LEVELS[self.noise] - OUTSIDE

    # the loss of each part is its share of the whole: epsilon for Laplace noise, rho for Gaussian noise
    def _levels_size(self, size: Fraction) -> Fraction:
        share = LEVELS[self.noise] / self._rest
        ratio = Fraction(self.levels_moved, self.moved)
        return size * ratio / (share if self.noise == "laplace" else _root(share))

    def _outside_size(self, size: Fraction) -> Fraction:
        share = OUTSIDE / self._rest
        ratio = Fraction(self._times, self.moved)
        return size * ratio / (share if self.noise == "laplace" else _root(share))

    @property
    def _parts(self) -> tuple[tuple[int, Fraction], ...]:
        """Each part: how far it moves, and its size of noise."""
        return (
            (self.moved, self.size),
            (self.levels_moved, self._levels_size(self.size)),
            (self._times, self._outside_size(self.size)),
        )

    @property
    def event(self) -> Event:
        """Cost of all parts to a unit, derived from the noise."""
        if self.noise == "laplace":
            return Sequence(
                events=tuple(
                    DiscreteLaplaceNoise(scale=DiscreteLaplace.at_least(size).scale, sensitivity=moved)
                    for moved, size in self._parts
                )
            )
        if self.analytic:
            # independent Gaussian parts are one Gaussian vector, which a unit moves by the root of the sum of squares
            squares = sum(Fraction(moved) ** 2 / size**2 for moved, size in self._parts)
            return SampledGaussian(noise_multiplier=1 / math.sqrt(squares) * (1 - _FLOATS), rate=1.0)
        return Zcdp(rho=sum(Fraction(moved) ** 2 / (2 * _least_sigma2(size)) for moved, size in self._parts))

    # -- drawing ------------------------------------------------------------------------------------------------------

    def _draw(self, count: int, size: Fraction, source: Source) -> Integers:
        if self.noise == "laplace":
            return DiscreteLaplace.at_least(size).draw(count, source)
        if self.analytic:
            return rounded_normal(count, float(size), source).astype(np.int64)
        return DiscreteGaussian(sigma2=_sigma2(size)).draw(count, source)

    def release(self, sums: ExactMoments, source: Source) -> NoisyMoments:
        """Add noise to everything that is released, once."""
        grid = 1 << self.bits
        steps = float(grid * grid)
        mask = self.monomials.released
        first, second = np.nonzero(mask)
        square, weights = first == second, self.monomials.weights[mask]
        whole = sums.matrix[mask] * weights
        if self.noise == "laplace":
            # the coefficient of a product is twice the sum, and gets the same noise as that of a square
            twice = np.where(square, 1, 2)
            noisy = (whole * twice + self._draw(len(whole), self.size, source)) / (twice * weights)
        else:
            noise = np.zeros(len(whole), np.int64)
            noise[square] = self._draw(int(square.sum()), self.size, source)
            noise[~square] = self._draw(int((~square).sum()), self.size / _root(Fraction(2)), source)
            noisy = (whole + noise) / weights
        matrix = np.zeros(sums.matrix.shape)
        matrix[mask] = noisy / steps
        levels = sums.levels + self._draw(2, self._levels_size(self.size), source)
        beyond = self._outside_size(self.size)
        outside = float(sums.outside + self._draw(1, beyond, source)[0])
        return NoisyMoments.of(
            self.monomials.design,
            matrix,
            levels / grid,
            std=self.std,
            linear_std=self.linear_std,
            rows_std=self._std(self._levels_size(self.size)) / math.sqrt(2) / grid,
            outside=(outside, self._std(beyond)),
            variances=self.variances,
            squares=float(matrix[-1, -1]) if self.monomials.constant else None,
        )

    def _std(self, size: Fraction) -> float:
        return float(size) * (math.sqrt(2) if self.noise == "laplace" else 1.0)

    @property
    def std(self) -> float:
        """Standard deviation of the noise on a product of two columns."""
        half = 2.0 if self.noise == "laplace" else math.sqrt(2)
        return self._std(self.size) / half / float(1 << (2 * self.bits))

    @property
    def linear_std(self) -> float:
        """Standard deviation of the noise on a column times the target."""
        return self.std / self.monomials.linear_weight

    @property
    def variances(self) -> Array:
        """Variance of the noise on each entry of the matrix over (1, x, y)."""
        mask, square = self.monomials.released, self._std(self.size) / float(1 << (2 * self.bits))
        found = np.where(mask, self.std**2, 0.0) / self.monomials.weights**2
        found[np.diag_indices(len(found))] = np.where(np.diag(mask), square**2, 0.0)
        rows = self._std(self._levels_size(self.size)) / math.sqrt(2) / float(1 << self.bits)
        found[0, 0] = found[0, -1] = rows**2
        return np.asarray(found + np.triu(found, 1).T)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        kind = {"laplace": "discrete-laplace"}.get(
            self.noise, "rounded-gaussian" if self.analytic else "discrete-gaussian"
        )
        return {"law": kind, "size": str(self.size), "step": f"1/{1 << (2 * self.bits)}", "std": self.std}


@lru_cache(maxsize=256)
def gaussian_multiplier(budget: Budget) -> float:
    """The least noise of a Gaussian that moves by 1, for an epsilon at a delta."""
    return noise_multiplier(budget, rate=1.0, steps=1)


def _root(value: Fraction) -> Fraction:
    """A square root, never above it, so that noise divided by it is never narrower."""
    return Fraction(math.sqrt(value) * (1 - _FLOATS)).limit_denominator(10**12)


def _least_sigma2(size: Fraction) -> Fraction:
    """Of the noise on squares and of that on products, which is drawn on a grid of its own, the narrower."""
    return min(_sigma2(size), 2 * _sigma2(size / _root(Fraction(2))))


def _sigma2(size: Fraction) -> Fraction:
    return DiscreteGaussian.at_least(size**2).sigma2
