"""Narrow bounds privately, and charge for it, before a line is fitted.

Public bounds are often wide: incomes up to a million, where nearly all are below a tenth. Noise grows with the
bounds, so it hides the fit. A share of the budget finds where nearly all values lie:

    middle    the median of each number, by private choice
    reach     how many lie within 2, 1, 1/2, 1/4, ... of it, for bounds of -1 and 1: counts of shells, with noise. The
              shortest reach beyond which a fiftieth lies, or as many as noise alone may give

Rows are clipped to middle - reach .. middle + reach, stretched to -1..1 again, and the rest of the budget pays for
the usual fit.

Privacy:  a row is in one shell of each number. What follows reads noisy counts, and each row alone; a clipped and
          stretched row is again from -1 to 1, wherever the ends are. All parts add up to the budget.
          Claim: docs/claims/private-regression.md
Utility:  better the wider the bounds; where noise exceeds the counts, the public bounds stay.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import Any

import numpy as np

from tacita.domain import Boolean, Date, Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.learn.feature_map import Array, FeatureMap, Points, add_up
from tacita.learn.fitted import FittedModel
from tacita.learn.regression.monomials import Integers
from tacita.learn.regression.problem import Coefficients
from tacita.learn.regression.regression import Regression
from tacita.learn.regression.staged import StagedPlan
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Source
from tacita.plans.additive import families_of, shift_event
from tacita.plans.recipe import check_engine
from tacita.privacy.budget import Budget, exact
from tacita.privacy.calibrate import smallest
from tacita.privacy.event import Event, Sequence
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.aggregates import Aggregate, Aggregates, CalibratedAggregates
from tacita.query.numbers import bounds_of, measurable

__all__ = ["CalibratedNarrowing", "NarrowedRegression", "narrow_points", "reach_of", "shells_of", "widened"]

_TAIL, _MOST_BLUR = 1 / 50, 1 / 10
"""Of the rows: how many may lie beyond the ends, and how much noise there may be in saying so."""
_FIRST_DAY = date(1970, 1, 1).toordinal()
_SHELLS = 12
"""The shortest reach is 2 / 2^(_SHELLS - 1)."""


@dataclass(frozen=True, kw_only=True)
class NarrowedRegression:
    """A regression between bounds that are found privately, inside the public ones.

    Args:
        base: The regression.
        narrow: Share of the budget that finds them.

    A penalty of the base counts for features stretched between the ends that are found. With a delta, part of the
    budget may stay unspent: what is charged is what both parts cost together.
    """

    base: Regression
    narrow: float = 0.2

    def __post_init__(self) -> None:
        if isinstance(self.narrow, bool) or not isinstance(self.narrow, int | float) or not 0 < self.narrow < 1:
            raise InvalidInput("must lie strictly between 0 and 1", field="narrow", value=self.narrow)
        if self.base.numbers == "bins":
            raise InvalidInput("takes numbers as lines, not by bins", field="narrow", value=self.narrow)
        if not self.base.intercept:
            hint = "The middle of what is found is none of the data's; fit without narrow"
            raise InvalidInput("needs an intercept", field="narrow", value=self.narrow, hint=hint)

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedNarrowing:
        """Fix all noises; reads no data."""
        names = self._numbers(domain)
        share, rest = _shared(budget, self.narrow)
        half = _shared(share, 0.5)[0]
        asked = tuple(Aggregate(kind="median", column=name, interval=False) for name in names)
        return CalibratedNarrowing(
            recipe=self,
            names=names,
            medians=Aggregates(aggregates=asked).calibrate(domain, half, unit=unit, neighbours=neighbours),
            shells=_narrowest(len(names), half, unit, neighbours),
            # one column each: what is clipped and stretched as a number must be one
            fit=replace(self.base, numbers="line").calibrate(domain, rest, unit=unit, neighbours=neighbours),
            budget=budget,
            neighbours=neighbours,
        )

    def _numbers(self, domain: Domain) -> tuple[str, ...]:
        wanted = [*self.base.features, *([self.base.target] if self.base.task == "linear" else [])]
        domain.check_countable(wanted)
        found = [name for name in wanted if hasattr(domain[name], "bounds") and not isinstance(domain[name], Boolean)]
        if not found:
            hint = "Leave it away: levels are as narrow as they can be"
            raise InvalidInput("needs a number whose bounds can be narrowed", field="narrow", hint=hint)
        return tuple(found)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"recipe": "narrowed-regression", "base": self.base.as_dict(), "narrow": self.narrow}


def _shared(budget: Budget, share: float) -> tuple[Budget, Budget]:
    """Split the budget between finding the ends and the fit, which gets the delta; never more than all in sum."""
    name = "epsilon" if budget.rho is None else "rho"
    amount = float(getattr(budget, name))
    first = amount * share
    rest = float(exact(amount) - exact(first))
    while exact(first) + exact(rest) > exact(amount):
        rest = math.nextafter(rest, 0)
    try:
        return Budget(**{name: first}), replace(budget, **{name: rest})
    except InvalidInput as error:
        raise InvalidInput(
            f"leaves a part of the budget too small: {error.rule}", field="narrow", value=share, hint="Spend more"
        ) from None


def _narrowest(numbers: int, budget: Budget, unit: Unit, neighbours: Neighbours) -> Law:
    """The least noise for the shells of so many numbers."""
    (family,) = families_of("auto", budget)  # without a delta there is one
    kind = DiscreteLaplace if family == "laplace" else DiscreteGaussian
    return kind.at_least(
        smallest(lambda size: _shells_event(kind.at_least(size), numbers, unit, neighbours), budget, neighbours)
    )


def _shells_event(law: Law, numbers: int, unit: Unit, neighbours: Neighbours) -> Event:
    """One table of shells for each number: a row is in one cell of each."""
    parts = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    return Sequence(events=(shift_event(law, unit.max_rows, parts),) * numbers)


def shells_of(values: Array, middles: Array) -> Integers:
    """Count the values of each column in each shell about its middle, from the outermost on; exact."""
    far = np.abs(values - middles)
    shell = np.clip(np.floor(1 - np.log2(np.maximum(far, 2.0**-60))), 0, _SHELLS - 1).astype(np.int64)
    return np.array([np.bincount(each, minlength=_SHELLS) for each in shell.T]).reshape(len(middles), _SHELLS)


def _count_shells(places: list[int], middles: Array, batches: Iterable[Points]) -> Integers:
    counts = np.zeros((len(places), _SHELLS), np.int64)
    for points in batches:
        counts += shells_of(np.column_stack([points.x, points.y])[:, places], middles)
    return counts


def reach_of(counts: Array, std: float) -> float:
    """The shortest reach beyond which few lie, by noisy counts of shells."""
    total, beyond, reach = float(counts.sum()), 0.0, 2.0
    for place, count in enumerate(counts[:-1], start=1):
        beyond += float(count)
        blur = std * math.sqrt(place)
        if blur > _MOST_BLUR * total or beyond > _TAIL * total + blur:
            break
        reach = 2.0 ** (1 - place)
    return reach


def narrow_points(points: Points, limits: Array, *, target: bool) -> Points:
    """Rows clipped to the limits and stretched to -1..1; sensitive as before."""

    def stretched(values: Array, ends: Array) -> Array:
        half = (ends[..., 1] - ends[..., 0]) / 2
        return np.asarray(np.clip((values - ends.mean(axis=-1)) / half, -1, 1))

    y = stretched(points.y, limits[-1]) if target else points.y
    return Points(x=stretched(points.x, limits[:-1]), y=y, outside=points.outside)


def widened(found: Coefficients, limits: Array, *, target: bool) -> Coefficients:
    """The same line for columns, and a target, from -1 to 1 between the public bounds."""
    middle, half = limits.mean(axis=1), (limits[:, 1] - limits[:, 0]) / 2
    slopes = found.coefficients / half[:-1]
    level = found.intercept - float(slopes @ middle[:-1])
    if target:
        slopes, level = half[-1] * slopes, float(middle[-1] + half[-1] * level)
    return Coefficients(coefficients=slopes, intercept=level, notes=found.notes)


@dataclass(frozen=True, kw_only=True)
class CalibratedNarrowing(StagedPlan):
    """All noises, fixed."""

    recipe: NarrowedRegression
    names: tuple[str, ...]
    medians: CalibratedAggregates = field(repr=False)
    shells: Law

    @property
    def why(self) -> str:
        """Why this method."""
        return f"{self.fit.why}; between bounds that are narrowed privately"

    @property
    def event(self) -> Event:
        """The middles, the reaches, and the line between the ends."""
        shells = _shells_event(self.shells, len(self.names), self.unit, self.neighbours)
        return Sequence(events=(self.medians.event, shells, self.fit.event))

    def limits(self, engine: Engine, source: Source) -> Array:
        """Between which ends each column lies, and last the target, where the public bounds are -1 and 1."""
        design = self.fit.setting.design
        answer = self.medians.run(engine, source)
        middles = np.array(
            [self._placed(name, float(answer[f"quantile({name}, 0.5)"].value[0])) for name in self.names]
        )
        first = {name: int(np.flatnonzero(design.owners == place)[0]) for place, name in enumerate(design.features)}
        places = [first.get(name, -1) for name in self.names]
        counts = add_up(design.read(engine, self.unit), partial(_count_shells, places, middles))
        noisy = counts + self.shells.draw(counts.size, source).reshape(counts.shape)
        found = np.tile([-1.0, 1.0], (design.columns + 1, 1))
        for place, middle, each in zip(places, middles, noisy, strict=True):
            reach = reach_of(each, self.shells.std)
            found[place] = max(-1.0, middle - reach), min(1.0, middle + reach)
        return found

    def _placed(self, name: str, value: float) -> float:
        low, high = bounds_of(measurable(self.domain, name))
        return min(1.0, max(-1.0, 2 * (value - low) / (high - low) - 1))

    def run(self, engine: Engine, source: Source) -> FittedModel:
        """Find the ends, then fit between them."""
        check_engine(self, engine)
        design, method, target = self.fit.setting.design, self.fit.method, self.recipe.base.task == "linear"
        limits = self.limits(engine, source)
        rows = design.read(engine, self.unit).map(partial(narrow_points, limits=limits, target=target))
        found = widened(method.fit(rows, source), limits, target=target)
        notes = dict(found.notes) | {"narrowed": _named(design, limits)}
        return self.released(found, source, notes=notes, limits=limits[:-1])

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return super().parts() | {
            "narrowing": {"medians": self.medians.as_dict(), "shells": self.shells.as_dict()},
        }


def _named(design: FeatureMap, limits: Array) -> Mapping[str, list[float | str]]:
    """The ends that were narrowed, in units of the data."""
    ends = np.concatenate([design.ends, [design.target_ends]])
    found = ends.mean(axis=1, keepdims=True) + limits * (ends[:, 1:] - ends[:, :1]) / 2
    names = (*design.names, design.target)
    inside = (limits[:, 0] > -1) | (limits[:, 1] < 1)
    bounds = zip(names, found.tolist(), inside, strict=True)
    return {name: [_said(design, name, end) for end in each] for name, each, moved in bounds if moved}


def _said(design: FeatureMap, name: str, end: float) -> float | str:
    dated = isinstance(design.domain[name], Date)  # only numbers are narrowed, and their columns have their names
    return str(date.fromordinal(_FIRST_DAY + round(end))) if dated else end
