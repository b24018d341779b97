"""Choose a method automatically, from public facts, with a reason.

    a target                                          tables with the target, see `targeted`
    one attribute                                     its table
    more pairs than can be measured at once           a tree of chosen pairs
    more levels than a mixture can be fitted to       a tree of chosen pairs
    otherwise                                         by expected error, see `choice`

The noise of a table grows with the number of tables, so that few tables are often worth more than all. Where it depends
on the data which is best, dependence is measured to decide.

Privacy:  the choice reads the schema, the budget and what the caller states is public. Where it measures dependence,
          that is charged.   Claim: docs/claims/marginal-synthesis.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, get_args

from tacita import check
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.mixture_fit import FITS
from tacita.models.pairs.dependence import TYPICAL_ROWS
from tacita.noise import DiscreteLaplace
from tacita.plans.split import BudgetSplit
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.choice import WORDS, Candidates, plan_choice
from tacita.synthesize.effort import check_seconds
from tacita.synthesize.estimate import MAX_LEVELS
from tacita.synthesize.kinds import METHODS, QUALITY, TARGETED, Method, Numbers, SynthesisMethod
from tacita.synthesize.marginals import Independent, Pairs
from tacita.synthesize.numbers.plan import FineNumbers
from tacita.synthesize.plan import Key, SynthesisPlan, check_attributes
from tacita.synthesize.select import SpanningTree

__all__ = ["Synthesize"]

_MOST_PAIRS = 5000
_LEAST_EPSILON, _LEAST_RHO = Fraction(1, 1000), Fraction(1, 10**6)
"""A smaller budget is not split between a choice and what is chosen."""
_QUICK = 5.0


@dataclass(frozen=True, kw_only=True)
class Synthesize:
    """A model of the data by the method that suits it.

    Args:
        method: One by name, or "quality" for the one that promises most.
        attributes: Attributes to synthesise; all that can be counted if None.
        people: Approximate number of rows, where that is public. It decides whether pairs stand out from noise.
        target: An attribute that will be predicted from the others: for "quality" and "targeted".
        seconds: Approximate time of fitting; decides how many steps are planned, and no run reads a clock.
        numbers: "binned" for the bins of the schema; "fine" to find bins privately and to keep numbers as numbers, see
            `numbers.plan`.
        options: Options of a named method, such as `degree` of PrivBayes: see `kinds.METHODS`.
    """

    method: Method = QUALITY
    attributes: Key | None = None
    people: int | None = None
    target: str | None = None
    seconds: float = math.inf
    numbers: Numbers = "binned"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check.one_of(self.method, "method", (QUALITY, *METHODS))
        check.one_of(self.numbers, "numbers", get_args(Numbers))
        if self.numbers == "fine" and self.method in METHODS and METHODS[self.method].extra:
            raise InvalidInput(
                f"goes with methods that count tables, not with {self.method}", field="numbers", value=self.numbers
            )
        if self.people is not None and (type(self.people) is not int or self.people < 2):
            rule = "must be a whole number of at least 2: fewer rows give no statistics"
            raise InvalidInput(rule, field="people", value=self.people)
        check_seconds(self.seconds)
        self._check_target()
        own = METHODS[self.method].options if self.method in METHODS else ()
        for name in self.options:
            if name not in own:
                known = ", ".join(own) or "no options"
                raise InvalidInput(f"is no option of {self.method}, which has {known}", field="options", value=name)

    def _check_target(self) -> None:
        """Refuse a target that the method has no use for, and a method that lacks one."""
        named = METHODS.get(self.method)
        if self.target is not None and not isinstance(self.target, str):
            raise InvalidInput("must be the name of an attribute", field="target", value=self.target)
        if self.target is not None and named is not None and "target" not in named.shared:
            some = ", ".join((QUALITY, *(name for name, each in METHODS.items() if "target" in each.shared)))
            raise InvalidInput(f"goes with {some}, not with {self.method}", field="target", value=self.target)
        if self.target is None and named is not None and "target" in named.needs:
            raise InvalidInput(f"{self.method} needs the attribute that will be predicted", field="target")

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> SynthesisPlan:
        """The plan of the method; reads no data. Its `reason` says why this one."""
        if self.numbers == "fine":
            fine = FineNumbers(recipe=replace(self, numbers="binned"), people=self.people)
            return fine.calibrate(domain, budget, unit=unit, neighbours=neighbours)
        names = check_attributes(domain, self.attributes, unit)
        chosen: Any
        if self.method != QUALITY or self.target is not None:
            chosen, reason = self._named(METHODS[TARGETED if self.method == QUALITY else self.method]), ""
        elif len(names) == 1:
            chosen, reason = Independent(attributes=names), "There is one attribute: its table is released."
        elif len(names) * (len(names) - 1) // 2 > _MOST_PAIRS:
            chosen = SpanningTree(attributes=names)
            reason = f"There are more than {_MOST_PAIRS} pairs of attributes: a tree of them is chosen."
        elif sum(domain.project(names).shape) > MAX_LEVELS:
            chosen = SpanningTree(attributes=names)
            reason = f"All attributes together have more than {MAX_LEVELS} levels: a tree of pairs is chosen."
        else:
            return self._pairs_or_less(domain, budget, unit, neighbours, names)
        plan: SynthesisPlan = chosen.calibrate(domain, budget, unit=unit, neighbours=neighbours, reason=reason)
        return plan

    def _named(self, method: SynthesisMethod) -> Any:
        shared = {name: getattr(self, name) for name in method.shared}
        return method.recipe(attributes=self.attributes, **shared, **self.options)

    def _pairs_or_less(
        self, domain: Domain, budget: Budget, unit: Unit, neighbours: Neighbours, names: Key
    ) -> SynthesisPlan:
        given: dict[str, Any] = {"unit": unit, "neighbours": neighbours}
        pairs = Pairs(attributes=names, fits=1 if self.seconds < _QUICK else FITS, seconds=self.seconds)
        amount = BudgetSplit.of(budget, unit, neighbours).amount
        if amount < (_LEAST_EPSILON if budget.currency == "pure" else _LEAST_RHO):
            reason = f"At {budget} only single attributes are measured: the budget is too small to split."
            return Independent(attributes=names).calibrate(domain, budget, reason=reason, **given)
        methods = Candidates.of(domain, budget, unit, neighbours, names, pairs)
        # at a delta, few tables have Laplace noise, which is narrower than any that rho pays for
        few = budget.currency == "approx" and isinstance(methods.pairs.tables.laws[0], DiscreteLaplace)
        choice = None if few else plan_choice(self, methods, pairs)
        if choice is not None:
            return choice
        rows = f"about {self.people} rows" if self.people else f"{TYPICAL_ROWS} rows (assumed: none are stated)"
        at = methods.best(self.people or TYPICAL_ROWS)
        return replace(methods[at], reason=f"At {budget} and {rows}, {WORDS[at]}: the least expected error.")

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        fine = self.numbers if self.numbers != "binned" else None
        return {
            "method": self.method,
            "attributes": self.attributes and list(self.attributes),
            "people": self.people,
            "seconds": None if math.isinf(self.seconds) else self.seconds,
        } | {
            name: value
            for name, value in (("target", self.target), ("numbers", fine), ("options", dict(self.options)))
            if value
        }
