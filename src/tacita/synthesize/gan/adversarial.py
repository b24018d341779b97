"""Parts shared by the generators that learn from a private critic: the budget split and the training.

    1  release tables with noise                                           `tables` of epsilon
    2  fit the generator to these tables                                   post-processing
    3  each step: the critic makes one private step on real rows, each against a synthetic one    the rest of epsilon
                  the generator makes some steps on critic and tables      post-processing

A critic's loss is f(synthetic) - f(real), with weights held in a box.  [Arjovsky et al. 2017]

Privacy:  only tables and critic see data; the event is theirs, in sequence. Units are drawn each on its own and may be
          persons: then all rows of a person make one loss. Rows of the generator come from its own draws and from
          released tables. The number of rows is read off the tables.   Claim: docs/claims/dp-sgd.md
Utility:  tables carry most of it: noise hides from a critic what it does not hide from a table. The critic sees what no
          table of few attributes holds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.common.plain import plain_fields
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.coded import CodedUnits, coded_units
from tacita.errors import InvalidInput
from tacita.models.neural.backend import check_installed, load_torch
from tacita.models.neural.checkpoint import (
    Checkpoint,
    Checkpoints,
    begin,
    load_states,
    reserved_steps,
    source_of_run,
)
from tacita.models.neural.training import PrivateTraining, Steps
from tacita.noise import Source
from tacita.plans.additive import CalibratedTables, NoisyTables
from tacita.plans.split import in_sequence
from tacita.privacy.accountant import check_sampled
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.effort import check_seconds, network_step, scaled
from tacita.synthesize.estimate import check_width, lost_rows, measurements_of
from tacita.synthesize.gan.encode import Encoding
from tacita.synthesize.gan.maker import Maker
from tacita.synthesize.gan.networks import layers
from tacita.synthesize.marginals import EMPTY
from tacita.synthesize.plan import Key, Outcome, SynthesisPlan, check_attributes
from tacita.synthesize.result import Model
from tacita.tables.release import Releases
from tacita.tables.workload import Workload

__all__ = ["Adversarial", "AdversarialPlan"]

_BOX = 0.3
"""Largest weight of a critic, either way."""
_CRITIC_RATE = 5e-3
_LATER = 0.2
"""Of the generator's learning rate, when the critic joins."""

_NOMINAL_BATCH = 1024
"""Units of a step, for planning time: how many there are is private."""

_P = TypeVar("_P", bound="AdversarialPlan")
_R = TypeVar("_R", bound="Adversarial")


