"""Naive Bayes as a model that takes rows: the tables and the classifier of `query.bayes`, with its promise.

Privacy:  that of the noisy tables of the target by each feature.   Claim: docs/claims/models.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.learn.design import Array
from tacita.learn.envelope import likeliest, promise
from tacita.mechanisms.additive import CalibratedTables
from tacita.noise import Source
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.bayes import BayesModel, NaiveBayes
from tacita.release import Provenance, Release, Releases

__all__ = ["Bayes", "CalibratedBayes", "FittedBayes"]


@dataclass(frozen=True, kw_only=True)
class Bayes:
    """A classifier of `target` that takes features as independent within a class."""

    target: str
    features: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        _ = self.inner

    @property
    def inner(self) -> NaiveBayes:
        """The recipe of the tables."""
        return NaiveBayes(target=self.target, features=self.features)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedBayes:
        """Fix the noise of the tables; reads no data."""
        return CalibratedBayes(
            recipe=self, tables=self.inner.calibrate(domain, budget, unit=unit, neighbours=neighbours)
        )

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"recipe": "bayes", "target": self.target, "features": list(self.features)}


@dataclass(frozen=True, kw_only=True)
class CalibratedBayes:
    """The tables with their noise fixed."""

    recipe: Bayes
    tables: CalibratedTables

    @property
    def domain(self) -> Domain:
        """What the data must look like."""
        return self.tables.domain

    @property
    def event(self) -> Event:
        """What running it costs each unit."""
        return self.tables.event

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self.tables.unit

    @property
    def neighbours(self) -> Neighbours:
        """Against what change."""
        return self.tables.neighbours

    def run(self, engine: Engine, source: Source) -> FittedBayes:
        """Count, add noise, read the classifier off."""
        return FittedBayes(recipe=self.recipe, releases=self.tables.run(engine, source))

    def read(self, text: str, /) -> FittedBayes:
        """The classifier that `to_json` wrote."""
        return FittedBayes.from_json(text)

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return self.tables.as_dict() | {"recipe": self.recipe.as_dict()}


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedBayes:
    """A classifier and the released tables that it is read off; both are stored."""

    recipe: Bayes
    releases: Releases = field(repr=False)

    @property
    def model(self) -> BayesModel:
        """The classifier."""
        return self.recipe.inner.fit(self.releases)

    @property
    def domain(self) -> Domain:
        """The public schema of features and target."""
        return self.releases.domain

    @property
    def features(self) -> tuple[str, ...]:
        """What it predicts from."""
        return self.recipe.features

    @property
    def target(self) -> str:
        """What it predicts."""
        return self.recipe.target

    @property
    def kind(self) -> str:
        """Which of `learn.models.KINDS` it is."""
        return "bayes"

    @property
    def classes(self) -> tuple[str, ...]:
        """The levels of the target."""
        return self.domain[self.target].all_labels

    @property
    def _first(self) -> Release:
        return next(iter(self.releases.values()))

    @property
    def event(self) -> Event:
        """What the tables cost together."""
        return self._first.event

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self._first.unit

    @property
    def neighbours(self) -> Neighbours:
        """Against what change."""
        return self._first.neighbours

    @property
    def provenance(self) -> Provenance:
        """That of the tables."""
        return self._first.provenance

    def statement(self) -> str:
        """What is promised, in words."""
        return promise(self.event, self.provenance, self.unit, self.neighbours)

    def probabilities(self, rows: pa.Table | pa.RecordBatch) -> Array:
        """The probability of each class of each row."""
        codes: Mapping[str, Any] = self.model.domain.encode(rows, list(self.recipe.features))
        scores = self.model.scores(codes)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def predict(self, rows: pa.Table | pa.RecordBatch) -> pa.Array:
        """The likeliest class of each row."""
        return likeliest(self.domain, self.target, self.probabilities(rows))

    def with_charge(self, charge: str, dataset: str | None) -> FittedBayes:
        """The same, naming the ledger's charge that paid for it."""
        return replace(self, releases=Releases(r.with_charge(charge, dataset) for r in self.releases.values()))

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "tacita": "bayes/1",
            "target": self.recipe.target,
            "features": list(self.recipe.features),
            "statement": self.statement(),
            "tables": json.loads(self.releases.to_json()),
        }

    def to_json(self) -> str:
        """All of it as JSON text."""
        return json.dumps(self.as_dict(), ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> FittedBayes:
        """What `to_json` wrote."""
        data = json.loads(text)
        if data.get("tacita") != "bayes/1":
            raise InvalidInput("must be `bayes/1`", field="tacita", value=data.get("tacita"))
        recipe = Bayes(target=data["target"], features=tuple(data["features"]))
        return cls(recipe=recipe, releases=Releases.from_json(json.dumps(data["tables"])))
