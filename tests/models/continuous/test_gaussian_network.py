"""Gaussian networks: joint moments, conditional means and effects against rows and general formulas."""

import json

import numpy as np
import pytest
from scipy import stats
from tests.models.continuous.random_gaussian import random_gaussian

from tacita.errors import InvalidInput, UnknownName
from tacita.models.continuous import GaussianNetwork, Line, Moments


@pytest.fixture(scope="module")
def network():
    return random_gaussian(5, 7, density=0.6)


def test_rows_have_its_mean_and_covariance(network):
    rows = np.stack(list(network.sample(200_000, np.random.default_rng(1)).values()), axis=1)
    spread = np.sqrt(np.diag(network.covariance))
    assert np.abs((rows.mean(axis=0) - network.mean) / spread).max() < 6 / np.sqrt(200_000)
    gap = (np.cov(rows.T) - network.covariance) / np.outer(spread, spread)
    assert np.abs(gap).max() < 6 * np.sqrt(2 / 200_000)


def test_the_likelihood_is_that_of_the_joint_density(network):
    columns = network.sample(50, np.random.default_rng(2))
    rows = np.stack([columns[name] for name in network.names], axis=1)
    expected = stats.multivariate_normal.logpdf(rows, network.mean, network.covariance).sum()
    assert network.log_likelihood(columns) == pytest.approx(expected)


def test_a_conditional_mean_is_the_regression_on_what_is_known(network):
    moments = Moments(names=network.names, count=9.0, mean=network.mean, covariance=network.covariance)
    known = {"x3": 1.5, "x1": -2.0}
    mean, covariance = network.given(known)
    assert list(mean) == ["x0", "x2", "x4"]
    for place, (name, value) in enumerate(mean.items()):
        line = moments.line(name, tuple(known))
        assert value == pytest.approx(line.intercept + sum(line.coefficients[k] * known[k] for k in known))
        assert covariance[place, place] == pytest.approx(line.variance)
    free, whole = network.given({})
    assert list(free.values()) == pytest.approx(network.mean)
    assert whole == pytest.approx(network.covariance)


def test_a_total_effect_is_the_shift_after_an_intervention(network):
    """Cut the links into the cause, set it to 0 and to 1, and compare the means."""
    for cause in network.names:
        means = []
        for value in (0.0, 1.0):
            line = Line(intercept=value, coefficients={}, variance=1.0)
            means.append(GaussianNetwork(lines=dict(network.lines) | {cause: line}).mean)
        for place, outcome in enumerate(network.names):
            assert network.total_effect(cause, outcome) == pytest.approx(means[1][place] - means[0][place])


def test_fitted_to_its_own_moments_it_is_itself(network):
    moments = Moments(names=network.names, count=9.0, mean=network.mean, covariance=network.covariance)
    again = GaussianNetwork.fit(moments, network.parents)
    for name, line in network.lines.items():
        assert dict(again.lines[name].coefficients) == pytest.approx(dict(line.coefficients))
        assert again.lines[name].variance == pytest.approx(line.variance)
        assert again.lines[name].intercept == pytest.approx(line.intercept)


def test_it_is_read_back(network):
    again = GaussianNetwork.from_dict(json.loads(json.dumps(network.as_dict())))
    assert again.as_dict() == network.as_dict()
    assert (again.order, again.edges) == (network.order, network.edges)


def test_bad_input(network):
    line = {"intercept": 0.0, "coefficients": {}, "variance": 1.0}
    for lines in ({}, {"a": line | {"variance": 0.0}}, {"a": line | {"intercept": float("nan")}}):
        with pytest.raises(InvalidInput):
            GaussianNetwork.from_dict({"tacita": "gaussian-network/1", "lines": lines})
    with pytest.raises(InvalidInput, match="cycle"):
        GaussianNetwork.from_dict(
            {
                "tacita": "gaussian-network/1",
                "lines": {"a": line | {"coefficients": {"b": 1}}, "b": line | {"coefficients": {"a": 1}}},
            }
        )
    with pytest.raises(UnknownName):
        GaussianNetwork.from_dict({"tacita": "gaussian-network/1", "lines": {"a": line | {"coefficients": {"b": 1}}}})
    with pytest.raises(InvalidInput, match="tacita"):
        GaussianNetwork.from_dict({"tacita": "network/1"})
    with pytest.raises(UnknownName):
        network.given({"x9": 1.0})
    with pytest.raises(InvalidInput, match="finite"):
        network.given({"x1": float("inf")})
    with pytest.raises(UnknownName):
        network.total_effect("x0", "x9")
    with pytest.raises(InvalidInput, match="rows"):
        network.sample(-1, np.random.default_rng(0))
    with pytest.raises(UnknownName):
        network.log_likelihood({"x0": [1.0]})
    with pytest.raises(InvalidInput, match="parents"):
        GaussianNetwork.fit(Moments.of({"a": [1.0, 2.0]}), {})