@dataclass(frozen=True, kw_only=True)
class Adversarial:
    """Recipe of an adversarial generator, without a budget.

    Args:
        attributes: Attributes to synthesise; all that can be counted if None.
        tables: Part of epsilon that goes to tables.
        steps: Private steps of the critic.
        rate: Chance of a unit to be in a step.
        clip: Norm to which a unit's gradient is clipped.
        matching: Steps of the generator on tables alone.
        follow: Steps of the generator after each of the critic.
        trust: Weight of the critic against the tables, for the generator.
        latent, hidden, critic: Sizes of layers.
        starts: Rows that the generator makes for one of its steps.
        learning_rate: Of the generator.
        seconds: About how long training may take: fewer steps are planned and paid for, see `effort`.
    """

    attributes: Key | None = None
    tables: float = 0.8
    steps: int = 200
    rate: float = 0.02
    clip: float = 1.0
    matching: int = 600
    follow: int = 1
    trust: float = 0.1
    latent: int = 64
    hidden: int = 256
    critic: int = 128
    starts: int = 1024
    learning_rate: float = 3e-3
    seconds: float = math.inf

    method = "adversarial"

    def __post_init__(self) -> None:
        for name in ("steps", "latent", "hidden", "critic", "starts"):
            check.whole(getattr(self, name), name, least=1, most=1_000_000)
        for name in ("matching", "follow"):
            check.whole(getattr(self, name), name, least=0, most=1_000_000)
        for name in ("tables", "rate"):
            if not 0 < getattr(self, name) < 1:
                raise InvalidInput("must lie between 0 and 1", field=name, value=getattr(self, name))
        check_seconds(self.seconds)
        for name in ("clip", "learning_rate"):
            if not getattr(self, name) > 0:
                raise InvalidInput("must be positive", field=name, value=getattr(self, name))
        if not (math.isfinite(self.trust) and self.trust >= 0):
            raise InvalidInput("must be finite and not negative", field="trust", value=self.trust)

    def given_of(self, domain: Domain, names: Key) -> str | None:
        """The attribute whose value is drawn first, from its released table; None if there is none."""
        return None

    def workload_of(self, names: Key, given: str | None) -> Workload:
        """The tables to release."""
        return Workload.of(*((name,) for name in names))

    def calibrate(
        self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours, reason: str = ""
    ) -> AdversarialPlan:
        """Fix the noise of tables and steps so that both together cost at most the budget; reads no data."""
        names = check_attributes(domain, self.attributes, unit)
        check_width(domain.project(names))
        check_sampled(neighbours)
        check_installed()
        if budget.currency != "approx":
            hint = "Give a delta"
            raise InvalidInput("training needs epsilon at a delta", field="budget", value=str(budget), hint=hint)
        recipe = self.within(sum(domain.project(names).shape))
        given = self.given_of(domain, names)
        tables = NoisyTables(self.workload_of(names, given), family="gaussian").calibrate(
            domain, Budget.approx(self.tables * budget.amount, budget.delta), unit=unit, neighbours=neighbours
        )
        law = Steps.calibrate(budget, steps=recipe.steps, rate=self.rate, clip=self.clip, beside=(tables.event,))
        return AdversarialPlan(
            recipe=recipe,
            domain=domain,
            unit=unit,
            neighbours=neighbours,
            budget=budget,
            names=names,
            reason=reason,
            tables=tables,
            law=law,
            given=given,
        )

    def within(self: _R, width: int) -> _R:
        """The same recipe with as many steps as `seconds` allow, for so many levels in all."""
        follow = network_step(self.starts, self.latent, self.hidden, width)
        judge = network_step(_NOMINAL_BATCH, width, self.critic, 1)
        whole = self.matching * follow + self.steps * (self.follow * follow + judge)
        matching = scaled(self.matching, self.seconds, whole) if self.matching else 0
        return replace(self, matching=matching, steps=scaled(self.steps, self.seconds, whole))

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": self.method} | plain_fields(self)


@dataclass(frozen=True, kw_only=True)
class AdversarialPlan(SynthesisPlan):
    """Tables and critic with their noise fixed."""

    tables: CalibratedTables
    law: Steps
    given: str | None = None
    checkpoints: Checkpoints | None = None
    charge: str = ""

    @cached_property
    def event(self) -> Event:
        """Tables, then steps."""
        return in_sequence(self.tables.event, self.law.event)

    def with_checkpoints(self: _P, path: str | Path, *, every: int = 100) -> _P:
        """The same plan, which writes where it stands to a file, and goes on from there if the file exists."""
        return replace(self, checkpoints=Checkpoints(path=Path(path), every=every))

    @property
    def resumes(self) -> bool:
        """Whether it keeps checkpoints."""
        return self.checkpoints is not None

    def check_resumable(self, charge: str | None) -> None:
        """Refuse a file that belongs to another charge, and a charge that has begun without its file."""
        if self.checkpoints is not None:
            self.checkpoints.check(self._fingerprint, charge)

    def paid_by(self: _P, charge: str) -> _P:
        """The same plan, on this charge."""
        return replace(self, charge=charge)

    def as_dict(self) -> dict[str, Any]:
        """The plan as plain data."""
        return super().as_dict() | {"training": self.law.as_dict(), "given": self.given}

    def model(self, engine: Engine, source: Source) -> Outcome:
        """Tables, then training."""
        state = begin(self.checkpoints, self._fingerprint, self.charge)
        own = source_of_run(source, state.runs)
        released = self._released(state, engine, own)
        state = replace(state, released=released.to_json())
        targets, people, error = measurements_of(list(released.values()))
        training = _Training(self, targets, max(people, error, 1.0), engine, own)
        training.run(state)
        notes = ((EMPTY,) if people < 3 * error else ()) + lost_rows(list(released.values()))
        notes += (
            f"{len(targets)} tables were released; a critic made {self.law.steps} private steps, "
            f"each with about {self.law.rate:.3g} of the data.",
        )
        if self.given:
            notes += (f"Rows begin with {self.given!r}, drawn from its released table.",)
        return Outcome(training.model(), people, error, notes, [list(released.values())])

    # -- checkpoints ----------------------------------------------------------------------------------------------

    @property
    def _fingerprint(self) -> str:
        parts = {"recipe": self.recipe.as_dict(), "event": self.event.as_dict(), "domain": self.domain.fingerprint}
        return json.dumps(parts | {"unit": self.unit.as_dict()}, sort_keys=True)

    def _released(self, state: Checkpoint, engine: Engine, source: Source) -> Releases:
        if state.released:
            return self.tables.read(state.released)
        released = self.tables.run(engine, source)
        if self.checkpoints:
            self.checkpoints.write(replace(state, released=released.to_json()))
        return released


