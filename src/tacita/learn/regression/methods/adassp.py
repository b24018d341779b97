"""AdaSSP: a ridge that is just large enough for what the data turns out to be.  [Wang 2018]

    l = least eigenvalue of u'u + noise,   A = u'u + noise,   v = u'y + noise,    u rows of a norm of at most 1
    ridge = max(0, sqrt(k ln(2 k^2 / 0.05)) std - max(l, 0)),    w = (A + ridge)^-1 v

Privacy:  a row moves l by at most 1 (Weyl), A by at most 1 in Frobenius norm, v by at most 1 in length; each gets a
          third of rho. All on a grid of G steps, with what rounding adds; exact discrete Gaussian noise.
          Claim: docs/claims/private-regression.md
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from tacita.errors import InvalidInput
from tacita.learn.feature_map import Points, add_up
from tacita.learn.regression.logistic import unfold
from tacita.learn.regression.problem import Coefficients, Problem
from tacita.learn.regression.unit_rows import found_of, ridge_of, unit_rows
from tacita.noise import DiscreteGaussian, Source
from tacita.privacy.calibrate import narrowest
from tacita.privacy.event import Event, Sequence, Zcdp

__all__ = ["AdaSSP", "exact_parts", "moves"]

_STEPS = 1 << 10
_FAILURE = 0.05


def moves(setting: Problem) -> tuple[int, int, int]:
    """Sensitivity to one unit of the least eigenvalue, the matrix and the vector, in steps of 1 / _STEPS^2.

    Rows are cut off to the grid before they are multiplied, so only the eigenvalue is rounded.
    """
    whole = _STEPS * _STEPS * setting.times
    return whole + 1, whole, whole


def exact_parts(setting: Problem, batches: Iterable[Points]) -> tuple[Any, Any]:
    """The matrix and the vector in whole steps; exact, and sensitive."""
    both = add_up(batches, partial(_exact_parts, setting))
    return both[:, :-1], both[:, -1]


def _exact_parts(setting: Problem, batches: Iterable[Points]) -> Any:
    """The matrix, and the vector as its last column."""
    columns = setting.design.columns + setting.intercept
    matrix, vector = np.zeros((columns, columns), np.int64), np.zeros(columns, np.int64)
    for points in batches:
        rows = np.trunc(unit_rows(setting, points) * _STEPS)
        matrix += (rows.T @ rows).astype(np.int64)
        vector += (rows.T @ np.trunc(points.y * _STEPS)).astype(np.int64)
    return np.column_stack([matrix, vector])


@dataclass(frozen=True, kw_only=True)
class AdaSSP:
    """Three noises, fixed."""

    setting: Problem
    sigma2: tuple[Fraction, Fraction, Fraction]

    @classmethod
    def plan(cls, setting: Problem) -> AdaSSP:
        """The least noise that the budget allows, a third of rho for each part."""
        if setting.budget.currency == "pure":
            raise InvalidInput("AdaSSP has no pure epsilon", field="method", hint="Give a delta, or use functional")
        shifts = moves(setting)

        def sized(rho: Fraction) -> AdaSSP:
            return cls(setting=setting, sigma2=tuple(_sigma2(shift, rho / 3) for shift in shifts))  # type: ignore[arg-type]

        inverse = narrowest(lambda x: sized(1 / x).event, setting.budget, setting.neighbours)
        return sized(1 / inverse)

    @property
    def event(self) -> Event:
        """The three parts together."""
        pairs = zip(moves(self.setting), self.sigma2, strict=True)
        return Sequence(events=tuple(Zcdp(rho=Fraction(shift) ** 2 / (2 * sigma2)) for shift, sigma2 in pairs))

    def fit(self, batches: Iterable[Points], source: Source) -> Coefficients:
        """Three noisy parts, one system."""
        matrix, vector = exact_parts(self.setting, batches)
        k, one = len(vector), float(_STEPS * _STEPS)
        least = round(float(np.linalg.eigvalsh(matrix.astype(float))[0]))
        of_least, of_square, of_vector = (DiscreteGaussian(sigma2=sigma2) for sigma2 in self.sigma2)
        of_product = DiscreteGaussian.at_least(self.sigma2[1] / 2)
        eigenvalue = (least + int(of_least.draw(1, source)[0])) / one
        noise = np.zeros((k, k))
        upper = np.triu_indices(k, 1)
        noise[upper] = of_product.draw(len(upper[0]), source)
        noise = noise + noise.T + np.diag(of_square.draw(k, source).astype(float))
        noisy = (matrix + noise) / one
        slope = (vector + of_vector.draw(k, source)) / one
        std = math.sqrt(self.sigma2[1]) / one
        ridge = max(0.0, math.sqrt(k * math.log(2 * k * k / _FAILURE)) * std - max(eigenvalue, 0.0))
        beyond = np.full(k, max(0.0, ridge_of(self.setting) - ridge))
        beyond[: int(self.setting.intercept)] = 0.0  # what is wanted leaves the intercept alone
        values, vectors = np.linalg.eigh(noisy + np.diag(beyond))
        lifted = values + ridge
        indefinite = bool(lifted.min() <= 0)
        lifted = np.where(lifted > 0, lifted, np.inf)  # with small probability noise beats the ridge: left out
        weights = vectors @ ((vectors.T @ slope) / lifted)
        found = found_of(self.setting, weights, {"ridge": ridge, "least": eigenvalue, "indefinite": float(indefinite)})
        return found if self.setting.design.task == "linear" else unfold(found)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        laws = [DiscreteGaussian(sigma2=sigma2).as_dict() for sigma2 in self.sigma2]
        return {"method": "adassp", "noise": laws, "step": f"1/{_STEPS * _STEPS}"}


def _sigma2(shift: int, rho: Fraction) -> Fraction:
    return DiscreteGaussian.at_least(Fraction(shift) ** 2 / (2 * rho)).sigma2
