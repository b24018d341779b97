"""Predict the quality of synthetic rows before any data is read: run the same plan on simulated people.

They are drawn from three hidden groups with different distributions, so that all attributes are slightly correlated.
Real data may be correlated differently: the figures show the effect of noise at this size and budget, and are no
promise.

Privacy: reads the schema, the budget and a public number of people; never data.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.domain import Domain, decode
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.auto import Synthesize

__all__ = ["Rehearsed", "rehearse", "simulate_people"]

_GROUPS = 3
_MOST_PAIRS = 40


@dataclass(frozen=True, kw_only=True)
class Rehearsed:
    """Mean total variation between the simulated people and the synthetic rows.

    Attributes:
        singles: Over tables of one attribute.
        pairs: Over tables of two.
        people: Number of simulated people.
    """

    singles: float
    pairs: float
    people: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def simulate_people(domain: Domain, names: tuple[str, ...], people: int, rng: np.random.Generator) -> pa.Table:
    """Simulate people who fit the schema."""
    group = rng.integers(0, _GROUPS, people)
    columns = {}
    for name in names:
        habits = rng.dirichlet(np.full(domain[name].size, 0.7), _GROUPS).cumsum(axis=1)
        drawn = (rng.random(people)[:, None] > habits[group]).sum(axis=1)
        codes = np.minimum(drawn, domain[name].size - 1)
        columns[name] = decode(domain[name], codes, "uniform", rng.random(people))
    return pa.table(columns)


def rehearse(recipe: Synthesize, domain: Domain, budget: Budget, *, people: int, seed: int = 0) -> Rehearsed:
    """Run the recipe on simulated people, each one row.

    Args:
        recipe: Recipe to run.
        domain: Public description of the data.
        budget: Its cost.
        people: Approximate number of people in the data, as publicly known.
        seed: Of the draw.
    """
    if people < 2:
        raise InvalidInput("must be at least 2", field="people", value=people)
    used = domain.project(recipe.attributes or domain.countable)  # not whose rows are whose
    plan = recipe.calibrate(used, budget, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    engine = LocalEngine(used, simulate_people(used, plan.names, people, np.random.default_rng(seed)))
    model = plan.run(engine, SeededSource(seed)).model
    pairs = list(combinations(plan.names, 2))
    rng = np.random.default_rng(seed)
    chosen = [pairs[place] for place in rng.permutation(len(pairs))[:_MOST_PAIRS]]

    def gap(key: tuple[str, ...]) -> float:
        counts = engine.project(key).values.astype(np.float64).ravel()
        shares = model.project(key).values.ravel()
        return float(np.abs(counts / max(counts.sum(), 1.0) - shares / shares.sum()).sum() / 2)

    singles = float(np.mean([gap((name,)) for name in plan.names]))
    return Rehearsed(singles=singles, pairs=float(np.mean([gap(key) for key in chosen] or [singles])), people=people)
