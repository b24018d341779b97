"""Choose a method automatically, from public facts, with a reason.

    a target                                          tables with the target, see `targeted`
    one attribute                                     its table
    more pairs than can be measured at once           a tree of chosen pairs
    a delta, and no public number of rows             all pairs
    otherwise                                         by expected error, see `choice`

With a pure epsilon the noise of a table grows with the number of tables, with a delta by its root only. So
there few tables are often worth more than all, and dependence is measured to decide.

Privacy:  the choice reads the schema, the budget and what the caller states is public. With a pure epsilon it may
          measure dependence too, and is charged for it.   Claim: docs/claims/marginal-synthesis.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tacita import check
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.choice import Candidates, plan_choice
from tacita.synthesize.effort import check_seconds
from tacita.synthesize.kinds import METHODS, QUALITY, TARGETED, Method, SynthesisMethod
from tacita.synthesize.marginals import Independent, Pairs
from tacita.synthesize.plan import Key, SynthesisPlan, check_attributes
from tacita.synthesize.select import SpanningTree

__all__ = ["Synthesize"]

_MOST_PAIRS = 5000
_LEAST_SPLIT = 1e-3
"""A smaller pure epsilon is not split between a choice and what is chosen."""
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
        options: Options of a named method, such as `degree` of PrivBayes: see `kinds.METHODS`.
    """

    method: Method = QUALITY
    attributes: Key | None = None
    people: int | None = None
    target: str | None = None
    seconds: float = math.inf
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check.one_of(self.method, "method", (QUALITY, *METHODS))
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
        names = check_attributes(domain, self.attributes, unit)
        chosen: Any
        if self.method != QUALITY or self.target is not None:
            chosen, reason = self._named(METHODS[TARGETED if self.method == QUALITY else self.method]), ""
        elif len(names) == 1:
            chosen, reason = Independent(attributes=names), "There is one attribute: its table is released."
        elif len(names) * (len(names) - 1) // 2 > _MOST_PAIRS:
            chosen = SpanningTree(attributes=names)
            reason = f"There are more than {_MOST_PAIRS} pairs of attributes: a tree of them is chosen."
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
        recipe = Pairs(attributes=names, fits=1 if self.seconds < _QUICK else 3, seconds=self.seconds)
        if budget.currency == "pure":
            return self._by_dependence(recipe, domain, budget, unit, neighbours, names)
        if self.people is None:
            reason = "All pairs are measured."
            return recipe.calibrate(domain, budget, unit=unit, neighbours=neighbours, reason=reason)
        plan, words = Candidates.of(domain, budget, unit, neighbours, names, recipe).best_delta(self.people)
        reason = f"At {budget} and about {self.people} rows, {words}: the least expected error."
        return replace(plan, reason=reason)

    def _by_dependence(
        self, pairs: Pairs, domain: Domain, budget: Budget, unit: Unit, neighbours: Neighbours, names: Key
    ) -> SynthesisPlan:
        if budget.amount < _LEAST_SPLIT:
            reason = f"At {budget} only single attributes are measured: the budget is too small to split."
            return Independent(attributes=names).calibrate(
                domain, budget, unit=unit, neighbours=neighbours, reason=reason
            )
        choice = plan_choice(
            self,
            domain,
            budget,
            unit=unit,
            neighbours=neighbours,
            names=names,
            people=self.people,
            all_pairs=pairs,
        )
        decided = choice.decided(self.people) if self.people is not None else None
        if decided is None:
            return choice
        recipe, words = decided
        reason = f"At {budget} and about {self.people} rows, {words}: the best choice however dependent pairs are."
        plan: SynthesisPlan = recipe.calibrate(domain, budget, unit=unit, neighbours=neighbours, reason=reason)
        return plan

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {
            "method": self.method,
            "attributes": self.attributes and list(self.attributes),
            "people": self.people,
            "seconds": None if math.isinf(self.seconds) else self.seconds,
        } | {name: value for name, value in (("target", self.target), ("options", dict(self.options))) if value}
