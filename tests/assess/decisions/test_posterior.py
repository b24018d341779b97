"""Posteriors of the true table against enumeration and against brute-force simulation with rejection."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.assess.decisions.released import XY, answered, counted, tallied

from tacita.assess.decisions.posterior import (
    AdditivePosterior,
    NormalPosterior,
    ReportsPosterior,
    draw_true_counts,
    lay_out,
    posterior_of,
)
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.geometric import geometric_channel
from tacita.collect.channels.unary import UnaryEncoding
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Stepped
from tacita.tables.release import Releases
from tacita.tables.uncertainty import AdditiveNoise

LAWS = [
    DiscreteLaplace.at_least(3),
    DiscreteGaussian.at_least(6),
    Stepped(law=DiscreteLaplace.at_least(8), of=Fraction(1, 4)),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("terms", [1, 3])
@pytest.mark.parametrize("noisy", [-4.0, 0.0, 2.0, 40.0])
def test_additive_noise_by_enumeration(law, terms, noisy):
    """P(true = t | noisy) is proportional to P(noise = noisy - t), t = 0, 1, .. in steps of the grid."""
    step = float(law.step)
    steps = np.arange(-2000, 2001)
    chances = law.pmf(steps)
    for _ in range(terms - 1):
        chances = np.convolve(chances, law.pmf(steps), mode="same")
    true = noisy - step * steps
    weight = np.where(true >= 0, chances, 0.0)
    weight /= weight.sum()
    mean = float(weight @ true)
    spread = math.sqrt(float(weight @ (true - mean) ** 2))
    drawn = draw_true_counts(np.array([noisy]), AdditiveNoise(law=law, terms=terms), 20_000, np.random.default_rng(1))
    assert (drawn >= 0).all()
    assert abs(drawn.mean() - mean) < 5 * spread / math.sqrt(20_000)
    assert drawn.std() == pytest.approx(spread, rel=0.06)


def test_a_count_far_below_zero_is_zero():
    drawn = draw_true_counts(
        np.array([-400.0]), AdditiveNoise(law=DiscreteLaplace.at_least(1)), 10, np.random.default_rng(1)
    )
    assert drawn.tolist() == [[0.0]] * 10


def test_without_the_restriction_counts_may_be_negative():
    release = counted([0, 5, 5, 0], DiscreteLaplace.at_least(5))
    free = posterior_of(release, ("x", "y"), non_negative=False)
    assert (free.draw(2000, np.random.default_rng(1)) < 0).any()
    assert "negative counts too" in free.method
    assert posterior_of(release, ("x", "y")).approximation is None


def rejection(matrix, counts, rng, tries=600_000):
    """Tables from the uniform prior whose simulated reports are those that came: the posterior by its definition."""
    people = int(np.sum(counts))
    tables = rng.multinomial(people, rng.dirichlet(np.ones(len(matrix)), tries))
    reports = sum(rng.multinomial(tables[:, cell], row) for cell, row in enumerate(matrix))
    return tables[(reports == counts).all(axis=1)]


@pytest.mark.parametrize(
    ("channel", "counts"),
    [
        (RandomizedResponse.k_ary(levels=4, epsilon=1.0), [5, 3, 1, 3]),
        (RandomizedResponse.k_ary(levels=4, epsilon=3.0), [6, 0, 1, 3]),
        (geometric_channel(levels=4, epsilon=2.0), [4, 2, 1, 3]),
    ],
    ids=["rr 1", "rr 3", "geometric"],
)
def test_reports_against_brute_force(channel, counts):
    rng = np.random.default_rng(1)
    wanted = rejection(channel.matrix(), counts, rng)
    assert len(wanted) > 1000
    drawn = ReportsPosterior(domain=XY, channels=[channel], counts=[np.array(counts)]).draw(20_000, rng)
    assert (drawn.sum(axis=1) == sum(counts)).all()
    error = 5 * np.sqrt(wanted.var(axis=0) * (1 / len(wanted) + 1 / len(drawn)))
    assert (np.abs(drawn.mean(axis=0) - wanted.mean(axis=0)) < error).all()
    np.testing.assert_allclose(drawn.var(axis=0), wanted.var(axis=0), rtol=0.2)


def test_blocks_with_different_channels_are_one_likelihood():
    rng = np.random.default_rng(2)
    channels = [RandomizedResponse.k_ary(levels=4, epsilon=1.0), geometric_channel(levels=4, epsilon=3.0)]
    counts = [np.array([2, 1, 1, 2]), np.array([3, 0, 1, 1])]
    people = [int(seen.sum()) for seen in counts]
    shares = rng.dirichlet(np.ones(4), 1_500_000)
    kept = np.ones(len(shares), dtype=bool)
    totals = np.zeros((len(shares), 4))
    for channel, seen, size in zip(channels, counts, people, strict=True):
        tables = rng.multinomial(size, shares)
        reports = sum(rng.multinomial(tables[:, cell], row) for cell, row in enumerate(channel.matrix()))
        kept &= (reports == seen).all(axis=1)
        totals += tables
    wanted = totals[kept]
    assert len(wanted) > 300
    drawn = ReportsPosterior(domain=XY, channels=channels, counts=counts).draw(20_000, rng)
    error = 5 * np.sqrt(wanted.var(axis=0) * (1 / len(wanted) + 1 / len(drawn)))
    assert (np.abs(drawn.mean(axis=0) - wanted.mean(axis=0)) < error).all()


def test_the_normal_law_is_near_the_likelihood_for_many_reports():
    channel = RandomizedResponse.k_ary(levels=4, epsilon=1.5)
    tally = answered(channel, [900, 300, 500, 300], 1)
    names = tally.design.domain.names
    rng = np.random.default_rng(1)
    exact = posterior_of(tally, names)
    normal = posterior_of(tally.releases(), names)
    assert isinstance(exact, ReportsPosterior)
    assert isinstance(normal, NormalPosterior)
    assert "normal" in normal.approximation
    one, other = exact.draw(8000, rng), normal.draw(8000, rng)
    np.testing.assert_allclose(other.mean(axis=0), one.mean(axis=0), atol=4)
    np.testing.assert_allclose(other.std(axis=0), one.std(axis=0), rtol=0.07)
    np.testing.assert_allclose(np.corrcoef(other.T), np.corrcoef(one.T), atol=0.06)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_supports_are_drawn_with_their_covariance(epsilon):
    """The true table lies in the middle of its posterior: over collections, ranks of the truth are uniform."""
    channel, rng = UnaryEncoding.optimised(levels=4, epsilon=epsilon), np.random.default_rng(3)
    ranks = []
    for seed in range(120):
        true = rng.multinomial(3000, rng.dirichlet(np.ones(4)))
        drawn = posterior_of(answered(channel, true, seed), ("part 1", "part 2")).draw(200, rng)
        ranks.append((drawn[:, 0] < true[0]).mean())
    assert abs(np.mean(ranks) - 0.5) < 4 * math.sqrt(1 / 12 / 120)
    assert np.var(ranks) == pytest.approx(1 / 12, rel=0.35)


def test_tables_are_laid_out_in_the_order_asked():
    domain = Domain(
        attributes=[
            Categorical(name=name, levels=["0", "1", "2"][:size]) for name, size in zip("abc", (2, 3, 2), strict=True)
        ]
    )
    tables = np.random.default_rng(1).integers(0, 9, size=(5, 12))
    found = lay_out(tables, domain, ("c", "a"))
    wanted = tables.reshape(5, 2, 3, 2).sum(axis=2).transpose(0, 2, 1).reshape(5, -1)
    assert found.tolist() == wanted.tolist()
    with pytest.raises(UnknownName):
        lay_out(tables, domain, ("d",))


def test_what_has_no_known_noise_is_refused():
    tally = tallied(RandomizedResponse.k_ary(levels=4, epsilon=1.0), [50, 30, 20, 40])
    with pytest.raises(UnknownName):
        posterior_of(tally, ("x", "z"))
    release = next(iter(tally.releases().values()))
    assert isinstance(posterior_of(Releases([release]), ("x",)), NormalPosterior)
    assert isinstance(posterior_of(counted([1, 2, 3, 4], LAWS[0]), ("x",)), AdditivePosterior)
    from dataclasses import replace

    from tacita.tables.uncertainty import Unknown

    with pytest.raises(InvalidInput, match="known law"):
        posterior_of(replace(release, uncertainty=Unknown()), ("x", "y"))
