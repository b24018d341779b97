"""Pooled blocks: no bias and the stated covariance, by enumeration; the likelihood, by its first-order conditions."""

import itertools

import numpy as np
import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.matrix import MatrixChannel
from tacita.collect.estimating.pooling import pool, pool_blocks, pooled_mle
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

FIRST = RandomizedResponse(keep=3, fake=(1, 2, 2))
SECOND = RandomizedResponse(keep=2, fake=(5, 1, 1))
BLOCKS = ((FIRST, (0, 1)), (SECOND, (2, 2, 0)))  # the channel and the people of each block


def outcomes(channel, people):
    """Every tally that these people can give, with its probability."""
    matrix = channel.matrix()
    for sent in itertools.product(range(channel.levels), repeat=len(people)):
        yield np.bincount(sent, minlength=3), np.prod([matrix[x, y] for x, y in zip(people, sent, strict=True)])


def everything(second=lambda first: SECOND):
    """Every pair of tallies, with the channels they came through; the second may depend on the first."""
    (channel, people), (_, others) = BLOCKS
    for tally, chance in outcomes(channel, people):
        next_channel = second(tally)
        for other, more in outcomes(next_channel, others):
            yield [(channel, tally), (next_channel, other)], chance * more


def pooled(blocks, about="respondents"):
    return pool([channel.estimate(tally, about=about) for channel, tally in blocks])


def adaptive(tally):
    return FIRST if tally[2] == 0 else SECOND


@pytest.mark.parametrize("second", [lambda first: SECOND, adaptive], ids=["fixed", "adaptive"])
def test_no_bias_and_the_covariance_is_right_on_average(second):
    """Over all outcomes of five people: the mean is their shares, and the mean of the stated covariance is the
    covariance, also where the second channel was chosen after the first block had answered."""
    truth = np.array([2, 1, 2]) / 5
    found = [(pooled(blocks), chance) for blocks, chance in everything(second)]
    assert sum(chance for _, chance in found) == pytest.approx(1)
    mean = sum(one.frequencies * chance for one, chance in found)
    np.testing.assert_allclose(mean, truth, atol=1e-12)
    spread = sum(np.outer(one.frequencies - truth, one.frequencies - truth) * chance for one, chance in found)
    stated = sum(one.covariance() * chance for one, chance in found)
    np.testing.assert_allclose(stated, spread, atol=1e-12)


def test_weights_are_the_numbers_of_people():
    one, other = FIRST.estimate([1, 2, 0]), SECOND.estimate([4, 1, 1])
    got = pool([one, other])
    np.testing.assert_allclose(got.frequencies, (one.frequencies * 3 + other.frequencies * 6) / 9)
    np.testing.assert_allclose(got.covariance(), one.covariance() / 9 + other.covariance() * 4 / 9)
    assert (got.respondents, got.binomial, got.interval().method) == (9, False, "normal")
    assert pool([one]) is one


def test_channels_with_matrices_pool_too():
    matrix = MatrixChannel(table=((3, 1, 1, 1), (1, 3, 1, 1), (1, 1, 3, 1)))
    one, other = FIRST.estimate([1, 2, 0]), matrix.estimate([4, 1, 1, 2])
    got = pool([one, other])
    np.testing.assert_allclose(got.covariance(), (one.covariance() * 9 + other.covariance() * 64) / 121)
    assert np.isnan(got.observed).all()


def gradient(channels, counts, x):
    """Slope of the log likelihood per report in every cell, from the whole matrices."""
    total = sum(np.sum(seen) for seen in counts)
    return (
        sum(c.matrix() @ (np.asarray(seen) / (x @ c.matrix())) for c, seen in zip(channels, counts, strict=True))
        / total
    )


