"""A generator whose judge learns from votes of teachers; each teacher sees its own part of the units.

    each round   every teacher learns to distinguish its own units' rows from synthetic ones; no noise, never released
                 for each of some synthetic rows, the teachers that classify it as real are counted, with noise
                 the judge learns all noisy counts so far; it never sees a real row
                 the generator follows judge and tables
    [Papernot et al. 2017; Yoon et al. 2019]

Privacy:  a unit is in one teacher, drawn for it alone, so it moves each count by at most 1, also when it is replaced:
          its teacher stays. Each counted row is charged, by the noise alone: how far teachers agree is not used,
          because a cost that depends on data would be private itself. The event is tables and counts, in sequence.
          Claim: docs/claims/pate-gan.md
Utility:  a count costs as much as a cell of a table and reveals less, so most methods here do better at equal budget.
          Figures published for this method rest on accounting that does not hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.common.plain import plain_fields
from tacita.common.progress import step
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.engines.coded import CodedUnits, coded_units
from tacita.errors import InvalidInput
from tacita.models.neural.backend import check_installed, load_torch
from tacita.models.neural.training import check_finite
from tacita.noise import DiscreteGaussian, Source
from tacita.plans.additive import CalibratedTables, NoisyTables, shift_event
from tacita.plans.split import in_sequence
from tacita.privacy.budget import Budget
from tacita.privacy.calibrate import narrowest
from tacita.privacy.event import Event, Repeated, Sequence
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.effort import check_seconds, network_step, scaled
from tacita.synthesize.estimate import check_width, lost_rows, measurements_of
from tacita.synthesize.gan.encode import Encoding
from tacita.synthesize.gan.maker import Maker
from tacita.synthesize.gan.networks import layers
from tacita.synthesize.marginals import EMPTY
from tacita.synthesize.plan import Key, Outcome, SynthesisPlan, check_attributes
from tacita.tables.workload import Workload

__all__ = ["PateGan", "PateGanPlan", "Teachers", "assign_units", "noisy_votes"]

_LESSON = 32
"""Rows of a teacher, and synthetic ones, in one of its steps."""


@dataclass(frozen=True, kw_only=True)
class PateGan:
    """Recipe of a PATE-GAN, without a budget.

    Args:
        attributes: Attributes to synthesise; all that can be counted if None.
        tables: Part of the budget that goes to tables of single attributes.
        teachers: How many; more of them outvote more noise, and each knows less.
        rounds: How often teachers learn and vote.
        votes: Synthetic rows that are voted on in a round.
        lessons: Steps of the teachers, and of the judge, in a round.
        follow: Steps of the generator in a round.
        trust: Weight of the judge against the tables.
        latent, hidden, judge, teacher: Sizes of layers.
        starts: Rows of one step of the generator.
        learning_rate: Of all networks.
        seconds: About how long training may take: fewer rounds are planned and paid for, see `effort`.
    """

    attributes: Key | None = None
    tables: float = 0.3
    teachers: int = 200
    rounds: int = 10
    votes: int = 50
    lessons: int = 40
    follow: int = 50
    trust: float = 0.1
    latent: int = 32
    hidden: int = 128
    judge: int = 64
    teacher: int = 8
    starts: int = 256
    learning_rate: float = 3e-3
    seconds: float = math.inf

    def __post_init__(self) -> None:
        whole = ("rounds", "votes", "lessons", "follow", "latent", "hidden", "judge", "teacher", "starts", "teachers")
        for name in whole:
            check.whole(getattr(self, name), name, least=1, most=1_000_000)
        if not 0 < self.tables < 1:
            raise InvalidInput("must lie between 0 and 1", field="tables", value=self.tables)
        check_seconds(self.seconds)
        for name in ("learning_rate", "trust"):
            if not getattr(self, name) > 0:
                raise InvalidInput("must be positive", field=name, value=getattr(self, name))

    def calibrate(
        self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours, reason: str = ""
    ) -> PateGanPlan:
        """Fix the noise of tables and votes so that both together cost at most the budget; reads no data."""
        names = check_attributes(domain, self.attributes, unit)
        check_width(domain.project(names))
        check_installed()
        recipe = self.within(sum(domain.project(names).shape))
        part = self.tables * budget.amount
        if budget.currency == "pure":
            hint = "Give a delta, or a budget in rho"
            raise InvalidInput("votes have Gaussian noise, which has no pure epsilon", field="budget", hint=hint)
        of_tables = Budget.zcdp(part) if budget.currency == "zcdp" else Budget.approx(part, budget.delta)
        workload = Workload.of(*((name,) for name in names))
        tables = NoisyTables(workload, family="gaussian").calibrate(domain, of_tables, unit=unit, neighbours=neighbours)

        def event(sigma2: Fraction) -> Event:
            return Sequence(events=(tables.event, recipe._votes_event(DiscreteGaussian.at_least(sigma2))))

        sigma2 = narrowest(event, budget, neighbours, start=Fraction(100), within=10**4)
        return PateGanPlan(
            recipe=recipe,
            domain=domain,
            unit=unit,
            neighbours=neighbours,
            budget=budget,
            names=names,
            reason=reason,
            tables=tables,
            law=DiscreteGaussian.at_least(sigma2),
        )

    def within(self, width: int) -> PateGan:
        """The same recipe with as many rounds as `seconds` allow, for so many levels in all."""
        teach = self.lessons * self.teachers * network_step(1, width, self.teacher, 1)
        follow = self.follow * network_step(self.starts, self.latent, self.hidden, width)
        judge = self.lessons * network_step(self.votes, width, self.judge, 1)
        return replace(self, rounds=scaled(self.rounds, self.seconds, self.rounds * (teach + follow + judge)))

    def _votes_event(self, law: DiscreteGaussian) -> Event:
        # one count moves by 1 under both notions of neighbours: see the module
        return Repeated(event=shift_event(law, 1), count=self.rounds * self.votes)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "pate-gan"} | plain_fields(self)


@dataclass(frozen=True, kw_only=True)
class PateGanPlan(SynthesisPlan):
    """Tables and votes with their noise fixed."""

    tables: CalibratedTables
    law: DiscreteGaussian

    @cached_property
    def event(self) -> Event:
        """Tables, then every vote."""
        return in_sequence(self.tables.event, self.recipe._votes_event(self.law))

    def model(self, engine: Engine, source: Source) -> Outcome:
        """Tables, then rounds of teaching and voting."""
        recipe: PateGan = self.recipe
        released = list(self.tables.run(engine, source).values())
        targets, people, error = measurements_of(released)
        encoding = Encoding(domain=self.domain.project(self.names))
        maker = Maker(
            encoding,
            targets,
            None,
            latent=recipe.latent,
            hidden=recipe.hidden,
            starts=recipe.starts,
            learning_rate=recipe.learning_rate,
            source=source,
        )
        units = coded_units(engine, self.names, self.unit)
        teachers = Teachers(units, assign_units(len(units), recipe.teachers, source), maker, recipe)
        judge = _Judge(maker, recipe)
        for done in range(recipe.rounds):
            step("training", done / recipe.rounds)
            teachers.learn(recipe.lessons)
            rows = maker.rows(recipe.votes)
            judge.hear(rows, noisy_votes(teachers.votes(rows), self.law, source) / recipe.teachers)
            judge.learn(recipe.lessons)
            for _ in range(recipe.follow):
                maker.follow(pace=1 - done / recipe.rounds, judge=judge.network, trust=recipe.trust)
        notes = ((EMPTY,) if people < 3 * error else ()) + lost_rows(released)
        notes += (
            f"{recipe.teachers} teachers voted on {recipe.rounds * recipe.votes} synthetic rows; "
            f"noise on a count of votes has a standard deviation of {self.law.std:.3g}.",
        )
        if self.law.std > recipe.teachers / 2:
            notes += ("The noise hides the votes: beyond single attributes the model says next to nothing.",)
        return Outcome(maker.model(), people, error, notes, [released])


def noisy_votes(counts: NDArray[np.int64], law: DiscreteGaussian, source: Source) -> NDArray[np.int64]:
    """Noisy counts of votes: the only output of the teachers that is released."""
    return np.asarray(counts + law.draw(counts.size, source))


def assign_units(units: int, teachers: int, source: Source) -> NDArray[np.int64]:
    """Draw a teacher for each unit independently, so that adding or removing one unit moves no other."""
    return (source.words(units) % np.uint64(teachers)).astype(np.int64)


class Teachers:
    """Many small networks that share nothing: the weights of a teacher depend on its own units, on synthetic rows, and
    on draws whose number does not depend on the data.

    Not private by themselves: only noisy counts of their votes may be written or shown.
    """

    def __init__(self, units: CodedUnits, teacher_of: NDArray[np.int64], maker: Maker, recipe: PateGan) -> None:
        self._torch = torch = load_torch()
        self._maker, count = maker, recipe.teachers
        self._codes, self._sizes = _by_teacher(units, teacher_of, count)
        inputs, hidden = maker.seen.shape[1], recipe.teacher
        shapes = [(count, inputs, hidden), (count, 1, hidden), (count, hidden, 1), (count, 1, 1)]
        one = [maker.rng.normal(0, math.sqrt(2 / shape[1]), shape[1:]) for shape in shapes]  # all start alike
        self._weights = [
            torch.from_numpy(np.broadcast_to(each, shape).astype(np.float32).copy()).to(maker.device).requires_grad_()
            for each, shape in zip(one, shapes, strict=True)
        ]
        self._steps = torch.optim.Adam(self._weights, recipe.learning_rate)  # by weight, so no teacher sees another

    def _heights(self, rows: Any) -> Any:
        """(teachers, rows) of (teachers, rows, inputs)."""
        first, offset, second, last = self._weights
        return ((self._torch.relu(rows @ first + offset)) @ second + last)[..., 0]

    def learn(self, steps: int) -> None:
        """Train each teacher to distinguish its units' rows from as many synthetic ones, equal for all."""
        softplus, count = self._torch.nn.functional.softplus, len(self._sizes)
        for _ in range(steps):
            place = (self._maker.rng.random((count, _LESSON)) * self._sizes[:, None]).astype(np.int64)
            codes = self._codes[np.arange(count)[:, None], place]
            made = self._maker.rows(_LESSON)
            real = self._torch.from_numpy(self._maker.encoding.one_hot(codes)).to(made.device) @ self._maker.seen
            has_rows = self._torch.from_numpy((self._sizes > 0).astype(np.float32)).to(made.device)
            right = softplus(-self._heights(real)).mean(1) * has_rows
            wrong = softplus(self._heights(made.expand(count, *made.shape))).mean(1)
            self._steps.zero_grad(set_to_none=True)
            (right + wrong).sum().backward()
            self._steps.step()

    def votes(self, rows: Any) -> NDArray[np.int64]:
        """For each row, how many hold it for real. Exact."""
        with self._torch.no_grad():
            heights = self._heights(rows.expand(len(self._sizes), *rows.shape))
        return np.asarray((heights > 0).sum(0).cpu().numpy(), np.int64)


