"""A rehearsal: run the whole collection on simulated people, to know the error before anyone is asked.

Formulas predict the noise of a raw table well, but not the error after all tables have been fitted together. So the
design is carried out, through the real channels and the real fit, on a simulated population with the same attributes:
a mixture of two classes of people with Zipf margins, which differ just enough that tables lie as far from
independence as the owner expects. Nothing about the real population is used.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tacita.collect.estimating.publish import model
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.design import CollectionDesign
from tacita.domain import Domain
from tacita.models.mixture import Mixture
from tacita.noise import SeededSource
from tacita.tables.workload import Workload

__all__ = ["made_up", "rehearse"]

Array = NDArray[np.float64]

MOST_PEOPLE = 1_000_000


def _tilted(bases: dict[str, Array], tilts: dict[str, Array], domain: Domain, strength: float) -> Mixture:
    tables = {}
    for name, base in bases.items():
        both = np.stack([base * np.exp(sign * strength * tilts[name]) for sign in (1, -1)])
        tables[name] = both / both.sum(axis=1, keepdims=True)
    return Mixture(domain=domain.project(bases), weights=np.array([0.5, 0.5]), tables=tables)


def _dependence(population: Mixture, pairs: list[tuple[str, str]]) -> float:
    """Mean total variation distance between pair tables and the products of their margins."""
    gaps = []
    for pair in pairs:
        table = population.project(pair).values
        gaps.append(0.5 * np.abs(table - np.outer(table.sum(1), table.sum(0))).sum())
    return float(np.mean(gaps))


def made_up(domain: Domain, attributes: tuple[str, ...], *, dependence: float, seed: int) -> Mixture:
    """Simulated population of two classes whose pair tables lie about `dependence` from independence, if they can."""
    rng = np.random.default_rng(seed)
    bases, tilts = {}, {}
    for name in attributes:
        shares = 1 / np.arange(1, domain[name].size + 1)
        bases[name] = rng.permutation(shares / shares.sum())
        tilts[name] = rng.normal(size=domain[name].size)
    pairs = list(itertools.combinations(attributes, 2))
    low, high = 0.0, 8.0
    for _ in range(30 if pairs else 0):
        middle = (low + high) / 2
        below = _dependence(_tilted(bases, tilts, domain, middle), pairs) < dependence
        low, high = (middle, high) if below else (low, middle)
    return _tilted(bases, tilts, domain, low)


def rehearse(design: CollectionDesign, workload: Workload, *, dependence: float, runs: int = 3) -> float:
    """Mean total variation distance of the workload's tables over some rehearsals of the design."""
    return float(np.mean([_once(design, workload, dependence, seed) for seed in range(runs)]))


def _once(design: CollectionDesign, workload: Workload, dependence: float, seed: int) -> float:
    population = made_up(design.domain, workload.attributes, dependence=dependence, seed=seed)
    people = min(design.respondents, MOST_PEOPLE)
    # two streams: were the lot drawn from the numbers that made the people, who is asked would depend on what they are
    for_people, for_lot = np.random.SeedSequence(seed).spawn(2)
    codes = population.sample(people, np.random.default_rng(for_people))
    lot = int(for_lot.generate_state(1)[0])
    tally = Tally(design).add(respond(design, codes, SeededSource(seed), seed=lot))
    found = model(tally, classes=(1, 2, 3))
    errors = [0.5 * np.abs(found.project(k).values - population.project(k).values).sum() for k in workload]
    return float(np.mean(errors))
