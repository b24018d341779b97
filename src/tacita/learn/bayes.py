"""Naive Bayes as a model that takes rows: the tables and the classifier of `query.models.bayes`, with its promise.

Privacy:  that of the noisy tables of the target by each feature; of several runs, all of them together.
          Claim: docs/claims/models.md
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.learn.envelope import MODEL, likeliest, softmax
from tacita.learn.feature_map import Array
from tacita.noise import Source
from tacita.plans.additive import CalibratedTables
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event, NonPrivate, Sequence
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.models.bayes import BayesModel, NaiveBayes
from tacita.tables.envelope import Stated
from tacita.tables.release import Provenance, Release, Releases
from tacita.tables.tabular import Tabular

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
        """Domain that the data must have."""
        return self.tables.domain

    @property
    def event(self) -> Event:
        """Cost of a run to each unit."""
        return self.tables.event

    @property
    def unit(self) -> Unit:
        """Unit that is protected."""
        return self.tables.unit

    @property
    def neighbours(self) -> Neighbours:
        """Against what change."""
        return self.tables.neighbours

    def run(self, engine: Engine, source: Source) -> FittedBayes:
        """Count, add noise, read the classifier off."""
        made = list(self.tables.run(engine, source).values())
        # one run, so one provenance, also where its tables were made a second apart
        same = (replace(each, provenance=made[0].provenance) for each in made)
        return FittedBayes(recipe=self.recipe, releases=Releases(same))

    def read(self, text: str, /) -> FittedBayes:
        """The classifier that `to_json` wrote."""
        return FittedBayes.from_json(text)

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return self.tables.as_dict() | {"recipe": self.recipe.as_dict()}


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedBayes(Stated, Tabular):
    """A classifier and the released tables that it is read off; both are stored."""

    released: ClassVar[str] = MODEL

    recipe: Bayes
    releases: Releases = field(repr=False)

    def __post_init__(self) -> None:
        first, *others = self.releases.values()
        for name in ("unit", "neighbours"):
            if any(getattr(other, name) != getattr(first, name) for other in others):
                values = sorted({str(getattr(each, name)) for each in (first, *others)})
                raise InvalidInput("must be the same in all tables", field=name, value=values)

    def to_arrow(self) -> pa.Table:
        """Return the released tables that it is read off, as one."""
        return self.releases.to_arrow()

    def chart(self) -> str:
        """Draw the first of these tables."""
        return self.releases.chart()

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
        """Attributes that it predicts from."""
        return self.recipe.features

    @property
    def target(self) -> str:
        """Attribute that it predicts."""
        return self.recipe.target

    @property
    def kind(self) -> str:
        """Its name in `learn.models.KINDS`."""
        return "bayes"

    @property
    def classes(self) -> tuple[str, ...]:
        """The levels of the target."""
        return self.domain[self.target].all_labels

    @cached_property
    def runs(self) -> tuple[Release, ...]:
        """One table of each run that the tables come from; see `_same_run`."""
        found: list[Release] = []
        for release in self.releases.values():
            if not any(_same_run(release, known) for known in found):
                found.append(release)
        return tuple(found)

    @property
    def event(self) -> Event:
        """Cost of all runs together; no guarantee where one of them has none."""
        events = tuple(release.event for release in self.runs)
        without = [event for event in events if isinstance(event, NonPrivate)]
        return without[0] if without else events[0] if len(events) == 1 else Sequence(events=events)

    @property
    def unit(self) -> Unit:
        """Unit that is protected: the same in all tables."""
        return self.runs[0].unit

    @property
    def neighbours(self) -> Neighbours:
        """Notion of neighbours: the same in all tables."""
        return self.runs[0].neighbours

    @property
    def provenance(self) -> Provenance:
        """That of the tables; of several runs, what they agree in, and simulated where one of them is."""
        parts = [release.provenance for release in self.runs]
        if len(parts) == 1:
            return parts[0]
        return Provenance(
            recipe=self.recipe.as_dict() | {"on": "release", "runs": len(parts)},
            simulated=any(part.simulated for part in parts),
            dataset=_agreed([part.dataset for part in parts]),
            charge=_agreed([part.charge for part in parts]),
            created=max(part.created for part in parts),
            versions=parts[0].versions,
        )

    def probabilities(self, rows: pa.Table | pa.RecordBatch) -> Array:
        """The probability of each class of each row."""
        codes: Mapping[str, Any] = self.model.domain.encode(rows, list(self.recipe.features))
        return softmax(self.model.scores(codes))

    def predict(self, rows: pa.Table | pa.RecordBatch) -> pa.Array:
        """The likeliest class of each row."""
        return likeliest(self.domain, self.target, self.probabilities(rows))

    def with_charge(self, charge: str, dataset: str | None) -> FittedBayes:
        """The same, naming the ledger's charge that paid for it; tables of several runs name their own."""
        if len(self.runs) > 1:
            return self
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
        """Read the output of `to_json`."""
        data = json.loads(text)
        if data.get("tacita") != "bayes/1":
            raise InvalidInput("must be `bayes/1`", field="tacita", value=data.get("tacita"))
        recipe = Bayes(target=data["target"], features=tuple(data["features"]))
        return cls(recipe=recipe, releases=Releases.from_json(json.dumps(data["tables"])))


def _same_run(one: Release, other: Release) -> bool:
    """Whether two tables were paid for together: by one charge, or else in one run.

    Where that is in doubt, as for tables that were written before runs had ids, both count.
    """
    a, b = one.provenance, other.provenance
    if a.charge is not None and b.charge is not None:
        together = (a.charge, a.dataset) == (b.charge, b.dataset)
    else:
        together = bool(a.run) and a.run == b.run
    return together and one.event == other.event


def _agreed(values: list[str | None]) -> str | None:
    return values[0] if len(set(values)) == 1 else None
