"""The tree against all trees."""

import itertools

import numpy as np
import pytest

from tacita.errors import InvalidInput, UnknownName
from tacita.models import chow_liu, fit_network, mutual_information


def all_trees(names):
    """Every labelled tree, by Pruefer's sequences."""
    d = len(names)
    for sequence in itertools.product(range(d), repeat=d - 2):
        degree = [1 + sequence.count(i) for i in range(d)]
        edges = []
        for at in sequence:
            leaf = degree.index(1)
            edges.append((leaf, at))
            degree[leaf] -= 1
            degree[at] -= 1
        u, v = (i for i in range(d) if degree[i] == 1)
        yield [frozenset((names[a], names[b])) for a, b in [*edges, (u, v)]]


def edges_of(parents):
    return {frozenset((name, parent)) for name, above in parents.items() for parent in above}


def test_the_tree_of_the_survey_is_the_best_of_all(survey):
    names = survey.domain.names
    pairs = {frozenset(p): mutual_information(survey.project(p), p[:1]) for p in itertools.combinations(names, 2)}
    trees = list(all_trees(names))
    assert len(trees) == 6**4
    best = max(trees, key=lambda tree: sum(pairs[edge] for edge in tree))
    found = chow_liu(names, lambda a, b: pairs[frozenset((a, b))])
    assert edges_of(found) == set(best)
    # most of it is in the network; A and S, tied through E, may differ
    assert {frozenset("AE"), frozenset("RT")} <= edges_of(found)


def test_any_root_gives_the_same_distribution(survey):
    names = survey.domain.names
    tables = []
    for root in names:
        parents = chow_liu(names, lambda a, b: mutual_information(survey.project([a, b]), [a]), root=root)
        assert parents[root] == ()
        assert sum(len(above) for above in parents.values()) == 5
        tables.append(fit_network(survey.domain, parents, survey.project).project(names).values)
    for table in tables[1:]:
        np.testing.assert_allclose(table, tables[0], atol=1e-9)


def test_weak_edges_leave_pieces_apart():
    scores = {frozenset("ab"): 0.5, frozenset("cd"): 0.4, frozenset("bc"): 0.01}
    found = chow_liu("abcd", lambda x, y: scores.get(frozenset((x, y)), -np.inf), root="d", least=0.1)
    assert found == {"a": (), "b": ("a",), "c": ("d",), "d": ()}


def test_refusals():
    with pytest.raises(InvalidInput):
        chow_liu([], lambda a, b: 0.0)
    with pytest.raises(InvalidInput):
        chow_liu(["a", "a"], lambda a, b: 0.0)
    with pytest.raises(UnknownName):
        chow_liu(["a"], lambda a, b: 0.0, root="z")