class _Training:
    """One run: networks, optimisers, and where it stands."""

    def __init__(self, plan: AdversarialPlan, targets: Any, people: float, engine: Engine, source: Source) -> None:
        self._torch = torch = load_torch()
        self._plan, self._recipe, self._people, self._source = plan, plan.recipe, people, source
        encoding = Encoding(domain=plan.domain.project(plan.names))
        self._maker = Maker(
            encoding,
            targets,
            plan.given,
            latent=self._recipe.latent,
            hidden=self._recipe.hidden,
            starts=self._recipe.starts,
            learning_rate=self._recipe.learning_rate,
            source=source,
        )
        self._critic = layers([encoding.seen.shape[1], self._recipe.critic, 1], self._maker.rng).to(self._maker.device)
        self._critic_steps = torch.optim.RMSprop(self._critic.parameters(), _CRITIC_RATE)
        self._engine, self.made = engine, 0

    def _parts(self) -> dict[str, Any]:
        return {
            "maker": self._maker.network,
            "maker_steps": self._maker.optimiser,
            "critic": self._critic,
            "critic_steps": self._critic_steps,
        }

    def model(self) -> Model:
        """The generator as it is."""
        return self._maker.model()

    def run(self, state: Checkpoint) -> None:
        """All steps that are left."""
        load_states(state, self._parts())
        if not state.states:
            for at in range(self._recipe.matching):
                self._maker.follow(pace=1 - at / self._recipe.matching)
        units = coded_units(self._engine, self._plan.names, self._plan.unit)
        training = PrivateTraining(
            self._plan.law,
            self._critic,
            self._critic_steps,
            self._unit_loss,
            units=len(units),
            take=_taker(units, self._maker),
            expected=self._plan.law.rate * self._people,
            source=self._source,
            done=state.reserved,
        )
        for _ in reserved_steps(training, self._plan.checkpoints, state, self._parts()):
            training.step(lambda count: self._against(count, units.codes.shape[1]))
            self._hold_in_box()
            pace = _LATER * (1 - training.done / training.law.steps)
            for _ in range(self._recipe.follow):
                self._maker.follow(pace=pace, judge=self._critic, trust=self._recipe.trust)
        self.made = training.done

    # -- the critic: one unit against as many synthetic rows --------------------------------------------------------

    def _unit_loss(self, weights: dict[str, Any], rows: Any, there: Any, made: Any) -> Any:
        """f(synthetic) - f(real), averaged over the unit's rows."""
        heights = self._torch.func.functional_call(self._critic, weights, (self._torch.cat([made, rows]),))[:, 0]
        fall = heights[: len(made)] - heights[len(made) :]
        return (fall * there).sum() / there.sum().clamp(min=1.0)

    def _against(self, count: int, rows: int) -> tuple[Any, ...]:
        return (self._maker.rows(count * rows).reshape(count, rows, self._maker.seen.shape[1]),)

    def _hold_in_box(self) -> None:
        with self._torch.no_grad():
            for weight in self._critic.parameters():
                weight.clamp_(-_BOX, _BOX)


def _taker(units: CodedUnits, maker: Maker) -> Callable[[NDArray[np.int64]], tuple[Any, ...]]:
    torch, seen = load_torch(), maker.seen

    def take(chosen: NDArray[np.int64]) -> tuple[Any, ...]:
        placed = torch.from_numpy(maker.encoding.one_hot(units.codes[chosen])).to(seen.device)
        return placed @ seen, torch.from_numpy(units.there[chosen].astype(np.float32)).to(seen.device)

    return take
