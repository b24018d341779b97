import numpy as np

from tacita.collect.estimating.shrink import shrink, shrink_weighted


def test_pure_noise_is_dropped_and_a_clear_signal_kept():
    rng = np.random.default_rng(1)
    kept = [np.linalg.norm(shrink(rng.normal(size=(20, 30)), 1.0)) for _ in range(50)]
    assert np.mean(np.array(kept) == 0) > 0.5
    assert np.mean(kept) < 3
    signal = 100 * np.outer(np.ones(20) / 20**0.5, np.ones(30) / 30**0.5)
    found = shrink(signal + rng.normal(size=(20, 30)), 1.0)
    assert np.linalg.norm(found - signal) < 12  # a rank-one signal costs about sqrt(20 + 30) of noise, not sqrt(600)


def test_shrinking_beats_keeping_and_dropping():
    rng = np.random.default_rng(2)
    errors = {"kept": 0.0, "dropped": 0.0, "shrunk": 0.0}
    for _ in range(100):
        signal = 9 * np.outer(rng.normal(size=10), rng.normal(size=12)) / 11
        noisy = signal + rng.normal(size=signal.shape)
        errors["kept"] += ((noisy - signal) ** 2).sum()
        errors["dropped"] += (signal**2).sum()
        errors["shrunk"] += ((shrink(noisy, 1.0) - signal) ** 2).sum()
    assert errors["shrunk"] < 0.6 * min(errors["kept"], errors["dropped"])


def test_uneven_noise_is_evened_out_first():
    rng = np.random.default_rng(3)
    variance = np.outer(np.linspace(0.1, 4, 15), np.ones(15))
    plain = weighted = 0.0
    for _ in range(60):
        noisy = rng.normal(size=variance.shape) * np.sqrt(variance)
        plain += (shrink(noisy, np.sqrt(variance.mean())) ** 2).sum()
        weighted += (shrink_weighted(noisy, variance) ** 2).sum()
    assert weighted < plain
