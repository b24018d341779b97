"""Synthesis of numbers as numbers: bins found privately, a method over them, and numbers spread inside them.

    noisy trees of counts  ->  bins of about equal shares  ->  a method counts these bins  ->  rows
             |                                                                                  ^
             +---------------------------  spread inside each bin  ----------------------------+

A share of the budget pays for the trees, the rest for the method. How many bins a number has at most follows from
public facts, so that the noise of the method is fixed, and its cost known, before data is read.

Privacy:  the trees are histograms with additive noise, one after the other; the method runs on a domain that is a
          function of them. Costs add up.   Claim: docs/claims/fine-numbers.md
Cost:     one more pass over the rows, in which each number is counted on its grid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from tacita.domain import Binned, Date, Domain, Numeric
from tacita.domain.rebin import rebin, singles
from tacita.engines.base import Engine, Rebins
from tacita.errors import InvalidInput
from tacita.models.pairs.dependence import TYPICAL_ROWS
from tacita.models.spread import Spread
from tacita.noise import Law, Source
from tacita.plans.recipe import check_engine
from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.accountant import cost
from tacita.privacy.budget import LEAST_EPSILON, LEAST_RHO, Budget, exact
from tacita.privacy.event import Event, Repeated
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.numbers.grid import Grid
from tacita.synthesize.numbers.quantiles import bin_leaves, bins_for
from tacita.synthesize.numbers.tree import Leaves, grow
from tacita.synthesize.plan import Outcome, SynthesisPlan, check_attributes, kept_tables
from tacita.synthesize.result import Synthesized
from tacita.synthesize.rules import AtMost, Rules
from tacita.tables.release import Provenance
from tacita.tables.workload import Workload

__all__ = ["SHARES", "FineNumbers", "FinePlan"]

SHARES = (Fraction(1, 20), Fraction(1, 10), Fraction(1, 5))
"""Of the budget, for the trees: the least one with which noise of a count is small beside the rows. Shares and what is
small were read off generated columns (`bench/numbers.py`)."""
_SMALL = Fraction(1, 400)  # of the rows
_ENOUGH = Fraction(99, 100)  # of the budget that is used, where losses are added up by their distributions
_TRIES = 12


@dataclass(frozen=True, kw_only=True)
class FineNumbers:
    """A recipe whose numbers and dates are kept as numbers.

    Args:
        recipe: Of the method: what `kinds.METHODS` lists, or `Synthesize`.
        people: Approximate number of rows, where that is public. It decides how many bins there are.
    """

    recipe: Any
    people: int | None = None

    def calibrate(
        self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours, reason: str = ""
    ) -> SynthesisPlan:
        """Fix the noise of trees and method so that all together cost at most the budget; reads no data."""
        names = check_attributes(domain, self.recipe.attributes, unit)
        numbers = {name: each for name in names if isinstance(each := domain[name], Binned)}
        if not numbers:
            raise InvalidInput(
                "needs a number or a date among the attributes",
                field="numbers",
                value="fine",
                hint="Declare one with bounds in the schema, or leave numbers in the bins of the schema",
            )
        split = BudgetSplit.of(budget, unit, neighbours)
        people = self.people or TYPICAL_ROWS
        most = bins_for(people, split.law(1 - SHARES[-1], len(names)).std)
        few = {name: each for name, each in numbers.items() if _whole(each) and _values(each) <= most}
        grids = {name: Grid.of(each) for name, each in numbers.items() if name not in few}
        public = _with(domain, {name: singles(each) for name, each in few.items()})
        widest = rebin(public, {name: _evenly(grid, most) for name, grid in grids.items()})
        rounds = sum(grid.rounds for grid in grids.values())
        given: dict[str, Any] = {"unit": unit, "neighbours": neighbours}
        share = _share(split, rounds, people)
        law = split.law(share, rounds) if rounds else None
        trees = (Repeated(event=split.table_event(law), count=rounds),) if law is not None else ()
        inner = _rest(self.recipe, widest, budget, split, share, trees, **given)
        return FinePlan(
            recipe=_Stated(recipe=inner.recipe),
            domain=domain,
            budget=budget,
            names=names,
            reason=reason or inner.reason,
            grids=grids,
            public=public,
            share=share,
            law=law,
            trees=trees,
            most=most,
            inner=inner,
            **given,
        )


def _share(split: BudgetSplit, rounds: int, people: int) -> Fraction:
    """Share of the budget for the trees, from public facts."""
    if not rounds:
        return Fraction(0)
    enough = (each for each in SHARES if split.law(each, rounds).std <= _SMALL * people)
    return next(enough, SHARES[-1])


def _whole(attribute: Binned) -> bool:
    return isinstance(attribute, Date) or attribute.integer


def _values(attribute: Binned) -> float:
    low, high = attribute.line_bounds
    return high - low + 1


def _with(domain: Domain, attributes: Mapping[str, Binned]) -> Domain:
    made = tuple(attributes.get(each.name, each) for each in domain.attributes)
    return Domain(**{name: getattr(domain, name) for name in Domain.model_fields} | {"attributes": made})


def _evenly(grid: Grid, bins: int) -> list[float]:
    """As many bins as there are at most; where they lie does not matter to any cost."""
    at = np.unique(np.linspace(0, len(grid) - 1, bins + 1).astype(int))[:-1]
    return [float(each) for each in grid.starts[at]]


def _rest(
    recipe: Any,
    domain: Domain,
    budget: Budget,
    split: BudgetSplit,
    share: Fraction,
    trees: tuple[Event, ...],
    *,
    unit: Unit,
    neighbours: Neighbours,
) -> SynthesisPlan:
    """The method for what the trees leave of the budget."""

    def plan(amount: Fraction) -> SynthesisPlan:
        number = _float_at_most(amount)
        if number < (LEAST_RHO if budget.currency == "zcdp" else LEAST_EPSILON):
            raise InvalidInput("is too small to be split between bins and a method", field="budget", value=str(budget))
        made: SynthesisPlan = recipe.calibrate(
            domain,
            Budget(rho=number) if budget.currency == "zcdp" else Budget(epsilon=number, delta=budget.delta),
            unit=unit,
            neighbours=neighbours,
        )
        return made

    whole = exact(budget.amount)
    if not trees:
        return plan(whole)
    if budget.currency != "approx":
        return plan(whole - share * split.amount)
    # losses do not add up in epsilon: the amount for which all together cost the budget is found by trial
    low, amount = Fraction(0), whole * (1 - share)
    high, best = whole, None
    for _ in range(_TRIES):
        made = plan(amount)
        spent = cost([(in_sequence(*trees, made.event), 1)], budget, neighbours)
        if spent <= whole:
            best, low = made, amount
            if spent >= _ENOUGH * whole:
                break
        else:
            high = amount
        guess = amount * whole / Fraction(spent) * Fraction(997, 1000)
        amount = guess if low < guess < high else (low + high) / 2
    if best is None:
        raise InvalidInput("is too small to be split between bins and a method", field="budget", value=str(budget))
    return best


def _float_at_most(value: Fraction) -> float:
    """The largest float that is written as a decimal of at most this."""
    near = float(value)
    return near if exact(near) <= value else float(np.nextafter(near, 0.0))


@dataclass(frozen=True, kw_only=True)
class _Stated:
    """The recipe of a method, as the plain data of a fine one states it."""

    recipe: Any

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        plain: dict[str, Any] = self.recipe.as_dict()
        return plain | {"numbers": "fine"}


@dataclass(frozen=True, kw_only=True)
class FinePlan(SynthesisPlan):
    """Trees with their noise fixed, and a method whose noise is fixed for as many bins as there may be.

    Attributes:
        grids: Public grid of each number whose bins are found.
        public: The schema, with a level for each value of numbers that have few.
        share: Of the budget, for the trees.
        law: Noise of a count of a tree.
        trees: Cost of all trees.
        most: Most bins of a number.
        inner: The method.
    """

    grids: Mapping[str, Grid] = field(repr=False)
    public: Domain = field(repr=False)
    share: Fraction
    law: Law | None
    trees: tuple[Event, ...]
    most: int
    inner: SynthesisPlan

    @cached_property
    def event(self) -> Event:
        """The trees, then the method."""
        return in_sequence(*self.trees, self.inner.event)

    def run(self, engine: Engine, source: Source) -> Synthesized:
        """Count and find bins, then count, add noise and fit over these bins."""
        check_engine(self, engine)
        domain, spreads, found = self._measured(engine, source)
        return Synthesized(
            model=found.model,
            people=found.people,
            people_std=found.error,
            notes=((self.reason,) if self.reason else ()) + self._notes(domain) + found.notes,
            measured=kept_tables(found.rounds),
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(
                recipe=self.recipe.as_dict() | {"edges": {name: _edges(domain[name]) for name in self.grids}},
                simulated=source.simulated,
            ),
            numbers=spreads,
        )

    def check_rules(self, rules: Rules) -> Rules:
        """Return the rules, if their conditions cannot cut a bin that is yet to be found."""
        for rule in rules.rules:
            name = next((each for each in rule.attributes if each in self.grids), None)
            if name is not None and not isinstance(rule, AtMost):
                raise InvalidInput(
                    "is a number whose bins are not known yet, so that only `at_most` can be a rule about it",
                    field="rules",
                    value=name,
                    hint="Leave out the rule, or keep numbers in the bins of the schema",
                )
        return self.inner.check_rules(rules)

    def model(self, engine: Engine, source: Source) -> Outcome:
        """The model alone, without the numbers inside its bins."""
        domain, _, found = self._measured(engine, source)
        return found._replace(notes=self._notes(domain) + found.notes)

    def _measured(self, engine: Engine, source: Source) -> tuple[Domain, tuple[Spread, ...], Outcome]:
        """The bins, the numbers inside them, and what was fitted over them."""
        if not isinstance(engine, Rebins):
            raise InvalidInput("this engine counts its rows in no other bins", field="engine")
        domain, spreads = self.find(engine, source)
        return domain, spreads, self.inner.over(domain).model(engine.with_bins(domain), source)

    def find(self, engine: Rebins, source: Source) -> tuple[Domain, tuple[Spread, ...]]:
        """Return the domain with the bins that were found, and the numbers inside them. Reads rows through noise."""
        starts: dict[str, list[float]] = {}
        spreads = []
        for name, leaves in self._leaves(engine, source).items():
            edges = self.grids[name].edges
            first = edges[leaves.first[bin_leaves(leaves, self.most)]]
            attribute = self._numbers()[name]
            if _whole(attribute):  # the last bin of a schema holds the upper bound and at least one value below it
                first = np.unique(np.minimum(first, attribute.line_bounds[1] - 1))
            starts[name] = first.tolist()
            spreads.append(Spread.of(name, np.append(edges[leaves.first], edges[-1]), leaves.shares))
        return rebin(self.public, starts), tuple(spreads)

    def _leaves(self, engine: Rebins, source: Source) -> dict[str, Leaves]:
        if self.law is None:
            return {}
        fine = _with(self.domain, {name: self.grids[name].attribute(each) for name, each in self._numbers().items()})
        tables = engine.with_bins(fine).tables(Workload.of(*((name,) for name in self.grids)), self.unit)
        found = {}
        for name, grid in self.grids.items():
            counts = tables[name,].dense().values[: len(grid)]  # without the buckets
            found[name] = grow(np.asarray(counts, np.int64), grid, self.law, source)
        return found

    def _numbers(self) -> dict[str, Binned]:
        """The numbers and dates whose bins are found."""
        return {name: each for name in self.grids if isinstance(each := self.domain[name], Binned)}

    def _notes(self, domain: Domain) -> tuple[str, ...]:
        found = ", ".join(f"{name} ({len(domain[name].labels)})" for name in self.grids)
        return (f"Bins found privately, with {float(self.share):.0%} of the budget: {found}.",) if found else ()

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return self.inner.parts() | {
            "attributes": list(self.names),
            "reason": self.reason,
            "numbers": {
                "share": float(self.share),
                "noise": None if self.law is None else self.law.std,
                "bins": {name: self._bins(name) for name in self.names if isinstance(self.domain[name], Binned)},
                "found": list(self.grids),
            },
        }

    def _bins(self, name: str) -> int:
        """Most bins of a number."""
        return self.most if name in self.grids else len(self.public[name].labels)


def _edges(attribute: Any) -> list[Any]:
    edges = attribute.edges or (*attribute.starts, attribute.line_bounds[1])
    return [each if isinstance(attribute, Numeric) else each.isoformat() for each in edges]
