"""Counts and histograms with additive noise.   Claim: docs/claims/additive-noise.md

Privacy:  each table gets independent integer noise on every cell, also the empty ones. What one unit can change:
              a row, add-remove       one cell by 1
              a row, replace-one      two cells by 1 each
              a person with m rows    cells by m in all; twice that for replace-one
          so the event is read off the noise that is drawn, table by table; the accountant adds it up. On a grid of
          g steps for each count, all of this is g times as much, and so is the noise: the cost of one table is the
          same, and that of many is less where losses are added up by their distributions.
Utility:  unbiased; the error does not depend on the data and is predicted exactly.
Cost:     one pass over the data for the whole workload.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Source, Stepped
from tacita.plans.recipe import CalibratedPlan, Prediction, check_engine
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.calibrate import smallest
from tacita.privacy.event import (
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    Repeated,
    Sequence,
    Zcdp,
)
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.cells import MAX_DENSE, Cells
from tacita.tables.release import Provenance, Release, Releases
from tacita.tables.table import Table
from tacita.tables.uncertainty import AdditiveNoise
from tacita.tables.workload import Workload

__all__ = ["CalibratedTables", "Family", "NoisyTables", "families_of", "shift_event"]

Family = Literal["auto", "laplace", "gaussian"]

_FINEST = 1 << 16
_MOST_SPREAD = Fraction(1000)
_FINER = Fraction(33, 32)  # steps of noise in which two families are compared
"""Most that the noise of the lightest table may exceed that of the heaviest."""


def families_of(family: Family, budget: Budget) -> list[Family]:
    """The families of noise to try: "auto" leaves the choice to the budget and the error."""
    if family not in ("auto", "laplace", "gaussian"):
        raise InvalidInput("must be auto, laplace or gaussian", field="family", value=family)
    if family == "gaussian" and budget.currency == "pure":
        raise InvalidInput(
            "Gaussian noise has no pure epsilon", field="family", hint="Give a delta, or a budget in rho"
        )
    if family != "auto":
        return [family]
    if budget.currency == "approx":
        return ["laplace", "gaussian"]
    return ["laplace"] if budget.currency == "pure" else ["gaussian"]


def shift_event(law: Law, shift: int, parts: int = 1) -> Event:
    """Cost of noise of this law on integers that fall into `parts`, each of which moves by at most `shift` steps.

    Laplace counts the sum of moves (L1), Gaussian the root of the sum of squares (L2); one event for each part.
    """
    law = law.law if isinstance(law, Stepped) else law
    event: Event
    if isinstance(law, DiscreteLaplace):
        event = DiscreteLaplaceNoise(scale=law.scale, sensitivity=shift)
    elif isinstance(law, DiscreteGaussian):
        # one step is one integer that moves by one, which has a loss distribution of its own
        event = DiscreteGaussianNoise(sigma2=law.sigma2) if shift == 1 else Zcdp(rho=shift**2 / (2 * law.sigma2))
    else:
        raise InvalidInput("must be discrete Laplace or discrete Gaussian", field="law", value=law.kind)
    return event if parts == 1 else Repeated(event=event, count=parts)


def table_event(law: Law, unit: Unit, neighbours: Neighbours) -> Event:
    """Cost to a unit of one table with this noise (see the module's claim)."""
    # L1 and L2 are at most m: L1 always is, L2 when all rows share a cell. Replacing moves some counts down and others
    # up, by at most that each. L1 doubles; L2 squared doubles, because |new - old|^2 <= |new|^2 + |old|^2 for counts.
    steps = unit.max_rows * (1 / law.step).numerator
    return shift_event(law, steps, 2 if neighbours is Neighbours.REPLACE_ONE else 1)


@dataclass(frozen=True)
class NoisyTables:
    """Release the tables of a workload with independent noise on every cell.

    `family="auto"` takes Laplace noise for a budget in epsilon, Gaussian noise for one in rho, and for epsilon at
    a delta whichever has the smaller error. A table that weighs more gets less noise, so that the weighted sum of
    variances is smallest.

    With a `grid` of more than 1, Laplace noise is drawn in so many steps for each count. Counts are then multiples
    of 1/grid, and many questions cost less together: a hundred at epsilon 0.1 and delta 1e-6 cost 4.69 instead of 4.77.
    Rounding them is free.
    """

    workload: Workload
    family: Family = "auto"
    grid: int = 1

    def __post_init__(self) -> None:
        if self.family not in ("auto", "laplace", "gaussian"):
            raise InvalidInput("must be auto, laplace or gaussian", field="family", value=self.family)
        if not isinstance(self.grid, int) or isinstance(self.grid, bool) or not 1 <= self.grid <= _FINEST:
            raise InvalidInput(f"must be a whole number from 1 to {_FINEST}", field="grid", value=self.grid)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedTables:
        """Fix the noise so that running costs at most the budget; reads no data."""
        domain.require_public()
        unit.check(domain)
        for key in self.workload.check(domain):
            if domain.project(key).size > MAX_DENSE:
                raise InvalidInput(
                    f"noise goes on every cell, and there are more than {MAX_DENSE}",
                    field="attributes",
                    value=list(key),
                    hint="Ask for fewer attributes or coarser bins",
                )
        *others, family = families_of(self.family, budget)
        best = self._with(family, domain, budget, unit, neighbours)
        for other in others:
            if self._may_beat(best, other):
                best = min(best, self._with(other, domain, budget, unit, neighbours), key=self._weighted_variance)
        return best

    def _may_beat(self, plan: CalibratedTables, family: Family) -> bool:
        """Whether noise of a family with no less weighted variance than the plan's fits its budget.

        If not, this family needs more noise than the plan has: what is cheaper has more variance.
        """
        weights: dict[Fraction, float] = {}
        for part, weight in zip(self._relative(family), self.workload.weights, strict=True):
            weights[part] = weights.get(part, 0.0) + weight
        enough, size = self._weighted_variance(plan), Fraction(1, 64)
        while sum(weight * self._law(family, size * part).variance for part, weight in weights.items()) < enough:
            size *= _FINER
        event = _event_of(Counter(self._laws(family, size)), plan.unit, plan.neighbours)
        return cost([(event, 1)], plan.budget, plan.neighbours) <= exact(plan.budget.amount)

    def _weighted_variance(self, plan: CalibratedTables) -> float:
        return sum(weight * law.variance for weight, law in zip(self.workload.weights, plan.laws, strict=True))

    def _with(
        self, family: Family, domain: Domain, budget: Budget, unit: Unit, neighbours: Neighbours
    ) -> CalibratedTables:
        parts = Counter(self._relative(family))

        def event(size: Fraction) -> Event:
            counts: Counter[Law] = Counter()
            for part, count in parts.items():
                counts[self._law(family, size * part)] += count
            return _event_of(counts, unit, neighbours)

        laws = self._laws(family, smallest(event, budget, neighbours))
        return CalibratedTables(recipe=self, domain=domain, unit=unit, neighbours=neighbours, budget=budget, laws=laws)

    def _laws(self, family: Family, size: Fraction) -> tuple[Law, ...]:
        """Noise of each table, where the heaviest has this size."""
        parts = self._relative(family)
        made = {part: self._law(family, size * part) for part in set(parts)}
        return tuple(made[part] for part in parts)

    def _law(self, family: Family, size: Fraction) -> Law:
        return self._on_grid(size) if family == "laplace" else DiscreteGaussian.at_least(size)

    def _on_grid(self, scale: Fraction) -> Law:
        if self.grid == 1:
            return DiscreteLaplace.at_least(scale)
        return Stepped(law=DiscreteLaplace.at_least(scale * self.grid), of=Fraction(1, self.grid))

    def _relative(self, family: Family) -> list[Fraction]:
        """Noise of each table relative to that of the heaviest.

        Minimise sum_t w_t var_t. Laplace: var ~ s^2 while sum 1/s is fixed, so s ~ w^(-1/3). Gaussian: var =
        sigma2 while sum 1/sigma2 is fixed, so sigma2 ~ w^(-1/2).
        """
        power = 1 / 3 if family == "laplace" else 1 / 2
        heaviest = max(self.workload.weights)
        parts = [Fraction((weight / heaviest) ** -power).limit_denominator(1000) for weight in self.workload.weights]
        return [min(part, _MOST_SPREAD) for part in parts]

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        plain = {
            "method": "noisy-tables",
            "tables": [list(key) for key in self.workload],
            "weights": list(self.workload.weights),
            "family": self.family,
        }
        return plain if self.grid == 1 else plain | {"grid": self.grid}


def _event_of(laws: Counter[Law], unit: Unit, neighbours: Neighbours) -> Event:
    """Cost of tables with these noises; those of one law are one repeated event."""
    events = tuple(_repeated(table_event(law, unit, neighbours), count) for law, count in laws.items())
    return events[0] if len(events) == 1 else Sequence(events=events)


def _repeated(event: Event, count: int) -> Event:
    if count == 1:
        return event
    inner, times = (event.event, event.count) if isinstance(event, Repeated) else (event, 1)
    return Repeated(event=inner, count=times * count)


@dataclass(frozen=True, kw_only=True)
class CalibratedTables(CalibratedPlan[Releases]):
    """A workload with the noise of every table fixed."""

    answer = Releases

    recipe: NoisyTables
    domain: Domain = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    laws: tuple[Law, ...]

    @property
    def workload(self) -> Workload:
        """The only tables it will ask an engine for."""
        return self.recipe.workload

    @cached_property
    def event(self) -> Event:
        """Cost of a run to each unit, computed from the noise."""
        return _event_of(Counter(self.laws), self.unit, self.neighbours)

    def predict(self) -> tuple[Prediction, ...]:
        """The error of every table, before any data is read."""
        return tuple(
            Prediction(
                attributes=key,
                cells=self.domain.project(key).size,
                std=law.std,
                half_width=law.half_width(0.95),
            )
            for key, law in zip(self.workload, self.laws, strict=True)
        )

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {
            "noise": [law.as_dict() for law in self.laws],
            "predictions": [prediction.as_dict() for prediction in self.predict()],
        }

    def run(self, engine: Engine, source: Source) -> Releases:
        """Count once, add noise to every cell."""
        check_engine(self, engine)
        tables = engine.tables(self.workload, self.unit)
        pairs = zip(self.workload, self.laws, strict=True)
        made = Provenance(recipe=self.recipe.as_dict(), simulated=source.simulated)  # one run for all tables
        return Releases(self._release(tables[key], law, source, made) for key, law in pairs)

    def _release(self, table: Table, law: Law, source: Source, made: Provenance) -> Release:
        exact_counts = table.values.astype(np.int64)
        draws = law.draw(exact_counts.size, source).reshape(exact_counts.shape)
        steps = (1 / law.step).numerator
        noisy = exact_counts + draws if steps == 1 else (exact_counts * steps + draws) / steps
        return Release(
            estimate=Cells(table.domain, noisy),
            quantity="count",
            uncertainty=AdditiveNoise(law=law),
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            trust="central",
            provenance=made,
        )
