"""GreedyBayes: each step against all candidates, trees against the best tree."""

import itertools

import numpy as np
import pytest

from tacita.errors import InvalidInput, UnknownName
from tacita.models import chow_liu, entropy, fit_network, greedy_parents, mutual_information, useful_cells
from tacita.tables.cells import Cells


def scorer(survey):
    return lambda child, parents: mutual_information(survey.project((*parents, child)), [child])


def distance(survey, network):
    """Relative entropy from the survey to another network over the same attributes, in bits."""
    names = survey.domain.names
    joint, other = survey.project(names).values, network.project(names).values
    return float((joint * np.log2(joint / other)).sum())


def test_one_parent_gives_the_best_tree(survey):
    score, names = scorer(survey), survey.domain.names
    tree = chow_liu(names, lambda a, b: score(a, (b,)))
    wanted = {frozenset((child, above[0])) for child, above in tree.items() if above}
    for root in names:
        found = greedy_parents(survey.domain, score, degree=1, root=root)
        assert {frozenset((child, above[0])) for child, above in found.items() if above} == wanted


@pytest.mark.parametrize("degree", [2, 3])
def test_each_step_is_the_best_of_all_candidates(survey, degree):
    score, names = scorer(survey), survey.domain.names
    found = greedy_parents(survey.domain, score, degree=degree, root="S")
    assert max(len(above) for above in found.values()) == degree
    placed = ["S"]
    while len(placed) < len(names):
        size = min(degree, len(placed))
        candidates = [
            (score(child, above), child)
            for child in names
            if child not in placed
            for above in itertools.combinations(sorted(placed, key=names.index), size)
        ]
        best, child = max(candidates)
        assert score(child, found[child]) == pytest.approx(best, abs=1e-10)
        placed.append(child)


def test_where_every_parent_tells_something_sets_are_as_large_as_may_be(survey):
    noise = np.random.default_rng(0).dirichlet(np.ones(survey.domain.size)).reshape(survey.domain.shape)
    joint = Cells(survey.domain, noise)
    for degree in (2, 3):
        found = greedy_parents(
            survey.domain, lambda c, p: mutual_information(joint.project((*p, c)), [c]), degree=degree
        )
        assert sorted(map(len, found.values())) == sorted(min(degree, i) for i in range(6))


def test_more_parents_come_nearer_and_as_near_as_the_formula_says(survey):
    score, names = scorer(survey), survey.domain.names
    gaps = []
    for degree in (1, 2, 3):
        parents = greedy_parents(survey.domain, score, degree=degree, root="E")
        network = fit_network(survey.domain, parents, survey.project)
        told = sum(score(child, above) for child, above in parents.items() if above)
        formula = sum(entropy(survey.project([n])) for n in names) - entropy(survey.project(names)) - told
        gaps.append(distance(survey, network))
        assert gaps[-1] == pytest.approx(formula, abs=1e-9)
    assert gaps == sorted(gaps, reverse=True)


def test_a_cap_on_cells_and_a_penalty_keep_sets_small(survey):
    score = scorer(survey)
    capped = greedy_parents(survey.domain, score, degree=3, most_cells=8)
    for child, above in capped.items():
        assert survey.domain.project((*above, child)).size <= 8
    penalised = greedy_parents(survey.domain, lambda c, p: score(c, p) - 0.001 * len(p), degree=3)
    assert sum(map(len, penalised.values())) < sum(map(len, greedy_parents(survey.domain, score, degree=3).values()))
    hopeless = greedy_parents(survey.domain, lambda c, p: -1.0, degree=2)
    assert all(above == () for above in hopeless.values())


def test_usefulness():
    # a cell of K has a standard error of 0.001 whatever K is: 1 / K >= 4 * 0.001
    assert useful_cells(lambda cells: 0.001) == 250
    assert useful_cells(lambda cells: 0.001 * cells) == 15
    assert useful_cells(lambda cells: 10.0) == 1
    assert useful_cells(lambda cells: 0.0, most=64) == 64


def test_refusals(survey):
    with pytest.raises(InvalidInput):
        greedy_parents(survey.domain, scorer(survey), degree=0)
    with pytest.raises(UnknownName):
        greedy_parents(survey.domain, scorer(survey), degree=1, root="z")
