"""Choose between single attributes, a tree of pairs, and all pairs by how dependent the data is; for a pure epsilon.

With a pure epsilon the noise of a table grows with the number of tables, and which method is best depends on the data.
What decides is how dependent a pair is, in rows:

    D = 1/2 sum over cells |n_uv - n_u n_v / n|         F: its mean over all pairs
                                                        T: its mean over the spanning tree with the largest sum

    expected error, in rows                of           noise of a pair, in rows
    F + 0.3 A                              independent  A: two singles
    max(0.77 F - 0.135 T, 0.2 F) + 0.27 B  mst          B: two of its singles
    0.7 c^-0.3 C                           pairs        C: a pair of c cells on average

A cell's noise counts with its mean absolute value. Where all pairs follow from a tree, F is small beside T: the second
line is 1.1 F^2 / T, made linear. The factors were read off five tables (Adult, credit default, Child, Alarm, latent
classes). The method is drawn by the exponential mechanism with minus these as scores.

Privacy:  one more or one fewer row moves D by at most 2: n_uv by 1, and n_u n_v / n by 3 in all, halved. So do F and T,
          and no score moves by more. The choice and what is chosen add up; every method costs at most what is left.
          Claim: docs/claims/marginal-synthesis.md
Utility:  the choice takes a tenth of the budget or less. Its error in rows is about 4 / epsilon of the choice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.base import Engine
from tacita.noise import Law, Source
from tacita.plans.split import BudgetSplit, in_sequence
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Event, Pure
from tacita.privacy.selection import ExponentialMechanism
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.marginals import Independent, Pairs, PairsPlan
from tacita.synthesize.plan import Key, SynthesisPlan
from tacita.synthesize.result import Model
from tacita.synthesize.select import ChosenPlan, SpanningTree
from tacita.tables.workload import Workload

__all__ = ["MOVES", "MethodChoicePlan", "dependence", "mean_of_tree", "plan_choice"]

MOVES = 2
"""Most that one row moves the dependence of a pair."""

_MOST_SHARE = Fraction(1, 10)
_ROWS = Fraction(800)  # epsilon of the choice times rows: an error of half a percent of the rows
_USUAL = 10_000  # rows, where their number is not public
_LIKELY = (0.03, 0.25)  # F as a share of rows: where one method is best for all, none is drawn
_TREE = 0.35  # F / T where the two are not known


def dependence(table: NDArray[Any]) -> float:
    """Rows of a table of counts that independence of its attributes does not explain."""
    total = float(table.sum())
    if total <= 0:
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    return float(np.abs(table - expected).sum()) / 2


def mean_of_tree(attributes: int, each: Sequence[float]) -> float:
    """Mean weight of the edges of the spanning tree with the largest sum.

    Args:
        attributes: Number of attributes.
        each: Weight of each pair, in the order of `itertools.combinations`.
    """
    weights = np.full((attributes, attributes), -np.inf)
    weights[np.triu_indices(attributes, 1)] = each
    weights = np.maximum(weights, weights.T)
    best, total = weights[0].copy(), 0.0  # Prim: the strongest link of each attribute to the tree so far
    best[0] = -np.inf
    for _ in range(attributes - 1):
        at = int(np.argmax(best))
        total += float(best[at])
        joined = best == -np.inf
        best = np.maximum(best, weights[at])
        best[joined] = -np.inf
        best[at] = -np.inf
    return total / (attributes - 1)


def _noise(laws: Iterable[tuple[Law, int]]) -> float:
    """Mean over tables of half the sum of the absolute noise, in rows."""
    sums = [math.sqrt(2 / math.pi) / 2 * law.std * cells for law, cells in laws]
    return sum(sums) / len(sums)


@dataclass(frozen=True, kw_only=True)
class MethodChoicePlan(SynthesisPlan):
    """Methods with their noise fixed, and the choice between them."""

    choice: ExponentialMechanism
    rest: Fraction
    independent: PairsPlan
    tree: ChosenPlan
    pairs: PairsPlan

    @property
    def event(self) -> Event:
        """The choice, then a method that costs at most the rest."""
        return in_sequence(self.choice.event, Pure(epsilon=self.rest))

    def expected(self, mean: float, strongest: float) -> tuple[float, float, float]:
        """Expected errors of the methods, in rows.

        Args:
            mean: F above.
            strongest: T above.
        """
        shape = self.domain.project(self.names).shape
        cells = [one * other for one, other in itertools.combinations(shape, 2)]
        singles = 2 * _noise(zip(self.independent.tables.laws, shape, strict=True))
        of_tree = 2 * _noise((self.tree.ones, size) for size in shape)
        of_pairs = _noise(zip(self.pairs.tables.laws, cells, strict=True))
        blurred = 0.7 * (sum(cells) / len(cells)) ** -0.3
        missed = max(0.77 * mean - 0.135 * strongest, 0.2 * mean)
        return mean + 0.3 * singles, missed + 0.27 * of_tree, blurred * of_pairs

    def decided(self, people: int) -> tuple[Any, str] | None:
        """The recipe that is best for all likely dependence of so many rows, if one is, and its name in words."""
        best = {int(np.argmin(self.expected(mean * people, mean * people / _TREE))) for mean in _LIKELY}
        if len(best) > 1:
            return None
        at = best.pop()
        return (self.independent, self.tree, self.pairs)[at].recipe, _WORDS[at]

    def model(self, engine: Engine, source: Source) -> tuple[Model, float, float, tuple[str, ...]]:
        """Choose, then run what was chosen."""
        keys = list(itertools.combinations(self.names, 2))
        exact_tables = engine.tables(Workload.of(*keys), self.unit)
        each = [dependence(exact_tables[key].project(key).values) for key in keys]
        split = BudgetSplit.of(self.budget, self.unit, self.neighbours)
        scores = [-error for error in self.expected(sum(each) / len(each), mean_of_tree(len(self.names), each))]
        at = self.choice.draw(scores, sensitivity=MOVES * split.moves, source=source)
        plan: SynthesisPlan = (self.independent, self.tree, self.pairs)[at]
        model, people, error, notes = plan.model(engine, source)
        return model, people, error, (f"Chosen by a private look at the data: {_WORDS[at]}.", *notes)


_WORDS = ("single attributes, taken as independent", "a tree of pairs", "all pairs")


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
    """Fix the choice and the noise of all methods so that either costs at most the budget; reads no data.

    Args:
        recipe: What was asked for.
        domain: Public description of the data.
        budget: A pure one.
        unit: Unit that is protected.
        neighbours: Notion of neighbours.
        names: At least two attributes.
        people: Approximate number of rows, where that is public.
        all_pairs: The recipe for all pairs.
    """
    amount = exact(budget.amount)
    choice = ExponentialMechanism.pure(min(_MOST_SHARE * amount, _ROWS / (people or _USUAL)))
    rest = _float_at_most(amount - choice.epsilon)
    left: dict[str, Any] = {"budget": Budget.pure(rest), "unit": unit, "neighbours": neighbours}
    return MethodChoicePlan(
        recipe=recipe,
        domain=domain,
        unit=unit,
        neighbours=neighbours,
        budget=budget,
        names=names,
        reason="The method is chosen by a private look at how dependent pairs are.",
        choice=choice,
        rest=exact(rest),
        independent=Independent(attributes=names).calibrate(domain, **left),
        tree=SpanningTree(attributes=names).calibrate(domain, **left),
        pairs=all_pairs.calibrate(domain, **left),
    )


def _float_at_most(value: Fraction) -> float:
    """The largest float that is written as a decimal of at most this."""
    near = float(value)
    return near if exact(near) <= value else math.nextafter(near, 0.0)
