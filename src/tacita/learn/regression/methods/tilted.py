"""Objective perturbation of logistic regression with a tilt as narrow as gradients allow.

    w = argmin  sum log(1 + exp(-y u'w)) + w'Lw / 2 + t'w      u rows in the coordinates of `contrasts`, L diagonal

    block tilt      density of t proportional to exp(-N(t) / s),  s = c / (epsilon - j)           [Awan, Slavkovic 2021]
    Gaussian tilt   t normal with standard deviation sigma r in every coordinate, r = longest row
                    sigma that of the Gaussian mechanism at (epsilon - j, delta / 2)              [Redberg et al. 2023]
    j = log(1 + sum_i r_i^2 / (4 L_i))      what the curvature of one row costs; c = 1, or 2 for replace-one

Privacy:  block tilt: epsilon, pure. Gaussian tilt: epsilon at delta, under add-remove. A unit of one row. Holds for the
          exact minimum: it is found to the last digits of a float and then rounded to a public grid.
          Claim: docs/claims/tilted-regression.md
Utility:  noise on a gradient is about B / epsilon rows for B features, whatever their levels; the sphere of `objective`
          has sqrt(B d) / epsilon for d columns. The loss is the logistic one, not a quadratic form of it, and the
          intercept has hardly any ridge: so probabilities and the cut at 1/2 are right. The ridge on features weighs
          noise against bias for a public number of people (10,000 by default).
Cost:     Newton steps of n d^2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array, Points
from tacita.learn.regression.contrasts import Contrasts
from tacita.learn.regression.logistic import minimum
from tacita.learn.regression.problem import Coefficients, Problem, gather
from tacita.learn.regression.unit_rows import GRID
from tacita.noise import Source
from tacita.noise.continuous import exponentials, normals
from tacita.privacy.event import Approximate, Event, Pure
from tacita.privacy.unit import Neighbours

__all__ = ["Tilted", "check_tilted", "gaussian_delta", "gaussian_sigma"]

_PEOPLE = 10_000
_NOISE_WEIGHT = 10.0  # of noise against bias: chosen on generated tables, with a look at wine and at one network
_ODDS_SPREAD = 0.15  # typical p (1 - p)
_MOST = 0.5  # of epsilon, for the curvature
_TRIAL = 0.1  # the same, where laws are compared
_STEPS = 60
_SLACK = 1e-9


def gaussian_delta(epsilon: float, sigma: float) -> float:
    """The least delta of Gaussian noise of this width on a vector that moves by 1.  [Balle, Wang 2018]"""
    middle, half = epsilon * sigma, 1 / (2 * sigma)
    return math.exp(log_ndtr(half - middle)) - math.exp(epsilon + log_ndtr(-half - middle))


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """The least width of Gaussian noise with this epsilon and delta, to a billionth and never below it."""
    low, high = 1e-6, 1.0
    while gaussian_delta(epsilon, high) > delta:
        low, high = high, 2 * high
    while high - low > 1e-10 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(epsilon, middle) > delta else (low, middle)
    return high * (1 + _SLACK)


def check_tilted(setting: Problem) -> None:
    """Refuse what it cannot protect, and what has no odds."""
    if setting.design.task != "logistic":
        raise InvalidInput("is for two levels", field="method", value="tilted", hint="Use functional or sufficient")
    if setting.budget.epsilon is None:
        raise InvalidInput("objective perturbation needs a budget in epsilon", field="budget")
    if setting.unit.max_rows > 1:
        raise InvalidInput(
            "objective perturbation protects one row", field="unit", value=str(setting.unit), hint="Use functional"
        )


@dataclass(frozen=True, kw_only=True)
class Tilted:
    """A tilt and a ridge, fixed.

    Attributes:
        curved: Part j of epsilon, which pays for the curvature of one row.
        sigma: Of the Gaussian tilt, for rows of a length of 1; None for the block tilt.
    """

    setting: Problem
    epsilon: float
    curved: float
    sigma: float | None

    @classmethod
    def plan(cls, setting: Problem) -> Tilted:
        """Choose the narrower tilt, and the ridge that fits its noise."""
        check_tilted(setting)
        epsilon = float(setting.budget.epsilon or 0.0)
        tries = [cls(setting=setting, epsilon=epsilon, curved=_TRIAL * epsilon, sigma=None)]
        gaussian = setting.budget.currency == "approx" and setting.neighbours is Neighbours.ADD_REMOVE
        if gaussian:
            tries.append(tries[0]._with(_TRIAL * epsilon, gaussian=True))
        best = min(tries, key=lambda plan: plan.noise)
        low, high = 0.0, _MOST * epsilon
        for _ in range(_STEPS):  # more of epsilon for the curvature needs less ridge, and leaves more noise
            middle = (low + high) / 2
            near = cls(setting=setting, epsilon=epsilon, curved=middle, sigma=best.sigma)
            low, high = (low, middle) if near._ridge < near._wanted(best) else (middle, high)
        return best._with(high, gaussian=best.sigma is not None)

    def _with(self, curved: float, *, gaussian: bool) -> Tilted:
        sigma = gaussian_sigma(self.epsilon - curved, self.setting.budget.delta / 2) if gaussian else None
        if sigma is not None and self.epsilon - curved < 1 / (2 * sigma**2):
            sigma = None  # beyond what the claim shows; never with a delta that protects
        return Tilted(setting=self.setting, epsilon=self.epsilon, curved=curved, sigma=sigma)

    @property
    def contrasts(self) -> Contrasts:
        """Coordinates of rows."""
        return Contrasts.of(self.setting.design, intercept=self.setting.intercept)

    @property
    def noise(self) -> float:
        """Mean squared length of the tilt."""
        at = self.contrasts
        if self.sigma is not None:
            return self.sigma**2 * (at.reach + self.setting.intercept) * at.size
        return self.scale**2 * (at.size + 1) * (at.size + 2) * at.squared_length

    @property
    def scale(self) -> float:
        """Of the block tilt."""
        times = 1 if self.setting.neighbours is Neighbours.ADD_REMOVE else 2
        return times / (self.epsilon - self.curved)

    @property
    def event(self) -> Event:
        """Cost to a unit."""
        if self.sigma is None:
            return Pure(epsilon=self.epsilon)
        return Approximate(epsilon=self.epsilon, delta=self.setting.budget.delta * (1 - _SLACK))

    # -- the ridge ----------------------------------------------------------------------------------------------------

    @property
    def _ridge(self) -> float:
        """The ridge on features that the curvature needs; half of it pays for the intercept, where there is one."""
        return self.contrasts.reach * (2 if self.setting.intercept else 1) / (4 * math.expm1(self.curved))

    def _wanted(self, like: Tilted) -> float:
        """The ridge that weighs noise against bias, for the public number of people."""
        noise = like.noise * ((self.epsilon - like.curved) / (self.epsilon - self.curved)) ** 2
        curvature = (self.setting.people or _PEOPLE) * _ODDS_SPREAD * self.contrasts.spread
        return _NOISE_WEIGHT * noise / curvature

    @property
    def ridges(self) -> Array:
        """One for each coordinate. A requested penalty does not touch the intercept."""
        at = self.contrasts
        found = np.full(at.size, max(self._ridge, self.setting.penalty.size / 4))
        found[: int(self.setting.intercept)] = 1 / (2 * math.expm1(self.curved))
        return found

    # -- fitting ------------------------------------------------------------------------------------------------------

    def fit(self, batches: Iterable[Points], source: Source) -> Coefficients:
        """Minimise the tilted objective."""
        points, at, ridges = gather(batches, self.setting.design.columns), self.contrasts, self.ridges
        found = minimum(at.rows(points), points.y, ridges, self.draw(source))
        coefficients, intercept = at.coefficients(np.rint(found * GRID) / GRID)
        notes = {"ridge": float(ridges[-1]), "noise": math.sqrt(self.noise / at.size)}
        return Coefficients(coefficients=coefficients, intercept=intercept, notes=notes)

    def draw(self, source: Source) -> Array:
        """Draw the tilt: a gamma length times an even draw from the ball of N has density exp(-N(t) / s)."""
        at = self.contrasts
        if self.sigma is not None:
            return self.sigma * math.sqrt(at.reach + self.setting.intercept) * normals(at.size, source)
        length = self.scale * float(exponentials(at.size + 1, source).sum())
        return length * at.draw_in_ball(source)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        law = {"law": "block-gamma", "scale": self.scale} if self.sigma is None else {"law": "gaussian"}
        width = {} if self.sigma is None else {"sigma": self.sigma}
        return {"method": "tilted", "ridge": float(self.ridges[-1]), "noise": law | width}
