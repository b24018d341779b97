import math
from dataclasses import replace

import numpy as np
import pytest

from tacita.noise import DiscreteGaussian, DiscreteLaplace, SeededSource
from tacita.synthesize.expected import ExpectedErrors, Likely, Seen

ERRORS = ExpectedErrors(singles=60.0, tree=200.0, pairs=900.0, cells=16.0, columns=12)
LAWS = (DiscreteLaplace.at_least(300), DiscreteGaussian.at_least(300**2))


def test_expected_errors_by_hand():
    found = np.exp(ERRORS.logs(10_000, 500.0, 100.0))
    missed = 1.1 * 500**0.17 * 100**0.83
    by_hand = (
        (500**1.2 + 31.8**1.2) ** (1 / 1.2),
        (missed**1.2 + 96.0**1.2) ** (1 / 1.2),
        0.82 * 12**-0.3 * 900**0.8 * 500**0.2,
    )
    assert found == pytest.approx(np.array(by_hand) / 10_000)


def test_without_dependence_all_pairs_still_have_the_noise_of_singles():
    assert math.exp(ERRORS.logs(10_000, 0.0, 0.0)[2]) == pytest.approx(16**-0.25 * 11**-0.5 * 0.09)


def test_shares_do_not_depend_on_the_number_of_rows_beyond_the_noise():
    twice = replace(ERRORS, singles=120.0, tree=400.0, pairs=1800.0)
    assert ERRORS.times(2) == twice
    assert twice.logs(20_000, 1000.0, 200.0) == pytest.approx(ERRORS.logs(10_000, 500.0, 100.0))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_chances_are_those_of_the_noise(law):
    seen = Seen(value=[10.0, 12.5], law=law, grid=16)
    truth = np.array([-20.0, 10.0, 40.0])
    off = np.rint((np.array([[10.0], [12.5]]) - truth) * 16)
    exact = np.log(law.pmf(off))
    found = seen.log_chances(truth)
    assert found - found[:, :1] == pytest.approx(exact - exact[:, :1], abs=1e-3)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.kind)
def test_quantiles_of_the_noise(law):
    drawn = np.sort(law.draw(20_001, SeededSource(1))) / 16
    levels = (np.arange(7) + 0.5) / 7
    assert Seen(law=law, grid=16).noises() == pytest.approx(np.quantile(drawn, levels), abs=0.06 * law.std / 16)


def test_exact_numbers_decide_as_the_formulas_do():
    fine = DiscreteLaplace.at_least(16)
    likely = Likely.of(ERRORS, 10_000, points=41)
    rng = np.random.default_rng(0)
    for _ in range(30):
        at = rng.integers(likely.mean.size)
        seen = [Seen(value=part[at], law=fine, grid=16) for part in (likely.mean, likely.left)]
        logs = ERRORS.logs(10_000, likely.mean[at], likely.left[at])
        assert logs[likely.best(ERRORS, seen)] <= logs.min() + 0.1


def test_numbers_that_are_all_noise_decide_as_nothing_does():
    wild = DiscreteLaplace.at_least(10**9)
    likely = Likely.of(ERRORS, 10_000)
    for value in (-5_000.0, 0.0, 5_000.0):
        seen = [Seen(value=value, law=wild, grid=16)] * 2
        assert likely.expected(ERRORS, seen)[:, 0] == pytest.approx(likely.expected(ERRORS)[:, 0], abs=1e-3)


def test_numbers_far_outside_what_is_likely_decide_all_the_same():
    likely = Likely.of(ERRORS, 10_000)
    for value in (-1e9, 1e9):
        assert np.isfinite(likely.expected(ERRORS, [Seen(value=value, law=LAWS[1], grid=16)] * 2)).all()


def test_a_measurement_saves_the_less_the_more_noise_it_has_and_never_less_than_nothing_but_its_cost():
    likely = Likely.of(ERRORS, 10_000, points=9)
    saved = [likely.saved(ERRORS, [DiscreteLaplace.at_least(scale)] * 2, 16, 1.0) for scale in (16, 4_000, 10**8)]
    assert saved[0] > saved[1] > saved[2] > -1e-3
    assert saved[0] > 0.01
    assert saved[2] < 1e-3
    assert likely.saved(ERRORS, [LAWS[0]] * 2, 16, 1.1) < likely.saved(ERRORS, [LAWS[0]] * 2, 16, 1.0)


def test_a_measurement_is_worth_what_simulated_decisions_save():
    """All that is likely, with drawn noise, against the computed value."""
    law = DiscreteLaplace.at_least(2_000)
    likely = Likely.of(ERRORS, 10_000, points=9)
    logs = ERRORS.logs(10_000, likely.mean, likely.left)
    alone = logs[likely.best(ERRORS)].mean()
    got = []
    for seed in range(30):
        noise = law.draw(2 * likely.mean.size, SeededSource(seed)).reshape(2, -1) / 16
        seen = [
            Seen(value=part + each, law=law, grid=16)
            for part, each in zip((likely.mean, likely.left), noise, strict=True)
        ]
        at = np.argmin(likely.expected(ERRORS, seen), axis=0)
        got.append(logs[at, np.arange(at.size)].mean())
    assert likely.saved(ERRORS, [law] * 2, 16, 1.0) == pytest.approx(alone - np.mean(got), abs=0.01)
