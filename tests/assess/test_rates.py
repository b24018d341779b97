import numpy as np
import pytest
from scipy import stats

from tacita.assess.rates import Leak, Rate, clopper_pearson
from tacita.errors import InvalidInput


def test_the_exact_interval_covers():
    """By enumeration: for every truth on a grid, the intervals that hold it have at least 95 % of the probability."""
    trials = 23
    ends = [clopper_pearson(k, trials) for k in range(trials + 1)]
    for truth in np.linspace(0.01, 0.99, 99):
        mass = stats.binom.pmf(np.arange(trials + 1), trials, truth)
        assert sum(m for m, (low, high) in zip(mass, ends, strict=True) if low <= truth <= high) >= 0.95


def test_wilson_is_its_definition():
    rate = Rate(successes=7, trials=50)
    low, high = rate.interval()
    for end in (low, high):  # where the test of this share just rejects
        assert abs(rate.share - end) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / 50), rel=1e-5)
    assert rate.centre == pytest.approx((low + high) / 2)


def test_what_the_control_knows_is_taken_away():
    half = Rate(successes=500, trials=1000)
    leak = Leak(name="x", attack=half, baseline=Rate(successes=100, trials=1000), control=half)
    assert leak.risk[0] == 0
    assert leak.strong
    sure = Leak(name="x", attack=Rate(successes=1000, trials=1000), baseline=half, control=half)
    assert sure.risk[0] == pytest.approx(1, abs=0.01)
    alone = Leak(name="x", attack=half, baseline=half)
    assert alone.risk[0] == 0.5
    assert not alone.strong
    assert alone.as_dict()["control"] is None


def test_the_interval_of_the_risk_covers():
    rng = np.random.default_rng(2)
    truth, covered = (0.6 - 0.3) / 0.7, 0
    for _ in range(2000):
        attack, control = (Rate(successes=int(rng.binomial(400, p)), trials=400) for p in (0.6, 0.3))
        _, low, high = Leak(name="x", attack=attack, baseline=control, control=control).risk
        covered += low <= truth <= high
    assert 0.93 < covered / 2000 < 0.98


def test_bad_input():
    for successes, trials in ((0, 0), (3, 2), (-1, 2)):
        with pytest.raises(InvalidInput):
            Rate(successes=successes, trials=trials)
