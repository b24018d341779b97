"""Population uniques by log-linear models: against known populations and other fits."""

from __future__ import annotations

import numpy as np
import pytest

from tacita.assess.risk.loglinear import choose, fit_interactions, fit_main_effects, ipf
from tacita.assess.risk.microdata import microdata_risk
from tacita.assess.risk.sample import sample_of


def test_main_effects_are_the_fit_of_single_margins() -> None:
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(0, size, 200) for size in (3, 4, 5)])
    sample = sample_of("abc", codes, people=2000)
    counts = np.zeros((3, 4, 5))
    np.add.at(counts, tuple(codes), 1)
    slow = ipf(counts, [(0,), (1,), (2,)])
    fit = fit_main_effects(sample, 0.1)
    np.testing.assert_allclose(fit.means, slow[tuple(codes[:, sample.unique])], rtol=1e-6)


def test_two_way_fit_has_the_margins_and_no_third_interaction() -> None:
    rng = np.random.default_rng(1)
    codes = np.array([rng.integers(0, 2, 500) for _ in range(3)])
    sample = sample_of("abc", codes, people=5000)
    counts = np.zeros((2, 2, 2))
    np.add.at(counts, tuple(codes), 1)
    means = ipf(counts, [(0, 1), (0, 2), (1, 2)])
    for axis in range(3):
        np.testing.assert_allclose(means.sum(axis=axis), counts.sum(axis=axis), rtol=1e-4)
    odds = means[0, 0] * means[1, 1] / (means[0, 1] * means[1, 0])
    assert odds[0] == pytest.approx(odds[1], rel=1e-3)
    assert fit_interactions(sample, 0.1, [(0, 1), (0, 2), (1, 2)]).means.size == sample.unique.sum()


def _levels(rng: np.random.Generator, ratio: float, size: int) -> np.ndarray:
    weights = ratio ** np.arange(size)
    return rng.choice(size, 60_000, p=weights / weights.sum())


def _population(seed: int, *, dependent: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dependent:
        first = _levels(rng, 0.7, 12)
        return np.array([first, (first + rng.geometric(0.4, 60_000)) % 10, _levels(rng, 0.9, 90)])
    return np.array([_levels(rng, 0.85, 30), _levels(rng, 0.8, 25), _levels(rng, 0.75, 20)])


@pytest.mark.parametrize("dependent", [False, True])
def test_estimates_agree_with_known_populations(dependent: bool) -> None:
    """Estimated and true numbers over samples of simulated populations that the model fits."""
    estimates, truths = [], []
    for seed in range(8):
        people = _population(seed, dependent=dependent)
        chosen = np.random.default_rng(100 + seed).random(people.shape[1]) < 0.1
        sample = sample_of("abc", people[:, chosen], people=people.shape[1])
        found = microdata_risk(sample)
        true = microdata_risk(sample_of("abc", people[:, chosen], population=people))
        estimates.append([found.figure("loglinear", "tau1"), found.figure("loglinear", "tau2")])
        truths.append([true.figure("journalist", "population-uniques"), true.figure("journalist", "matches")])
    mean, truth = np.mean(estimates, axis=0), np.mean(truths, axis=0)
    assert truth[0] > 20
    assert dependent == ("x b" in choose(sample, 0.1).model)
    np.testing.assert_allclose(mean, truth, rtol=0.2)


def test_a_census_has_as_many_population_uniques_as_sample_uniques() -> None:
    codes = np.array([[0, 1, 2, 2], [0, 1, 1, 1]])
    found = microdata_risk(sample_of("ab", codes, people=4))
    assert found.figure("loglinear", "tau1") == found.figure("loglinear", "tau2") == 2


def test_a_table_that_is_too_large_takes_main_effects() -> None:
    rng = np.random.default_rng(2)
    codes = np.array([rng.integers(0, 400, 500) for _ in range(4)])
    found = microdata_risk(sample_of("abcd", codes, people=50_000))
    (notes,) = (result.notes for measure, result in found.measured if measure.name == "loglinear")
    assert "too large" in notes[0]
    assert 0 < found.figure("loglinear", "tau1") <= 500
