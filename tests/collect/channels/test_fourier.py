"""Fourier coefficients through devices: the law, the loss, bias and covariance of the tables by enumeration."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.fourier import FourierChannel
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.testing.channel import chi_square_p, worst_ratio

EXP = {0.1: Fraction("1.1051709180756477"), 1.0: Fraction("2.7182818284590453"), 4.0: Fraction("54.598150033144240")}
"""e^epsilon rounded up in the last place."""


@pytest.mark.parametrize("epsilon", EXP)
@pytest.mark.parametrize(("attributes", "order"), [(1, 1), (3, 2), (4, 4), (6, 2)])
def test_the_enumerated_loss_is_at_most_epsilon(attributes, order, epsilon):
    channel = FourierChannel.of(attributes=attributes, order=order, epsilon=epsilon)
    weights = channel.weights()
    assert (weights.sum(axis=1) == channel.total).all()
    assert 1 < worst_ratio(weights) <= EXP[epsilon]
    assert worst_ratio(weights) == channel.wire().worst_ratio(channel.levels)
    assert channel.epsilon_upper <= epsilon


def test_sampled_reports_follow_the_law():
    channel = FourierChannel.of(attributes=3, order=2, epsilon=1.0)
    for cell in (0, 3, 7):
        sent = channel.randomize(np.full(200_000, cell), SeededSource(cell))
        assert chi_square_p(channel.tally(sent), channel.matrix()[cell]) > 1e-5


def test_tables_have_no_bias():
    """Expected counts are the integer weights: no rounding hides a bias."""
    inner = RandomizedResponse(keep=4, fake=(3, 3))
    channel = FourierChannel(attributes=3, order=2, inner=inner)
    shares = np.random.default_rng(1).dirichlet(np.ones(8))
    cells = np.round(shares * 10_000).astype(int)
    counts = (cells @ channel.weights()).astype(np.int64)
    truth = (cells / cells.sum()).reshape(2, 2, 2)
    for size in (1, 2):
        for places in combinations(range(3), size):
            others = tuple(place for place in range(3) if place not in places)
            found = channel.margin(counts, places)
            assert found.frequencies == pytest.approx(truth.sum(axis=others).reshape(-1), abs=1e-12)
            turned = channel.margin(counts, places[::-1]).frequencies.reshape((2,) * size)
            assert turned.T.reshape(-1) == pytest.approx(found.frequencies)


def test_the_covariance_is_that_of_many_collections():
    channel, rng, source = (
        FourierChannel.of(attributes=3, order=2, epsilon=2.0),
        np.random.default_rng(3),
        SeededSource(3),
    )
    shares = np.array([0.3, 0.1, 0.05, 0.05, 0.1, 0.1, 0.1, 0.2])
    found = [
        channel.margin(channel.tally(channel.randomize(rng.choice(8, 600, p=shares), source)), (0, 2))
        for _ in range(1500)
    ]
    values = np.array([one.frequencies for one in found])
    stated = np.mean([one.covariance() for one in found], axis=0)
    assert np.cov(values.T) == pytest.approx(stated, abs=0.12 * stated.max())
    truth = shares.reshape(2, 2, 2).sum(axis=1).reshape(-1)
    assert np.abs(values.mean(axis=0) - truth).max() < 4 * values.std(axis=0).max() / np.sqrt(len(values))
    inside = np.mean([one.interval(0.95).covers(truth) for one in found])
    assert 0.93 < inside < 0.97
    assert values.var(axis=0).mean() == pytest.approx(channel.margin_variance(2) / 600, rel=0.2)


def test_what_cannot_be_estimated_is_refused():
    channel = FourierChannel.of(attributes=3, order=2, epsilon=1.0)
    counts = np.ones(12, dtype=np.int64)
    for places in ((0, 1, 2), (), (1, 1)):
        with pytest.raises(InvalidInput):
            channel.margin(counts, places)
    counts[:2] = 0
    with pytest.raises(InvalidInput, match="no one was asked"):
        channel.margin(counts, (0,))
    with pytest.raises(InvalidInput):
        channel.margin(np.ones(3, dtype=np.int64), (0,))
    with pytest.raises(InvalidInput, match="too many cells"):
        FourierChannel.of(attributes=16, order=3, epsilon=1.0).weights()
