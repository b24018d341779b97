"""Count, sum, mean, variance, standard deviation and quantiles of public groups, under one budget.

Privacy:  each statistic is read off noisy sums of whole steps (`measures`); the event is read off the noise that is
          drawn. Missing values are left out and their number is noised, so the variants that skip NaN are the same
          statistics. Statistics of one column share their sums.   Claim: docs/claims/statistics.md
Utility:  counts and sums are unbiased and their error is known before; that of a mean and a variance is known up to the
          number of rows. Intervals hold the noise and the grid, not the clipping: they are about clipped values.
Cost:     one pass over the rows; counts of rows alone are counted where the data lies.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tacita import check
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.noise import Law, Source
from tacita.plans.additive import Family, families_of
from tacita.plans.recipe import CalibratedPlan, check_engine
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.calibrate import smallest
from tacita.privacy.event import Event, Sequence
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.answer import Answer, Column
from tacita.query.counted import counted_rows
from tacita.query.measures import COARSE, FINE, Integers, Measure, Moments, Ranged, Tally, Total
from tacita.query.numbers import Array, Bounds, Measurable, bounds_of, is_whole, measurable, numbers, presence
from tacita.query.quantiles import Points, QuantileChoice, Ranks
from tacita.query.readings import Reading, read_sum
from tacita.query.where import ALL_ROWS, Where
from tacita.tables.release import Provenance
from tacita.tables.workload import Workload

__all__ = ["Aggregate", "Aggregates", "CalibratedAggregates", "Expected"]

AggregateKind = Literal["count", "sum", "mean", "var", "std", "quantile"]
_KINDS = ("count", "sum", "mean", "var", "std", "quantile")
_POINTS = 1 << 12
_MOST_SUMS = 1 << 24
_FINEST_Q = 10_000  # 0.9999 is the last quantile that can be distinguished from the end
_GRIDS = (FINE, 14, 10, COARSE, 0)


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One statistic of one column. `kind` may be spelled as NumPy does: nanmean, median and so on.

    The interval of a quantile is bought with a share of the budget of its own; without it, the quantile is nearer.
    """

    kind: str
    column: str | None = None
    q: float | None = None
    bounds: Bounds | None = None
    name: str = ""
    interval: bool = True

    def __post_init__(self) -> None:
        kind, q = self.kind.lower().removeprefix("nan"), self.q
        if kind == "median":
            kind, q = "quantile", 0.5
        if kind not in _KINDS:
            raise InvalidInput("must be one of " + ", ".join((*_KINDS, "median")), field="statistic", value=self.kind)
        if self.column is None and kind != "count":
            raise InvalidInput("needs a column", field="statistic", value=kind)
        if (q is None) == (kind == "quantile"):
            raise InvalidInput("a quantile needs q, and nothing else has one", field="q", value=self.q)
        if q is not None and not 0 < q < 1:
            raise InvalidInput("must lie strictly between 0 and 1", field="q", value=q)
        if self.bounds is not None:
            object.__setattr__(self, "bounds", (float(self.bounds[0]), float(self.bounds[1])))
        shown = f"{kind}({self.column or '*'}{f', {q:g}' if q is not None else ''})"
        for slot, value in (("kind", kind), ("q", q), ("name", self.name or shown)):
            object.__setattr__(self, slot, value)

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with what is not given left out."""
        bounds = None if self.bounds is None else list(self.bounds)
        parts = {"kind": self.kind, "column": self.column, "q": self.q, "bounds": bounds, "name": self.name}
        given = {name: part for name, part in parts.items() if part is not None}
        return given if self.interval else given | {"interval": False}


@dataclass(frozen=True, kw_only=True)
class Expected:
    """The error that a statistic will have, known before any data is read.

    `per` says what `std` still has to be divided by: nothing for counts and sums, the number of rows of the group for
    means and variances (where `std` is the largest that any data can have). For a quantile it is in ranks. A standard
    deviation has no such number: its error grows without bound where there is no spread.
    """

    name: str
    std: float | None
    per: Literal["answer", "rows", "rank"]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "std": self.std, "per": self.per}


@dataclass(frozen=True, kw_only=True)
class Aggregates:
    """Statistics of the rows that a condition picks, for each group.

    >>> Aggregates(aggregates=[Aggregate(kind="nanmean", column="income")], by=["region"]).aggregates[0].name
    'mean(income)'
    """

    aggregates: tuple[Aggregate, ...]
    by: tuple[str, ...] = ()
    where: Where = ALL_ROWS
    family: Family = "auto"
    level: float = 0.95

    def __post_init__(self) -> None:
        for slot in ("aggregates", "by"):
            object.__setattr__(self, slot, tuple(getattr(self, slot)))
        names = [aggregate.name for aggregate in self.aggregates] + list(self.by)
        if not self.aggregates:
            raise InvalidInput("must ask for at least one statistic", field="aggregates")
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput("has the name of another column of the answer", field="name", value=twice)
        check.inside(self.level, "level", 0, 1)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedAggregates:
        """Fix the noise so that running costs at most the budget; reads no data."""
        domain.require_public()
        unit.check(domain)
        sums = domain.project(self.by).size * sum(measure.width for measure in self.measures(domain))
        if sums > _MOST_SUMS:
            raise InvalidInput(
                f"must be at most {_MOST_SUMS} sums over all groups, where a quantile has one for each point",
                field="by",
                value=sums,
                hint="Group by fewer attributes or coarser bins",
            )
        domain.check_countable(self.where.attributes)
        plans = [self._with(family, domain, budget, unit, neighbours) for family in families_of(self.family, budget)]
        return min(plans, key=lambda plan: sum(math.log(law.variance) for law in plan.laws))

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
        )
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
        return tuple(dict.fromkeys(m for wanted in self.aggregates for m in self.measures_of(wanted, domain)))

    def measures_of(self, wanted: Aggregate, domain: Domain) -> tuple[Measure, ...]:
        """The measures that a statistic is read off: one, or two for a quantile with an interval."""
        if wanted.kind != "quantile":
            return (self._measure(wanted, domain),)
        assert wanted.column is not None
        attribute = measurable(domain, wanted.column, wanted.bounds)
        low, high = bounds_of(attribute)
        points = int(high - low) + 1 if is_whole(attribute) and high - low < _POINTS else _POINTS
        q = Fraction(str(wanted.q)).limit_denominator(_FINEST_Q)
        choice = QuantileChoice(column=wanted.column, low=low, high=high, q=q, points=points)
        ranks = Ranks(column=wanted.column, low=low, high=high, q=q, points=points)
        return (choice, ranks) if wanted.interval else (choice,)

    def _measure(self, wanted: Aggregate, domain: Domain) -> Measure:
        if wanted.column is None:
            return Tally()
        if wanted.kind == "count" and not isinstance(domain[wanted.column], Measurable):
            return Tally(column=domain.check_countable([wanted.column])[0])
        attribute = measurable(domain, wanted.column, wanted.bounds)
        low, high = bounds_of(attribute)
        same = (wanted.column, wanted.bounds)
        together = {other.kind for other in self.aggregates if (other.column, other.bounds) == same}
        if {"mean", "var", "std"} & together:
            degree = 2 if {"var", "std"} & together else 1
            return Moments(column=wanted.column, low=low, high=high, degree=degree)
        if wanted.kind == "sum":
            return Total(column=wanted.column, low=low, high=high)
        return Tally(column=wanted.column)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {
            "method": "statistics",
            "statistics": [aggregate.as_dict() for aggregate in self.aggregates],
            "by": list(self.by),
            "where": self.where.as_dict(),
            "family": self.family,
            "level": self.level,
        }


@dataclass(frozen=True, kw_only=True)
class CalibratedAggregates(CalibratedPlan[Answer]):
    """Statistics with the noise of every sum fixed."""

    answer = Answer

    recipe: Aggregates
    domain: Domain = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    measures: tuple[Measure, ...]
    laws: tuple[Law, ...]

    @property
    def groups(self) -> int:
        """Number of groups: all that the schema has."""
        return self.domain.project(self.recipe.by).size

    @property
    def event(self) -> Event:
        """Cost of a run to each unit, derived from the noise."""
        events = self._events()
        return events[0] if len(events) == 1 else Sequence(events=events)

    def _events(self) -> tuple[Event, ...]:
        pairs = zip(self.measures, self.laws, strict=True)
        return tuple(measure.event(law, self.unit, self.neighbours, self.groups) for measure, law in pairs)

    def _of(self, aggregate: Aggregate) -> list[int]:
        """Indices of a statistic's measures among all; the recipe's differ from ours in the grid at most."""
        return [self._places[measure] for measure in self.recipe.measures_of(aggregate, self.domain)]

    @cached_property
    def _places(self) -> dict[Measure, int]:
        return {measure: place for place, measure in enumerate(self.recipe.measures(self.domain))}

    def expect(self) -> tuple[Expected, ...]:
        """The error of every statistic, before any data is read."""
        return tuple(self._expected(aggregate) for aggregate in self.recipe.aggregates)

    def _expected(self, aggregate: Aggregate) -> Expected:
        at = self._of(aggregate)[0]
        measure, law = self.measures[at], self.laws[at]
        if isinstance(measure, Points):
            return Expected(name=aggregate.name, std=law.std, per="rank")
        if isinstance(measure, Moments):
            return Expected(name=aggregate.name, **Reading(aggregate.kind, measure, law).worst())
        return Expected(name=aggregate.name, std=law.std, per="answer")

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        parts = zip(self.measures, self.laws, self._events(), strict=True)
        return {
            "groups": self.groups,
            "split": [
                measure.as_dict()
                | {"noise": law.as_dict(), "alone": float(cost([(event, 1)], self.budget, self.neighbours))}
                for measure, law, event in parts
            ],
            "predictions": [expected.as_dict() for expected in self.expect()],
        }

    # -- touching data --------------------------------------------------------------------------------------------

    def run(self, engine: Engine, source: Source) -> Answer:
        """Sum once, add noise to every sum of every group, also the empty ones."""
        check_engine(self, engine)
        return self.release(self.exact(engine), source)

    def release(self, sums: list[Integers], source: Source) -> Answer:
        """Noise on exact sums, and what is read off them."""
        parts = zip(self.measures, self.laws, sums, strict=True)
        released = [self._release(measure, law, found, source) for measure, law, found in parts]
        columns = {
            aggregate.name: self._column(aggregate, [released[at] for at in self._of(aggregate)])
            for aggregate in self.recipe.aggregates
        }
        labels = [self.domain[name].all_labels for name in self.recipe.by]
        return Answer(
            by=self.recipe.by,
            groups=tuple(itertools.product(*labels)),
            columns=columns,
            level=self.recipe.level,
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=self.recipe.as_dict(), simulated=source.simulated),
        )

    def _release(self, measure: Measure, law: Law, exact: Integers, source: Source) -> Array:
        """Released values of a measure: noisy sums, chosen points, or the ends of intervals, one row for each group."""
        if isinstance(measure, QuantileChoice):
            return measure.choose(exact, law, source)[:, None]
        if isinstance(measure, Ranks):
            return np.stack(measure.interval(exact, law, source, self.recipe.level), axis=1)
        return measure.noisy(exact, law, source)

    def _column(self, aggregate: Aggregate, released: list[Array]) -> Column:
        """Compute a statistic from released values alone."""
        at = self._of(aggregate)[0]
        measure, law = self.measures[at], self.laws[at]
        if isinstance(measure, Moments):
            return Reading(aggregate.kind, measure, law).column(released[0], self.recipe.level)
        if not isinstance(measure, Points):
            return read_sum(released[0][:, 0], law, self.recipe.level)
        value = released[0][:, 0]
        unknown = np.full_like(value, np.nan)
        if not aggregate.interval:
            return Column(value=value, std=unknown, low=unknown, high=unknown)
        low, high = released[1].T
        return Column(value=np.clip(value, low, high), std=unknown, low=low, high=high)

    def exact(self, engine: Engine) -> list[Integers]:
        """The exact sums of every measure; sensitive, and never part of an answer."""
        names = tuple(dict.fromkeys((*self.recipe.by, *self.recipe.where.attributes)))
        totals = [np.zeros((self.groups, measure.width), np.int64) for measure in self.measures]
        if all(measure.column is None for measure in self.measures):
            self._from_table(engine, names, totals)
            return totals
        columns = dict.fromkeys((*names, *(m.column for m in self.measures if m.column is not None)))
        readers = {measure: self._reader(measure) for measure in self.measures if measure.column is not None}
        for batch in counted_rows(engine, list(columns), self.unit):
            keep, cells = self._cells(self.domain.encode(batch, names), batch.num_rows)
            for i, measure in enumerate(self.measures):
                column = measure.column
                values = np.zeros(batch.num_rows) if column is None else readers[measure](batch.column(column))
                totals[i] += measure.sums(self.groups, cells, values[keep])
        return totals

    def _from_table(self, engine: Engine, names: tuple[str, ...], totals: list[Integers]) -> None:
        codes, counts = engine.tables(Workload.of(names), self.unit)[names].nonzero()
        keep, cells = self._cells(dict(zip(names, codes.T, strict=True)), len(counts))
        found = np.bincount(cells, weights=counts[keep], minlength=self.groups)
        for total, measure in zip(totals, self.measures, strict=True):
            total[:, 0] += np.rint(found).astype(np.int64) * measure.steps

    def _reader(self, measure: Measure) -> Callable[[pa.Array], Array]:
        """Return the function that turns the column of a measure into numbers."""
        assert measure.column is not None
        attribute = self.domain[measure.column]
        if not isinstance(attribute, Measurable):
            return lambda column: presence(attribute, column, self.domain.nulls)
        given = (measure.low, measure.high) if isinstance(measure, Ranged) else None
        attribute = measurable(self.domain, measure.column, None if given == bounds_of(attribute) else given)
        return lambda column: numbers(attribute, column, self.domain.nulls)

    def _cells(self, codes: dict[str, Any], rows: int) -> tuple[Any, Any]:
        """Select the rows of the query, and their groups; without rows that are out of domain in an attribute read."""
        keep = self.recipe.where.holds(codes, rows)
        for name, code in codes.items():
            keep &= code < self.domain[name].size
        cells = np.zeros(rows, np.int64)
        for name in self.recipe.by:
            cells = cells * self.domain[name].size + codes[name]
        return keep, cells[keep]
