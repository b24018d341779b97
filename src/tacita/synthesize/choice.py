"""Choose between single attributes, a tree of pairs, and all pairs by expected error.

Which method is best depends on the data. What decides is how dependent a pair is, in rows (`models.pairs.dependence`):

    F: mean over all pairs of D, what independence misses      H: the mean of E over all pairs, taken as 0 for a tree

    expected error, in rows                         of           noise, in rows
    |F, 0.53 A|                                     independent  A: two singles
    |1.1 F^0.17 H^0.83, 0.4 (1 + 4 F / n) B|        mst          B: two of its singles
    0.82 d^-0.3 C^0.8 F^0.2                         pairs        C: a pair of c cells, among d columns
      but at least c^-0.25 (d - 1)^-0.5 C                        noise of singles that are summed from pairs

|x, y| is (x^1.2 + y^1.2)^(1/1.2), a cell's noise counts with its mean absolute value, and n is the number of rows. A
and B are means, C and c geometric means: wide tables among narrow ones have many empty cells, where a fit is near. The
factors were fitted to errors on generated tables (`bench/generated.py`), whose logarithms deviate from the formulas by
0.07, 0.25 and 0.26. The number of rows, F and H are measured with noise, then shrunk towards typical values of so many
columns and levels, the more the larger the noise. The least expected error decides.

Privacy:  one more or one fewer row moves D and E by at most 2, so F and H too. The three numbers are rounded to a grid,
          and Laplace noise, or Gaussian noise for rho, covers a step more for rounding and one for floating point.
          Measurement and method add up; every method costs at most what is left.
          Claim: docs/claims/marginal-synthesis.md
Utility:  the measurement takes a twenty-fifth of the budget or less. Figures: docs/choosing.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import fmean, geometric_mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.models.pairs.dependence import MOVES, dependence, mean_of_rest, unexplained
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Source
from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Event, Pure, Zcdp
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.marginals import Independent, Pairs, PairsPlan
from tacita.synthesize.plan import Key, SynthesisPlan
from tacita.synthesize.result import Model
from tacita.synthesize.select import ChosenPlan, SpanningTree
from tacita.tables.consistency import weighted_mean
from tacita.tables.workload import Workload

__all__ = ["TYPICAL_ROWS", "WORDS", "Candidates", "MethodChoicePlan", "measure_dependence", "plan_choice"]

_MOST_SHARE, _LEAST_SHARE = Fraction(1, 25), Fraction(1, 1000)  # of the budget, for the measurement
_ERROR = Fraction(1, 1000)  # of F and H, as a share of the rows: no more precision is bought
TYPICAL_ROWS = 10_000
"""Where their number is not public, nor at least so many standard errors:"""
_SEEN = 6
_LIKELY = (0.01, 0.3)  # F as a share of rows, and H as one of F: where one method is best for all,
_LIKELY_LEFT = (0.03, 0.5)  # nothing is measured
WORDS = ("single attributes, taken as independent", "a tree of pairs", "all pairs")
_GRID = 16  # steps of a row
_PARTS = (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))  # of the measurement: rows, F, H
_CLOSE = 3.0  # times typical F: where it is measured with a larger error, typical data decide
_LEFT = 0.18  # H of typical data, as a share of F
_MEAN_STD, _LEFT_STD = 1.0, 1.0  # relative spreads of typical F and H


def _missed(mean: float, left: float) -> float:
    """Rows of a pair that a tree does not explain."""
    return 1.1 * float(mean**0.17 * left**0.83)


def _both(missed: float, noise: float) -> float:
    """Error of a method that misses so much and has so much noise: less than their sum."""
    return float((missed**1.2 + noise**1.2) ** (1 / 1.2))


def _typical(columns: int, cells: float) -> float:
    """F as a share of rows, of typical data: so many columns, and cells of a pair."""
    return float(0.08 * cells**0.3 * columns**-0.55)


def _noise(law: Law, cells: int) -> float:
    """Half the sum of the absolute noise of a table, in rows."""
    return math.sqrt(2 / math.pi) / 2 * law.std * cells


@dataclass(frozen=True, kw_only=True)
class Candidates:
    """The three methods with their noise fixed."""

    independent: PairsPlan
    tree: ChosenPlan
    pairs: PairsPlan

    @classmethod
    def of(
        cls, domain: Domain, budget: Budget, unit: Unit, neighbours: Neighbours, names: Key, all_pairs: Pairs
    ) -> Candidates:
        """Calibrate each for the whole budget."""
        given: dict[str, Any] = {"budget": budget, "unit": unit, "neighbours": neighbours}
        return cls(
            independent=Independent(attributes=names).calibrate(domain, **given),
            tree=SpanningTree(attributes=names).calibrate(domain, **given),
            pairs=all_pairs.calibrate(domain, **given),
        )

    @cached_property
    def noise(self) -> tuple[float, float, float, float]:
        """A, B and C above, and c."""
        shape = self.pairs.domain.project(self.pairs.names).shape
        cells = [one * other for one, other in itertools.combinations(shape, 2)]
        return (
            2 * fmean(_noise(law, size) for law, size in zip(self.independent.tables.laws, shape, strict=True)),
            2 * fmean(_noise(self.tree.ones, size) for size in shape),
            geometric_mean(_noise(law, size) for law, size in zip(self.pairs.tables.laws, cells, strict=True)),
            geometric_mean(cells),
        )

    @property
    def typical(self) -> float:
        """See `_typical`."""
        return _typical(len(self.pairs.names), self.noise[-1])

    def expected(self, people: float, mean: float, left: float) -> tuple[float, float, float]:
        """Expected errors of the methods, in rows.

        Args:
            people: Number of rows.
            mean: F above.
            left: H above.
        """
        singles, of_tree, of_pairs, cells = self.noise
        path = 1 + 4 * mean / people  # the noise of edges adds up along a path of dependent ones
        columns = len(self.pairs.names)
        return (
            _both(mean, 0.53 * singles),
            _both(_missed(mean, left), 0.4 * path * of_tree),
            max(
                0.82 * columns**-0.3 * of_pairs**0.8 * mean**0.2,
                cells**-0.25 * (columns - 1) ** -0.5 * of_pairs,
            ),
        )

    def best(self, people: float, mean: float, left: float) -> int:
        """Place of the method with the least expected error."""
        return int(np.argmin(self.expected(people, mean, left)))

    def best_typical(self, people: int) -> int:
        """The same for typical data of so many rows."""
        return self.best(people, self.typical * people, _LEFT * self.typical * people)

    def always_best(self, people: int) -> int | None:
        """Place of the method that is best for all likely dependence of so many rows, if one is."""
        likely = itertools.product(_LIKELY, _LIKELY_LEFT)
        found = {self.best(people, mean * people, left * mean * people) for mean, left in likely}
        return found.pop() if len(found) == 1 else None

    def __getitem__(self, at: int) -> SynthesisPlan:
        return (self.independent, self.tree, self.pairs)[at]


@dataclass(frozen=True, kw_only=True)
class MethodChoicePlan(SynthesisPlan):
    """Methods with their noise fixed, and the measurement of dependence that decides between them.

    Attributes:
        laws: Noise of the number of rows, of F and of H, in steps of the grid.
        rest: Epsilon or rho of each method.
        methods: Of which one runs.
    """

    laws: tuple[Law, ...]
    rest: Budget
    methods: Candidates

    @property
    def event(self) -> Event:
        """The noise of the three numbers, as it is drawn; then a method that costs at most the rest."""
        left = exact(self.rest.amount)
        return in_sequence(*self.measuring, Pure(epsilon=left) if self._pure else Zcdp(rho=left))

    @property
    def measuring(self) -> tuple[Pure | Zcdp, ...]:
        """Cost of each of the three numbers."""
        steps = _steps(self.budget, self.unit, self.neighbours)
        return tuple(_cost(law, most) for most, law in zip(steps, self.laws, strict=True))

    @property
    def informative(self) -> bool:
        """Whether F is measured closely enough, beside what typical data of the stated number of rows have."""
        people = self.recipe.people
        return people is None or self.laws[1].std / _GRID < _CLOSE * self.methods.typical * people

    @property
    def _pure(self) -> bool:
        return self.rest.currency == "pure"

    def model(self, engine: Engine, source: Source) -> tuple[Model, float, float, tuple[str, ...]]:
        """Measure, choose, run."""
        keys = list(itertools.combinations(self.names, 2))
        exact_tables = engine.tables(Workload.of(*keys), self.unit)
        counts = {key: exact_tables[key].project(key).values for key in keys}
        seen = self._noisy(measure_dependence(self.names, counts), source)
        at = self.methods.best(*self._shrunk(*seen))
        model, people, error, notes = self.methods[at].model(engine, source)
        return model, people, error, (f"Chosen after a private measurement of dependence: {WORDS[at]}.", *notes)

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        amount = sum(event.epsilon if isinstance(event, Pure) else event.rho for event in self.measuring)
        measured = {"epsilon" if self._pure else "rho": float(amount)}
        return super().parts() | {"dependence": measured, "methods": list(WORDS)}

    def _noisy(self, numbers: tuple[float, float, float], source: Source) -> list[float]:
        """The numbers on the grid, with noise."""
        pairs = zip(numbers, self.laws, strict=True)
        return [(round(number * _GRID) + int(law.draw(1, source)[0])) / _GRID for number, law in pairs]

    def _shrunk(self, rows: float, mean: float, left: float) -> tuple[float, float, float]:
        """The number of rows, F and H, shrunk towards typical values of so many rows."""
        errors = [law.std / _GRID for law in self.laws]
        people = self.recipe.people or (rows if rows > _SEEN * errors[0] else TYPICAL_ROWS)
        typical = self.methods.typical * people
        found = _towards(typical, _MEAN_STD * typical, mean, errors[1])
        usual = _LEFT * found
        return people, found, _towards(usual, _LEFT_STD * max(usual, 1.0), left, errors[2])


def measure_dependence(names: Key, counts: Mapping[tuple[str, str], NDArray[Any]]) -> tuple[float, float, float]:
    """The number of rows, F and H of exact counts of all pairs: not to be released without noise."""
    rows = max(float(table.sum()) for table in counts.values())
    mean = sum(dependence(table) for table in counts.values()) / len(counts)
    return rows, mean, mean_of_rest(names, unexplained(names, counts))


def _towards(usual: float, spread: float, measured: float, error: float) -> float:
    """A measured number, shrunk towards the usual one; at least 0."""
    mean, _ = weighted_mean([usual, measured], [spread**2, error**2])
    return max(float(mean), 0.0)


def plan_choice(
    recipe: Any,
    domain: Domain,
    budget: Budget,
    *,
    unit: Unit,
    neighbours: Neighbours,
    names: Key,
    people: int | None,
    all_pairs: Pairs,
) -> MethodChoicePlan:
    """Fix the measurement and the noise of all methods so that together they cost at most the budget; reads no data.

    Args:
        recipe: What was asked for.
        domain: Public description of the data.
        budget: What measurement and method cost together.
        unit: Unit that is protected.
        neighbours: Notion of neighbours.
        names: At least two attributes.
        people: Approximate number of rows, where that is public.
        all_pairs: The recipe for all pairs.
    """
    split = BudgetSplit.of(budget, unit, neighbours)
    steps = _steps(budget, unit, neighbours)
    wanted = _GRID * _ERROR * (people or TYPICAL_ROWS)  # standard deviation of F and H
    enough = steps[1] ** 2 / (2 * wanted**2) if split.concentrated else 3 * steps[1] / (2 * wanted)
    measuring = min(_MOST_SHARE * split.amount, max(enough / _PARTS[1], _LEAST_SHARE * split.amount))
    laws = tuple(_law(split.concentrated, most, part * measuring) for most, part in zip(steps, _PARTS, strict=True))
    amount = _float_at_most(split.amount - measuring)
    rest = Budget.zcdp(amount) if split.concentrated else Budget.pure(amount)
    return MethodChoicePlan(
        recipe=recipe,
        domain=domain,
        unit=unit,
        neighbours=neighbours,
        budget=budget,
        names=names,
        reason="The method is chosen after a private measurement of how dependent pairs are.",
        laws=laws,
        rest=rest,
        methods=Candidates.of(domain, rest, unit, neighbours, names, all_pairs),
    )


def _steps(budget: Budget, unit: Unit, neighbours: Neighbours) -> tuple[int, int, int]:
    """Steps of the grid by which rows, F and H move at most, with one for rounding and one for floating point."""
    moves = BudgetSplit.of(budget, unit, neighbours).moves
    return _GRID * moves + 2, _GRID * MOVES * moves + 2, _GRID * MOVES * moves + 2


def _law(concentrated: bool, most: int, amount: Fraction) -> Law:
    """Noise for a number that moves by so many steps, for a part of the budget."""
    if concentrated:
        return DiscreteGaussian.at_least(Fraction(most**2) / (2 * amount))
    return DiscreteLaplace.at_least(most / amount)


def _cost(law: Law, most: int) -> Pure | Zcdp:
    """Cost of a number that moves by so many steps, with noise of this law."""
    if isinstance(law, DiscreteGaussian):
        return Zcdp(rho=most**2 / (2 * law.sigma2))
    assert isinstance(law, DiscreteLaplace)
    return Pure(epsilon=most / law.scale)


def _float_at_most(value: Fraction) -> float:
    """The largest float that is written as a decimal of at most this."""
    near = float(value)
    return near if exact(near) <= value else math.nextafter(near, 0.0)
