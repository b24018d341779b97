"""Base of all synthesizers: choose attributes, check the domain, and make a plan that can be charged and run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, Self

import numpy as np

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import Law, Source
from tacita.plans.additive import CalibratedTables, NoisyTables
from tacita.plans.recipe import CalibratedPlan, check_engine
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.estimate import lost_rows
from tacita.synthesize.intervals.measured import MeasuredTables
from tacita.synthesize.result import Model, Synthesized
from tacita.synthesize.rules import Rules
from tacita.tables.release import Provenance, Release
from tacita.tables.workload import Workload

__all__ = ["Key", "Outcome", "SynthesisPlan", "check_attributes", "generator", "kept_tables"]

Key = tuple[str, ...]


def check_attributes(domain: Domain, attributes: Key | None, unit: Unit) -> Key:
    """The attributes to synthesise: those named, or all that can be counted."""
    domain.require_public()
    unit.check(domain)
    names = domain.countable if attributes is None else domain.check_countable(attributes)
    if not names:
        raise InvalidInput("must be at least one attribute that can be counted", field="attributes")
    return tuple(names)


def generator(source: Source) -> np.random.Generator:
    """Draws that need no secrecy, such as where a fit starts; they can be repeated when the source can."""
    return np.random.default_rng(source.words(4))


class Outcome(NamedTuple):
    """Result of a run, before it is stated what it cost.

    Attributes:
        model: Fitted model.
        people, error: Number of rows of the data, and its standard error.
        notes: Decisions, in words.
        rounds: Released tables, by the round that measured them, see `MeasuredTables`.
    """

    model: Model
    people: float
    error: float
    notes: tuple[str, ...]
    rounds: Sequence[Sequence[Release]]


def kept_tables(rounds: Sequence[Sequence[Release]]) -> MeasuredTables | None:
    """The tables that intervals are computed from; none if they disagree about the number of rows."""
    known = [each for releases in rounds for each in releases]
    return MeasuredTables.of(rounds) if known and not lost_rows(known) else None


@dataclass(frozen=True, kw_only=True)
class SynthesisPlan(ABC, CalibratedPlan[Synthesized]):
    """A synthesizer with its noise fixed. Reads no data until it runs."""

    answer = Synthesized

    recipe: Any
    domain: Domain = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    names: Key
    reason: str = ""

    @property
    @abstractmethod
    def event(self) -> Event:
        """Cost of a run to each unit, derived from the noise distributions that draw."""

    def over(self, domain: Domain) -> Self:
        """Return the same plan for a domain of the same attributes with no more levels: noise and cost stay."""
        changed: dict[str, Any] = {"domain": domain}
        for each in fields(self):
            part = getattr(self, each.name)
            if isinstance(part, CalibratedTables):
                changed[each.name] = replace(part, domain=domain)
            elif isinstance(part, SynthesisPlan):
                changed[each.name] = part.over(domain)
        return replace(self, **changed)

    def check_rules(self, rules: Rules) -> Rules:
        """Return public rules that all rows are to keep, if the model can keep them; reads no data."""
        return rules.check(self.domain.project(self.names))

    @abstractmethod
    def model(self, engine: Engine, source: Source) -> Outcome:
        """Measure, and fit a model."""

    def run(self, engine: Engine, source: Source) -> Synthesized:
        """Count, add noise, fit. Charge the event first: see `tacita.plans.session.Session`."""
        check_engine(self, engine)
        found = self.model(engine, source)
        return Synthesized(
            model=found.model,
            people=found.people,
            people_std=found.error,
            notes=((self.reason,) if self.reason else ()) + found.notes,
            measured=kept_tables(found.rounds),
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=self.recipe.as_dict(), simulated=source.simulated),
        )

    def measured(self, engine: Engine, source: Source, keys: list[Key], law: Law) -> list[Release]:
        """Tables with noise of one distribution; `event` is their cost."""
        tables = CalibratedTables(
            recipe=NoisyTables(Workload.of(*keys)),
            domain=self.domain,
            unit=self.unit,
            neighbours=self.neighbours,
            budget=self.budget,
            laws=(law,) * len(keys),
        )
        return list(tables.run(engine, source).values())

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {
            "attributes": list(self.names),
            "reason": self.reason,
        }
