"""The noise is normal with the stated deviation, on whole numbers."""

import numpy as np
from scipy import stats

from tacita.models.neural.grid_noise import rounded_normal
from tacita.noise import SecureSource, SeededSource


def test_noise_is_normal_with_the_stated_deviation():
    drawn = rounded_normal(200_001, 1e6, SeededSource(1))
    assert drawn.shape == (200_001,)
    assert (drawn == np.rint(drawn)).all()
    assert stats.kstest(drawn / 1e6, "norm").pvalue > 1e-3
    assert abs(drawn.std() / 1e6 - 1) < 5 / np.sqrt(2 * drawn.size)
    halves = drawn[:100_000], drawn[100_001:]  # both come from the same words
    assert abs(np.corrcoef(*halves)[0, 1]) < 5 / np.sqrt(100_000)


def test_noise_is_fresh_unless_it_is_seeded():
    assert (rounded_normal(9, 1e6, SecureSource()) != rounded_normal(9, 1e6, SecureSource())).any()
    assert (rounded_normal(9, 1e6, SeededSource(2)) == rounded_normal(9, 1e6, SeededSource(2))).all()


def test_extreme_words_give_finite_numbers():
    class Ends:
        simulated = True
        calls = 0

        def words(self, count):
            self.calls += 1
            ends = [0, 2**64 - 1] if self.calls % 2 else [2**64 - 1, 0]
            return np.resize(np.array(ends, np.uint64), count)

    assert np.isfinite(rounded_normal(4, 1e6, Ends())).all()
