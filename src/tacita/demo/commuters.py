"""A benchmark of communities with a known truth: no visit is one of a real person.

    each community    its own random order of all places
    each commuter     a number of visits from Gamma(6, scale 1.2), rounded, at least 1
    each visit        a place by Zipf(theta) over the order of its community: P(rank r) proportional to r^-theta

After the benchmark of [Dandekar 2019, appendix A]: 10 communities of 1,000 commuters, 10,000 places.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.synthesize.mobility.reading import Visits

__all__ = ["THETAS", "Benchmark", "simulate_communities"]

THETAS = (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5)
"""Ten skews, from nearly even visits to a few places that everyone of a community visits."""


class Benchmark(NamedTuple):
    """Visits, the community of each commuter, and the true distribution of places of each community."""

    visits: Visits
    truth: NDArray[np.int64]
    laws: NDArray[np.float64]


def simulate_communities(
    rng: np.random.Generator, *, theta: float = 1.1, communities: int = 10, commuters: int = 1000, places: int = 10_000
) -> Benchmark:
    """Draw visits of commuters of several communities."""
    check.positive(theta, "theta")
    for name, given in (("communities", communities), ("commuters", commuters), ("places", places)):
        check.whole(given, name, least=1)
    truth = np.repeat(np.arange(communities), commuters)
    number = np.maximum(1, np.rint(rng.gamma(6.0, 1.2, truth.size))).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(number)]).astype(np.int64)
    reached = np.cumsum(np.arange(1, places + 1, dtype=np.float64) ** -theta)
    rank = np.searchsorted(reached, rng.random(starts[-1]) * reached[-1], side="right")
    orders = np.stack([rng.permutation(places) for _ in range(communities)])
    place = orders[np.repeat(truth, number), np.minimum(rank, places - 1)]
    visits = Visits(
        starts=starts,
        place=place.astype(np.int64),
        segment=np.zeros(starts[-1], np.int64),
        places=places,
        segments=1,
    )
    laws = np.empty((communities, places))
    np.put_along_axis(laws, orders, np.diff(reached, prepend=0.0)[None] / reached[-1], axis=1)
    return Benchmark(visits, truth, laws)
