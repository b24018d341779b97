"""Choose between single attributes, a tree of pairs, and all pairs by expected error.

Which method is best depends on the data. What decides is how dependent a pair is, in rows:

    D = 1/2 sum over cells |n_uv - n_u n_v / n|         F: its mean over all pairs
                                                        T: its mean over the spanning tree with the largest sum

    expected error, in rows                  of           noise, in rows
    |F, 0.53 A|                              independent  A: two singles
    |max(1.16 F - 0.21 T, 0.28 F), 0.42 B|   mst          B: two of its singles
    0.54 c^-0.2 C                            pairs        C: a pair of c cells

|x, y| is (x^1.2 + y^1.2)^(1/1.2), and a cell's noise counts with its mean absolute value. The factors are those with
which the chosen method is nearest to the best one on generated tables (`bench/generated.py`), at pure budgets and at
a delta together; that of A was fitted to the errors themselves. The number of rows, F and T are measured with noise,
then shrunk towards typical values of so many columns and levels, the more the larger the noise. The least expected
error decides.

Privacy:  one more or one fewer row moves D by at most 2: n_uv by 1, and n_u n_v / n by 3 in all, halved. So do F and T.
          The three numbers are rounded to a grid, and Laplace noise, or Gaussian noise for rho, covers a step more for
          rounding and one for floating point. Measurement and method add up; every method costs at most what is left.
          Claim: docs/claims/marginal-synthesis.md
Utility:  the measurement takes a twenty-fifth of the budget or less. F and T say little about what a tree misses, which
          is what makes the choice wrong at times: figures in docs/choosing.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.models.chow_liu import chow_liu
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

__all__ = [
    "MOVES",
    "TYPICAL_ROWS",
    "WORDS",
    "Candidates",
    "MethodChoicePlan",
    "dependence",
    "mean_of_tree",
    "plan_choice",
]

MOVES = 2
"""Most that one row moves the dependence of a pair."""

_MOST_SHARE, _LEAST_SHARE = Fraction(1, 25), Fraction(1, 1000)  # of the budget, for the measurement
_ERROR = Fraction(1, 200)  # of F and T, as a share of the rows: no more precision is bought
TYPICAL_ROWS = 10_000
"""Where their number is not public, nor at least so many standard errors:"""
_SEEN = 6
_LIKELY = (0.01, 0.3)  # F as a share of rows: where one method is best for all, nothing is measured
WORDS = ("single attributes, taken as independent", "a tree of pairs", "all pairs")
_GRID = 16  # steps of a row
_PARTS = (Fraction(1, 5), Fraction(2, 5), Fraction(2, 5))  # of the measurement: rows, F, T
_CLOSE = 3.0  # times typical F: where it is measured with a larger error, typical data decide
_MEAN_STD, _TREE_STD = 1.0, 0.4  # relative spreads of typical F and T


def dependence(table: NDArray[Any]) -> float:
    """Rows of a table of counts that independence of its attributes does not explain."""
    total = float(table.sum())
    if total <= 0:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    return float(np.abs(table - expected).sum()) / 2


def mean_of_tree(names: Sequence[str], each: Mapping[tuple[str, str], float]) -> float:
    """Mean weight of the edges of the spanning tree with the largest sum.

    Args:
        names: At least two attributes.
        each: Weight of each pair.
    """
    parents = chow_liu(names, lambda one, other: each[one, other], least=-math.inf)
    edges = [(name, above[0]) for name, above in parents.items() if above]
    return sum(each[edge] if edge in each else each[edge[::-1]] for edge in edges) / len(edges)


def _missed(mean: float, strongest: float) -> float:
    """Rows of a pair that a tree does not explain."""
    return max(1.16 * mean - 0.21 * strongest, 0.28 * mean)


def _both(missed: float, noise: float) -> float:
    """Error of a method that misses so much and has so much noise: less than their sum."""
    return float((missed**1.2 + noise**1.2) ** (1 / 1.2))


def _typical(columns: int, cells: float) -> tuple[float, float]:
    """F as a share of rows, and F / T, of typical data: so many columns, and cells of a pair."""
    return 0.08 * cells**0.3 * columns**-0.55, min(0.6, 2 * columns**-0.7)


def _noise(laws: Iterable[tuple[Law, int]]) -> float:
    """Mean over tables of half the sum of the absolute noise, in rows."""
    sums = [math.sqrt(2 / math.pi) / 2 * law.std * cells for law, cells in laws]
    return sum(sums) / len(sums)


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
            2 * _noise(zip(self.independent.tables.laws, shape, strict=True)),
            2 * _noise((self.tree.ones, size) for size in shape),
            _noise(zip(self.pairs.tables.laws, cells, strict=True)),
            sum(cells) / len(cells),
        )

    @property
    def typical(self) -> tuple[float, float]:
        """See `_typical`."""
        return _typical(len(self.pairs.names), self.noise[-1])

    def expected(self, mean: float, strongest: float) -> tuple[float, float, float]:
        """Expected errors of the methods, in rows.

        Args:
            mean: F above.
            strongest: T above.
        """
        singles, of_tree, of_pairs, cells = self.noise
        missed = _missed(mean, strongest)
        return _both(mean, 0.53 * singles), _both(missed, 0.42 * of_tree), 0.54 * cells**-0.2 * of_pairs

    def best(self, mean: float, strongest: float) -> int:
        """Place of the method with the least expected error."""
        return int(np.argmin(self.expected(mean, strongest)))

    def best_typical(self, people: int) -> int:
        """The same for typical data of so many rows."""
        mean, share = self.typical
        return self.best(mean * people, mean * people / share)

    def always_best(self, people: int) -> int | None:
        """Place of the method that is best for all likely dependence of so many rows, if one is."""
        found = {self.best(mean * people, mean * people / self.typical[1]) for mean in _LIKELY}
        return found.pop() if len(found) == 1 else None

    def __getitem__(self, at: int) -> SynthesisPlan:
        return (self.independent, self.tree, self.pairs)[at]


@dataclass(frozen=True, kw_only=True)
class MethodChoicePlan(SynthesisPlan):
    """Methods with their noise fixed, and the measurement of dependence that decides between them.

    Attributes:
        laws: Noise of the number of rows, of F and of T, in steps of the grid.
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
        return people is None or self.laws[1].std / _GRID < _CLOSE * self.methods.typical[0] * people

    @property
    def _pure(self) -> bool:
        return self.rest.currency == "pure"

    def model(self, engine: Engine, source: Source) -> tuple[Model, float, float, tuple[str, ...]]:
        """Measure, choose, run."""
        keys = list(itertools.combinations(self.names, 2))
        exact_tables = engine.tables(Workload.of(*keys), self.unit)
        each = {key: dependence(exact_tables[key].project(key).values) for key in keys}
        rows = max(float(exact_tables[key].values.sum()) for key in keys)
        seen = self._noisy((rows, sum(each.values()) / len(each), mean_of_tree(self.names, each)), source)
        at = self.methods.best(*self._shrunk(*seen))
        model, people, error, notes = self.methods[at].model(engine, source)
        return model, people, error, (f"Chosen after a private measurement of dependence: {WORDS[at]}.", *notes)

    def over(self, domain: Domain) -> Self:
        """Return the same plan for a domain with no more levels, with which all methods are over."""
        methods = (self.methods.independent, self.methods.tree, self.methods.pairs)
        independent, tree, pairs = (each.over(domain) for each in methods)
        over = Candidates(independent=independent, tree=tree, pairs=pairs)  # type: ignore[arg-type]
        return replace(super().over(domain), methods=over)

    def parts(self) -> dict[str, Any]:
        """Own parts of the plain data."""
        amount = sum(event.epsilon if isinstance(event, Pure) else event.rho for event in self.measuring)
        measured = {"epsilon" if self._pure else "rho": float(amount)}
        return super().parts() | {"dependence": measured, "methods": list(WORDS)}

    def _noisy(self, numbers: tuple[float, float, float], source: Source) -> list[float]:
        """The numbers on the grid, with noise."""
        pairs = zip(numbers, self.laws, strict=True)
        return [(round(number * _GRID) + int(law.draw(1, source)[0])) / _GRID for number, law in pairs]

    def _shrunk(self, rows: float, mean: float, strongest: float) -> tuple[float, float]:
        """F and T, shrunk towards typical values of so many rows."""
        errors = [law.std / _GRID for law in self.laws]
        people = self.recipe.people or (rows if rows > _SEEN * errors[0] else TYPICAL_ROWS)
        typical, share = self.methods.typical
        both = [typical * people, mean], [(_MEAN_STD * typical * people) ** 2, errors[1] ** 2]
        found = max(float(weighted_mean(*both)[0]), 0.0)
        tree = found / share
        both = [tree, strongest], [(_TREE_STD * max(tree, 1.0)) ** 2, errors[2] ** 2]
        return found, max(float(weighted_mean(*both)[0]), found)


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
    wanted = _GRID * _ERROR * (people or TYPICAL_ROWS)  # standard deviation of F and T
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
    """Steps of the grid by which rows, F and T move at most, with one for rounding and one for floating point."""
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
