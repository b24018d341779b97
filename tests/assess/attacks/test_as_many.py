import numpy as np
import pytest

from tacita.assess.attacks._as_many import none_and_one


@pytest.mark.parametrize("shape", [0.3, 1.0, 5.0, 1e6])
@pytest.mark.parametrize("times", [1.0, 3.0, 8.0])
def test_it_gives_what_more_people_would(shape, times):
    rng = np.random.default_rng(1)
    means = rng.gamma(shape, 0.8 / shape, 200_000)
    few, many = rng.poisson(means), rng.poisson(means * times)
    none, one = none_and_one(few.astype(float), times)
    assert none == pytest.approx((many == 0).mean(), abs=0.02)
    assert one == pytest.approx((many == 1).mean(), abs=0.02)


def test_the_same_number_gives_the_same_shares():
    counts = np.array([0.0] * 50 + [1.0] * 20 + [2.0] * 20 + [90.0] * 10)
    assert none_and_one(counts, 1.0) == pytest.approx((0.5, 0.2), abs=1e-6)


def test_few_guesses_that_fit_no_one_or_one_are_extrapolated():
    """Nearly all guesses fit many people: s is so near to r that floats cannot hold the difference."""
    counts = np.array([0.0] * 10 + [1.0] + [50.0] * 989)
    none, one = none_and_one(counts, 1.0)
    assert (none, one) == pytest.approx((0.01, 0.001))
    more = none_and_one(counts, 4.0)
    assert more == pytest.approx((0.01 * 4**-0.1, 0.001 * 4**-0.1))
    near = none_and_one(np.array([0.0] * 10 + [1.0] * 3 + [50.0] * 987), 4.0)  # just inside what floats hold
    assert near == pytest.approx((0.01 * 4**-0.3, 0.003 * 4**-0.3), rel=1e-3)


@pytest.mark.parametrize("none", [1, 5, 50, 300, 900])
def test_all_shares_can_be_extrapolated(none):
    for one in range(1, 1001 - none):
        found = none_and_one(np.array([0.0] * none + [1.0] * one + [9.0] * (1000 - none - one)), 2.0)
        assert 0 <= found[0] <= 1
        assert 0 <= found[1] <= 1 - found[0] + 1e-12


def test_ends():
    assert none_and_one(np.zeros(5), 3.0) == (1.0, 0.0)
    assert none_and_one(np.array([2.0, 3.0]), 3.0) == (0.0, 0.0)
    assert none_and_one(np.array([1.0, 3.0]), 2.0) == (0.0, 0.25)
