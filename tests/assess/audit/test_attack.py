"""The auditor comes near to the truth where nothing is broken, and never passes it."""

import math

import numpy as np
import pytest
from scipy import stats

from tacita.assess.audit import audit, exact_epsilon, judge, matrix_epsilon, repeated
from tacita.assess.audit.attack import gaussian_epsilon as library_epsilon
from tacita.errors import InvalidInput

GRID = 2.0**16


def response(epsilon, size=4):
    """k-ary randomized response, as a mechanism."""
    truth = math.exp(epsilon) / (math.exp(epsilon) + size - 1)

    def run(value, times, rng):
        others = (value + rng.integers(1, size, times)) % size
        return np.where(rng.random(times) < truth, value, others)

    return run


def laplace(epsilon):
    return lambda value, times, rng: value + np.rint(rng.laplace(scale=1 / epsilon, size=times) * GRID) / GRID


def gaussian(sigma):
    return lambda value, times, rng: value + np.rint(rng.normal(scale=sigma, size=times) * GRID) / GRID


def gaussian_epsilon(sigma, delta):
    def at(e):
        return stats.norm.cdf(1 / (2 * sigma) - e * sigma) - math.exp(e) * stats.norm.cdf(-1 / (2 * sigma) - e * sigma)

    low, high = 0.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if at(middle) > delta else (low, middle)
    return high


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_it_comes_near_to_the_truth(epsilon):
    rng = np.random.default_rng(4)
    for mechanism, one, other in ((response(epsilon), 0, 1), (laplace(epsilon), 0.0, 1.0)):
        found = audit(mechanism, one, other, trials=400_000, rng=rng, confidence=0.99)
        assert 0.8 * epsilon <= found.epsilon <= epsilon
        assert judge("x", epsilon, exact=epsilon, audited=found).word == "consistent"


def test_it_comes_near_to_the_truth_for_gaussian_noise():
    for sigma, delta in ((1.0, 1e-2), (2.0, 1e-3)):
        truth = gaussian_epsilon(sigma, delta)
        found = audit(
            gaussian(sigma), 0.0, 1.0, trials=400_000, rng=np.random.default_rng(5), delta=delta, confidence=0.99
        )
        assert 0.7 * truth <= found.epsilon <= truth


def test_gaussian_noise_at_a_small_delta():
    """Rare events are not needed when the family is known; and a claim that is too small is still refuted."""
    truth = gaussian_epsilon(1.0, 1e-5)
    assert truth == pytest.approx(library_epsilon(1.0, 1e-5), abs=1e-6)
    arguments = {"trials": 200_000, "rng": np.random.default_rng(5), "delta": 1e-5, "confidence": 0.99}
    plain = audit(gaussian(1.0), 0.0, 1.0, **arguments)
    known = audit(gaussian(1.0), 0.0, 1.0, family="gaussian", **arguments)
    assert plain.epsilon < 0.8 * truth
    assert 0.9 * truth < known.epsilon <= truth
    assert known.assumed
    with pytest.raises(InvalidInput, match="delta"):
        audit(gaussian(1.0), 0.0, 1.0, family="gaussian", **(arguments | {"delta": 0.0}))


def test_the_bound_fails_no_more_often_than_it_says():
    """At a confidence of 0.8 and the exact epsilon, over many audits."""
    failures = 0
    for seed in range(300):
        found = audit(response(0.7, 3), 0, 1, trials=2000, rng=np.random.default_rng(seed), confidence=0.8)
        failures += found.epsilon > 0.7
    assert failures <= 60 + 3 * math.sqrt(300 * 0.2 * 0.8)


def test_nothing_is_found_where_nothing_is():
    found = audit(laplace(1.0), 0.0, 0.0, trials=20_000, rng=np.random.default_rng(6), confidence=0.99)
    assert found.epsilon < 0.2


def test_a_foreign_function():
    """One output at a call, of any kind."""
    rng = np.random.default_rng(7)

    def coin(value):
        return {"said": bool(value) if rng.random() < 0.75 else not value}

    found = audit(repeated(coin), True, False, trials=40_000, rng=rng)
    assert 0.9 * math.log(3) < found.epsilon <= math.log(3)


def test_vectors():
    """Noise on twenty numbers of which all move: the line on which they differ shows it."""

    def noisy(values, times, rng):
        return values + np.rint(rng.normal(scale=5.0, size=(times, len(values))) * GRID) / GRID

    found = audit(noisy, np.zeros(20), np.ones(20), trials=100_000, rng=np.random.default_rng(8), delta=1e-3)
    truth = gaussian_epsilon(5 / math.sqrt(20), 1e-3)
    assert 0.7 * truth < found.epsilon <= truth
    scored = audit(
        noisy,
        np.zeros(20),
        np.ones(20),
        trials=100_000,
        rng=np.random.default_rng(8),
        delta=1e-3,
        score=lambda o: o.sum(1),
    )
    assert scored.epsilon == pytest.approx(found.epsilon, rel=0.1)


@pytest.mark.parametrize(
    "bad",
    [{"trials": 10}, {"trials": 1000.0}, {"delta": 1.0}, {"delta": -1}, {"confidence": 1.0}, {"confidence": 0.2}],
)
def test_bad_input(bad):
    arguments = {"trials": 1000, "rng": np.random.default_rng()} | bad
    with pytest.raises(InvalidInput):
        audit(response(1.0), 0, 1, **arguments)


def test_bad_mechanisms():
    rng = np.random.default_rng()
    for mechanism in (
        lambda value, times, rng: np.zeros(3),
        lambda value, times, rng: [str(rng.random()) for _ in range(times)],
        lambda value, times, rng: np.zeros((times, 2 + value)),
    ):
        with pytest.raises(InvalidInput):
            audit(mechanism, 0, 1, trials=1000, rng=rng)
    for laws in (([0.5, 0.5], [1.0]), ([0.5, 0.6], [0.5, 0.5]), ([1.5, -0.5], [0.5, 0.5])):
        with pytest.raises(InvalidInput):
            exact_epsilon(*laws)
    with pytest.raises(InvalidInput):
        exact_epsilon([1.0], [1.0], delta=1)
    with pytest.raises(InvalidInput):
        matrix_epsilon([[1.0]])
