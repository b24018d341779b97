"""Effects against interventions in the true network, and the coverage of their intervals."""

import numpy as np
import pytest
from scipy import stats
from tests.models.continuous.random_gaussian import random_gaussian

from tacita.errors import InvalidInput, UnknownName
from tacita.models.continuous import Moments, effect, effects_on


@pytest.mark.parametrize("seed", range(5))
def test_with_the_true_moments_the_effect_is_that_of_the_intervention(seed):
    network = random_gaussian(6, seed, density=0.5)
    moments = Moments(names=network.names, count=1000.0, mean=network.mean, covariance=network.covariance)
    for outcome in network.names:
        for found in effects_on(moments, network.parents, outcome):
            assert found.value == pytest.approx(network.total_effect(found.cause, outcome), abs=1e-9)
            assert found.adjusted == network.parents[found.cause]
            if not found.leads:
                assert found.value == pytest.approx(0, abs=1e-9)


def test_standard_errors_are_those_of_least_squares():
    columns = random_gaussian(3, 4, density=1.0).sample(40, np.random.default_rng(3))
    found = effect(Moments.of(columns), {"x0": (), "x1": (), "x2": ()}, "x0", "x2")
    fit = stats.linregress(columns["x0"], columns["x2"])
    assert found.value == pytest.approx(fit.slope)
    assert found.std == pytest.approx(fit.stderr)
    half = stats.t.ppf(0.975, 38) * fit.stderr
    assert (found.low, found.high) == pytest.approx((fit.slope - half, fit.slope + half))


def test_intervals_cover_as_often_as_they_say():
    network = random_gaussian(4, 11, density=0.8)
    truth = network.total_effect("x1", "x3")
    rng, runs, hits = np.random.default_rng(9), 2000, 0
    for _ in range(runs):
        found = effect(Moments.of(network.sample(30, rng)), network.parents, "x1", "x3", level=0.9)
        hits += found.low <= truth <= found.high
    assert abs(hits / runs - 0.9) < 5 * np.sqrt(0.09 / runs)


def test_nothing_changes_its_own_parent():
    network = random_gaussian(4, 11, density=0.8)
    (child, above) = next((name, each[0]) for name, each in network.parents.items() if each)
    found = effect(Moments.of(network.sample(50, np.random.default_rng(1))), network.parents, child, above)
    assert (found.value, found.std, found.low, found.high, found.leads) == (0.0, 0.0, 0.0, 0.0, False)
    assert found.as_dict()["adjusted"] == list(network.parents[child])


def test_bad_input():
    moments = Moments.of({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 5.0]})
    parents = {"a": (), "b": ("a",)}
    with pytest.raises(UnknownName):
        effect(moments, parents, "c", "a")
    with pytest.raises(InvalidInput, match="differ"):
        effect(moments, parents, "a", "a")
    with pytest.raises(InvalidInput, match="level"):
        effect(moments, parents, "a", "b", level=1.0)
    with pytest.raises(InvalidInput, match="rows"):
        effect(Moments.of({"a": [1.0, 2.0], "b": [0.0, 1.0]}), parents, "a", "b")
