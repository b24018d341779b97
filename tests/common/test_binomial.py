import numpy as np
import pytest
from scipy import stats

from tacita.common.binomial import clopper_pearson, lower_end, upper_end


def test_the_exact_interval_covers():
    """By enumeration: for every truth on a grid, the intervals that hold it have at least 95 % of the probability."""
    trials = 23
    ends = [clopper_pearson(k, trials) for k in range(trials + 1)]
    for truth in np.linspace(0.01, 0.99, 99):
        mass = stats.binom.pmf(np.arange(trials + 1), trials, truth)
        assert sum(m for m, (low, high) in zip(mass, ends, strict=True) if low <= truth <= high) >= 0.95


def test_arrays_and_ends():
    assert lower_end(np.array([0, 3, 10]), 10, 0.05)[0] == 0
    assert upper_end(np.array([0, 3, 10]), 10, 0.05)[2] == 1
    assert float(lower_end(3, 10, 0.025)) == pytest.approx(clopper_pearson(3, 10)[0])
