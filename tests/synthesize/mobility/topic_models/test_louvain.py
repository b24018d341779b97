"""Louvain on the commuter graph: the graph by brute force, modularity beside networkx."""

import numpy as np
import pytest
from scipy import sparse

from tacita.demo.commuters import simulate_communities
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.reading import Visits
from tacita.synthesize.mobility.topic_models.louvain import commuter_graph, louvain, modularity, shared_pairs


@pytest.fixture(scope="module")
def planted():
    return simulate_communities(np.random.default_rng(0), theta=1.2, communities=4, commuters=60, places=300)


def test_edges_weigh_shared_visits(planted):
    visits = planted[0].only(np.arange(0, 240, 6))
    graph = commuter_graph(visits).toarray()
    bags = [np.bincount(visits.place[visits.card == card], minlength=300) for card in range(visits.cards)]
    for a in range(visits.cards):
        for b in range(visits.cards):
            assert graph[a, b] == (0 if a == b else np.minimum(bags[a], bags[b]).sum())
    pairs = sum(
        sum(bag[place] > 0 for bag in bags) * (sum(bag[place] > 0 for bag in bags) - 1) // 2 for place in range(300)
    )
    assert shared_pairs(visits) == pairs


def test_a_graph_that_is_too_large_is_refused_before_it_is_built(planted):
    with pytest.raises(InvalidInput, match="pairs"):
        commuter_graph(planted[0], most=10)


def test_as_good_as_networkx(planted):
    """The same modularity, and partitions as good as theirs over several orders."""
    networkx = pytest.importorskip("networkx")
    graph = commuter_graph(planted[0])
    theirs = networkx.from_scipy_sparse_array(graph)
    best = max(
        networkx.community.modularity(theirs, networkx.community.louvain_communities(theirs, seed=seed))
        for seed in range(4)
    )
    found = [louvain(graph, np.random.default_rng(seed)) for seed in range(4)]
    assert max(modularity(graph, labels) for labels in found) > best - 0.01
    groups = [set(np.flatnonzero(found[0] == label).tolist()) for label in range(found[0].max() + 1)]
    assert modularity(graph, found[0]) == pytest.approx(networkx.community.modularity(theirs, groups), abs=1e-9)


def test_no_single_move_improves_the_result(planted):
    graph = commuter_graph(planted[0])
    labels = louvain(graph, np.random.default_rng(0))
    value = modularity(graph, labels)
    for vertex in range(0, 240, 9):
        for label in range(labels.max() + 1):
            moved = labels.copy()
            moved[vertex] = label
            assert modularity(graph, moved) <= value + 1e-9


def test_cliques_are_found_and_numbered_by_size():
    blocks = sparse.block_diag([np.ones((n, n)) - np.eye(n) for n in (3, 6, 4)], format="csr")
    labels = louvain(sparse.csr_array(blocks), np.random.default_rng(0))
    assert labels.tolist() == [2] * 3 + [0] * 6 + [1] * 4


def test_no_edges_at_all():
    none = sparse.csr_array((3, 3))
    assert sorted(louvain(none, np.random.default_rng(0)).tolist()) == [0, 1, 2]
    assert modularity(none, np.zeros(3, int)) == 0.0
    alone = Visits(starts=np.array([0, 1]), place=np.array([0]), segment=np.array([0]), places=1, segments=1)
    assert commuter_graph(alone).nnz == 0