def _by_teacher(units: CodedUnits, teacher_of: NDArray[np.int64], count: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Codes (teachers, most rows of one, attributes), and how many rows each has."""
    rows = units.codes[units.there]
    owner = np.repeat(teacher_of, units.there.sum(axis=1))
    order = np.argsort(owner, kind="stable")
    sizes = np.bincount(owner, minlength=count)
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    codes = np.zeros((count, max(1, int(sizes.max(initial=0))), units.codes.shape[2]), units.codes.dtype)
    codes[owner[order], place] = rows[order]
    return codes, sizes


class _Judge:
    """Learns what share of teachers holds a row for real, from noisy counts; the generator follows it."""

    def __init__(self, maker: Maker, recipe: PateGan) -> None:
        self._torch = load_torch()
        self.network = layers([maker.seen.shape[1], recipe.judge, 1], maker.rng).to(maker.device)
        self._steps = self._torch.optim.Adam(self.network.parameters(), recipe.learning_rate, weight_decay=1e-3)
        self._rows: list[Any] = []
        self._shares: list[Any] = []

    def hear(self, rows: Any, shares: NDArray[np.float64]) -> None:
        """Remember rows and the noisy shares of votes for them."""
        self._rows.append(rows)
        self._shares.append(self._torch.from_numpy(shares.clip(0, 1).astype(np.float32)).to(rows.device))

    def learn(self, steps: int) -> None:
        """Some steps on all that was heard."""
        rows, shares = self._torch.cat(self._rows), self._torch.cat(self._shares)
        for _ in range(steps):
            loss = self._torch.nn.functional.binary_cross_entropy_with_logits(self.network(rows)[:, 0], shares)
            check_finite(self._torch, [loss])
            self._steps.zero_grad(set_to_none=True)
            loss.backward()
            self._steps.step()
