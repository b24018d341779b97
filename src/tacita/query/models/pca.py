"""Principal components from one noisy matrix of second moments.  [Dwork, Talwar, Thakurta, Zhang 2014]

A row is z in the box from -1 to 1, scaled down to a public norm r where it is longer. The upper triangle of the sum of
(1, z)(1, z)' holds the count, the sums and the second moments; noise goes on each of its numbers.

Privacy:  with d columns and S steps, one row moves the triangle by at most
              L1   S (1 + r sqrt(d) + r^2 (d+1)/2)                       and half a step for each rounded number
              L2   S sqrt(1 + r^2 + (r^4 + min(r^2, r^4))/2)             and half a step times the root of their number
          a unit of m rows by m times that, and by twice that for replace-one.   Claim: docs/claims/models.md
Utility:  unbiased moments; the components are those of the covariance, scaled by the public bounds.
Cost:     one pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.common.plain import plain_fields
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import Source
from tacita.plans.additive import Family
from tacita.plans.recipe import check_engine
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.models.point_model import PointModel
from tacita.query.models.points import STEPS, CalibratedPoints, PointSums, box, fit_noise
from tacita.query.numbers import Array
from tacita.tables.release import Provenance

__all__ = ["PCA", "CalibratedPCA", "shorten", "triangle"]


@dataclass(frozen=True, kw_only=True)
class PCA:
    """Mean, covariance and principal components of some columns.

    `norm` is the longest that a row may be, in the box from -1 to 1 around the middle of the bounds; longer rows are
    scaled down. No row is longer than the root of the number of columns, which is the default.
    """

    columns: tuple[str, ...]
    norm: float | None = None
    family: Family = "auto"

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if self.norm is not None and not 0 < self.norm < math.inf:
            raise InvalidInput("must be positive and finite", field="norm", value=self.norm)

    @property
    def radius(self) -> float:
        """The norm that really bounds rows."""
        most = math.sqrt(len(self.columns))
        return most if self.norm is None else min(self.norm, most)

    def moves(self, family: Family, neighbours: Neighbours) -> tuple[int, int]:
        """Sensitivity of the triangle to one row, in steps."""
        d, r = len(self.columns), self.radius
        rounded = d + d * (d + 1) // 2
        if family == "laplace":
            top = STEPS * (1 + r * math.sqrt(d) + r * r * (d + 1) / 2) + rounded / 2
        else:
            top = STEPS * math.sqrt(1 + r**2 + (r**4 + min(r**2, r**4)) / 2) + math.sqrt(rounded) / 2
        return (1 if neighbours is Neighbours.ADD_REMOVE else 2) * math.ceil(top + 1e-6), 1

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedPCA:
        """Fix the noise so that running costs at most the budget; reads no data."""
        domain.require_public()
        unit.check(domain)
        box(domain, self.columns)
        law, event = fit_noise(self.family, budget, neighbours, moves=self.moves, rounds=1, unit=unit)
        return CalibratedPCA(
            recipe=self, domain=domain, unit=unit, neighbours=neighbours, budget=budget, law=law, event=event
        )

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "pca"} | plain_fields(self)


def shorten(places: Array, radius: float) -> Array:
    """Places from 0 to 1 as rows from -1 to 1, none longer than the radius."""
    rows = 2 * places - 1
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.asarray(rows * np.minimum(1, radius / np.maximum(lengths, 1e-300)))


def triangle(rows: Array) -> npt.NDArray[np.int64]:
    """The upper triangle of each (1, z)(1, z)' in steps; exact, and sensitive."""
    longer = np.column_stack([np.ones(len(rows)), rows])
    first, second = np.triu_indices(longer.shape[1])
    return np.asarray(np.rint(longer[:, first] * longer[:, second] * STEPS), np.int64)


def _triangles(radius: float, places: Array) -> npt.NDArray[np.int64]:
    return np.asarray(triangle(shorten(places, radius)).sum(axis=0), np.int64)


@dataclass(frozen=True, kw_only=True)
class CalibratedPCA(CalibratedPoints):
    """Principal components with their noise fixed."""

    def run(self, engine: Engine, source: Source) -> PointModel:
        """Sum once, add noise once."""
        check_engine(self, engine)
        recipe: PCA = self.recipe
        sums = PointSums(engine=engine, columns=recipe.columns, unit=self.unit)
        exact = sums.of(partial(_triangles, recipe.radius))
        noisy = np.asarray((exact + self.law.draw(exact.size, source)) * float(self.law.step), np.float64)
        return self._model(noisy, source.simulated)

    def _model(self, noisy: Array, simulated: bool) -> PointModel:
        """Read the model off the noisy triangle alone."""
        recipe: PCA = self.recipe
        size = len(recipe.columns) + 1
        moments = np.zeros((size, size))
        moments[np.triu_indices(size)] = noisy
        moments = moments + np.triu(moments, 1).T
        count = max(float(moments[0, 0]), 1.0)  # when the noise exceeds the count, nothing better is known
        mean = moments[0, 1:] / count
        covariance = moments[1:, 1:] / count - np.outer(mean, mean)
        values, vectors = np.linalg.eigh(covariance)
        ends = box(self.domain, recipe.columns)
        half, middle = (ends[:, 1] - ends[:, 0]) / 2, ends.mean(axis=1)
        components = vectors[:, ::-1].T
        signs = np.sign(components[np.arange(len(components)), np.abs(components).argmax(axis=1)])
        return PointModel(
            kind="pca",
            columns=recipe.columns,
            arrays={
                "count": np.array([moments[0, 0]]),
                "mean": middle + half * mean,
                "covariance": covariance * np.outer(half, half),
                "components": components * signs[:, None],
                "variances": values[::-1].clip(0),
                "sum_std": np.array([self.law.std]),
            },
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=recipe.as_dict(), simulated=simulated),
        )
