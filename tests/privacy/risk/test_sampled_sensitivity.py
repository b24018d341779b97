import numpy as np
import pytest
from scipy import stats

from tacita.errors import InvalidInput
from tacita.privacy.risk.at_risk import confidence_of
from tacita.privacy.risk.bessel import bessel_cdf
from tacita.privacy.risk.sampled_sensitivity import (
    SampledSensitivity,
    dkw_coverage,
    dkw_tolerance,
    mixed_confidence,
    recalibrated_noise,
    sample_sensitivity,
    sampled_loss,
    samples_for_tolerance,
)


def neighbours(rng):
    shared = rng.exponential(size=20)
    return np.append(shared, rng.exponential()), np.append(shared, rng.exponential())


def test_order_statistics_cover_what_they_promise():
    """Over many samplings: the marginal promise on average, the tolerance promise in the stated share of samplings."""
    rng = np.random.default_rng(1)
    marginal, kept = [], 0
    for _ in range(2000):
        found = SampledSensitivity(distances=rng.exponential(size=60))
        marginal.append(stats.expon.cdf(found.at(0.9)[0]))
        kept += stats.expon.cdf(found.at(0.85, confidence=0.9)[0]) >= 0.85
    assert np.mean(marginal) == pytest.approx(55 / 61, abs=0.004)
    assert kept / 2000 >= 0.9 - 3 * np.sqrt(0.09 / 2000)
    # one place lower would not do: the promise is not slack by a whole place
    place = SampledSensitivity(distances=np.arange(60.0)).at(0.85, confidence=0.9)[1]
    assert 1 - stats.beta.cdf(0.85, place - 1, 60 - place + 2) < 0.9


def test_sampling_a_query():
    found = sample_sensitivity(np.sum, neighbours, 500, np.random.default_rng(2))
    assert found.pairs == 500
    expected = stats.laplace.ppf(0.75)  # the difference of two exponentials, so its size is exponential
    assert found.at(0.5)[0] == pytest.approx(expected, rel=0.15)
    assert 0.4 < found.coverage_of(expected, confidence=0.95) < 0.5


def test_golden_tolerances():
    assert round(dkw_tolerance(15000, 0.01), 7) == 0.9004259
    assert round(dkw_tolerance(10000, 0.01), 4) == 0.7293
    assert round(dkw_tolerance(10000, 0.005), 3) == -0.213  # says nothing, and is not hidden
    assert dkw_coverage(0.9, 10000, 0.005) == 0
    needed = [samples_for_tolerance(0.9, rho) for rho in (0.1, 0.05, 0.02, 0.01, 0.005, 0.001)]
    assert needed == [150, 600, 3745, 14979, 59915, 1497867]


def test_a_larger_rho_does_not_always_look_better():
    bounds = [dkw_coverage(0.9, 15000, rho) for rho in (0.005, 0.012, 0.02, 0.1, 0.5)]
    assert max(bounds) not in (bounds[0], bounds[-1])


def test_the_recalibration_is_refused_where_it_has_no_solution():
    with pytest.raises(InvalidInput, match=r"0\.81"):  # the document's own example
        recalibrated_noise(0.4, 0.9, coverage=0.9, tolerance=0.9)
    assert recalibrated_noise(0.4, 0.485, coverage=0.9, tolerance=0.9) == pytest.approx(0.8, abs=0.005)
    found = recalibrated_noise(0.4, 0.7, coverage=0.9, tolerance=0.95, dimensions=5)
    assert 0.7 * bessel_cdf(found, 5) == pytest.approx(0.9 * 0.95 * bessel_cdf(0.4, 5), rel=1e-9)
    with pytest.raises(InvalidInput, match="any noise level"):
        recalibrated_noise(0.4, 0.1, coverage=0.9, tolerance=0.9)


def test_loss_over_data_and_noise():
    """Simulated against the exact confidence of each pair's own level, averaged."""
    arguments = {"epsilon": 0.5, "noise": 1.0, "sensitivity": 2.0}
    found = sampled_loss(np.sum, neighbours, draws=6000, rng=np.random.default_rng(3), **arguments)
    distances = sample_sensitivity(np.sum, neighbours, 6000, np.random.default_rng(4))
    expected = mixed_confidence(distances, 2.0, 0.5, 1.0)
    assert found.share == pytest.approx(expected, abs=0.03)
    assert found.lower < found.share
    # with one certain distance it is the worst pair's confidence
    fixed = SampledSensitivity(distances=np.full(5, 2.0))
    assert mixed_confidence(fixed, 2.0, 0.5, 1.0) == pytest.approx(confidence_of(0.5, 1.0))


@pytest.mark.parametrize(
    "bad",
    [
        lambda: SampledSensitivity(distances=np.array([])),
        lambda: SampledSensitivity(distances=np.array([-1.0])),
        lambda: SampledSensitivity(distances=np.array([np.nan])),
        lambda: SampledSensitivity(distances=np.arange(10.0)).at(0.99),
        lambda: SampledSensitivity(distances=np.arange(10.0)).at(0.9, confidence=0.9),
        lambda: SampledSensitivity(distances=np.arange(10.0)).at(1.5),
        lambda: dkw_tolerance(100, 0),
        lambda: dkw_tolerance(10, 0.01, sides="one"),
        lambda: samples_for_tolerance(1.0, 0.1),
        lambda: sample_sensitivity(np.sum, neighbours, 0, np.random.default_rng()),
    ],
)
def test_bad_input(bad):
    with pytest.raises(InvalidInput):
        bad()


@pytest.mark.parametrize("bad", [{"draws": 0}, {"draws": 2.5}, {"noise": 0.0}, {"sensitivity": 0.0}])
def test_a_simulation_needs_draws_and_noise(bad):
    given = {"epsilon": 1.0, "noise": 1.0, "sensitivity": 1.0, "draws": 10} | bad
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        sampled_loss(lambda x: x, lambda rng: (0, 1), rng=np.random.default_rng(1), **given)
