"""The laws, and above all the tails: no number is the largest one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tacita.errors import InternalError
from tacita.models.neural.grid_noise import rounded_normal
from tacita.noise import SeededSource
from tacita.noise.continuous import exponentials, normals
from tacita.privacy.budget import LEAST_DELTA, LEAST_EPSILON, MOST_DELTA, MOST_EPSILON, Budget
from tacita.privacy.calibrate import narrowest
from tacita.privacy.event import Zcdp
from tacita.privacy.unit import Neighbours


class Scripted:
    """Words as they are given; the last one for ever."""

    simulated = True

    def __init__(self, *words):
        self._words = list(words)

    def words(self, count):
        taken = [self._words.pop(0) if len(self._words) > 1 else self._words[0] for _ in range(count)]
        return np.array(taken, np.uint64)


def test_the_laws_are_exponential_and_normal():
    assert stats.kstest(exponentials(200_001, SeededSource(3)), "expon").pvalue > 1e-3
    drawn = normals(200_001, SeededSource(4))
    assert stats.kstest(drawn, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(drawn[:100_000], drawn[100_001:])[0, 1]) < 5 / math.sqrt(100_000)


def test_every_binade_has_its_probability_and_full_precision():
    """Word by word: a first word in [2^-(k+1), 2^-k) gives the binade k, and the second the place within it."""
    for zeros in range(53):
        for ends in (1 << (63 - zeros), (1 << (64 - zeros)) - 1):
            low, high = (float(exponentials(1, Scripted(ends, word))[0]) for word in (0, 2**64 - 1))
            assert math.isclose(low, zeros * math.log(2), abs_tol=1e-15)
            assert math.isclose(high, (zeros + 1) * math.log(2), rel_tol=1e-15)


@pytest.mark.parametrize("empty", [1, 3, 30])
def test_a_word_of_zeros_goes_on_into_the_next(empty):
    drawn = float(exponentials(1, Scripted(*[0] * empty, 1 << 63, 0))[0])
    assert math.isclose(drawn, 53 * empty * math.log(2))


def test_a_source_of_zeros_is_broken():
    with pytest.raises(InternalError, match="zeros"):
        exponentials(2, Scripted(0))


@pytest.mark.parametrize("delta", [LEAST_DELTA, 1e-9, 1e-6, MOST_DELTA])
@pytest.mark.parametrize("epsilon", [LEAST_EPSILON, 0.01, 1.0, 8.0, 20.0, 30.0, 100.0, MOST_EPSILON])
def test_noise_reaches_whatever_a_neighbour_can_give(epsilon, delta):
    """Over the whole range of budgets: outputs that the neighbour gives with probability 1e-30 have a way to arise.

    At a noise of `std` sensitivities, the neighbour's outputs lie 1/std deviations away, and its tail of 1e-30 another
    11.5 beyond. An end at 8.57 deviations fails this for every budget above.
    """
    rho_of = narrowest(
        lambda x: Zcdp(rho=1 / (2 * x * x)), Budget.approx(epsilon, delta), Neighbours.ADD_REMOVE, start=Fraction(1)
    )
    needed = 1 / float(rho_of) + 11.5
    empty = math.ceil(needed**2 / 2 / (53 * math.log(2)))
    reached = rounded_normal(1, 1e6, Scripted(*[0] * empty, 1 << 63, 0, 0))[0] / 1e6
    assert reached >= needed
