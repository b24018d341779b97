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


def test_ends():
    assert none_and_one(np.zeros(5), 3.0) == (1.0, 0.0)
    assert none_and_one(np.array([2.0, 3.0]), 3.0) == (0.0, 0.0)
    assert none_and_one(np.array([1.0, 3.0]), 2.0) == (0.0, 0.25)
