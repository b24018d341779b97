"""Synthesis from few pairs that are chosen privately.

    SpanningTree   the pairs that single attributes explain worst, as a tree    [McKenna, Miklau, Sheldon 2021: MST],
                   or as a forest: no pair is added once all are explained up to noise
    Adaptive       round by round the pairs that the model so far explains worst [McKenna et al. 2022: AIM, pairs only]

A pair of a tree is worth its noise if its distance from the product exceeds what noise would put there: a score has
this subtracted, and to add no pair is a candidate with a score of 0. Attributes in no pair are then measured again, by
themselves. So with much noise the tree becomes the product of single attributes.

`Adaptive` measures as many pairs as the budget bears: the noise of so many tables may be as large as the dependence of
a typical pair. The model is fitted at most as often as there are attributes: of more pairs, several are chosen at once.

Privacy:  a pair's score is the L1 distance of its counts from what was released before, so it moves by at most what
          the counts do: m rows, twice that for replace-one, in either direction. Choices and noise add up.
          Claim: docs/claims/marginal-synthesis.md
Utility:  few tables, so less noise on each: a tree is best for small budgets, for many columns, and where all follows
          from few pairs; else all pairs at once (`Pairs`).
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import geometric_mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.common.plain import plain_fields
from tacita.common.progress import step
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.models.chow_liu import chow_liu
from tacita.models.mixture_fit import fit_mixture
from tacita.models.network import BayesianNetwork
from tacita.models.pairs.dependence import TYPICAL_ROWS, typical_dependence
from tacita.noise import Law, Source
from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.budget import Budget
from tacita.privacy.event import Event, Repeated
from tacita.privacy.selection import ExponentialMechanism
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.effort import check_seconds, mixture_step, scaled
from tacita.synthesize.estimate import check_width, lost_rows, measurements_of, rows_of
from tacita.synthesize.marginals import EMPTY, product_of
from tacita.synthesize.noisy_network import network_of
from tacita.synthesize.plan import Key, Outcome, SynthesisPlan, check_attributes, generator
from tacita.synthesize.result import Model
from tacita.tables.cells import MAX_DENSE, Projectable
from tacita.tables.release import Release
from tacita.tables.table import Table
from tacita.tables.workload import Workload

__all__ = ["Adaptive", "ChosenPlan", "SpanningTree", "distance"]

_BETWEEN = {"components": 100, "fits": 1, "steps": 80}
"""The small fit between two rounds."""

_SEEN = 6  # standard errors of the number of rows, below which it is not taken

_ONES, _CHOICES = Fraction(1, 5), Fraction(1, 5)
_TREE_ONES, _TREE_CHOICES = Fraction(3, 10), Fraction(1, 10)
"""Shares of the budget for single attributes and for choosing; the rest is for the pairs. Those of a tree were read off
generated tables (`bench/generated.py`)."""
_NOISE = math.sqrt(2 / math.pi)  # mean absolute value of a cell's noise, in standard deviations
_SHRINK = 0.5  # of the noise of a pair's table is taken off its distance from independence
_WORTH = 0.5  # share of the noise of its own table that a pair of a tree must exceed


def distance(exact: Table, model: Projectable, people: float) -> float:
    """L1 distance of counts from what a model expects of so many rows: it moves no further than the counts do."""
    expected = model.project(exact.attributes).values * people
    return float(np.abs(exact.values - expected).sum())


def _check_pairs(domain: Domain, names: Key) -> None:
    """Refuse pairs that cannot all be counted at once, before anything is paid for; says what to bin."""
    sizes = [domain[name].size for name in names]
    cells = (sum(sizes) ** 2 - sum(size * size for size in sizes)) // 2
    if cells > MAX_DENSE:
        widest = max(names, key=lambda name: domain[name].size)
        rule = f"all pairs together may have {MAX_DENSE} cells"
        raise InvalidInput(rule, field="attributes", value=cells, hint=f"Bin or group the widest: {widest}")


@dataclass(frozen=True, kw_only=True)
class SpanningTree:
    """Measure single attributes and a tree of pairs, or those pairs of one that stand out from noise."""

    attributes: Key | None = None

    def calibrate(
        self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours, reason: str = ""
    ) -> ChosenPlan:
        """Fix noise and choices so that all together cost at most the budget; reads no data."""
        names = check_attributes(domain, self.attributes, unit)
        _check_pairs(domain, names)
        return _planned(self, len(names) - 1, names, domain, budget, unit, neighbours, reason)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "mst"} | plain_fields(self)


@dataclass(frozen=True, kw_only=True)
class Adaptive:
    """Measure single attributes, then the worst pairs of each round.

    Args:
        attributes: Attributes to synthesise; all that can be counted if None.
        rounds: Number of pairs; as many as the budget bears if None.
        people: Approximate number of rows, where that is public. It decides how many pairs the budget bears.
        seconds: About how long it may take: the model is fitted less often, see `effort`.
    """

    attributes: Key | None = None
    rounds: int | None = None
    people: int | None = None
    seconds: float = math.inf

    def __post_init__(self) -> None:
        check.whole(self.rounds, "rounds", least=1, optional=True)
        check.whole(self.people, "people", least=2, optional=True)
        check_seconds(self.seconds)

    def calibrate(
        self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours, reason: str = ""
    ) -> ChosenPlan:
        """Fix noise and choices so that all rounds together cost at most the budget; reads no data."""
        names = check_attributes(domain, self.attributes, unit)
        check_width(domain.project(names))
        most = len(names) * (len(names) - 1) // 2
        return _planned(self, min(self.rounds or most, most), names, domain, budget, unit, neighbours, reason)

    def fits(self, attributes: int, pairs: int, levels: int) -> int:
        """Count the fits of the model.

        Args:
            attributes: Their number.
            pairs: Number of pairs that are measured.
            levels: Of all attributes together.
        """
        count = min(pairs, attributes)
        each = _BETWEEN["steps"] * mixture_step(_BETWEEN["components"], levels)
        return scaled(count, self.seconds, count * each)

    def borne(self, shape: Sequence[int], split: BudgetSplit, people: float) -> int:
        """Number of pairs whose noise is as large as typical dependence: a tree of them at least, all at most.

        Args:
            shape: Levels of each attribute; two at least.
            split: Budget that is split.
            people: Number of rows, where it was not stated as public: one with noise.
        """
        cells = [one * other for one, other in itertools.combinations(shape, 2)]
        size, rest = geometric_mean(cells), 1 - _ONES - _CHOICES
        bearable = typical_dependence(len(shape), size) * (self.people or people)
        counts = range(len(shape) - 1, len(cells) + 1)
        borne = bisect_right(counts, bearable, key=lambda count: _NOISE / 2 * split.law(rest, count).std * size)
        return counts[max(borne - 1, 0)]

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "aim"} | plain_fields(self)


def _planned(
    recipe: SpanningTree | Adaptive,
    rounds: int,
    names: Key,
    domain: Domain,
    budget: Budget,
    unit: Unit,
    neighbours: Neighbours,
    reason: str,
) -> ChosenPlan:
    split = BudgetSplit.of(budget, unit, neighbours)
    tree = isinstance(recipe, SpanningTree)
    shares = (_TREE_ONES, _TREE_CHOICES) if tree else (_ONES, _CHOICES)
    rest = 1 - shares[0] - shares[1]
    return ChosenPlan(
        recipe=recipe,
        domain=domain,
        unit=unit,
        neighbours=neighbours,
        budget=budget,
        names=names,
        reason=reason,
        split=split,
        ones=split.law(shares[0] if rounds else Fraction(1), len(names)),
        rounds=rounds,
        choices=shares[1],
        rest=rest,
    )


@dataclass(frozen=True, kw_only=True)
class ChosenPlan(SynthesisPlan):
    """Noise of singles and pairs, and the choices between them.

    Attributes:
        split: Budget that is split.
        ones: Noise of single attributes.
        rounds: Most pairs that are measured.
        choices, rest: Shares of the budget for choices and for pairs.
    """

    split: BudgetSplit
    ones: Law
    rounds: int
    choices: Fraction
    rest: Fraction

    @cached_property
    def pairs(self) -> Law:
        """Noise of a pair, if all rounds take one; less where fewer are measured."""
        return self.split.law(self.rest, self.rounds)

    @cached_property
    def choice(self) -> ExponentialMechanism:
        """Choice of one round."""
        return self.split.choice(self.choices, self.rounds)

    @property
    def event(self) -> Event:
        """Singles, then the share for all choices and the one for all tables after them, however many they are."""
        events: list[Event] = [Repeated(event=self.split.table_event(self.ones), count=len(self.names))]
        if self.rounds:
            events += [self.split.event(self.choices), self.split.event(self.rest)]
        return in_sequence(*events)

    def model(self, engine: Engine, source: Source) -> Outcome:
        """Singles, choices, pairs, fit."""
        domain = self.domain.project(self.names)
        singles = self.measured(engine, source, [(name,) for name in self.names], self.ones)
        _, people, error = measurements_of(singles)
        notes = ((EMPTY,) if people < 3 * error else ()) + lost_rows(singles)
        product = product_of(domain, singles)
        if not self.rounds:
            return Outcome(product, people, error, notes, [singles])
        keys: list[Key] = list(itertools.combinations(self.names, 2))
        exact = engine.tables(Workload.of(*keys), self.unit)
        tables = {key: exact[key] for key in keys}
        plan = self._for(people if people > _SEEN * error else TYPICAL_ROWS)
        make = plan._tree if isinstance(self.recipe, SpanningTree) else plan._rounds
        rows = dict(zip(self.names, rows_of(singles), strict=True))
        model, chosen, later = make(engine, source, domain, tables, singles, product, rows)
        listed = "; ".join(" x ".join(key) for key in chosen) or "none"
        notes += (f"Pairs that were chosen and measured: {listed}.",)
        return Outcome(model, people, error, notes, [singles, *(later or [[]])])

    def _for(self, people: float) -> ChosenPlan:
        """The plan with as many rounds as its budget bears for so many rows, where their number is not fixed."""
        if isinstance(self.recipe, SpanningTree) or self.recipe.rounds:
            return self
        shape = self.domain.project(self.names).shape
        return replace(self, rounds=self.recipe.borne(shape, self.split, people))

    def _pick(
        self,
        tables: dict[Key, Table],
        keys: list[Key],
        model: Projectable,
        rows: dict[str, float],
        count: int,
        source: Source,
    ) -> list[Key]:
        """So many different pairs that the model explains worst, each chosen privately."""
        left, scores = list(keys), self._scores(tables, keys, model, rows)
        found = []
        for _ in range(count):
            at = self.choice.draw(scores, sensitivity=self.split.moves, source=source)
            found.append(left.pop(at))
            del scores[at]
        return found

    def _scores(
        self, tables: dict[Key, Table], keys: list[Key], model: Projectable, rows: dict[str, float]
    ) -> list[float]:
        """Distance of each table from the model, less what noise would put there."""
        # what the noise of measuring would put there is no reason to measure; it depends on the size alone
        noise = {key: _NOISE * self.pairs.std * self.domain.project(key).size for key in keys}
        # a pair counts no more rows than either of its attributes does
        return [distance(tables[key], model, min(rows[name] for name in key)) - noise[key] for key in keys]

    def _tree(
        self,
        engine: Engine,
        source: Source,
        domain: Domain,
        tables: dict[Key, Table],
        singles: list[Release],
        product: BayesianNetwork,
        rows: dict[str, float],
    ) -> tuple[Model, list[Key], list[list[Release]]]:
        keys = list(tables)
        place = {name: at for at, name in enumerate(self.names)}
        ends = np.array([[place[name] for name in key] for key in keys])
        found, noise = self._gains(tables, keys, product, rows)
        piece = np.arange(len(self.names))
        chosen: list[Key] = []
        alone = list(self.names)
        while len(chosen) < self.rounds:
            step("choosing tables", len(chosen) / self.rounds)
            apart = np.flatnonzero(piece[ends[:, 0]] != piece[ends[:, 1]])
            scores = found[apart] - _WORTH * self._rest_law(chosen, alone).std * noise[apart]
            at = self.choice.draw(np.append(scores, 0.0), sensitivity=self.split.moves, source=source)
            if at == len(apart):
                break
            chosen.append(keys[apart[at]])
            alone = [name for name in alone if name not in chosen[-1]]
            one, other = piece[ends[apart[at]]]
            piece[piece == other] = one
        again = [*chosen, *((name,) for name in alone)]
        rest = self.measured(engine, source, again, self._rest_law(chosen, alone))
        edges = {frozenset(key) for key in chosen}
        parents = chow_liu(self.names, lambda a, b: 1.0 if frozenset((a, b)) in edges else -1.0)
        return network_of(domain, parents, [*singles, *rest], shrinkage=_SHRINK), chosen, [rest]

    def _rest_law(self, chosen: list[Key], alone: list[str]) -> Law:
        """Noise of the chosen pairs and of attributes in none of them: one share of the budget pays for all."""
        return self.split.law(self.rest, len(chosen) + len(alone))

    def _gains(
        self, tables: dict[Key, Table], keys: list[Key], product: BayesianNetwork, rows: dict[str, float]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Distance of each pair from the product, less the noise of its singles; noise of its own table in deviations.

        What is subtracted depends on sizes and noise only.
        """
        sizes = [[self.domain[name].size for name in key] for key in keys]
        shares = {name: product.project([name]).values for name in self.names}
        found = []
        for key, (one, other) in zip(keys, sizes, strict=True):
            # a pair counts no more rows than either of its attributes does
            expected = np.outer(*(shares[name] for name in key)) * min(rows[name] for name in key)
            own = _NOISE * self.ones.std * (one + other)
            found.append(float(np.abs(tables[key].project(key).values - expected).sum()) - own)
        return np.array(found), _NOISE * np.array([one * other for one, other in sizes], float)

    def _rounds(
        self,
        engine: Engine,
        source: Source,
        domain: Domain,
        tables: dict[Key, Table],
        singles: list[Release],
        product: BayesianNetwork,
        rows: dict[str, float],
    ) -> tuple[Model, list[Key], list[list[Release]]]:
        rng = generator(source)
        chosen: list[Key] = []
        found: list[list[Release]] = []
        current: Model = product
        fits = self.recipe.fits(len(self.names), self.rounds, sum(domain.shape))
        for at in range(fits):
            step("choosing tables and fitting", at / fits)
            left = [key for key in tables if key not in chosen]
            keys = self._pick(tables, left, current, rows, -(-(self.rounds - len(chosen)) // (fits - at)), source)
            chosen += keys
            found.append(self.measured(engine, source, keys, self.pairs))
            size: dict[str, Any] = {} if at == fits - 1 else _BETWEEN
            so_far = [*singles, *itertools.chain.from_iterable(found)]
            current = fit_mixture(domain, measurements_of(so_far)[0], rng, **size).model
        return current, chosen, found
