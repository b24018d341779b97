"""Recipe, calibrate, run: the shape of every method.

    recipe = NoisyTables(workload)                                   what to do; frozen, printable, no budget in it
    plan   = recipe.calibrate(domain, budget, unit=..., neighbours=...)   fixes the noise; states cost and error
    result = plan.run(engine, source)                                reads data; needs randomness as an argument

Calibrating reads no data. A person can inspect the plan; the server charges it; then it runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar, runtime_checkable

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import Source
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.release import Releases
from tacita.tables.workload import Workload

__all__ = ["Answer", "Calibrated", "CalibratedPlan", "Plan", "Prediction", "Recipe", "check_engine"]


class Answer(Protocol):
    """Result of a run of a plan: all that may be released."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""

    def to_json(self) -> str:
        """The answer as JSON text."""


A = TypeVar("A", bound=Answer)
A_co = TypeVar("A_co", bound=Answer, covariant=True)


class Plan(Protocol[A_co]):
    """Plan that can be charged and run, with any kind of answer."""

    @property
    def domain(self) -> Domain:
        """Domain of the data that it is made for."""

    @property
    def event(self) -> Event:
        """Cost of a run to each unit; exact, and the same event that is charged."""

    @property
    def unit(self) -> Unit:
        """Privacy unit."""

    @property
    def neighbours(self) -> Neighbours:
        """Notion of neighbours."""

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data, the recipe as its member `recipe`."""

    def run(self, engine: Engine, source: Source) -> A_co:
        """Run the plan. Charge the event first: see `tacita.plans.session.Session`."""

    def read(self, text: str, /) -> A_co:
        """The answer that `to_json` wrote."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The error that one table of a plan will have, known before any data is read."""

    attributes: tuple[str, ...]
    cells: int
    std: float
    half_width: float
    level: float = 0.95

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "attributes": list(self.attributes),
            "cells": self.cells,
            "std": self.std,
            "half_width": self.half_width,
            "level": self.level,
        }


@runtime_checkable
class Calibrated(Plan[Releases], Protocol):
    """A recipe for tables with its noise fixed."""

    @property
    def workload(self) -> Workload:
        """The only tables it will ask an engine for."""

    def predict(self) -> tuple[Prediction, ...]:
        """The error of every table, before any data is read."""


class _Stated(Protocol):
    """Parts of a plan that its plain data states."""

    @property
    def recipe(self) -> Any: ...
    @property
    def unit(self) -> Unit: ...
    @property
    def neighbours(self) -> Neighbours: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def event(self) -> Event: ...
    def parts(self) -> dict[str, Any]: ...


class CalibratedPlan(Generic[A]):
    """Base of plans that were calibrated to a budget: their plain data, and how their answer is read.

    A subclass has `recipe`, `domain`, `unit`, `neighbours`, `budget` and `event`. It names the class of its answer,
    and states in `parts` what it adds to the plain data.
    """

    answer: ClassVar[Any]

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {}

    def as_dict(self: _Stated) -> dict[str, Any]:
        """The plan as plain data: recipe, whom it protects, cost in the currency of its budget, event, own parts."""
        return {
            "recipe": self.recipe.as_dict(),
            "unit": str(self.unit),
            "neighbours": str(self.neighbours),
            "budget": self.budget.as_dict(),
            "cost": float(cost([(self.event, 1)], self.budget, self.neighbours)),
            "event": self.event.as_dict(),
        } | self.parts()

    def read(self, text: str, /) -> A:
        """The answer that `to_json` wrote."""
        found: A = self.answer.from_json(text)
        return found


class Recipe(Protocol):
    """Method without a budget."""

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> Calibrated:
        """Fix the noise so that running costs at most the budget."""

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""


def check_engine(plan: Plan[Any], engine: Engine) -> None:
    """Refuse an engine whose data is described otherwise than the plan was made for."""
    if engine.domain.fingerprint != plan.domain.fingerprint:
        raise InvalidInput(
            "the engine's schema is not the one that the plan was made for",
            field="engine",
            value=engine.domain.title,
        )
