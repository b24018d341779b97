"""The adaptive adversary against accounts with a delta: the exact best strategy of small grids, and random strategies.

Figures are deltas, as multiples of the promised one, exact over all answers. The old rule adds up loss distributions as
if all events had been fixed beforehand: the adversary exceeds it, so it is able to win.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from bench.rows import Row
from tacita.privacy.accountant import epsilon_at
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import DiscreteGaussianNoise, DiscreteLaplaceNoise, Event, Pure, Repeated
from tacita.privacy.filter import filter_cost
from tacita.privacy.unit import Neighbours
from tacita.testing.adversary import Counts, best_strategy, composed_delta, lattice_event, random_strategy

ADD = Neighbours.ADD_REMOVE
STEP = Fraction(1, 10)
SMALL, LAPLACE = Pure(epsilon=STEP), DiscreteLaplaceNoise(scale=Fraction(5), sensitivity=2)
GAUSSIAN = DiscreteGaussianNoise(sigma2=Fraction(5))
GRIDS: list[tuple[tuple[Event, ...], float, float]] = [
    ((SMALL, LAPLACE, GAUSSIAN), 1.0, 1e-2),
    ((SMALL, LAPLACE, GAUSSIAN), 2.0, 1e-2),
    ((SMALL, Pure(epsilon=Fraction(1, 2)), GAUSSIAN), 2.0, 1e-3),
    ((SMALL, Pure(epsilon=Fraction(2)), GAUSSIAN), 3.0, 1e-2),
]


def run(*, quick: bool) -> list[Row]:
    rows = [row for grid in GRIDS for row in _grid(*grid, strategies=250 if quick else 25_000)]
    budget = Budget.approx(5.3, 1e-6)
    one_by_one = float(filter_cost([(SMALL, 100)], budget, ADD))
    plan = epsilon_at(Repeated(event=SMALL, count=100), 1e-6, ADD)
    note = "account of epsilon 5.3; the peer is one plan of fixed events, by its loss distribution"
    bar = "100 counts of epsilon 0.1 at delta 1e-6, asked one by one"
    return [*rows, Row(bar=bar, ours=one_by_one, peer=plan, peer_name="one plan", unit="epsilon", note=note)]


def _grid(events: tuple[Event, ...], epsilon: float, delta: float, strategies: int) -> list[Row]:
    laws, budget = [lattice_event(event, STEP) for event in events], Budget.approx(epsilon, delta)

    @cache
    def filtered(counts: Counts) -> bool:
        return filter_cost(zip(events, counts, strict=True), budget, ADD) <= exact(epsilon)

    @cache
    def composed(counts: Counts) -> bool:
        return composed_delta(laws, counts, STEP, epsilon) <= delta

    ours, old = (best_strategy(laws, rule, STEP, epsilon, 200) / delta for rule in (filtered, composed))
    rng = np.random.default_rng(14)
    tried = max(random_strategy(laws, filtered, STEP, epsilon, rng, 6) for _ in range(strategies)) / delta
    name = f"({epsilon:g}, {delta:g}), {', '.join(event.kind for event in events)}"
    return [
        Row(
            bar=f"best of all strategies, {name}", ours=ours, unit="of delta", goal="<= 1", note=f"old rule: {old:.3f}"
        ),
        Row(bar=f"old rule, best of all strategies, {name}", ours=old, unit="of delta", goal="> 1"),
        Row(bar=f"worst of {strategies} random strategies, {name}", ours=tried, unit="of delta", goal="<= 1"),
    ]
