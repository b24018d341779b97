"""Blankets and skeletons with tests that are always right, and restricted maximisation on drawn rows."""

import itertools

import numpy as np
import pytest
from tests.models.continuous.random_gaussian import random_gaussian

from tacita.errors import InvalidInput
from tacita.models.continuous import GaussianBIC, Moments
from tacita.models.restricted import markov_blankets, restricted_maximum, skeleton


def always_right(network):
    """1 where the partial correlation of the population is 0, otherwise 0."""
    moments = Moments(names=network.names, count=100.0, mean=network.mean, covariance=network.covariance)
    return lambda one, other, given: float(abs(moments.partial_correlation(one, other, given)) < 1e-9)


def blanket(network, name):
    children = {child for child, above in network.parents.items() if name in above}
    spouses = {above for child in children for above in network.parents[child]}
    return (set(network.parents[name]) | children | spouses) - {name}


@pytest.mark.parametrize("seed", range(8))
def test_right_tests_give_the_blankets_and_the_skeleton(seed):
    network = random_gaussian(6, seed)
    test = always_right(network)
    found = markov_blankets(network.names, test)
    assert {name: set(each) for name, each in found.items()} == {name: blanket(network, name) for name in network.names}
    assert skeleton(network.names, test) == {frozenset(edge) for edge in network.edges}


def test_subsets_up_to_a_size_keep_more_pairs():
    network = random_gaussian(6, 3)
    test = always_right(network)
    few = skeleton(network.names, test, most=0)
    assert few >= skeleton(network.names, test)


def clear(network):
    """Whether no dependence of the population is nearly 0 given some others: then tests on rows find it."""
    moments = Moments(names=network.names, count=100.0, mean=network.mean, covariance=network.covariance)
    for one, other in itertools.combinations(network.names, 2):
        rest = [name for name in network.names if name not in (one, other)]
        for given in itertools.chain.from_iterable(itertools.combinations(rest, size) for size in range(len(rest) + 1)):
            if 1e-9 < abs(moments.partial_correlation(one, other, given)) < 0.06:
                return False
    return True


def test_drawn_rows_give_the_skeleton_and_links_within_it():
    networks = [network for network in (random_gaussian(5, seed) for seed in range(40)) if clear(network)]
    assert len(networks) >= 5
    missed = 0
    for network in networks:
        score = GaussianBIC(moments=Moments.of(network.sample(20_000, np.random.default_rng(1))))
        found = restricted_maximum(network.names, score, score.test, level=0.001, degree=4)
        pairs = {frozenset((above, name)) for name, each in found.items() for above in each}
        assert pairs <= skeleton(network.names, score.test, level=0.001)
        missed += len({frozenset(edge) for edge in network.edges} ^ pairs)
    assert missed <= 1


def test_a_test_that_contradicts_itself_still_ends():
    answers = itertools.cycle([0.0, 1.0, 0.0, 0.5])
    assert set(markov_blankets(["a", "b", "c"], lambda *_: next(answers))) == {"a", "b", "c"}
    with pytest.raises(InvalidInput, match="level"):
        markov_blankets(["a"], lambda *_: 0.0, level=1.0)
