"""Plan of a private generator of tap records: tables with their noise fixed, charged and run like any other plan.

Privacy: `run` reads at most `unit.max_rows` trips of each card, adds noise to integers that one card moves by no more
         than was planned, and computes the rest from noisy numbers. Claim: docs/claims/mobility.md
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import Source
from tacita.plans.recipe import CalibratedPlan, check_engine
from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.mobility.features import Features
from tacita.synthesize.mobility.measuring import PlannedTable, TableSpec, plan_tables
from tacita.synthesize.mobility.reading import bounded_trips
from tacita.synthesize.mobility.result import SyntheticMobility, TripModel
from tacita.synthesize.mobility.schema import TapSchema
from tacita.tables.release import Provenance
from tacita.tables.simplex import norm_sub

__all__ = ["MobilityPlan", "MobilityRecipe", "calibrate", "mean_total", "positive"]

_MOST_TRIPS = 1000


class MobilityRecipe(Protocol):
    """A method without a budget."""

    @property
    def cards(self) -> int | None:
        """Approximate number of cards, if it is public."""

    def schema(self, domain: Domain) -> TapSchema:
        """Return the columns and places of a domain."""

    def specs(self, schema: TapSchema, most: int) -> tuple[TableSpec, ...]:
        """Return the tables that it measures, for at most so many trips of a card."""

    def model(
        self, features: Features, tables: Mapping[str, PlannedTable], source: Source
    ) -> tuple[TripModel, float, float, tuple[str, ...]]:
        """Measure and fit; returns the model, the number of cards, its standard error, and notes."""

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""


def calibrate(
    recipe: MobilityRecipe, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours
) -> MobilityPlan:
    """Fix the noise of a recipe so that running costs at most the budget; reads no data."""
    domain.require_public()
    unit.check(domain)
    schema = recipe.schema(domain)
    if unit.person is None or unit.max_rows > _MOST_TRIPS:
        rule = f"must be a person with at most {_MOST_TRIPS} rows: person:CARD:MOST_TRIPS"
        raise InvalidInput(rule, field="unit", value=str(unit))
    split = BudgetSplit.of(budget, unit, neighbours)
    tables = plan_tables(recipe.specs(schema, unit.max_rows), split, recipe.cards)
    return MobilityPlan(
        recipe=recipe, domain=domain, schema=schema, unit=unit, neighbours=neighbours, budget=budget, tables=tables
    )


@dataclass(frozen=True, kw_only=True)
class MobilityPlan(CalibratedPlan[SyntheticMobility]):
    """A generator with its noise fixed. Reads no data until it runs."""

    answer = SyntheticMobility

    recipe: MobilityRecipe
    domain: Domain = field(repr=False)
    schema: TapSchema = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    tables: tuple[PlannedTable, ...]

    @property
    def event(self) -> Event:
        """Cost of a run to each card, derived from the noise distributions that draw."""
        return in_sequence(*(table.event for table in self.tables))

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data: each table with its noise and its predicted error."""
        return {"predictions": [table.as_dict() for table in self.tables]}

    def run(self, engine: Engine, source: Source) -> SyntheticMobility:
        """Read, count, add noise, fit. Charge the event first: see `tacita.plans.session.Session`."""
        check_engine(self, engine)
        trips = bounded_trips(engine, self.schema, self.unit).complete()
        features = Features(trips, self.unit.max_rows)
        tables = {table.spec.name: table for table in self.tables}
        model, people, error, notes = self.recipe.model(features, tables, source)
        return SyntheticMobility(
            model=model,
            people=people,
            people_std=error,
            notes=notes,
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=self.recipe.as_dict(), simulated=source.simulated),
        )


def positive(noisy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the nearest non-negative table with the same sum, or with a sum of 1 where noise has left none."""
    total = max(float(noisy.sum()), 1.0)
    return np.asarray(norm_sub(noisy.reshape(-1), total=total).frequencies).reshape(noisy.shape)


def mean_total(estimates: list[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean of noisy totals by their precision, and its standard error."""
    values, errors = np.array(estimates).T
    precision = 1 / errors**2
    return float((values * precision).sum() / precision.sum()), float(precision.sum() ** -0.5)
