"""Histogram: the share of rows in the bin of a point.

Privacy:  counts with exact integer noise on every bin, also the empty ones; bins are public, from the schema. It is
          `mechanisms.additive` on one table: a replaced row moves two counts by 1, so sqrt(2) in all and not 2.
          Claim: docs/claims/additive-noise.md
Utility:  shares are noisy counts over their noisy sum; one may come out negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.learn.functions.calibration import Calibration, classical_constant
from tacita.learn.functions.inputs import rows_of
from tacita.noise import DiscreteGaussian
from tacita.plans.additive import CalibratedTables, NoisyTables
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.workload import Workload

__all__ = ["cells_of", "plan_histogram"]


def plan_histogram(
    domain: Domain, features: Sequence[str], budget: Budget, how: Calibration, *, unit: Unit, neighbours: Neighbours
) -> CalibratedTables:
    """One table with the least noise that the budget allows, or with the classical amount of it."""
    recipe = NoisyTables(Workload.of(features))
    if how == "analytic":
        return recipe.calibrate(domain, budget, unit=unit, neighbours=neighbours)
    if budget.currency != "approx":
        raise InvalidInput("the classical constant needs epsilon and delta", field="budget", value=str(budget))
    parts = 2 if neighbours is Neighbours.REPLACE_ONE else 1
    multiplier = Fraction(classical_constant(budget.delta) / budget.amount)
    law = DiscreteGaussian.at_least(parts * unit.max_rows**2 * multiplier**2)
    plain = recipe.calibrate(domain, budget, unit=unit, neighbours=neighbours)
    plan = CalibratedTables(
        recipe=plain.recipe, domain=domain, unit=unit, neighbours=neighbours, budget=budget, laws=(law,)
    )
    if cost([(plan.event, 1)], budget, neighbours) > exact(budget.amount):
        raise InvalidInput(
            "the classical constant is not enough noise here",
            field="calibration",
            value=str(budget),
            hint="Use analytic",
        )
    return plan


def cells_of(domain: Domain, features: Sequence[str], queries: Sequence[Sequence[Any]]) -> npt.NDArray[np.int64]:
    """The bin of each point, by the place of its cell."""
    codes = domain.encode(rows_of(domain, features, queries), list(features))
    shape = domain.project(features).shape
    return np.ravel_multi_index(tuple(codes[name].astype(np.int64) for name in features), shape).astype(np.int64)
