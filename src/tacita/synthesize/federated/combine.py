"""Combine the private answers of holders: sum noisy tables, count votes for a pair, blend models.

Privacy: post-processing of what holders released.   Claim: docs/claims/federated.md
Utility: a sum over M holders carries the noise of all of them. Negative cells are repaired once, after the sum: to
repair them at each holder would add a bias for each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tacita.domain import Domain
from tacita.models.blend import Blend
from tacita.models.greedy import greedy_parents
from tacita.models.information import bias_bits, mutual_information, noise_bits
from tacita.models.network import BayesianNetwork
from tacita.synthesize.estimate import shares_of
from tacita.synthesize.federated.exchange import Measured
from tacita.synthesize.federated.schedule import MOST_CELLS, Schedule
from tacita.synthesize.federated.steps import Pair
from tacita.synthesize.noisy_network import network_of
from tacita.synthesize.plan import Key
from tacita.synthesize.result import Synthesized
from tacita.tables.cells import Cells
from tacita.tables.release import Provenance, Release, Releases
from tacita.tables.uncertainty import AdditiveNoise

__all__ = ["blend_models", "most_voted", "network_from_tables", "sum_answers"]


def sum_answers(answers: Sequence[Measured], schedule: Schedule) -> Releases:
    """The tables of all holders together: integers, with the noise of each."""
    first, terms = answers[0], schedule.terms
    noise = AdditiveNoise(law=first.law, terms=len(answers))
    recipe = Provenance(recipe=terms.as_dict(), simulated=any(answer.simulated for answer in answers))

    def release(at: int, key: Key) -> Release:
        domain = schedule.domain.project(key)
        total = np.sum([answer.cells[at] for answer in answers], axis=0)
        return Release(
            estimate=Cells(domain, total.reshape(domain.shape)),
            quantity="count",
            uncertainty=noise,
            event=schedule.event_of_all(len(terms.holders)),
            unit=terms.unit,
            neighbours=terms.neighbours,
            trust="central",
            provenance=recipe,
        )

    return Releases(release(at, key) for at, key in enumerate(first.keys))


def most_voted(votes: Sequence[Pair], candidates: Sequence[Pair]) -> Pair:
    """The pair with most votes. Of several, the one whose edges other votes agree with most; then the first."""

    def support(pair: Pair) -> tuple[int, int, int]:
        child, above = pair
        edges = sum(len(set(above) & set(other)) for name, other in votes if name == child)
        return votes.count(pair), edges, -candidates.index(pair)

    return max(set(votes), key=support)


def network_from_tables(
    domain: Domain, tables: Releases, *, degree: int, people: float, theta: float
) -> BayesianNetwork:
    """Fit a network to noisy tables over all sets of degree + 1 attributes.

    Greedy: for each attribute, choose the parents with the highest mutual information, in bits, less the bits expected
    from noise alone and from sampling that many rows. Both sides of a score come from the same table, so only this
    correction can make it negative. A table may have at most so many cells that a mean cell is theta standard errors,
    as in voting on the structure.
    """
    scale = max(people, 1.0)
    noise = max(float(np.mean(release.std())) for release in tables.values())
    most = max(1, int(min(scale / (theta * noise), MOST_CELLS)))

    def bits(child: str, above: Key) -> float:
        joint = tables.project((*above, child))
        shares = shares_of(joint)
        counts = Cells(shares.domain, shares.values * scale)
        feigned = noise_bits(counts, above, joint.uncertainty)
        by_chance = bias_bits(domain[child].size, domain.project(above).size, scale)
        return mutual_information(shares, above) - feigned - by_chance

    parents = greedy_parents(domain, bits, degree=degree, most_cells=most)
    families = [(*above, child) for child, above in parents.items()]
    known = {frozenset(key) for key in tables}
    smaller = [tables.project(key) for key in families if frozenset(key) not in known]
    return network_of(domain, parents, [*tables.values(), *smaller])


def blend_models(models: Sequence[Synthesized], most: int | None = None) -> tuple[Blend, float, float]:
    """The models in proportion to how many rows each holder has, as it released; the total, and its standard error.

    Args:
        models: One of each holder.
        most: The public number of rows at all holders together, where there is one: no holder weighs more than that.
    """
    top = math.inf if most is None else float(most)
    sizes = [min(max(0.0, float(model.people)), top) for model in models]
    total = sum(sizes)
    weights = [size / total for size in sizes] if total > 0 else [1 / len(models)] * len(models)
    networks = tuple(model.model for model in models if isinstance(model.model, BayesianNetwork))
    error = math.sqrt(sum(float(model.people_std) ** 2 for model in models))
    people = sum(min(float(model.people), top) for model in models)
    return Blend(models=networks, weights=tuple(weights)), people, error
