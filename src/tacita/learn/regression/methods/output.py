"""Output perturbation: fit with a ridge, then add noise to the coefficients.  [Chaudhuri et al. 2011]

    w = argmin  sum loss(w; row) + (L/2) |w|^2,      rounded to G steps of one; noise goes on each

Privacy:  adding or removing a row moves the minimum by at most zeta / L (zeta: steepest slope of one row's loss), since
          the objective is L-strongly convex; a unit of m rows by m times that, and by twice that for replace-one. In
          steps, with k coefficients, that is at most G t zeta / L in length and sqrt(k) / 2 for each of two roundings,
          and sqrt(k) times as much in sum. Exact integer noise.   Claim: docs/claims/private-regression.md
Utility:  the ridge is the largest of 3 k zeta / epsilon, sqrt(n k zeta / (10 epsilon)) and what is wanted: bias against
          noise. n is the public number of rows, or 10,000.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.learn.feature_map import Points
from tacita.learn.regression.problem import Coefficients, Problem, gather
from tacita.learn.regression.unit_rows import GRID, bend, fitted, found_of, ridge_of, slope, unit_rows
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Source
from tacita.plans.additive import Family, families_of, shift_event
from tacita.privacy.calibrate import smallest
from tacita.privacy.event import Event

__all__ = ["Output", "moved"]

_PEOPLE = 10_000


def moved(setting: Problem, ridge: float, family: Family) -> int:
    """Sensitivity of the coefficients to one unit, in steps: in sum for Laplace noise, in length for Gaussian."""
    columns = setting.design.columns + setting.intercept
    length = GRID * setting.times * slope(setting) / ridge + math.sqrt(columns)
    return math.ceil(length * (math.sqrt(columns) if family == "laplace" else 1.0) * (1 + 1e-9))


@dataclass(frozen=True, kw_only=True)
class Output:
    """Ridge and noise, fixed."""

    setting: Problem
    ridge: float
    law: Law
    event: Event

    @classmethod
    def plan(cls, setting: Problem) -> Output:
        """The least noise that the budget allows."""
        columns = setting.design.columns + setting.intercept
        amount = setting.budget.amount if setting.budget.epsilon is not None else math.sqrt(2 * setting.budget.amount)
        loss = columns * slope(setting) / amount
        wanted = bend(setting) * ridge_of(setting)
        ridge = max(3 * loss, math.sqrt(loss * (setting.people or _PEOPLE) / 10), wanted)
        found = []
        for family in families_of("auto", setting.budget):
            shift = moved(setting, ridge, family)
            kind = DiscreteLaplace if family == "laplace" else DiscreteGaussian

            def event(size: Any, kind: Any = kind, shift: int = shift) -> Event:
                return shift_event(kind.at_least(size), shift)

            law = kind.at_least(smallest(event, setting.budget, setting.neighbours))
            found.append((law, shift_event(law, shift)))
        law, cost = min(found, key=lambda pair: pair[0].variance)
        return cls(setting=setting, ridge=ridge, law=law, event=cost)

    def fit(self, batches: Iterable[Points], source: Source) -> Coefficients:
        """Fit, round, add noise."""
        points = gather(batches, self.setting.design.columns)
        rows = unit_rows(self.setting, points)
        weights = fitted(self.setting, rows, points.y, self.ridge, np.zeros(rows.shape[1]))
        noisy = np.rint(weights * GRID).astype(np.int64) + self.law.draw(len(weights), source)
        return found_of(self.setting, noisy / GRID, {"ridge": self.ridge, "std": self.law.std / GRID})

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"method": "output", "ridge": self.ridge, "noise": self.law.as_dict()}
