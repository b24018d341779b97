"""The block protocol: every block within the promise, whatever was learned; no bias; nothing but reports passes."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.protocols.rrba_rounds import RrbaRounds, answer, simulate
from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput, Refused
from tacita.noise import SeededSource
from tacita.testing.channel import worst_ratio

TRUTH = np.array([0.446, 0.224, 0.116, 0.072, 0.071, 0.071])
SIX = Domain(attributes=[Categorical(name="v", levels=list("abcdef"))])


def people(count, seed):
    return np.random.default_rng(seed).choice(6, count, p=TRUTH)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("floor", [0.01, 0.3, 1.0])
def test_every_block_keeps_the_promise_exactly(epsilon, floor):
    """Enumerated: the largest ratio of the integer weights of every block, however skewed its table became."""
    done = simulate(RrbaRounds(SIX, epsilon=epsilon, floor=floor, block_size=100), people(1500, 1), SeededSource(1))
    assert len(done.blocks) == 15
    for block in done.blocks:
        ratio = worst_ratio(block.channel.weights())
        assert ratio <= Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**12))
        assert math.log(ratio) == pytest.approx(epsilon, abs=1e-8)
    assert done.epsilon_upper <= epsilon
    assert done.release().event.epsilon <= epsilon


def test_a_device_refuses_a_table_that_costs_more():
    """An aggregator that aims a rare fake at one cell, with the keep of the uniform table."""
    uniform = RandomizedResponse.k_ary(levels=6, epsilon=1.0)
    aimed = RandomizedResponse(keep=uniform.keep, fake=(1, *uniform.fake[1:]))
    assert answer(uniform, np.array([0, 5]), SeededSource(1), limit_epsilon=1.0).shape == (2,)
    with pytest.raises(Refused, match="promised"):
        answer(aimed, np.array([0, 5]), SeededSource(1), limit_epsilon=1.0)


def test_fakes_follow_the_pool_and_start_uniform():
    rounds = RrbaRounds(SIX, epsilon=4.0, floor=0.4, block_size=2000)
    assert len(set(rounds.channel.fake)) == 1
    simulate(rounds, people(20_000, 2), SeededSource(2))
    table = rounds.channel.fake_probabilities()
    np.testing.assert_allclose(table / table.sum(), 0.6 * TRUTH + 0.4 / 6, atol=0.02)


def test_no_bias_though_tables_are_learned():
    """All outcomes of two blocks of two people with two cells: the mean of the pool is the people's shares."""
    domain = Domain(attributes=[Boolean(name="b")])
    truths, mean, total = (0, 1, 1, 1), 0.0, 0.0
    for sent in itertools.product(range(2), repeat=4):
        rounds = RrbaRounds(domain, epsilon=1.0, floor=0.2, block_size=2)
        chance = 1.0
        for block in (slice(0, 2), slice(2, 4)):
            matrix = rounds.channel.matrix()
            chance *= np.prod([matrix[x, y] for x, y in zip(truths[block], sent[block], strict=True)])
            rounds.close(np.array(sent[block]), simulated=True)
        mean, total = mean + chance * rounds.estimate(about="respondents").frequencies, total + chance
    assert total == pytest.approx(1)
    np.testing.assert_allclose(mean, [0.25, 0.75], atol=1e-12)


@pytest.mark.parametrize("floor", [0.3, 1.0])
def test_errors_are_what_is_stated(floor):
    misses, stated = [], []
    for seed in range(40):
        done = simulate(
            RrbaRounds(SIX, epsilon=1.946, floor=floor, block_size=150), people(3000, seed), SeededSource(seed)
        )
        found = done.estimate()
        misses.append(found.frequencies - TRUTH)
        stated.append(found.variance)
    ratio = np.mean(np.square(misses)) / np.mean(stated)
    assert 0.7 < ratio < 1.35  # 240 dependent squares: about 10 % off by chance
    assert np.abs(np.mean(misses, axis=0)).max() < 5 * np.sqrt(np.mean(stated) / 40)


def test_uniform_is_the_best_table_at_a_given_epsilon():
    """Sixteen settings: what is learned never lowers the total variance, because the rarest fake sets the loss."""
    shapes = [np.full(6, 1 / 6), TRUTH, np.array([0.9, 0.05, 0.02, 0.01, 0.01, 0.01]), 2.0 ** -np.arange(1, 7)]
    for shape, epsilon in itertools.product(shapes, (0.5, 1.0, 2.0, 4.0)):
        truth = shape / shape.sum()
        totals = [
            RandomizedResponse.with_fakes(distribution=truth.tolist(), epsilon=epsilon, floor=floor)
            .covariance(truth, respondents=1)
            .variance()
            .sum()
            for floor in (1.0, 0.5, 0.1)
        ]
        assert totals[0] <= totals[1] * (1 + 1e-9)
        assert totals[1] <= totals[2] * (1 + 1e-9)


def test_the_likelihood_of_all_blocks_is_near_the_truth():
    done = simulate(RrbaRounds(SIX, epsilon=2.0, floor=0.3, block_size=500), people(20_000, 4), SeededSource(4))
    fitted = done.most_likely()
    assert fitted.converged
    assert (fitted.frequencies >= 0).all()
    assert np.abs(fitted.frequencies - TRUTH).sum() < 0.08


def test_a_release_says_where_it_comes_from():
    done = simulate(RrbaRounds(SIX, epsilon=2.0, floor=0.3, block_size=400), people(1000, 5), SeededSource(5))
    release = done.release()
    assert release.provenance.simulated
    assert release.provenance.recipe["blocks"] == 3
    assert release.provenance.recipe["respondents"] == 1000
    assert release.trust == "local"
    assert release.values.sum() == pytest.approx(1)


def test_refusals():
    with pytest.raises(InvalidInput, match="block_size"):
        RrbaRounds(SIX, epsilon=1.0, floor=0.5, block_size=0)
    with pytest.raises(InvalidInput, match="floor"):
        RrbaRounds(SIX, epsilon=1.0, floor=0.0, block_size=10)
