import numpy as np
import pytest
from scipy import stats

from tacita.assess.rates import Leak, Rate
from tacita.errors import InvalidInput


def test_wilson_is_its_definition():
    rate = Rate(successes=7, trials=50)
    low, high = rate.interval()
    for end in (low, high):  # where the test of this share just rejects
        assert abs(rate.share - end) == pytest.approx(1.959964 * np.sqrt(end * (1 - end) / 50), rel=1e-5)


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


def exact_coverage(n, m, attack, control):
    """The chance that the interval holds the truth, over all that can happen."""
    truth = max(0.0, (attack - control) / (1 - control)) if control < 1 else 0.0
    masses = [stats.binom.pmf(np.arange(k + 1), k, p) for k, p in ((n, attack), (m, control))]
    mass = 0.0
    for a, one in enumerate(masses[0]):
        for c, other in enumerate(masses[1]):
            if one * other < 1e-9:
                continue
            rates = Rate(successes=a, trials=n), Rate(successes=c, trials=m)
            value, low, high = Leak(name="x", attack=rates[0], baseline=rates[0], control=rates[1]).risk
            assert 0 <= low <= value <= high <= 1
            mass += one * other * (low - 1e-12 <= truth <= high + 1e-12)
    return mass


@pytest.mark.parametrize(("n", "m"), [(60, 60), (120, 30), (30, 120)])
@pytest.mark.parametrize(
    ("attack", "control"), [(0.5, 0.5), (0.9, 0.5), (0.98, 0.9), (0.99, 0.99), (0.3, 0.05), (1.0, 1.0), (1.0, 0.7)]
)
def test_the_interval_of_the_risk_covers_at_any_number_of_trials(n, m, attack, control):
    assert exact_coverage(n, m, attack, control) > 0.93


@pytest.mark.parametrize(("n", "m"), [(1000, 100), (3500, 1500), (2000, 40)])
def test_fewer_trials_of_the_control_are_no_leak(n, m):
    """A property of the population that everybody has, and nearly everybody: found of all, in the data or not."""
    for share in (1.0, 0.9, 0.5):
        attack, control = (Rate(successes=round(share * trials), trials=trials) for trials in (n, m))
        value, low, _ = Leak(name="x", attack=attack, baseline=attack, control=control).risk
        assert (value, low) == (0, 0)


def test_an_attack_must_beat_what_guessing_gave():
    attack = Rate(successes=50, trials=100)
    assert not Leak(name="x", attack=attack, baseline=Rate(successes=45, trials=100)).strong
    assert Leak(name="x", attack=attack, baseline=Rate(successes=39, trials=100)).strong


def test_bad_input():
    for successes, trials in ((0, 0), (3, 2), (-1, 2)):
        with pytest.raises(InvalidInput):
            Rate(successes=successes, trials=trials)
