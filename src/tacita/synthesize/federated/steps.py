"""Steps of a holder, as plans that are charged, run and stored: see `tacita.plans.session.Session`.

    Joining     binds terms to a run; costs nothing
    Measuring   counts, adds integer noise to every cell
    Voting      scores all candidates by R and draws one by the exponential mechanism

Privacy:  noise as in `mechanisms.additive`; the choice as in `choose`, with the sensitivity of R that `scores` has,
          which does not depend on how many rows a holder has. Candidates depend on sizes and on what was released.
          Claim: docs/claims/federated.md
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.noise import Source
from tacita.plans.additive import CalibratedTables
from tacita.plans.recipe import check_engine
from tacita.privacy.event import Event, Nothing
from tacita.privacy.selection import ExponentialMechanism
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.federated.exchange import Joined, Measured, Step, Vote
from tacita.synthesize.federated.terms import Terms
from tacita.synthesize.plan import Key
from tacita.synthesize.scores import r_score
from tacita.tables.workload import Workload

__all__ = ["Joining", "Measuring", "Pair", "Voting"]

Pair = tuple[str, Key]
"""A child with its parents."""


@dataclass(frozen=True, kw_only=True)
class _Planned:
    """Base of all steps: their terms, and the unit that they protect."""

    terms: Terms
    step: Step
    domain: Domain = field(repr=False)

    @property
    def unit(self) -> Unit:
        """Unit that is protected."""
        return self.terms.unit

    @property
    def neighbours(self) -> Neighbours:
        """Against what change."""
        return self.terms.neighbours

    def as_dict(self) -> dict[str, Any]:
        """The step as plain data; all of it is the question that a ledger's key stands for."""
        return {"recipe": {"method": "federated", "terms": self.terms.as_dict(), "step": self.step.as_dict()}}


@dataclass(frozen=True, kw_only=True)
class Joining(_Planned):
    """Accept terms, if `check` lets them pass."""

    check: Callable[[], None] = field(repr=False, compare=False)

    @property
    def event(self) -> Event:
        """No data is touched."""
        return Nothing()

    def run(self, engine: Engine, source: Source) -> Joined:
        """Look at the terms and the account, not at data."""
        self.check()
        return Joined(terms=self.terms.digest)

    def read(self, text: str, /) -> Joined:
        """Read the output of `to_json`."""
        return Joined.from_dict(json.loads(text))


@dataclass(frozen=True, kw_only=True)
class Measuring(_Planned):
    """Counts with noise."""

    tables: CalibratedTables

    @property
    def event(self) -> Event:
        """That of the noisy tables."""
        return self.tables.event

    def run(self, engine: Engine, source: Source) -> Measured:
        """Count once, add noise to every cell."""
        check_engine(self, engine)
        releases = self.tables.run(engine, source)
        return Measured(
            keys=tuple(releases),
            cells=tuple(release.values for release in releases.values()),
            law=self.tables.laws[0],
            event=self.event,
            simulated=source.simulated,
        )

    def read(self, text: str, /) -> Measured:
        """Read the output of `to_json`."""
        return Measured.from_dict(json.loads(text))


@dataclass(frozen=True, kw_only=True)
class Voting(_Planned):
    """One private choice among candidates that do not depend on the holder's data."""

    choice: ExponentialMechanism
    bound: float
    """Sensitivity of the scores."""
    candidates: tuple[Pair, ...] = field(repr=False)

    @property
    def event(self) -> Event:
        """That of one choice."""
        return self.choice.event

    def run(self, engine: Engine, source: Source) -> Vote:
        """Count what the scores need in one batch, draw."""
        check_engine(self, engine)
        child, above = self.candidates[self.choice.draw(self.scores(engine), sensitivity=self.bound, source=source)]
        return Vote(child=child, parents=above, event=self.event, simulated=source.simulated)

    def scores(self, engine: Engine) -> list[float]:
        """R of every candidate; 0 without parents, whatever the data. Exact: must not be released."""
        keys = {frozenset((*above, child)): (*above, child) for child, above in self.candidates if above}
        tables = engine.tables(Workload.of(*keys.values()), self.unit) if keys else None

        def score(child: str, above: Key) -> float:
            if not above or tables is None:
                return 0.0
            counts = tables[keys[frozenset((*above, child))]].project((*above, child)).values
            return r_score(counts.reshape(-1, counts.shape[-1]))

        return [score(child, above) for child, above in self.candidates]

    def read(self, text: str, /) -> Vote:
        """Read the output of `to_json`."""
        return Vote.from_dict(json.loads(text))
