"""Figures behind automatic choices that follow from public numbers, and error rates of comparisons (docs/choosing.md).

Noise of both families and variances of frequency oracles are computed by the plans themselves, not simulated. Rates of
false findings are simulated: comparisons of equal releases, looked at as `tacita compare` does.
"""

from __future__ import annotations

from itertools import combinations, islice

import numpy as np

from bench.rows import Row
from tacita.assess.compare.trials import PairedTrials, look_sizes
from tacita.collect.channels.oracles import choose_oracle, oracle_candidates
from tacita.domain import Categorical, Domain
from tacita.plans import NoisyTables
from tacita.plans.additive import Family
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.workload import Workload

MOST = 24
PEOPLE = 10_000


def run(*, quick: bool) -> list[Row]:
    return [*_noise(), *_oracles(), *_comparisons(200 if quick else 2000)]


def _noise() -> list[Row]:
    """Standard deviation of a cell's noise, by family and number of tables."""
    domain = Domain(attributes=[Categorical(name=f"a{i}", levels=("x", "y", "z")) for i in range(15)])
    rows = []
    for delta in (1e-9, 1e-6):
        for tables in (1, 3, 10, 30, 100):
            keys = [list(pair) for pair in islice(combinations(domain.names, 2), tables)]
            budget = Budget.approx(1.0, delta)

            def std(family: Family, keys: list[list[str]] = keys, budget: Budget = budget) -> float:
                recipe = NoisyTables(Workload.of(*keys), family=family)
                plan = recipe.calibrate(domain, budget, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
                return float(plan.as_dict()["noise"][0]["std"])

            ours, best = std("auto"), min(std("laplace"), std("gaussian"))
            note = f"Laplace {std('laplace'):.1f}, Gaussian {std('gaussian'):.1f}"
            bar = f"noise of {tables} tables, epsilon 1, delta {delta:g}"
            rows.append(Row(bar=bar, ours=ours, unit="std of a cell", goal=f"<= {best * 1.001:.4f}", note=note))
    return rows


def _oracles() -> list[Row]:
    """Predicted standard error of a share with 10,000 respondents, by frequency oracle."""
    rows = []
    for epsilon in (1.0, 2.0, 4.0):
        for levels in (2, 4, 16, 64, 1024):
            choice = choose_oracle(levels, epsilon, PEOPLE)
            found = oracle_candidates(levels, epsilon, PEOPLE)
            note = choice.best.name + " of " + ", ".join(f"{each.name} {each.variance**0.5:.4f}" for each in found)
            bar = f"oracle for {levels} levels at epsilon {epsilon:g}"
            least = found[0].variance ** 0.5
            goal = f"<= {least * 1.016:.5f}"  # 3 % of the variance may be given up for a shorter report
            rows.append(Row(bar=bar, ours=choice.best.variance**0.5, unit="standard error", goal=goal, note=note))
    return rows


def _comparisons(runs: int) -> list[Row]:
    """Rate at which equal releases are distinguished at any look."""
    rng = np.random.default_rng(11)
    rows = []
    for releases in (2, 4, 8):
        wrong = sum(_distinguished(rng.normal(0.8, 0.01, (MOST, releases))) for _ in range(runs))
        bar = f"{releases} equal releases, any two distinguished"
        rows.append(Row(bar=bar, ours=wrong / runs, unit="of comparisons", goal="<= 0.05", note=f"{runs} comparisons"))
    return rows


def _distinguished(kept: np.ndarray) -> bool:
    names = [f"{place}" for place in range(kept.shape[1])]
    for size in look_sizes(MOST):
        figures = {name: np.stack([kept[:size, i]] * 2, axis=1) for i, name in enumerate(names)}
        paired = PairedTrials(figures=figures, releases=len(names), most=MOST)
        gaps = [paired.difference(one, other, "kept") for one, other in combinations(names, 2)]
        if any(gap.low > 0 or gap.high < 0 for gap in gaps):
            return True
    return False
