"""Sampling is independent, unit by unit, at the stated rate."""

import numpy as np
import pytest
from scipy import stats

from tacita.errors import InvalidInput
from tacita.models.neural.sampling import poisson_sample
from tacita.noise import SecureSource, SeededSource


def test_units_come_on_their_own_at_the_rate():
    source, rate, units, rounds = SeededSource(3), 0.2, 40, 4000
    seen = np.zeros((rounds, units))
    for at in range(rounds):
        seen[at, poisson_sample(units, rate, source)] = 1
    # each unit alone, the size of batches, and pairs: a fixed size or a shuffled list would show in the last two
    assert stats.chisquare(seen.sum(0), np.full(units, seen.sum() / units)).pvalue > 1e-3
    assert abs(seen.mean() - rate) < 5 * np.sqrt(rate * (1 - rate) / seen.size)
    sizes = seen.sum(1)
    assert sizes.var() == pytest.approx(units * rate * (1 - rate), rel=0.1)
    pairs = np.corrcoef(seen.T)[np.triu_indices(units, 1)]
    assert abs(pairs.mean()) < 5 / np.sqrt(rounds * pairs.size)


def test_all_are_in_at_rate_one_and_batches_may_be_empty():
    assert poisson_sample(7, 1.0, SecureSource()).tolist() == list(range(7))
    assert poisson_sample(0, 0.5, SecureSource()).size == 0
    assert any(poisson_sample(3, 0.05, SeededSource(seed)).size == 0 for seed in range(5))


def test_the_chance_is_never_above_the_rate():
    class Counting:
        simulated = True

        def __init__(self, words):
            self._words = np.array(words, np.uint64)

        def words(self, count):
            return self._words[:count]

    edge = int(0.3 * 2**53)  # the float times a power of two is exact
    words = [(edge - 1) << 11, (edge << 11) - 1, edge << 11, 2**64 - 1]
    assert poisson_sample(4, 0.3, Counting(words)).tolist() == [0, 1]


@pytest.mark.parametrize("rate", [0.0, -1.0, 1.5, float("nan")])
def test_a_rate_is_a_chance(rate):
    with pytest.raises(InvalidInput, match="rate"):
        poisson_sample(3, rate, SecureSource())
