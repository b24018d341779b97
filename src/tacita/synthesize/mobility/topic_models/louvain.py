"""Communities of the commuter graph by greedy modularity, the baseline of topic models.  [Blondel et al. 2008]

    graph     vertices are cards; an edge weighs the visits that two cards share: sum over places of the smaller of
              the two numbers of visits. No loops.
    Louvain   move vertices to the neighbouring community with the largest gain of modularity until none gains; join
              each community to one vertex; repeat.

A place with v visitors adds v (v - 1) / 2 pairs, which is inherent: graphs of too many pairs are refused before they
are built. Only pairs that share a place are ever stored.

Privacy: none; the graph and its communities are functions of exact records.
Cost:    O(sum over places of visitors^2) to build, about O(edges) for each pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacita import check
from tacita.common.compiled import compiled
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import Visits

__all__ = ["MOST_PAIRS", "commuter_graph", "louvain", "modularity", "shared_pairs"]

MOST_PAIRS = 60_000_000
"""Pairs of visitors of the same place, over all places, that are joined at most: about 1.5 GB."""
_LEAST_GAIN = 1e-9


def _counts(visits: Visits) -> sparse.csr_array:
    """Number of visits of each card to each place."""
    ones = np.ones(len(visits.place), np.int32)
    shape = (visits.cards, visits.places)
    found = sparse.coo_array((ones, (visits.card, visits.place)), shape=shape).tocsr()
    found.sum_duplicates()
    return found


def shared_pairs(visits: Visits) -> int:
    """Count the pairs of cards that share a place, over all places: the work of building the graph."""
    visitors = np.bincount(_counts(visits).indices, minlength=visits.places).astype(np.int64)
    return int((visitors * (visitors - 1) // 2).sum())


def commuter_graph(visits: Visits, *, most: int = MOST_PAIRS) -> sparse.csr_array:
    """Return the symmetric matrix of shared visits.

    Args:
        visits: Taps of cards; their times do not count.
        most: Pairs of visitors that are joined at most.
    """
    check.whole(most, "most", least=1)
    pairs = shared_pairs(visits)
    if pairs > most:
        raise InvalidInput(
            f"the graph would join {pairs} pairs of cards, and at most {most} are allowed",
            field="visits",
            value=visits.cards,
            hint="Take a sample of the cards, or leave out the places that nearly all cards visit",
        )
    counts, graph = _counts(visits), sparse.csr_array((visits.cards, visits.cards), dtype=np.int32)
    # min(a, b) is the number of t >= 1 with a >= t and b >= t
    for least in range(1, int(counts.data.max(initial=0)) + 1):
        layer = sparse.csr_array(counts >= least).astype(np.int32)
        if not layer.nnz:
            break
        graph = graph + layer @ layer.T
    graph.setdiag(0)
    graph.eliminate_zeros()
    return sparse.csr_array(graph)


def modularity(graph: sparse.csr_array, labels: NDArray[np.int64], *, resolution: float = 1.0) -> float:
    """Return sum over communities of (inner weight / 2m - resolution (degree / 2m)^2)."""
    total = float(graph.sum())
    if total == 0:
        return 0.0
    edges = graph.tocoo()
    inner = float(edges.data[labels[edges.coords[0]] == labels[edges.coords[1]]].sum())
    degrees = np.bincount(labels, np.asarray(graph.sum(axis=1)).ravel())
    return inner / total - resolution * float(((degrees / total) ** 2).sum())


def louvain(graph: sparse.csr_array, rng: np.random.Generator, *, resolution: float = 1.0) -> NDArray[np.int64]:
    """Return the community of each vertex, numbered by falling size.

    Args:
        graph: Symmetric, non-negative weights.
        rng: Order in which vertices are moved.
        resolution: Larger values give more and smaller communities.
    """
    check.positive(resolution, "resolution")
    current = sparse.csr_array(graph).astype(np.float64)
    labels = np.arange(current.shape[0], dtype=np.int64)
    total = float(current.sum())
    while total > 0:
        size = current.shape[0]
        found = np.arange(size, dtype=np.int64)
        degrees = np.asarray(current.sum(axis=1)).ravel()
        order = rng.permutation(size)
        moved = _move(
            current.indptr.astype(np.int64),
            current.indices.astype(np.int64),
            current.data,
            degrees,
            order,
            found,
            resolution / total,
            _LEAST_GAIN,
        )
        if not moved:
            break
        distinct, found = np.unique(found, return_inverse=True)
        labels = found[labels]
        joined = sparse.csr_array((np.ones(size), (np.arange(size), found)), shape=(size, len(distinct)))
        current = sparse.csr_array(joined.T @ current @ joined)
    _, labels, counts = np.unique(labels, return_inverse=True, return_counts=True)
    ranks = np.empty(len(counts), np.int64)
    ranks[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return ranks[labels]


@compiled
def _move(
    starts: Any, others: Any, weights: Any, degrees: Any, order: Any, labels: Any, rate: float, least: float
) -> bool:
    """Move vertices while that gains modularity; return whether any moved."""
    size = starts.size - 1
    held, linked = degrees.copy(), np.zeros(size)
    near, any_moved = np.empty(size, np.int64), False
    while True:
        moves = 0
        for place in range(size):
            i = order[place]
            home, count = labels[i], 0
            for at in range(starts[i], starts[i + 1]):
                if others[at] != i:
                    c = labels[others[at]]
                    if linked[c] == 0.0:
                        near[count] = c
                        count += 1
                    linked[c] += weights[at]
            held[home] -= degrees[i]
            best, gain = home, linked[home] - held[home] * degrees[i] * rate
            for at in range(count):
                c = near[at]
                value = linked[c] - held[c] * degrees[i] * rate
                if value > gain + least:
                    best, gain = c, value
            for at in range(count):
                linked[near[at]] = 0.0
            held[best] += degrees[i]
            if best != home:
                labels[i] = best
                moves += 1
        if moves == 0:
            return any_moved
        any_moved = True
