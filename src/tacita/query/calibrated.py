"""Statistics with their noise fixed: what they cost, what error they have, and how they are run.

Privacy:  the event is read off the laws that draw. With private keys, the choice of keys comes first and is part of the
          cost; given the keys that were named, groups are public.   Claims: docs/claims/statistics.md, sql.md
Cost:     one pass over the rows.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.noise import Law, Source
from tacita.plans.recipe import CalibratedPlan, check_engine
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event, Sequence
from tacita.privacy.partitions import KeySelection
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.aggregate import Aggregate, Expected
from tacita.query.answer import Answer, Column, Measured
from tacita.query.measures import Integers, Measure, Moments
from tacita.query.quantile_tree import QuantileTree
from tacita.query.quantiles import Points
from tacita.query.readings import Reading, read_sum
from tacita.query.summing import exact_sums, gather
from tacita.tables.release import Provenance

if TYPE_CHECKING:
    from tacita.query.aggregates import Aggregates

__all__ = ["CalibratedAggregates"]

_UNKNOWN = 1 << 62
"""More groups than there can be: private keys are not counted before they are chosen."""


@dataclass(frozen=True, kw_only=True)
class CalibratedAggregates(CalibratedPlan[Answer]):
    """Statistics with the noise of every sum fixed."""

    answer = Answer

    recipe: Aggregates
    domain: Domain = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    measures: tuple[Measure, ...]
    laws: tuple[Law, ...]
    selection: KeySelection | None = None

    @cached_property
    def grouped(self) -> Domain | None:
        """Public groups as a domain; None if there is one group."""
        return self.recipe.groups_of(self.domain) if self.recipe.by else None

    @property
    def groups(self) -> int:
        """Number of public groups: all that the schema has."""
        return 1 if self.grouped is None else self.grouped.size

    @property
    def event(self) -> Event:
        """Cost of a run to each unit, derived from the noise."""
        chosen = () if self.selection is None else (self.selection.event(self.unit, self.neighbours),)
        events = (*chosen, *self._events())
        return events[0] if len(events) == 1 else Sequence(events=events)

    def _events(self) -> tuple[Event, ...]:
        # with private keys a row may move between groups whose number is not known before
        groups = self.groups if self.selection is None else _UNKNOWN
        pairs = zip(self.measures, self.laws, strict=True)
        return tuple(measure.event(law, self.unit, self.neighbours, groups) for measure, law in pairs)

    def place_of(self, aggregate: Aggregate) -> int:
        """Index of a statistic's measure among all; the recipe's differ from ours in the grid at most."""
        return self._places[self.recipe.measure_of(aggregate, self.domain)]

    @cached_property
    def _places(self) -> dict[Measure, int]:
        return {measure: place for place, measure in enumerate(self.recipe.measures(self.domain))}

    def expect(self) -> tuple[Expected, ...]:
        """The error of every statistic, before any data is read."""
        return tuple(self._expected(aggregate) for aggregate in self.recipe.aggregates)

    def _expected(self, aggregate: Aggregate) -> Expected:
        at = self.place_of(aggregate)
        measure, law = self.measures[at], self.laws[at]
        if isinstance(measure, QuantileTree):
            return Expected(name=aggregate.name, std=measure.rank_error(aggregate.ratio, law), per="rank")
        if isinstance(measure, Points):
            return Expected(name=aggregate.name, std=law.std, per="rank")
        if isinstance(measure, Moments):
            return Expected(name=aggregate.name, **Reading(aggregate.kind, measure, law).worst())
        return Expected(name=aggregate.name, std=law.std, per="answer")

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        parts = zip(self.measures, self.laws, self._events(), strict=True)
        chosen = {} if self.selection is None else {"selection": self.selection.as_dict()}
        return chosen | {
            "groups": self.groups,
            "split": [
                measure.as_dict()
                | {"noise": law.as_dict(), "alone": float(cost([(event, 1)], self.budget, self.neighbours))}
                for measure, law, event in parts
            ],
            "predictions": [expected.as_dict() for expected in self.expect()],
        }

    # -- touching data --------------------------------------------------------------------------------------------

    def run(self, engine: Engine, source: Source) -> Answer:
        """Sum once, add noise to every sum of every group, also the empty ones."""
        return self.answer_of(self.measure(engine, source), self.provenance(source))

    def measure(self, engine: Engine, source: Source) -> Measured:
        """Read the data and release noisy sums, after the keys of the groups where these are private."""
        check_engine(self, engine)
        if self.selection is None:
            return self.noised(self.exact(engine), source)
        found = gather(self, engine)
        kept = found.choose(self.selection, source)
        # what was chosen is released, so that this refusal reveals nothing more
        self.recipe.check_sums(self.groups * len(kept), self.domain)
        return self.noised(found.sums(kept), source, tuple(found.keys[at] for at in kept))

    def provenance(self, source: Source) -> Provenance:
        """Record the recipe, and whether the noise could be repeated."""
        return Provenance(recipe=self.recipe.as_dict(), simulated=source.simulated)

    def release(self, sums: list[Integers], source: Source) -> Answer:
        """Noise on exact sums, and what is read off them."""
        return self.answer_of(self.noised(sums, source), self.provenance(source))

    def noised(self, sums: list[Integers], source: Source, keys: tuple[tuple[str, ...], ...] = ()) -> Measured:
        """Noise on exact sums."""
        parts = zip(self.measures, self.laws, sums, strict=True)
        return Measured(values=tuple(measure.released(found, law, source) for measure, law, found in parts), keys=keys)

    def answer_of(self, measured: Measured, provenance: Provenance) -> Answer:
        """Read the statistics off released values."""
        return Answer(
            by=(*self.recipe.by, *self.recipe.keys),
            groups=self.labels(measured),
            columns=self.columns(measured),
            level=self.recipe.level,
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=provenance,
        )

    def labels(self, measured: Measured) -> tuple[tuple[str, ...], ...]:
        """Labels of each group: all combinations of public levels, with each of the keys that are named."""
        levels = [attribute.all_labels for attribute in self.grouped.attributes] if self.grouped is not None else []
        public = itertools.product(*levels)
        return tuple((*group, *key) for group in public for key in (measured.keys if self.recipe.keys else [()]))

    def columns(self, measured: Measured) -> dict[str, Column]:
        """Statistics by name."""
        return {wanted.name: self.column(wanted, measured, self.recipe.level) for wanted in self.recipe.aggregates}

    def column(self, aggregate: Aggregate, measured: Measured, level: float) -> Column:
        """Compute a statistic from released values alone."""
        place = self.place_of(aggregate)
        released, measure, law = measured.values[place], self.measures[place], self.laws[place]
        if isinstance(measure, Moments):
            return Reading(aggregate.kind, measure, law).column(released, level)
        if isinstance(measure, QuantileTree):
            return measure.read(aggregate.ratio, released, law, level)
        value = released[:, 0]
        if not isinstance(measure, Points):
            return read_sum(value, law, level)
        unknown = np.full_like(value, np.nan)
        return Column(value=value, std=unknown, low=unknown, high=unknown)

    def exact(self, engine: Engine) -> list[Integers]:
        """The exact sums of every measure; sensitive, and never part of an answer."""
        return exact_sums(self, engine)
