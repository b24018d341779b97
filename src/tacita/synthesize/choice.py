"""Choose between single attributes, a tree of pairs, and all pairs: by expected error, see `expected`.

Where it is expected to save more than it costs, dependence is measured to decide: F and H of `expected`, and the number
of rows where that is not public. The measurement takes a 50th or a 25th of the budget, whichever is expected to save
more.

Privacy:  one more or one fewer row moves D and E of a pair by at most 2, so F and H too. The numbers are rounded to a
          grid, and Laplace noise, or Gaussian noise for rho, covers a step more for rounding and one for floating
          point. Measurement and method add up; every method costs at most what is left. Whether to measure follows from
          public facts.   Claim: docs/claims/marginal-synthesis.md
Utility:  figures in docs/choosing.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import fmean, geometric_mean
from typing import Any, Self

from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.models.pairs.dependence import MOVES, TYPICAL_ROWS, dependence, mean_of_rest, unexplained
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Law, Source
from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Event, Pure, Zcdp
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.expected import ExpectedErrors, Likely, Seen
from tacita.synthesize.marginals import Independent, Pairs, PairsPlan
from tacita.synthesize.plan import Key, Outcome, SynthesisPlan
from tacita.synthesize.select import ChosenPlan, SpanningTree
from tacita.tables.workload import Workload

__all__ = ["WORDS", "Candidates", "MethodChoicePlan", "measure_dependence", "plan_choice"]

_SHARES = (Fraction(1, 50), Fraction(1, 25))  # of the budget, for the measurement
_SEEN = 6  # standard errors of a number of rows, below which it is not taken
_POINTS = 9  # of what is likely, squared, to value a measurement
_GRID = 16  # steps of a row
WORDS = ("single attributes, taken as independent", "a tree of pairs", "all pairs")


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
    def errors(self) -> ExpectedErrors:
        """Noise of the three, from which their errors are expected."""
        shape = self.pairs.domain.project(self.pairs.names).shape
        cells = [one * other for one, other in itertools.combinations(shape, 2)]
        return ExpectedErrors(
            singles=2 * fmean(_noise(law, size) for law, size in zip(self.independent.tables.laws, shape, strict=True)),
            tree=2 * fmean(_noise(self.tree.ones, size) for size in shape),
            pairs=geometric_mean(_noise(law, size) for law, size in zip(self.pairs.tables.laws, cells, strict=True)),
            cells=geometric_mean(cells),
            columns=len(shape),
        )

    def best(self, people: int) -> int:
        """Index of the best one for a table of so many rows, if nothing is measured."""
        return Likely.of(self.errors, people).best(self.errors)

    def __getitem__(self, at: int) -> SynthesisPlan:
        return (self.independent, self.tree, self.pairs)[at]


@dataclass(frozen=True, kw_only=True)
class MethodChoicePlan(SynthesisPlan):
    """Methods with their noise fixed, and the measurement of dependence that decides between them.

    Attributes:
        laws: Noise of F, of H, and of the number of rows where that is not public; in steps of the grid.
        rest: Epsilon or rho of each method.
        methods: Of which one runs.
    """

    laws: tuple[Law, ...]
    rest: Budget
    methods: Candidates

    @property
    def event(self) -> Event:
        """The noise of the numbers, as it is drawn; then a method that costs at most the rest."""
        left = exact(self.rest.amount)
        return in_sequence(*self.measuring, Pure(epsilon=left) if self._pure else Zcdp(rho=left))

    @property
    def measuring(self) -> tuple[Pure | Zcdp, ...]:
        """Cost of each of the numbers."""
        steps = _steps(BudgetSplit.of(self.budget, self.unit, self.neighbours))
        return tuple(_cost(law, most) for most, law in zip(steps, self.laws, strict=False))

    @property
    def _pure(self) -> bool:
        return self.rest.currency == "pure"

    def model(self, engine: Engine, source: Source) -> Outcome:
        """Measure, choose, run."""
        keys = list(itertools.combinations(self.names, 2))
        exact_tables = engine.tables(Workload.of(*keys), self.unit)
        counts = {key: exact_tables[key].project(key).values for key in keys}
        at = self.choose(measure_dependence(self.names, counts), source)
        found = self.methods[at].model(engine, source)
        chosen = f"Chosen after a private measurement of dependence: {WORDS[at]}."
        return found._replace(notes=(chosen, *found.notes))

    def choose(self, numbers: tuple[float, float, float], source: Source) -> int:
        """Index of the method that is best given the numbers, which get noise first.

        Args:
            numbers: F, H and the number of rows, exact.
            source: Randomness.
        """
        pairs = zip(numbers, self.laws, strict=False)
        noisy = [(round(number * _GRID) + int(law.draw(1, source)[0])) / _GRID for number, law in pairs]
        people = self.recipe.people or TYPICAL_ROWS
        if len(noisy) > 2 and noisy[2] > _SEEN * self.laws[2].std / _GRID:
            people = noisy[2]
        seen = [Seen(value=value, law=law, grid=_GRID) for value, law in zip(noisy[:2], self.laws[:2], strict=True)]
        return Likely.of(self.methods.errors, people).best(self.methods.errors, seen)

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


def measure_dependence(names: Key, counts: Mapping[tuple[str, str], NDArray[Any]]) -> tuple[float, float, float]:
    """F, H and the number of rows of exact counts of all pairs: not to be released without noise."""
    mean = sum(dependence(table) for table in counts.values()) / len(counts)
    return mean, mean_of_rest(names, unexplained(names, counts)), max(float(table.sum()) for table in counts.values())


def plan_choice(recipe: Any, methods: Candidates, all_pairs: Pairs) -> MethodChoicePlan | None:
    """Fix a measurement and the noise of all methods so that together they cost at most the budget; reads no data.

    Args:
        recipe: What was asked for.
        methods: Calibrated for the whole budget.
        all_pairs: The recipe for all pairs.

    Returns:
        None if no measurement is expected to save more than it costs.
    """
    whole = methods.pairs
    domain, budget, unit, neighbours, names = whole.domain, whole.budget, whole.unit, whole.neighbours, whole.names
    split = BudgetSplit.of(budget, unit, neighbours)
    likely = Likely.of(methods.errors, recipe.people or TYPICAL_ROWS, points=_POINTS)
    parts = (Fraction(1, 2),) * 2 if recipe.people else (Fraction(2, 5), Fraction(2, 5), Fraction(1, 5))
    laws: tuple[Law, ...] = ()
    saved, share = 0.0, Fraction(0)
    for each in _SHARES:
        amounts = [part * each * split.amount for part in parts]
        some = tuple(_law(split, *pair) for pair in zip(_steps(split), amounts, strict=False))
        factor = float(1 - each) ** (-0.5 if split.concentrated else -1)
        found = likely.saved(methods.errors, some[:2], _GRID, factor)
        if found > saved:
            saved, laws, share = found, some, each
    if not laws:
        return None
    amount = _float_at_most((1 - share) * split.amount)
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


def _steps(split: BudgetSplit) -> tuple[int, int, int]:
    """Steps of the grid by which F, H and rows move at most, with one for rounding and one for floating point."""
    return _GRID * MOVES * split.moves + 2, _GRID * MOVES * split.moves + 2, _GRID * split.moves + 2


def _law(split: BudgetSplit, most: int, amount: Fraction) -> Law:
    """Noise for a number that moves by so many steps, for a part of the budget."""
    if split.concentrated:
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
