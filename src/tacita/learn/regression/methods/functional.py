"""The functional mechanism: the loss is a polynomial, and its coefficients are noised once.  [Zhang et al. 2012]

    linear     sum (x'b - y)^2                 is quadratic as it stands
    logistic   see `logistic`: its second-order form is, up to a factor, that of a linear model for -1 and 1

Privacy:  every released monomial has noise, Laplace or on a cube: pure. All that follows (symmetrising, lifting
          eigenvalues, any solver, any penalty) reads the noisy coefficients only.
          Claim: docs/claims/functional-mechanism.md
Utility:  Laplace noise on a product of two columns, as published, is about (B+1)^2 / epsilon rows for B features,
          whatever their number of levels; noise on a cube less than half of that where all are numbers. The narrower
          of the two is used. It is good when n epsilon is large against B^2 sqrt(d).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Points
from tacita.learn.regression.cubes import LENGTH, CubeNoise
from tacita.learn.regression.inference import errors_of_moments
from tacita.learn.regression.logistic import unfold
from tacita.learn.regression.moments import MomentNoise, Noise
from tacita.learn.regression.monomials import ExactMoments, Monomials
from tacita.learn.regression.problem import Coefficients, Problem
from tacita.learn.regression.solve import solve_moments
from tacita.noise import Source
from tacita.privacy.event import Event

__all__ = ["FromMoments", "functional", "linear_weight"]


def linear_weight(setting: Problem, noise: Noise) -> int:
    """The weight of linear terms that makes noise in c and in C b least together, for coefficients of length 1/2.

    With B features, the noise on both adds up to least where f is (2 B)^(1/3) for Laplace and (2 B)^(1/4) for Gaussian
    noise: what is linear has a sensitivity of 2 B, what is quadratic one of B^2.
    """
    power = 1 / 3 if noise == "laplace" else 1 / 4
    return max(1, round(math.pow(2 * setting.design.blocks, power)))


def functional(setting: Problem) -> FromMoments:
    """The functional mechanism with the noise that blurs less: Laplace, or on cubes where these can be drawn."""
    laplace = FromMoments.plan(setting, "laplace")
    if setting.budget.epsilon is None or setting.squares:
        return laplace
    try:
        return min((FromMoments.plan(setting, "cube"), laplace), key=lambda plan: plan.blur)
    except InvalidInput as error:
        if error.field != "dimensions":
            raise
        return laplace


@dataclass(frozen=True, kw_only=True)
class FromMoments:
    """A model of noisy moments: a pure mechanism is the functional one, Gaussian noise sufficient statistics."""

    setting: Problem
    noise: MomentNoise | CubeNoise

    @classmethod
    def plan(cls, setting: Problem, noise: Noise) -> FromMoments:
        """Fix the noise."""
        weight = 1 if noise == "cube" else linear_weight(setting, noise)
        monomials = Monomials(
            design=setting.design,
            norm=setting.norm,
            intercept=setting.intercept,
            constant=setting.squares,
            linear_weight=weight,
        )
        unit, neighbours = setting.unit, setting.neighbours
        fixed: MomentNoise | CubeNoise
        if noise == "cube":
            fixed = CubeNoise.calibrate(monomials, setting.budget, unit=unit, neighbours=neighbours)
        else:
            fixed = MomentNoise.calibrate(monomials, noise, setting.budget, unit=unit, neighbours=neighbours)
        return cls(setting=setting, noise=fixed)

    @property
    def blur(self) -> float:
        """Noise in an equation of C b = c, in rows, for coefficients of a public length."""
        return math.hypot(self.noise.linear_std, LENGTH * self.noise.std)

    @property
    def event(self) -> Event:
        """That of the noise."""
        return self.noise.event

    def fit(self, batches: Iterable[Points], source: Source) -> Coefficients:
        """Add up, add noise, solve."""
        sums = ExactMoments.of(self.noise.monomials, batches, self.noise.bits)
        return self.solve(sums, source)

    def solve(self, sums: ExactMoments, source: Source) -> Coefficients:
        """Noise and solution for sums that are there already."""
        setting = self.setting
        moments = self.noise.release(sums, source)
        solved = solve_moments(
            moments, convexify=setting.convexify, penalty=setting.penalty, intercept=setting.intercept
        )
        found = Coefficients(
            coefficients=solved.coefficients,
            intercept=solved.intercept,
            notes=solved.diagnosis.as_dict(),
            errors=None if setting.norm else errors_of_moments(moments, solved, intercept=setting.intercept),
        )
        return found if setting.design.task == "linear" else unfold(found)

    @property
    def name(self) -> str:
        """Of the method."""
        return "sufficient" if self.noise.noise == "gaussian" else "functional"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"method": self.name, "noise": self.noise.as_dict()}
