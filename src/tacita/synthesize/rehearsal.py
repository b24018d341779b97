"""Predict the quality of synthetic rows before any data is read: run the same plan on simulated people.

They come from `plans.rehearsal.simulate_people`. Real data may be correlated differently: the figures show the
effect of noise at this size and budget, and are no promise.

Privacy: reads the schema, the budget and a public number of people; never data.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from tacita.domain import Domain
from tacita.engines.local import LocalEngine
from tacita.noise import SeededSource
from tacita.plans.rehearsal import Trials, check_people, mean_distance, simulate_people
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize.auto import Synthesize
from tacita.tables.cells import Projectable

__all__ = ["Rehearsed", "rehearse"]

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


def rehearse(recipe: Synthesize, domain: Domain, budget: Budget, *, people: int, seed: int = 0) -> Rehearsed:
    """Run the recipe on simulated people, each one row.

    Args:
        recipe: Recipe to run.
        domain: Public description of the data.
        budget: Its cost.
        people: Approximate number of people in the data, as publicly known.
        seed: Of the draw.
    """
    check_people(people)
    used = domain.project(recipe.attributes or domain.countable)  # not whose rows are whose
    plan = recipe.calibrate(used, budget, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    pairs = list(combinations(plan.names, 2))

    def trial(number: int) -> tuple[float, float]:
        engine = LocalEngine(used, simulate_people(used, plan.names, people, np.random.default_rng(number)))
        made = plan.run(engine, SeededSource(number))
        model: Projectable = made.model
        if made.numbers:  # their bins are not those of the schema: rows are counted in the latter
            rows = made.sample(people, np.random.default_rng(number), policy="uniform")
            model = LocalEngine(used.project(plan.names), rows)
        chosen = [pairs[each] for each in np.random.default_rng(number).permutation(len(pairs))[:_MOST_PAIRS]]
        singles = mean_distance(engine, model, [(name,) for name in plan.names])
        return singles, mean_distance(engine, model, chosen) if chosen else singles

    singles, of_pairs = Trials.run(trial, trials=1, seed=seed).means
    return Rehearsed(singles=singles, pairs=of_pairs, people=people)
