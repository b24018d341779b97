"""Base of plans that fit a line and do something private around it: choose a penalty, or narrow bounds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Protocol

from tacita.domain import Domain
from tacita.learn.fitted import FittedModel
from tacita.learn.regression.problem import Coefficients
from tacita.learn.regression.regression import CalibratedRegression
from tacita.noise import Source
from tacita.plans.recipe import CalibratedPlan
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit

__all__ = ["StagedPlan"]


class _Recipe(Protocol):
    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""


@dataclass(frozen=True, kw_only=True)
class StagedPlan(ABC, CalibratedPlan[FittedModel]):
    """All noises, fixed. `budget` is that of the whole, of which `fit` has its part."""

    answer = FittedModel

    recipe: _Recipe
    fit: CalibratedRegression = field(repr=False)
    budget: Budget
    neighbours: Neighbours

    @property
    @abstractmethod
    def event(self) -> Event:
        """Cost of the fit and of the stage around it together."""

    @property
    @abstractmethod
    def why(self) -> str:
        """Why this method, and what is done around it."""

    @property
    def domain(self) -> Domain:
        """Domain that the data must have."""
        return self.fit.domain

    @property
    def unit(self) -> Unit:
        """Unit that is protected."""
        return self.fit.unit

    def released(self, found: Coefficients, source: Source, **more: Any) -> FittedModel:
        """The model that was found, with what the whole cost."""
        about = {"event": self.event, "neighbours": self.neighbours, "why": self.why}
        return self.fit.released(found, source, recipe=self.recipe.as_dict(), **about | more)

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data: those of the fit, and why this method."""
        return self.fit.parts() | {"why": self.why}