@pytest.mark.parametrize("seed", range(5))
def test_most_likely_shares(seed):
    """At the top every cell in use has the same slope and no other a larger one; the problem is concave."""
    rng = np.random.default_rng(seed)
    channels = [
        RandomizedResponse.with_fakes(distribution=rng.dirichlet(np.ones(5)), epsilon=float(e), floor=0.2)
        for e in rng.uniform(0.5, 3, 4)
    ]
    truth = rng.dirichlet(np.full(5, 0.4))
    counts = [rng.multinomial(400, truth @ channel.matrix()) for channel in channels]
    got = pooled_mle(channels, counts, tolerance=1e-13)
    slope = gradient(channels, counts, got.frequencies)
    assert got.converged
    assert slope.max() < 1 + 1e-4
    np.testing.assert_allclose(slope[got.frequencies > 1e-3], 1, atol=1e-4)


def test_the_coin_and_the_value_give_the_same_top():
    """Randomized response, once as itself and once as a matrix, alone and mixed."""
    as_matrix = MatrixChannel(table=tuple(tuple(int(w) for w in row) for row in SECOND.weights()))
    counts = [np.array([30, 40, 20]), np.array([60, 20, 25])]
    plain = pooled_mle([FIRST, SECOND], counts, tolerance=1e-14)
    mixed = pooled_mle([FIRST, as_matrix], counts, tolerance=1e-14)
    np.testing.assert_allclose(plain.frequencies, mixed.frequencies, atol=1e-4)
    alone = pooled_mle([as_matrix], counts[1:], tolerance=1e-14)
    np.testing.assert_allclose(
        alone.frequencies, as_matrix.distribution(counts[1], tolerance=1e-14).frequencies, atol=1e-5
    )


def test_the_likelihood_is_nearer_than_the_mean_when_channels_differ_much():
    """A sharp block and a blurred one: the mean weighs both alike, the likelihood does not."""
    sharp, blurred = RandomizedResponse.k_ary(levels=4, epsilon=4.0), RandomizedResponse.k_ary(levels=4, epsilon=0.3)
    truth, source, misses = np.array([0.4, 0.3, 0.2, 0.1]), SeededSource(4), []
    for _ in range(20):
        people = source.generator().choice(4, 2000, p=truth)
        blocks = [
            (c, c.tally(c.randomize(part, source)))
            for c, part in zip((sharp, blurred), np.split(people, 2), strict=True)
        ]
        linear = pooled(blocks, "population").frequencies
        likely = pooled_mle([c for c, _ in blocks], [t for _, t in blocks]).frequencies
        misses.append([np.abs(linear - truth).sum(), np.abs(likely - truth).sum()])
    linear, likely = np.mean(misses, axis=0)
    assert likely < linear / 3


def test_refusals():
    with pytest.raises(InvalidInput, match="estimates"):
        pool([])
    with pytest.raises(InvalidInput, match="same cells"):
        pool([FIRST.estimate([1, 2, 0]), RandomizedResponse(keep=1, fake=(1, 1)).estimate([1, 2])])
    with pytest.raises(InvalidInput, match="about the same"):
        pool([FIRST.estimate([1, 2, 0]), FIRST.estimate([1, 2, 0], about="respondents")])
    with pytest.raises(InvalidInput, match="counts"):
        pooled_mle([FIRST], [])
    with pytest.raises(InvalidInput, match="counts"):
        pooled_mle([FIRST], [[0, 0, 0]])
    with pytest.raises(InvalidInput, match="levels"):
        pooled_mle([FIRST, RandomizedResponse(keep=1, fake=(1, 1))], [[1, 0, 0], [1, 0]])


def test_small_blocks_have_honest_intervals():
    """One answer a block: the covariance must be taken at what all blocks say together, or it would be nothing."""
    truth, rng, inside = np.array([0.6, 0.3, 0.1]), np.random.default_rng(7), []
    for run in range(400):
        shares = [rng.dirichlet([2, 2, 2]).tolist() for _ in range(60)]
        channels = [RandomizedResponse.with_fakes(distribution=d, epsilon=2.0, floor=0.5) for d in shares]
        sent = rng.choice(3, 60, p=truth)
        counts = [c.tally(c.randomize(sent[b : b + 1], SeededSource(100 * run + b))) for b, c in enumerate(channels)]
        inside.append(pool_blocks(channels, counts).interval(0.95).covers(truth).mean())
    assert 0.92 <= np.mean(inside) <= 0.97
