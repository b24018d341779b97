"""Sums that an engine adds up: the request of a plan, and the sums of its groups from the reply.

Conditions on one attribute are left to the engine; others are checked here, on the combinations of codes that occur.
So are groups that are derived from several attributes.

Privacy: none; everything here is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tacita.domain import Attribute, Domain
from tacita.engines.adding import Added, Formula, Number, Sums
from tacita.privacy.unit import Unit
from tacita.query.expressions import Computed
from tacita.query.measures import Integers, Measure, Persons, Ranged
from tacita.query.numbers import Measurable, bounds_of, measurable
from tacita.query.where import AllOf, OneOf, Where

__all__ = ["PushedPlan", "PushedRecipe", "add_groups", "build_request", "read_as", "split_where"]

_MOST = 1 << 24
"""Most sums that an engine is asked for: combinations of codes that may occur, times sums."""

Only = dict[str, tuple[int, ...]]
Placed = tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]


class PushedRecipe(Protocol):
    """Parts of a recipe that decide what an engine is asked to add up."""

    @property
    def by(self) -> tuple[str, ...]:
        """Attributes of the groups."""

    @property
    def computed(self) -> tuple[Computed, ...]:
        """Columns that are computed from others."""


class PushedPlan(Protocol):
    """The same of a plan."""

    @property
    def recipe(self) -> PushedRecipe:
        """Recipe of the plan."""

    @property
    def domain(self) -> Domain:
        """Public schema."""

    @property
    def unit(self) -> Unit:
        """Unit that is protected."""

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Sums for each group."""


def build_request(plan: PushedPlan, only: Only, names: tuple[str, ...], columns: list[str]) -> Sums | None:
    """Build the request of a plan; None for too many sums, or for computed columns, which engines do not know.

    Args:
        plan: The plan.
        only: Codes that attributes must have.
        names: Attributes whose codes decide on group and condition.
        columns: Columns that are read, in the order in which they decide between rows of a person.
    """
    persons = any(isinstance(measure, Persons) for measure in plan.measures)
    made = {each.name for each in plan.recipe.computed}
    if any(measure.column in made for measure in plan.measures):
        return None
    if persons and names != plan.recipe.by:  # persons of several combinations of codes are not those of their group
        return None
    width = 1 + sum(measure.width for measure in plan.measures)
    if math.prod(plan.domain[name].size + 1 for name in names) * width > _MOST:
        return None
    numbers = list(dict.fromkeys(_number(plan, measure) for measure in plan.measures if measure.column is not None))
    sums, counts = dict.fromkeys(_sums(plan, numbers)), dict.fromkeys(_counts(plan, numbers))
    if not all(formula.fits() for _, formula in (*sums, *counts)):
        return None
    return Sums(
        names=names,
        only=tuple(only.items()),
        numbers=tuple(numbers),
        sums=tuple(sums),
        counts=tuple(counts),
        unit=plan.unit,
        ties=tuple(columns),
        persons=persons,
    )


def add_groups(
    plan: PushedPlan, request: Sums, added: Added, totals: list[Integers], place: Callable[[Integers], Placed]
) -> None:
    """Add the sums of combinations of codes to those of their groups.

    Args:
        plan: The plan.
        request: Its request.
        added: The reply.
        totals: Sums of each measure by group, which are added to.
        place: Returns which combinations of codes are kept, and the groups of those.
    """
    keep, cells = place(added.codes)
    for total, measure in zip(totals, plan.measures, strict=True):
        at = -1 if measure.column is None else request.numbers.index(_number(plan, measure))
        if measure.counted is not None:
            found = added.counts[request.counts.index((at, measure.counted))]
            there, groups = place(found.codes)
            np.add.at(total, (groups, found.values[there]), found.rows[there])
            continue
        rows = added.rows if measure.column is None else added.present[:, at]
        if isinstance(measure, Persons):
            assert added.persons is not None
            rows = added.persons
        chosen = [request.sums.index((at, formula)) for formula in measure.formulas]
        np.add.at(total, cells, measure.of_added(rows, added.sums[:, chosen])[keep])


def read_as(domain: Domain, measure: Measure) -> Attribute:
    """Return the attribute of a measure's column, with the bounds to which its numbers are moved as they are read."""
    assert measure.column is not None
    attribute = domain[measure.column]
    if not isinstance(attribute, Measurable):
        return attribute
    low, high = bounds_of(attribute)
    if isinstance(measure, Ranged) and not low <= measure.low < measure.high <= high:
        return measurable(domain, measure.column, (measure.low, measure.high))
    return measurable(domain, measure.column)  # a measure moves values to its own bounds


def split_where(where: Where) -> tuple[Only, Where]:
    """Split a condition into codes that attributes must have, and the conditions besides."""
    parts = where.parts if isinstance(where, AllOf) else (where,)
    only: Only = {}
    for part in parts:
        if isinstance(part, OneOf):
            known = only.get(part.attribute, part.codes)
            only[part.attribute] = tuple(code for code in known if code in part.codes)
    return only, AllOf(tuple(part for part in parts if not isinstance(part, OneOf)))


def _number(plan: PushedPlan, measure: Measure) -> Number:
    return Number(read_as(plan.domain, measure))


def _sums(plan: PushedPlan, numbers: list[Number]) -> list[tuple[int, Formula]]:
    return [
        (numbers.index(_number(plan, measure)), formula) for measure in plan.measures for formula in measure.formulas
    ]


def _counts(plan: PushedPlan, numbers: list[Number]) -> list[tuple[int, Formula]]:
    found = [(measure, measure.counted) for measure in plan.measures]
    return [(numbers.index(_number(plan, measure)), formula) for measure, formula in found if formula is not None]
