"""A penalty that is chosen privately, and charged.

The units are split in two without reading them. Moments of the one part are released with noise, once; every candidate
is solved on them, which costs nothing. The other part chooses: the candidate with the least sum of capped errors, by
noisy max.

Privacy:  a unit is in one part only, so both parts cost the budget and together no more than it. A row's error, of a
          prediction and a target from -1 to 1, is squared and divided by 4: at most 1.
          Claim: docs/claims/private-regression.md
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacita import check
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array, Points
from tacita.learn.fitted import FittedModel
from tacita.learn.regression.logistic import unfold
from tacita.learn.regression.methods.functional import FromMoments
from tacita.learn.regression.monomials import ExactMoments
from tacita.learn.regression.problem import Coefficients, gather
from tacita.learn.regression.regression import MethodName, Regression
from tacita.learn.regression.solve import Penalty, solve_moments
from tacita.learn.regression.staged import StagedPlan
from tacita.noise import Source
from tacita.plans.recipe import check_engine
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event, Parallel, Pure
from tacita.privacy.selection import noisy_max
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["CalibratedTuning", "TunedRegression", "errors_of"]

_BY_CURRENCY: dict[str, MethodName] = {"pure": "functional", "zcdp": "sufficient"}


def errors_of(candidates: Sequence[Coefficients], points: Points) -> Array:
    """Total error of each candidate over all rows: at most 1 a row; exact, and sensitive."""
    found = []
    for each in candidates:
        predicted = np.clip(points.x @ each.coefficients + each.intercept, -1, 1)
        found.append(float(((predicted - points.y) ** 2 / 4).sum()))
    return np.array(found)


@dataclass(frozen=True, kw_only=True)
class TunedRegression:
    """A regression by moments with the best of some penalties.

    Args:
        base: The regression, without a penalty of its own.
        penalties: Pairs of size and alpha, public.
        share: Of the rows, that choose.
    """

    base: Regression
    penalties: tuple[tuple[float, float], ...]
    share: float = 0.2

    def __post_init__(self) -> None:
        try:
            pairs = tuple((float(size), float(alpha)) for size, alpha in self.penalties)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput("must be pairs of size and alpha", field="penalties") from None
        object.__setattr__(self, "penalties", pairs)
        if not self.penalties:
            raise InvalidInput("must be at least one", field="penalties")
        for size, alpha in self.penalties:
            Penalty(size=size, alpha=alpha)
        check.inside(self.share, "share", 0, 1)
        if self.base.method not in ("auto", "functional", "sufficient"):
            hint = "Use functional for epsilon, sufficient for rho, or auto"
            raise InvalidInput("penalties are tuned on moments", field="method", value=self.base.method, hint=hint)
        if self.base.penalty:
            raise InvalidInput("goes without penalties to choose from", field="penalty", value=self.base.penalty)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedTuning:
        """Fix both noises; reads no data."""
        if budget.currency == "approx":
            raise InvalidInput(
                "tuning is charged in epsilon or rho", field="budget", value=str(budget), hint="Give rho instead"
            )
        if unit.person is not None:
            hint = "Name one penalty instead: it is public"
            raise InvalidInput("tuning splits rows, so rows are the unit", field="unit", value=str(unit), hint=hint)
        # the account counts a replaced unit as two steps of its part, so a part may cost half (a quarter in rho)
        twice = neighbours is Neighbours.REPLACE_ONE
        amount = budget.amount / (1 if not twice else 2 if budget.rho is None else 4)
        part = Budget(epsilon=amount) if budget.rho is None else Budget(rho=amount)
        base = self.base if self.base.method != "auto" else replace(self.base, method=_BY_CURRENCY[budget.currency])
        fit = base.calibrate(domain, part, unit=unit, neighbours=Neighbours.ADD_REMOVE)
        epsilon = amount if budget.rho is None else math.sqrt(2 * amount)
        return CalibratedTuning(
            recipe=self, fit=fit, epsilon=epsilon * (1 - 1e-9), budget=budget, neighbours=neighbours
        )

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {
            "recipe": "tuned-regression",
            "base": self.base.as_dict(),
            "penalties": [list(pair) for pair in self.penalties],
            "share": self.share,
        }


@dataclass(frozen=True, kw_only=True)
class CalibratedTuning(StagedPlan):
    """Both noises, fixed."""

    recipe: TunedRegression
    epsilon: float

    @property
    def why(self) -> str:
        """Why this method."""
        return f"{self.fit.why}; one of {len(self.recipe.penalties)} penalties is chosen privately"

    @property
    def event(self) -> Event:
        """Fitting on one part of the units, choosing on the other."""
        return Parallel(events=(self.fit.event, Pure(epsilon=self.epsilon)))

    def run(self, engine: Engine, source: Source) -> FittedModel:
        """Split, fit all candidates, choose one."""
        check_engine(self, engine)
        setting, method = self.fit.setting, self.fit.method
        assert isinstance(method, FromMoments)
        points = gather(setting.design.read(engine, self.unit), setting.design.columns)
        choosing = (source.words(len(points)) >> np.uint64(11)).astype(float) * 2.0**-53 < self.recipe.share
        # rows beyond the bounds are not counted: those that choose would be moved twice
        fitting = Points(x=points.x[~choosing], y=points.y[~choosing], outside=0)
        moments = method.noise.release(ExactMoments.of(method.noise.monomials, [fitting], method.noise.bits), source)
        found = []
        for size, alpha in self.recipe.penalties:
            penalty = Penalty(size=size, alpha=alpha)
            solved = solve_moments(moments, convexify=setting.convexify, penalty=penalty, intercept=setting.intercept)
            notes = solved.diagnosis.as_dict() | {"penalty": size, "alpha": alpha}
            notes.pop("outside"), notes.pop("outside_std")
            found.append(Coefficients(coefficients=solved.coefficients, intercept=solved.intercept, notes=notes))
        errors = errors_of(found, Points(x=points.x[choosing], y=points.y[choosing], outside=0))
        best = noisy_max((-errors).tolist(), sensitivity=1 + 1e-9, epsilon=self.epsilon, source=source)
        chosen = found[best] if setting.design.task == "linear" else unfold(found[best])
        return self.released(
            chosen, source, why=f"{self.fit.why}; the best of {len(found)} penalties, chosen privately"
        )
