"""A Bayesian network of numbers from noisy moments.   Claim: docs/claims/private-network.md

A Gaussian score needs the number of rows, means and covariance, so one noisy matrix pays for any number of structures
that a search looks at.

    1  narrow   a share of the budget buys the number of rows, and the sum and the sum of squares of each column, scaled
                to -1..1 by its public bounds; from them the ends, mean +- `reach` standard deviations
    2  moments  rows, clipped to these ends and scaled to -1..1 again, are shortened to a norm; the matrix of their
                second moments is released as for principal components (`pca`)
    3  search   the structure with the best score that charges links for the noise (`models/continuous/noisy_moments`),
                and its regressions: post-processing

Privacy:  stage 1: with d columns and S steps, one row moves the 2d + 1 sums by at most
              L1   S (1 + 2d)       L2   S sqrt(1 + 2d)       (rounding moves no number beyond S)
          stage 2: as in `pca`, whatever the ends are. A unit of m rows moves each by m times that, twice for
          replace-one. The ends depend on released numbers only, so the two stages add up.
Utility:  without narrowing, noise is measured against bounds that are often tens of standard deviations apart. Rows
          beyond the ends are clipped and rows beyond the norm shortened, which biases moments towards the middle.
          Standard errors do not count that bias.
Cost:     one pass, and the points are held in memory; over an engine that folds, a pass for each sum, and none is held.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tacita import check
from tacita.common.plain import plain_fields
from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.models.continuous.gaussian_network import GaussianNetwork
from tacita.models.continuous.noisy_moments import NoisyBIC, NoisyMoments
from tacita.models.exact_search import MOST
from tacita.models.search import LinkRules, Search
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Source, Stepped
from tacita.plans.additive import Family, families_of, shift_event
from tacita.plans.recipe import CalibratedPlan, check_engine
from tacita.plans.split import in_sequence
from tacita.privacy.budget import Budget
from tacita.privacy.calibrate import smallest
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.models.pca import PCA, shorten, triangle
from tacita.query.models.points import STEPS, PointSums, box
from tacita.query.models.released_network import ReleasedNetwork
from tacita.query.numbers import Array
from tacita.tables.release import Provenance

__all__ = ["CalibratedNetwork", "NetworkSearch", "NumericNetwork", "column_sums"]

NetworkSearch = Literal["auto", "exact", "hill", "rsmax2"]
_BLOCK = 1 << 16
_SURE = 2.0  # standard deviations of noise by which narrowed ends are widened
_REACHES = (3.0, 12.0)
_WORTH = 2.0  # ends are narrowed only where the bounds are more than so many times as far


@dataclass(frozen=True, kw_only=True)
class NumericNetwork:
    """Structure and regressions of a linear Gaussian network over some columns.

    Args:
        columns: Columns with public bounds.
        search: auto is exact for up to 16 columns, hill climbing for more.
        degree: Most parents of a column; any number if None.
        forbid: Links that the network must not have, as `parent:child`; a star stands for any column.
        require: Links that it must have.
        narrow: Share of the budget that finds narrower ends first; 0 keeps the public bounds.
        reach: Half of the distance of narrowed ends, in standard deviations. If None, from 3 to 12: the widest for
            which the noise of a correlation is at most half of its sampling error, by the released number of rows.
        norm: Longest row, in the box from -1 to 1 between the ends; longer rows are scaled down. If None, the root of
            the number d of columns, which no row exceeds; after narrowing sqrt(1 + (d - 1)/8), so that a row at the end
            of one column is not shortened.
        family: Noise distribution.
    """

    columns: tuple[str, ...]
    search: NetworkSearch = "auto"
    degree: int | None = None
    forbid: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    narrow: float = 0.2
    reach: float | None = None
    norm: float | None = None
    family: Family = "auto"

    def __post_init__(self) -> None:
        for name in ("columns", "forbid", "require"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not self.columns:
            raise InvalidInput("must be at least one", field="columns")
        check.one_of(self.search, "search", ("auto", "exact", "hill", "rsmax2"))
        if not 0 <= self.narrow <= 0.9:
            raise InvalidInput("must be from 0 to 0.9", field="narrow", value=self.narrow)
        if self.reach is not None and not 1 <= self.reach <= 100:
            raise InvalidInput("must be from 1 to 100", field="reach", value=self.reach)
        if self.search == "exact" and len(self.columns) > MOST:
            raise InvalidInput(f"takes at most {MOST} columns", field="search", value="exact", hint="Use hill")
        _ = self.finder, self.second

    @cached_property
    def finder(self) -> Search:
        """The search, with its rules."""
        rules = LinkRules.of(self.columns, forbid=self.forbid, require=self.require)
        found = Search.automatic(len(self.columns), degree=self.degree, rules=rules)
        if self.search in ("auto", found.kind):
            return found
        climb = {"restarts": 10, "tabu": 10} if self.search != "exact" else {}
        return replace(found, kind=self.search, **climb)  # type: ignore[arg-type]

    @property
    def second(self) -> PCA:
        """The mechanism of stage 2."""
        norm = self.norm
        if norm is None and self.narrow > 0:
            norm = math.sqrt(1 + (len(self.columns) - 1) / 8)
        return PCA(columns=self.columns, norm=norm, family=self.family)

    def first_moves(self, family: Family, neighbours: Neighbours) -> int:
        """Sensitivity of the sums of stage 1 to one row, in steps."""
        d = len(self.columns)
        top = STEPS * (1 + 2 * d) if family == "laplace" else math.ceil(STEPS * math.sqrt(1 + 2 * d))
        return (1 if neighbours is Neighbours.ADD_REMOVE else 2) * top

    def calibrate(self, domain: Domain, budget: Budget, *, unit: Unit, neighbours: Neighbours) -> CalibratedNetwork:
        """Fix the noise so that running costs at most the budget; reads no data."""
        domain.require_public()
        unit.check(domain)
        box(domain, self.columns)
        found = []
        for family in families_of(self.family, budget):
            shifts = self._shifts(family, unit, neighbours)

            def laws(size: Fraction, family: Family = family, shifts: Any = shifts) -> tuple[Law, ...]:
                return _laws(family, size, shifts, self.narrow)

            def event(size: Fraction, laws: Any = laws, shifts: Any = shifts) -> Event:
                pairs = zip(laws(size), shifts, strict=True)
                return in_sequence(*(shift_event(law, shift) for law, shift in pairs))

            size = smallest(event, budget, neighbours)
            found.append((laws(size), event(size)))
        noises, event_ = min(found, key=lambda pair: pair[0][-1].variance)
        return CalibratedNetwork(
            recipe=self, domain=domain, unit=unit, neighbours=neighbours, budget=budget, laws=noises, event=event_
        )

    def _shifts(self, family: Family, unit: Unit, neighbours: Neighbours) -> tuple[int, ...]:
        """Sensitivity of the sums of each stage to one unit, in steps."""
        second = self.second.moves(family, neighbours)[0]
        shifts = (self.first_moves(family, neighbours), second) if self.narrow > 0 else (second,)
        return tuple(unit.max_rows * shift for shift in shifts)

    def as_dict(self) -> dict[str, Any]:
        """The recipe as plain data."""
        return {"method": "numeric-network"} | plain_fields(self)


def _laws(family: Family, size: Fraction, shifts: tuple[int, ...], share: float) -> tuple[Law, ...]:
    """The noise of the last stage has this size; that of the first costs its share of the whole.

    Laplace: epsilon = shift / scale. Gaussian: rho = shift^2 / (2 sigma2).
    """
    sizes = [size]
    if len(shifts) == 2:
        part = Fraction(share).limit_denominator(1000)
        ratio = Fraction(shifts[0], shifts[1]) ** (1 if family == "laplace" else 2)
        sizes = [size * ratio * (1 - part) / part, size]
    law = DiscreteLaplace if family == "laplace" else DiscreteGaussian
    return tuple(Stepped(law=law.at_least(each), of=Fraction(1, STEPS)) for each in sizes)


def column_sums(rows: Array) -> npt.NDArray[np.int64]:
    """For each row 1, its numbers and their squares, in steps; exact, and sensitive."""
    longer = np.column_stack([np.ones(len(rows)), rows, rows**2])
    return np.asarray(np.rint(longer * STEPS), np.int64)


@dataclass(frozen=True)
class _Triangles:
    ends: Array
    radius: float

    def __call__(self, rows: Array) -> npt.NDArray[np.int64]:
        places = np.clip((rows - self.ends[:, 0]) / (self.ends[:, 1] - self.ends[:, 0]), 0, 1)
        return triangle(shorten(places, self.radius))


def _total(places: Array, measure: Any, width: int) -> npt.NDArray[np.int64]:
    """Sum a measure over all rows from -1 to 1, block by block."""
    total, rows = np.zeros(width, np.int64), 2 * places - 1
    for start in range(0, len(rows), _BLOCK):
        total += measure(rows[start : start + _BLOCK]).sum(axis=0)
    return total


def fair_reach(count: float, std: float) -> float:
    """Return the widest reach for which the noise of a correlation is at most half of its sampling error.

    A column with ends at r standard deviations has variance 1/r^2 in the box, so a correlation of n rows has noise of
    r^2 std / n, and a sampling error of 1 / sqrt(n).
    """
    return float(np.clip(math.sqrt(0.5 * math.sqrt(max(count, 1.0)) / std), *_REACHES))


def narrowed_ends(noisy: Array, std: float, reach: float) -> Array:
    """Ends of each column around its mean, in the units of -1..1, from noisy sums.

    They are wider where the noise may hide a spread, and reach over all of -1..1 where narrower ends gain little.

    Args:
        noisy: Number of rows, sums and sums of squares.
        std: Of their noise.
        reach: Half of the distance of the ends, in standard deviations.
    """
    d = (len(noisy) - 1) // 2
    count = max(float(noisy[0]), std, 1.0)
    mean = np.clip(noisy[1 : d + 1] / count, -1, 1)
    square = np.clip(noisy[d + 1 :] / count, 0, 1)
    # noise of square - mean^2: of the sum of squares, twice the mean times that of the sum, and that of the count
    blur = _SURE * std / count * np.sqrt(1 + 4 * mean**2 + (square - 2 * mean**2) ** 2)
    half = reach * np.sqrt(np.clip(square - mean**2, 0, None) + blur) + _SURE * std / count
    whole = 1 + np.abs(mean)
    half = np.where(whole <= _WORTH * half, whole, half)
    return np.stack([mean - half, mean + half], axis=1)


@dataclass(frozen=True, kw_only=True)
class CalibratedNetwork(CalibratedPlan[ReleasedNetwork]):
    """A network with its noise fixed."""

    answer = ReleasedNetwork

    recipe: NumericNetwork
    domain: Domain = field(repr=False)
    unit: Unit
    neighbours: Neighbours
    budget: Budget
    laws: tuple[Law, ...]
    event: Event

    def run(self, engine: Engine, source: Source) -> ReleasedNetwork:
        """Narrow, sum, add noise, search."""
        check_engine(self, engine)
        recipe, d = self.recipe, len(self.recipe.columns)
        sums = PointSums(engine=engine, columns=recipe.columns, unit=self.unit)
        ends = np.tile([-1.0, 1.0], (d, 1))
        if len(self.laws) == 2:
            noisy = self._noisy(sums, column_sums, 2 * d + 1, self.laws[0], source)
            reach = recipe.reach or fair_reach(float(noisy[0]), self.laws[1].std)
            ends = narrowed_ends(noisy, self.laws[0].std, reach)
        size, measure = (d + 1) * (d + 2) // 2, _Triangles(ends, recipe.second.radius)
        upper = self._noisy(sums, measure, size, self.laws[-1], source)
        return self._released(upper, ends, source.simulated)

    @staticmethod
    def _noisy(sums: PointSums, measure: Any, width: int, law: Law, source: Source) -> Array:
        exact = sums.of(partial(_total, measure=measure, width=width))
        return np.asarray((exact + law.draw(width, source)) * float(law.step))

    def _released(self, upper: Array, ends: Array, simulated: bool) -> ReleasedNetwork:
        """Read the network off the noisy triangle alone."""
        recipe, d = self.recipe, len(self.recipe.columns)
        matrix = np.zeros((d + 1, d + 1))
        matrix[np.triu_indices(d + 1)] = upper
        matrix = matrix + np.triu(matrix, 1).T
        public = box(self.domain, recipe.columns)
        middle, half = public.mean(axis=1, keepdims=True), (public[:, 1:] - public[:, :1]) / 2
        moments = NoisyMoments(names=recipe.columns, matrix=matrix, std=self.laws[-1].std, ends=middle + half * ends)
        score = NoisyBIC(noisy=moments)
        parents = recipe.finder.run(recipe.columns, score, score.test)
        return ReleasedNetwork(
            network=GaussianNetwork.fit(moments.moments, parents),
            moments=moments,
            search=recipe.finder.kind,
            event=self.event,
            unit=self.unit,
            neighbours=self.neighbours,
            provenance=Provenance(recipe=recipe.as_dict(), simulated=simulated),
        )

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        return {"noise": [law.as_dict() for law in self.laws]}
