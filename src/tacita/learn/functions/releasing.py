"""From a plan to a function or a model that answers: reserve, fit, write down, settle, activate.

The private function goes into the registry, and the answer that the ledger stores only names it. A run that is repeated
after a crash writes another one down; only the one that the ledger's first answer names is ever activated, so one
charge gives one function.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.learn.functions.parametric import ParametricModel
from tacita.learn.functions.recipe import FunctionPlan
from tacita.learn.functions.registry import Entry, Registry, Stored, check_name
from tacita.learn.models import FittedPlan
from tacita.noise import Source
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["KeptPlan", "ReleasedFunction", "activate"]


@dataclass(frozen=True, kw_only=True)
class ReleasedFunction:
    """The answer of a release: which function was made, and what paid for it."""

    id: str
    name: str
    charge: str = ""
    dataset: str = ""

    def with_charge(self, charge: str, dataset: str, /) -> ReleasedFunction:
        """The same, naming what paid for it."""
        return replace(self, charge=charge, dataset=dataset)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"id": self.id, "name": self.name, "charge": self.charge, "dataset": self.dataset}

    def to_json(self) -> str:
        """The answer as JSON text."""
        return json.dumps(self.as_dict())


@dataclass(frozen=True, kw_only=True)
class KeptPlan:
    """A plan whose function, or fitted model, goes into a registry under a name."""

    plan: FunctionPlan | FittedPlan
    registry: Registry = field(repr=False)
    name: str

    def __post_init__(self) -> None:
        check_name(self.name)  # before anything is paid for

    @property
    def domain(self) -> Domain:
        """Domain that the data must have."""
        return self.plan.domain

    @property
    def event(self) -> Event:
        """Cost of the function to each unit, however often it is asked."""
        return self.plan.event

    @property
    def unit(self) -> Unit:
        """Unit that is protected."""
        return self.plan.unit

    @property
    def neighbours(self) -> Neighbours:
        """Against what change."""
        return self.plan.neighbours

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data; the name is part of the question."""
        plain = self.plan.as_dict()
        return plain | {"recipe": plain["recipe"] | {"name": self.name}}

    def check_error(self, engine: Engine, /) -> None:
        """Refuse a function that would be mostly noise; reads what is public only."""
        if isinstance(self.plan, FunctionPlan):
            self.plan.check_error(engine)

    def run(self, engine: Engine, source: Source) -> ReleasedFunction:
        """Fit and write down. Charge the event first."""
        return ReleasedFunction(id=self.registry.put(self._made(engine, source), self.name), name=self.name)

    def _made(self, engine: Engine, source: Source) -> Stored:
        if isinstance(self.plan, FunctionPlan):
            return self.plan.fit(engine, source)
        return ParametricModel.of_fitted(self.plan.run(engine, source))

    def read(self, text: str, /) -> ReleasedFunction:
        """The answer that `to_json` wrote."""
        return ReleasedFunction(**json.loads(text))


def activate(registry: Registry, answer: ReleasedFunction) -> Entry:
    """Let the function that the ledger's answer names be asked."""
    return registry.activate(answer.id, charge=answer.charge, dataset=answer.dataset)
