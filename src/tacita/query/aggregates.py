"""Count, sum, mean, variance, standard deviation and quantiles of public groups, under one budget.

Privacy:  each statistic is read off noisy sums of whole steps (`measures`); the event is read off the noise that is
          drawn. Missing values are left out and their number is noised, so the variants that skip NaN are the same
          statistics. Statistics of one column share their sums.   Claim: docs/claims/statistics.md
Utility:  counts and sums are unbiased and their error is known before; that of a mean and a variance is known up to the
          number of rows. Intervals hold the noise and the grid, not the clipping: they are about clipped values.
Cost:     one pass over the rows, by the engine where it adds up (`engines.base.Adds`); counts of rows alone are counted
          where the data lies.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from tacita import check
from tacita.domain import Date, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.plans.additive import Family, families_of
from tacita.privacy.budget import Budget
from tacita.privacy.calibrate import smallest
from tacita.privacy.partitions import KeySelection
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.aggregate import Aggregate, Expected
from tacita.query.calibrated import CalibratedAggregates
from tacita.query.derived import Derived
from tacita.query.expressions import Computed
from tacita.query.measures import COARSE, FINE, Measure, Moments, Persons, Tally, Total
from tacita.query.numbers import Bounds, Measurable, bounds_of, check_reach, is_whole, measurable
from tacita.query.quantile_tree import QuantileTree
from tacita.query.quantiles import QuantileChoice
from tacita.query.where import ALL_ROWS, Where, narrow

__all__ = ["Aggregate", "Aggregates", "CalibratedAggregates", "Expected"]

_POINTS = 1 << 12
_MOST_SUMS = 1 << 24
_GRIDS = (FINE, 14, 10, COARSE, 0)
_KEY_SHARE, _KEY_DELTA = 0.3, 0.5
"""Parts of epsilon and of delta that the choice of private keys gets."""


@dataclass(frozen=True, kw_only=True)
class Aggregates:
    """Statistics of the rows that a condition picks, for each group.

    Attributes:
        aggregates: The statistics.
        by: Public groups: attributes with levels or bins, or derived ones. Each is answered, also if it is empty.
        where: Condition on the rows. Bounds of numbers are those of the bins that it reaches.
        family, level: Noise, and confidence level of the intervals.
        keys: Identifiers whose values are the groups, where they are not public: which are named costs epsilon and
            delta (`privacy.partitions`).
        derived, computed: Groups and numbers that are computed from a row's own values.

    >>> Aggregates(aggregates=[Aggregate(kind="nanmean", column="income")], by=["region"]).aggregates[0].name
    'mean(income)'
    """

    aggregates: tuple[Aggregate, ...]
    by: tuple[str, ...] = ()
    where: Where = ALL_ROWS
    family: Family = "auto"
    level: float = 0.95
    keys: tuple[str, ...] = ()
    derived: tuple[Derived, ...] = ()
    computed: tuple[Computed, ...] = ()

    def __post_init__(self) -> None:
        for slot in ("aggregates", "by", "keys", "derived", "computed"):
            object.__setattr__(self, slot, tuple(getattr(self, slot)))
        names = [aggregate.name for aggregate in self.aggregates] + [*self.by, *self.keys]
        if not self.aggregates and not self.keys:
            raise InvalidInput("must ask for at least one statistic", field="aggregates")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput("has the name of another column of the answer", field="name", value=twice)
        check.inside(self.level, "level", 0, 1)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedAggregates:
        """Fix the noise so that running costs at most the budget; reads no data."""
        domain.require_public()
        unit.check(domain)
        self._check(domain, budget, unit)
        self.check_sums(self.groups_of(domain).size if self.by else 1, domain)
        domain.check_countable(self.where.attributes)
        plans = [self._with(family, domain, budget, unit, neighbours) for family in families_of(self.family, budget)]
        return min(plans, key=lambda plan: sum(math.log(law.variance) for law in plan.laws))

    def _check(self, domain: Domain, budget: Budget, unit: Unit) -> None:
        for name in self.keys:
            if domain[name].countable or name == domain.person:
                rule = "names one person" if name == domain.person else "has public levels, so that it needs no choice"
                raise InvalidInput(rule, field="keys", value=name, hint="Group by it as it is, or by another column")
        if self.keys and budget.currency != "approx":
            raise InvalidInput(
                f"naming values of {', '.join(self.keys)}, which the schema does not list, needs a delta",
                field="budget",
                value=str(budget),
                hint="Give a delta, such as 1e-6, or declare the levels in the schema",
            )
        if unit.person is None and any(wanted.kind == "persons" for wanted in self.aggregates):
            hint = "Name the column in the schema: `person:`, or count rows: COUNT(*)"
            raise InvalidInput("needs a schema that names a person", field="person", hint=hint)

    def check_sums(self, groups: int, domain: Domain) -> None:
        """Refuse more sums than memory should hold."""
        sums = groups * sum(measure.width for measure in self.measures(domain))
        if sums > _MOST_SUMS:
            raise InvalidInput(
                f"must be at most {_MOST_SUMS} sums over all groups, where a quantile has one for each point",
                field="by",
                value=sums,
                hint="Group by fewer attributes or coarser bins",
            )

    def groups_of(self, domain: Domain) -> Domain:
        """Public groups as a domain, derived ones included."""
        made = {each.name: each.attribute for each in self.derived}
        domain.check_countable(name for name in self.by if name not in made)
        if len(set(self.by)) != len(self.by):
            raise InvalidInput("must be distinct", field="by", value=list(self.by))
        return Domain(attributes=tuple(made.get(name) or domain[name] for name in self.by))

    def selection(self, budget: Budget, unit: Unit, neighbours: Neighbours) -> KeySelection | None:
        """Choice of private keys: its part of the budget, shared by all keys that a unit may have."""
        if not self.keys:
            return None
        times = unit.max_rows * (2 if neighbours is Neighbours.REPLACE_ONE else 1)
        return KeySelection(epsilon=budget.amount * _KEY_SHARE / times, delta=budget.delta * _KEY_DELTA / times)

    def _with(
        self, family: Family, domain: Domain, budget: Budget, unit: Unit, neighbours: Neighbours
    ) -> CalibratedAggregates:
        plan = CalibratedAggregates(
            recipe=self,
            domain=domain,
            unit=unit,
            neighbours=neighbours,
            budget=budget,
            measures=self.measures(domain),
            laws=(),
            selection=self.selection(budget, unit, neighbours),
        )
        if not plan.measures:
            return plan
        for bits in _GRIDS:
            # a very small budget needs noise of more steps than exact samplers take: then the grid is coarser
            measures = tuple(replace(m, bits=min(m.bits, bits)) for m in plan.measures)

            def sized(size: Fraction, measures: tuple[Measure, ...] = measures) -> CalibratedAggregates:
                laws = tuple(measure.law(family, size) for measure in measures)
                return replace(plan, measures=measures, laws=laws)

            try:
                return sized(smallest(lambda size: sized(size).event, budget, neighbours))
            except InvalidInput as error:
                if error.field != "scale" or bits == _GRIDS[-1]:
                    raise
        raise AssertionError("the last grid is returned or raises")

    def measures(self, domain: Domain) -> tuple[Measure, ...]:
        """Measures to sum: one for each column where one will do."""
        return tuple(dict.fromkeys(self.measure_of(wanted, domain) for wanted in self.aggregates))

    def measure_of(self, wanted: Aggregate, domain: Domain) -> Measure:
        """The measure that a statistic is read off; quantiles of a column that have intervals share one."""
        return (self._quantile if wanted.kind == "quantile" else self._sum)(wanted, domain)

    def _quantile(self, wanted: Aggregate, domain: Domain) -> Measure:
        assert wanted.column is not None
        low, high, whole = self.range_of(wanted.column, wanted.bounds, domain)
        points = int(high - low) + 1 if whole and high - low < _POINTS else _POINTS
        if not wanted.interval:
            return QuantileChoice(column=wanted.column, low=low, high=high, points=points, q=wanted.ratio)
        same = (wanted.column, wanted.bounds)
        others = [each for each in self.aggregates if each.kind == "quantile" and each.interval]
        qs = tuple(sorted({each.ratio for each in others if (each.column, each.bounds) == same}))
        return QuantileTree(column=wanted.column, low=low, high=high, points=points, qs=qs, level=self.level)

    def _sum(self, wanted: Aggregate, domain: Domain) -> Measure:
        if wanted.kind == "persons":
            return Persons()
        if wanted.column is None:
            return Tally()
        made = {each.name for each in self.computed}
        if wanted.kind == "count" and wanted.column not in made and not isinstance(domain[wanted.column], Measurable):
            return Tally(column=domain.check_countable([wanted.column])[0])
        low, high, _ = self.range_of(wanted.column, wanted.bounds, domain)
        same = (wanted.column, wanted.bounds)
        together = {other.kind for other in self.aggregates if (other.column, other.bounds) == same}
        if {"mean", "var", "std"} & together:
            degree = 2 if {"var", "std"} & together else 1
            return Moments(column=wanted.column, low=low, high=high, degree=degree)
        if wanted.kind == "sum":
            return Total(column=wanted.column, low=low, high=high)
        return Tally(column=wanted.column)

    def range_of(self, column: str, bounds: Bounds | None, domain: Domain) -> tuple[float, float, bool]:
        """Public bounds of a column in the rows that the condition picks, and whether its numbers are whole."""
        made = next((each for each in self.computed if each.name == column), None)
        if made is not None:
            low, high = made.range(lambda name: self.range_of(name, None, domain)[:2])
            check_reach(column, low, high)
            return low, high, False
        attribute = measurable(domain, column, bounds)
        if bounds is None and isinstance(attribute, Numeric | Date):
            return *narrow(self.where, attribute), is_whole(attribute)
        return *bounds_of(attribute), is_whole(attribute)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        more = {"keys": list(self.keys)} if self.keys else {}
        more |= {
            name: [each.as_dict() for each in made] for name in ("derived", "computed") if (made := getattr(self, name))
        }
        return more | {
            "method": "statistics",
            "statistics": [aggregate.as_dict() for aggregate in self.aggregates],
            "by": list(self.by),
            "where": self.where.as_dict(),
            "family": self.family,
            "level": self.level,
        }
