"""Individual and household risk: against sums over the population's distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from tacita.assess.risk.individual import household_risk, individual_risk, inverse_frequency
from tacita.assess.risk.measure import RiskOptions
from tacita.assess.risk.microdata import microdata_risk
from tacita.assess.risk.sample import sample_of


@pytest.mark.parametrize("f", [1, 2, 3, 7, 49, 50, 51, 200])
@pytest.mark.parametrize("p", [0.02, 0.3, 0.49, 0.5, 0.51, 0.9, 0.999, 1.0])
def test_the_sum_over_all_population_frequencies(f: int, p: float) -> None:
    others = np.arange(0, int(60 * f / p) + 4000)
    direct = (stats.nbinom.pmf(others, f, p) / (f + others)).sum()
    assert inverse_frequency(np.array([f]), np.array([p]))[0] == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize(("f", "p"), [(1, 1e-9), (2, 1e-6), (5, 1e-4), (30, 1e-7), (80, 1e-5)])
def test_small_probabilities_by_quadrature(f: int, p: float) -> None:
    """In t = log u, where the integrand is smooth."""
    c = (1 - p) / p
    direct, _ = quad(lambda t: math.exp(f * t) / (1 + c * math.exp(t)), -60, 0, limit=500, epsabs=0, epsrel=1e-11)
    assert inverse_frequency(np.array([f]), np.array([p]))[0] == pytest.approx(direct, rel=1e-8)


def test_closed_form_of_sample_uniques_and_monotone() -> None:
    p = np.logspace(-8, -0.001, 200)
    np.testing.assert_allclose(inverse_frequency(np.ones(200, int), p), p / (1 - p) * np.log(1 / p), rtol=1e-9)
    for f in (1, 4, 60):
        risk = inverse_frequency(np.full(200, f), p)
        assert (np.diff(risk) > 0).all()
        assert (risk <= 1 / f).all()
        assert (risk > 0).all()


def test_weights_of_one_are_a_census() -> None:
    codes = np.array([[0, 0, 1, 2, 2, 2]])
    sample = sample_of(["a"], codes, weights=np.ones(6))
    np.testing.assert_allclose(individual_risk(sample), 1 / sample.f[sample.group])
    assert sample.fraction == 1


def test_the_mean_is_that_of_simulated_samples() -> None:
    """People of a key are in the sample with probability p; the expected 1/F given f, by simulation."""
    rng = np.random.default_rng(0)
    p, f = 0.2, 2
    others = rng.negative_binomial(f, p, 200_000)
    truth = (1 / (f + others)).mean()
    assert inverse_frequency(np.array([f]), np.array([p]))[0] == pytest.approx(truth, abs=5e-3)


def test_households() -> None:
    risk = np.array([0.1, 0.2, 0.5, 1.0, 0.3, 0.4])
    found = household_risk(risk, np.array([7, 7, 3, 3, -1, -1]))
    assert found.tolist() == pytest.approx([0.28, 0.28, 1.0, 1.0, 0.3, 0.4])


def test_the_measure() -> None:
    codes = np.array([[0, 0, 1, 2]])
    sample = sample_of(["a"], codes, weights=np.array([2.0, 2.0, 10.0, 0.5]), households=np.array([0, 1, 0, 1]))
    found = microdata_risk(sample, RiskOptions(threshold=0.3))
    direct = individual_risk(sample)
    assert found.figure("individual", "found") == pytest.approx(direct.sum())
    assert found.figure("individual", "at-risk") == (direct > 0.3).mean()
    assert direct[3] == 1  # a weight below one is capped
    assert found.records().column("household").to_pylist()[0] == pytest.approx(1 - (1 - direct[0]) * (1 - direct[2]))
    without = microdata_risk(sample_of(["a"], codes, households=np.array([0, 1, 0, 1])))
    assert without.figure("household", "highest") == 1
    assert "individual" in {each.what for each in without.skipped}
