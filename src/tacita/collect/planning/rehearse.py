"""A rehearsal: run the whole collection on simulated people, to know the error before anyone is asked.

Formulas (`expected`) compare designs well, but say less about the error of one after all tables have been fitted
together. So the chosen design is carried out, through the real channels and the real fit, on a simulated population
with the same attributes (`plans.rehearsal.dependent_population`). Nothing about the real population is used.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from tacita.collect.estimating.publish import model
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.design import CollectionDesign
from tacita.noise import SeededSource
from tacita.plans.rehearsal import Trials, dependent_population, mean_distance
from tacita.tables.workload import Workload

__all__ = ["rehearse"]

MOST_PEOPLE = 300_000


def rehearse(design: CollectionDesign, workload: Workload, *, dependence: float, runs: int = 1) -> float:
    """Mean total variation distance of the workload's tables over some rehearsals of the design."""
    (error,) = Trials.run(partial(_rehearse_once, design, workload, dependence), trials=runs).means
    return float(error)


def _rehearse_once(design: CollectionDesign, workload: Workload, dependence: float, seed: int) -> tuple[float]:
    population = dependent_population(design.domain, workload.attributes, dependence=dependence, seed=seed)
    people = min(design.respondents, MOST_PEOPLE)
    # two streams: were the lot drawn from the numbers that made the people, who is asked would depend on what they are
    for_people, for_lot = np.random.SeedSequence(seed).spawn(2)
    codes = population.sample(people, np.random.default_rng(for_people))
    lot = int(for_lot.generate_state(1)[0])
    tally = Tally(design).add(respond(design, codes, SeededSource(seed), seed=lot))
    return (mean_distance(population, model(tally, classes=(1, 2, 3)), workload),)
