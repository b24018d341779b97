"""Objective perturbation: a random tilt is added to what is minimised.  [Chaudhuri et al. 2011; Kifer et al. 2012]

    w = argmin  sum loss(w; row) + w'Lw / 2 + b'w,        L diagonal, each >= beta / (e^(epsilon/2) - 1)
    b has a density proportional to exp(-epsilon |b| / (2 t zeta)),    t = 1 for add-remove, 2 for replace-one

with zeta and beta the steepest slope and largest bend of one row's loss (`unit_rows`).

Privacy:  epsilon, pure, for a unit of one row: half for the tilt, half for how much a row bends the objective. Holds
          for the exact minimum: it is found to the last digits of a float and then rounded to a public grid.
          Claim: docs/claims/private-regression.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array, Points
from tacita.learn.regression.problem import Coefficients, Problem, gather
from tacita.learn.regression.unit_rows import GRID, bend, fitted, found_of, ridge_of, ridges_of, slope, unit_rows
from tacita.noise import Source
from tacita.noise.continuous import exponentials, normals
from tacita.privacy.event import Event, Pure

__all__ = ["Objective", "spherical"]


@dataclass(frozen=True, kw_only=True)
class Objective:
    """A tilt and a ridge, fixed: the ridge that privacy needs is on all coefficients, a wanted one on the features."""

    setting: Problem
    epsilon: float
    ridge: float
    wanted: float = 0.0

    @classmethod
    def plan(cls, setting: Problem) -> Objective:
        """Fix the tilt; epsilon is all of the budget's."""
        if setting.budget.epsilon is None:
            raise InvalidInput("objective perturbation needs a budget in epsilon", field="budget")
        if setting.unit.max_rows > 1:
            raise InvalidInput(
                "objective perturbation protects one row", field="unit", value=str(setting.unit), hint="Use functional"
            )
        epsilon = float(setting.budget.epsilon)
        least = bend(setting) / math.expm1(epsilon / 2)
        return cls(setting=setting, epsilon=epsilon, ridge=least, wanted=bend(setting) * ridge_of(setting))

    @property
    def event(self) -> Event:
        """Epsilon, whatever the delta."""
        return Pure(epsilon=self.epsilon)

    @property
    def tilt(self) -> float:
        """Scale of the tilt: its length is a gamma variate times this."""
        return 2 * self.setting.times * slope(self.setting) / self.epsilon

    def fit(self, batches: Iterable[Points], source: Source) -> Coefficients:
        """Minimise the tilted objective."""
        points = gather(batches, self.setting.design.columns)
        rows = unit_rows(self.setting, points)
        tilt = spherical(rows.shape[1], self.tilt, source)
        ridges = ridges_of(self.setting, self.ridge, self.wanted)
        weights = fitted(self.setting, rows, points.y, ridges, tilt)
        return found_of(self.setting, np.rint(weights * GRID) / GRID, {"ridge": float(ridges.max())})

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        ridge = max(self.ridge, self.wanted)
        return {"method": "objective", "ridge": ridge, "noise": {"law": "spherical-gamma", "scale": self.tilt}}


def spherical(columns: int, scale: float, source: Source) -> Array:
    """A vector with density proportional to exp(-|b| / scale): a gamma length in an even direction."""
    length = scale * float(exponentials(columns, source).sum())
    normal = normals(columns, source)
    return np.asarray(normal * (length / np.linalg.norm(normal)))
