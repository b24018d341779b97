from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace, SecureSource, SeededSource, Stepped, law_from_dict

INSIDE = DiscreteLaplace.at_least(640)
FINE = Stepped(law=INSIDE, of=Fraction(1, 64))


def test_draws_count_steps_and_errors_count_units():
    assert np.array_equal(FINE.draw(50, SeededSource(1)), INSIDE.draw(50, SeededSource(1)))
    assert FINE.std == pytest.approx(INSIDE.std / 64)
    assert FINE.half_width(0.9, terms=3) == INSIDE.half_width(0.9, terms=3) / 64


def test_the_law_of_a_fine_grid_is_nearly_continuous():
    draws = FINE.draw(4000, SecureSource()) * float(FINE.step)
    assert stats.kstest(draws, stats.laplace(scale=10).cdf).pvalue > 1e-7


def test_plain_data_and_back():
    for law in (FINE, Stepped(law=DiscreteGaussian.at_least(9), of=Fraction(3, 7))):
        assert law_from_dict(law.as_dict()) == law


def test_wide_gaussian_noise_can_be_simulated():
    law = DiscreteGaussian.at_least(10**13)
    draws = law.draw(20_000, SeededSource(1))
    assert stats.kstest(draws / law.std, "norm").pvalue > 1e-4


@pytest.mark.parametrize("step", [Fraction(0), Fraction(-1), 0.5])
def test_a_step_is_a_positive_ratio(step):
    with pytest.raises(InvalidInput, match="positive ratio"):
        Stepped(law=INSIDE, of=step)
