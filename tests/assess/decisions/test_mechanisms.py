"""Mechanisms of a design have the mean and covariance of those that the library runs."""

import numpy as np
import pytest

from tacita.assess.decisions.mechanisms import AdditiveMechanism, ChannelMechanism, plain_domain
from tacita.collect.channels.wiring import REGISTRY
from tacita.errors import InvalidInput
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours

SHAPE, TRUE = (1, 2, 2), np.array([400, 100, 200, 300])
TABLES = np.tile(TRUE, (600, 1))
OF_TABLES = ("rr", "unary", "hash", "hadamard", "subset", "matrix", "fourier", "chain")


@pytest.mark.parametrize("kind", OF_TABLES)
def test_channels_are_unbiased_with_their_covariance(kind):
    mechanism = ChannelMechanism.for_epsilon(SHAPE, kind, 1.0)
    drawn = mechanism.run(TABLES, np.random.default_rng(1))
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    assert (np.abs(drawn.mean(axis=0) - TRUE) < 4.5 * error).all()
    if kind != "fourier":
        covariance = mechanism.channel.covariance(TRUE / 1000, respondents=1000, about="respondents")
        np.testing.assert_allclose(drawn.std(axis=0), 1000 * np.sqrt(covariance.variance()), rtol=0.13)
    assert mechanism.approximation(1000, 600) is None


def test_every_kind_of_the_registry_makes_tables_or_says_why_not():
    for kind in set(REGISTRY) - set(OF_TABLES):
        with pytest.raises(InvalidInput):
            ChannelMechanism.for_epsilon(SHAPE, kind, 1.0)


def test_tallies_drawn_as_multinomials_are_those_of_respondents():
    mechanism = ChannelMechanism.for_epsilon(SHAPE, "rr", 1.0)
    fast, slow = (way(TABLES, np.random.default_rng(1)) for way in (mechanism._multinomial, mechanism._one_by_one))
    np.testing.assert_allclose(fast.mean(axis=0), slow.mean(axis=0), atol=12)
    np.testing.assert_allclose(np.cov(fast.T), np.cov(slow.T), atol=450)


def test_beyond_a_number_of_reports_the_estimate_is_normal_and_says_so():
    mechanism = ChannelMechanism.for_epsilon(SHAPE, "unary", 1.0, most_reports=1000)
    drawn = mechanism.run(TABLES, np.random.default_rng(1))
    assert "normal" in mechanism.approximation(1000, 600)
    covariance = mechanism.channel.covariance(TRUE / 1000, respondents=1000, about="respondents").dense()
    np.testing.assert_allclose(np.cov(drawn.T), 1000**2 * covariance, atol=900)


@pytest.mark.parametrize(
    ("budget", "family", "law"),
    [
        (Budget.pure(0.1), "laplace", "discrete-laplace"),
        (Budget.zcdp(0.01), "gaussian", "discrete-gaussian"),
        (Budget.approx(0.5, 1e-6), "gaussian", "discrete-gaussian"),
    ],
)
def test_additive_noise_is_that_of_the_plan(budget, family, law):
    mechanism = AdditiveMechanism.for_budget(SHAPE, budget, family=family)
    noise = mechanism.run(TABLES, np.random.default_rng(1)) - TABLES
    assert mechanism.law.kind == law
    assert noise.var() == pytest.approx(mechanism.law.variance, rel=0.2)
    assert (noise == np.round(noise)).all()


def test_replacing_a_row_needs_twice_the_scale_of_adding_one():
    both = [
        AdditiveMechanism.for_budget(SHAPE, Budget.pure(0.1), neighbours=each).law.scale
        for each in (Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE)
    ]
    assert both == [20, 10]


def test_a_plain_domain_has_the_cells_of_the_layout():
    assert plain_domain((3, 2, 4)).shape == (3, 2, 4)
    assert plain_domain((1, 2, 4)).shape == (2, 4)
