"""The compiled sampler: its conditional law by enumeration, its counts, its likelihood against SciPy."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from tacita.synthesize.mobility.topic_models import gibbs

ALPHA, BETA, GAMMA = 0.3, 0.2, 0.4
STARTS = np.array([0, 3, 5])
PLACE, TIME = np.array([0, 1, 0, 2, 1]), np.array([0, 0, 1, 1, 1])
PLACES, TIMES, TOPICS = 3, 2, 2


def counts_of(z):
    cards = np.zeros((2, TOPICS), np.int32)
    for card in range(2):
        for i in range(STARTS[card], STARTS[card + 1]):
            cards[card, z[i]] += 1
    tables = [np.zeros((size, TOPICS), np.int32) for size in (PLACES, TIMES)]
    for table, token in zip(tables, (PLACE, TIME), strict=True):
        np.add.at(table, (token, z), 1)
    return cards, *tables, np.bincount(z, minlength=TOPICS)


def dirichlet_multinomial(counts, prior):
    """ln p of a sequence with these counts."""
    total = counts.sum()
    found = special.gammaln(prior * len(counts)) - special.gammaln(total + prior * len(counts))
    return found + (special.gammaln(counts + prior) - special.gammaln(prior)).sum()


def joint(z, place=True, time=True):
    """ln p(z, tokens), from the definition."""
    cards, places, times, _ = counts_of(np.array(z))
    found = sum(dirichlet_multinomial(row, ALPHA) for row in cards)
    if place:
        found += sum(dirichlet_multinomial(column, BETA) for column in places.T)
    if time:
        found += sum(dirichlet_multinomial(column, GAMMA) for column in times.T)
    return found


def posterior(**factors):
    every = list(itertools.product(range(TOPICS), repeat=len(PLACE)))
    logs = np.array([joint(z, **factors) for z in every])
    return np.exp(logs - special.logsumexp(logs))


def sampled(sweep, draws=40_000):
    """Frequencies of all assignments, in the order of `posterior`."""
    z, state = np.zeros(len(PLACE), np.int64), np.array([7], np.uint64)
    cards, places, times, topics = counts_of(z)
    seen = np.zeros(TOPICS ** len(PLACE))
    powers = TOPICS ** np.arange(len(PLACE))[::-1]
    for _ in range(draws):
        sweep(z, cards, places, times, topics, state)
        seen[z @ powers] += 1
    return seen / draws


SWEEPS = {
    "stlda": (
        lambda z, c, p, t, k, s: gibbs.sweep_both(STARTS, PLACE, TIME, z, c, p, t, k, ALPHA, BETA, GAMMA, 2, s),
        {},
    ),
    "slda": (lambda z, c, p, t, k, s: gibbs.sweep_one(STARTS, PLACE, z, c, p, k, ALPHA, BETA, 2, s), {"time": False}),
    "tlda": (lambda z, c, p, t, k, s: gibbs.sweep_one(STARTS, TIME, z, c, t, k, ALPHA, GAMMA, 2, s), {"place": False}),
}


@pytest.mark.parametrize("kind", SWEEPS)
def test_the_sampler_has_the_exact_posterior(kind):
    """All 32 assignments of five visits, by enumeration of the model's own definition."""
    sweep, factors = SWEEPS[kind]
    found, exact = sampled(sweep), posterior(**factors)
    assert 0.5 * np.abs(found - exact).sum() < 0.025
    assert stats.pearsonr(found, exact).statistic > 0.995


def test_counts_stay_those_of_the_assignments():
    rng = np.random.default_rng(0)
    starts = np.array([0, 40, 100])
    place, time = rng.integers(0, 9, 100), rng.integers(0, 4, 100)
    z, state = np.zeros(100, np.int64), np.array([1], np.uint64)
    cards, places, times = np.zeros((2, 3), np.int32), np.zeros((9, 3), np.int32), np.zeros((4, 3), np.int32)
    topics = np.zeros(3, np.int64)
    gibbs.start(starts, place, z, cards, places, topics, state, True)
    gibbs.start(starts, time, z, cards, times, topics, state, False)
    gibbs.sweep_both(starts, place, time, z, cards, places, times, topics, 0.1, 0.1, 0.1, 25, state)
    for table, token in ((places, place), (times, time), (cards, np.repeat([0, 1], [40, 60]))):
        again = np.zeros_like(table)
        np.add.at(again, (token, z), 1)
        assert np.array_equal(table, again)
    assert np.array_equal(topics, np.bincount(z, minlength=3))


def test_the_likelihood_against_the_definition():
    for z in ([0, 1, 0, 1, 1], [0, 0, 0, 0, 0], [1, 0, 1, 0, 1]):
        cards, places, times, _ = counts_of(np.array(z))
        found = (
            gibbs.log_likelihood(cards, ALPHA, False)
            + gibbs.log_likelihood(places, BETA, True)
            + gibbs.log_likelihood(times, GAMMA, True)
        )
        assert found == pytest.approx(joint(z), abs=1e-9)


def test_uniforms_are_uniform_and_repeatable():
    state = np.array([3], np.uint64)
    drawn = np.array([gibbs.uniform(state) for _ in range(20_000)])
    assert stats.kstest(drawn, "uniform").pvalue > 1e-6
    again = np.array([3], np.uint64)
    assert gibbs.uniform(again) == drawn[0]
    assert drawn.max() < 1


def test_folding_in_has_the_exact_posterior():
    """Topics of one card under fixed distributions: all assignments of three visits by enumeration."""
    weight = np.array([[0.5, 0.1], [0.2, 0.4], [0.3, 0.3]])
    logs = {}
    for z in itertools.product(range(2), repeat=3):
        number = np.bincount(z, minlength=2)
        logs[z] = dirichlet_multinomial(number, ALPHA) + sum(math.log(weight[i, k]) for i, k in enumerate(z))
    total = special.logsumexp(list(logs.values()))
    exact = np.zeros(4)
    for z, value in logs.items():
        exact[sum(z)] += math.exp(value - total)  # by the visits with topic 1
    counts = np.zeros((60_000, 1, 2), np.int64)
    gibbs.fold_in(np.array([0, 3]), weight, ALPHA, 50, 60_000, counts, np.array([9], np.uint64))
    found = np.bincount(counts[:, 0, 1], minlength=4) / 60_000
    assert found == pytest.approx(exact, abs=0.015)
