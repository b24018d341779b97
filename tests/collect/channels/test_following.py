"""Blocks whose fakes follow what was learnt, and the independence test that runs them again."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.analysis.independence_simulated import AskedTable, monte_carlo_test
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.following import (
    MOST_REFITTED,
    check_following,
    following_channel,
    next_channel,
    optimal_for,
    penalties,
    refitted_channel,
)
from tacita.collect.channels.geometric import optimal_rows
from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.estimating.pooling import pool
from tacita.collect.estimating.tally import Tally
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.domain import Categorical, Domain, Ordinal
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

DOMAIN = Domain(attributes=[Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("p", "q", "r"))])
KEY, EPSILON, FLOOR = ("a", "b"), 1.0, 0.05
NULL = np.outer([0.85, 0.15], [0.8, 0.15, 0.05]).reshape(-1)


def learnt(channels, counts):
    return pool([channel.estimate(seen) for channel, seen in zip(channels, counts, strict=True)]).frequencies


def collected(seed, people=200, blocks=3):
    rng, source = np.random.default_rng(seed), SeededSource(seed)
    channels, counts = [], []
    for block in range(blocks):
        even = RandomizedResponse.with_fakes(distribution=[1 / 6] * 6, epsilon=EPSILON, floor=FLOOR)
        channel = following_channel(learnt(channels, counts), epsilon=EPSILON, floor=FLOOR) if block else even
        cells = np.repeat(np.arange(6), rng.multinomial(people, NULL))
        channels.append(channel)
        counts.append(channel.tally(channel.randomize(cells, source)))
    asked = [Asked(attributes=KEY, channel=each, share=1.0, block=n + 1) for n, each in enumerate(channels)]
    design = CollectionDesign(
        domain=DOMAIN,
        questions=tuple(asked),
        epsilon=EPSILON,
        respondents=people * blocks,
        mode="tables",
        views=tuple((block,) for block in range(blocks)),
        floor=FLOOR,
    )
    return design, dict(enumerate(counts))


def test_fakes_follow_the_table_and_the_promise_stays():
    channel = following_channel([0.7, 0.4, -0.1], epsilon=EPSILON, floor=0.2)
    assert channel.epsilon <= EPSILON
    fakes = channel.matrix()[2]  # of somebody in the rarest cell
    assert fakes[0] > fakes[1] > 0


def test_each_simulation_derives_its_channels_from_its_own_reports():
    design, counts = collected(1)
    question = AskedTable(Tally.counted(design, counts), KEY, Hypothesis.of(*KEY))
    channels, tallied = question.again(NULL, np.random.default_rng(2), SeededSource(2))
    assert channels[0] == question.channels[0]
    assert channels[1] != question.channels[1]
    for block in (1, 2):
        expected = following_channel(learnt(channels[:block], tallied[:block]), epsilon=EPSILON, floor=FLOOR)
        assert channels[block] == expected


def test_a_verdict_says_when_channels_are_given():
    design, counts = collected(3)
    whole = monte_carlo_test(Tally.counted(design, counts), KEY, simulations=5, seed=1)
    given = monte_carlo_test(Tally.counted(replace(design, floor=None), counts), KEY, simulations=5, seed=1)
    assert "given the channels" not in whole.method
    assert "given the channels" in given.method


# -- matrices that are refitted ----------------------------------------------------------------------------------------

SCHOOL = Domain(attributes=[Ordinal(name="school", levels=["none", "basic", "high", "college"])])
PRIORS = [[0.5, 0.25, 1 / 6, 1 / 12], [0.25] * 4, [1.0, 0.0, 0.0, 0.0], [0.7, 0.4, -0.2, 0.1], [0.0, 0.0, 0.1, 0.9]]


def test_penalties_add_up_over_attributes():
    mixed = Domain(attributes=[SCHOOL["school"], Categorical(name="b", levels=("p", "q", "r"))])
    cells = list(np.ndindex(4, 3))
    for penalty, power in (("distance", 1), ("squared", 2)):
        found = penalties(mixed, penalty)
        for i, (a, b) in enumerate(cells):
            for j, (c, d) in enumerate(cells):
                assert found[i, j] == abs(a - c) ** power + (b != d)
    assert (penalties(mixed, "exact") == 1 - np.eye(12)).all()
    with pytest.raises(InvalidInput, match="penalty"):
        penalties(mixed, "other")


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("penalty", ["distance", "squared", "exact"])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("floor", [0.02, 0.5, 1.0])
def test_refitted_integers_keep_the_promise_over_all_pairs(prior, penalty, epsilon, floor):
    """Enumerated in exact fractions; no column vanishes, and the matrix can be inverted."""
    channel = refitted_channel(prior, cost=penalties(SCHOOL, penalty), epsilon=epsilon, floor=floor)
    table = channel.table
    worst = max(Fraction(table[i][r], table[j][r]) for r in range(4) for i in range(4) for j in range(4))
    assert worst <= Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**12))
    assert channel.worst_ratio == worst
    assert channel.epsilon_upper <= epsilon
    assert min(min(row) for row in table) > 0
    assert np.linalg.matrix_rank(channel.matrix()) == 4
    plain = RandomizedResponse.k_ary(levels=4, epsilon=epsilon).matrix()
    assert (channel.matrix() >= 0.999 * floor * plain).all()


def slow_optimum(prior, cost, epsilon):
    """The same program with one inequality for every pair of cells, as dense matrices."""
    k = len(prior)
    rows = []
    for r in range(k):
        for i, j in itertools.permutations(range(k), 2):
            row = np.zeros((k, k))
            row[i, r], row[j, r] = 1, -math.exp(epsilon)
            rows.append(row.reshape(-1))
    sums = np.kron(np.eye(k), np.ones(k))
    found = linprog(
        (np.asarray(prior)[:, None] * cost).reshape(-1), np.array(rows), np.zeros(len(rows)), sums, np.ones(k)
    )
    return found.fun


@pytest.mark.parametrize("penalty", ["distance", "squared", "exact"])
@pytest.mark.parametrize("prior", PRIORS[:3])
def test_the_fit_is_the_optimum_of_the_program(prior, penalty):
    cost = penalties(SCHOOL, penalty)
    smooth = 0.99 * np.array(prior) + 0.01 / 4
    best = slow_optimum(smooth, cost, 1.0)
    plain = RandomizedResponse.k_ary(levels=4, epsilon=1.0).matrix()
    floor = 0.2
    channel = refitted_channel(prior, cost=cost, epsilon=1.0, floor=floor)
    found = float((smooth[:, None] * cost * channel.matrix()).sum())
    assert found == pytest.approx((1 - floor) * best + floor * float((smooth[:, None] * cost * plain).sum()), rel=1e-6)


def test_a_matrix_that_would_merge_cells_gets_more_randomized_response():
    cost = penalties(SCHOOL, "distance")
    rows = optimal_rows(prior=[0.97, 0.01, 0.01, 0.01], loss=cost, epsilon=1.0)
    assert np.linalg.matrix_rank(rows, tol=1e-9) < 4  # the optimum merges
    channel = refitted_channel([0.97, 0.01, 0.01, 0.01], cost=cost, epsilon=1.0, floor=0.001)
    even = np.linalg.cond(RandomizedResponse.k_ary(levels=4, epsilon=1.0).matrix())
    assert channel.condition <= 10 * even / 0.001


def test_the_next_channel_is_of_the_same_kind():
    common = {"domain": SCHOOL, "epsilon": 1.0, "floor": 0.4, "penalty": "squared"}
    first = optimal_for(SCHOOL, 1.0, penalty="squared", floor=0.4)
    again = next_channel(first, [0.6, 0.2, 0.1, 0.1], **common)
    assert type(again) is MatrixChannel
    assert again != first
    assert next_channel(first, [0.25] * 4, **common) == first
    response = next_channel(RandomizedResponse.k_ary(levels=4, epsilon=1.0), [0.6, 0.2, 0.1, 0.1], **common)
    assert response == following_channel([0.6, 0.2, 0.1, 0.1], epsilon=1.0, floor=0.4)


def test_what_cannot_be_refitted_is_refused():
    wide = Domain(attributes=[Ordinal(name="a", levels=[str(level) for level in range(MOST_REFITTED + 1)])])
    with pytest.raises(InvalidInput, match="at most 40 cells"):
        optimal_for(wide, 1.0)
    with pytest.raises(InvalidInput, match="floor"):
        optimal_for(SCHOOL, 1.0, floor=0.0)
    with pytest.raises(InvalidInput, match="epsilon"):
        check_following(optimal_for(SCHOOL, 1.0), domain=SCHOOL, epsilon=80.0, floor=0.5, penalty="distance")


def test_a_test_through_refitted_blocks_derives_them_anew():
    domain = Domain(attributes=[Ordinal(name="a", levels=("x", "y")), Ordinal(name="b", levels=("p", "q", "r"))])
    rng, source = np.random.default_rng(1), SeededSource(1)
    first = optimal_for(domain, EPSILON, floor=FLOOR)
    common = {"domain": domain, "epsilon": EPSILON, "floor": FLOOR, "penalty": "distance"}
    counts = [first.tally(first.randomize(rng.choice(6, 300, p=NULL), source))]
    second = next_channel(first, learnt([first], counts), **common)
    counts.append(second.tally(second.randomize(rng.choice(6, 300, p=NULL), source)))
    asked = [Asked(attributes=KEY, channel=each, share=1.0, block=n + 1) for n, each in enumerate((first, second))]
    design = CollectionDesign(
        domain=domain,
        questions=tuple(asked),
        epsilon=EPSILON,
        respondents=600,
        mode="tables",
        views=((0,), (1,)),
        floor=FLOOR,
    )
    question = AskedTable(Tally.counted(design, dict(enumerate(counts))), KEY, Hypothesis.of(*KEY))
    channels, tallied = question.again(NULL, rng, source)
    assert channels[1] == next_channel(first, learnt(channels[:1], tallied[:1]), **common)
    assert 0 < monte_carlo_test(Tally.counted(design, dict(enumerate(counts))), KEY, simulations=9, seed=1).p_value <= 1


@pytest.mark.slow
def test_the_test_keeps_its_level_over_blocks():
    """60 collections under the hypothesis at level 1/4: more than 30 rejections have a probability of 1e-5."""
    rejected = 0
    for seed in range(60):
        design, counts = collected(100 + seed, people=80)
        rejected += monte_carlo_test(Tally.counted(design, counts), KEY, simulations=19, seed=seed).p_value <= 0.25
    assert rejected <= 30
