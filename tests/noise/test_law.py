import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace, SecureSource, SeededSource, Stepped, law_from_dict
from tacita.noise.law import OPENDP_AT_MOST, law_of_sum, ratio_at_least
from tacita.testing.channel import chi_square_p

LAWS = [
    DiscreteLaplace.at_least(0.4),
    DiscreteLaplace(scale=Fraction(10, 7)),
    DiscreteLaplace.at_least(25),
    DiscreteGaussian.at_least(0.3),
    DiscreteGaussian.at_least(2.5),
    DiscreteGaussian.at_least(400),
]


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_moments_against_the_summed_law(law):
    x = np.arange(-2000, 2001)
    assert law.pmf(x).sum() == pytest.approx(1, abs=1e-12)
    assert (x * x * law.pmf(x)).sum() == pytest.approx(law.variance, rel=1e-10)


def chi_square(law, draws):
    """p-value of draws against the law; what lies further out is one cell."""
    reach = int(4 * law.std) + 1
    expected = np.append(law.pmf(np.arange(-reach, reach + 1)), 0.0)
    expected[-1] = 1 - expected.sum()
    seen = np.bincount(np.where(np.abs(draws) <= reach, draws + reach, 2 * reach + 1), minlength=2 * reach + 2)
    return chi_square_p(seen, expected)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_own_sampler_follows_the_law(law):
    assert chi_square(law, law.draw(200_000, SeededSource(1))) > 1e-4


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_opendp_follows_the_same_law(law):
    draws = np.concatenate([law.draw(OPENDP_AT_MOST, SecureSource()) for _ in range(5)])
    assert chi_square(law, draws) > 1e-6


def test_chi_square_would_notice_other_noise():
    assert (
        chi_square(DiscreteLaplace.at_least(10), DiscreteLaplace.at_least(10.5).draw(200_000, SeededSource(1))) < 1e-4
    )


def test_large_draws_use_the_given_source():
    law = DiscreteLaplace.at_least(3)
    assert np.array_equal(law.draw(50, SeededSource(5)), law.draw(50, SeededSource(5)))
    assert not np.array_equal(law.draw(50, SeededSource(5)), law.draw(50, SeededSource(6)))


def test_a_tape_that_ends_in_the_middle_changes_nothing():
    """Draws do not depend on how the words are cut into tapes: the tail of one is the head of the next."""

    class Drip:
        simulated = True

        def __init__(self):
            self.words_left = SeededSource(9).words(40_000)

        def words(self, count):
            part, self.words_left = self.words_left[:7], self.words_left[7:]
            return part

    whole = DiscreteGaussian.at_least(30).draw(300, SeededSource(9))
    assert np.array_equal(DiscreteGaussian.at_least(30).draw(300, Drip()), whole)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("terms", [1, 2, 7])
def test_half_width_is_the_exact_quantile(law, terms):
    x = np.arange(-3000, 3001)
    sums = law.pmf(x)
    for _ in range(terms - 1):
        sums = np.convolve(sums, law.pmf(x), "same")
    half = int(law.half_width(0.95, terms))

    def within(h):
        return sums[np.abs(x) <= h].sum()

    assert within(half) >= 0.95 - 1e-9
    assert half == 0 or within(half - 1) < 0.95


def test_half_width_of_very_wide_noise():
    assert DiscreteLaplace.at_least(10**6).half_width(0.95) == pytest.approx(10**6 * math.log(20), rel=1e-3)


def test_ratio_keeps_decimals_and_rounds_up():
    assert ratio_at_least(0.1) == Fraction(1, 10)
    assert ratio_at_least(math.pi) >= Fraction(math.pi)
    assert ratio_at_least(Fraction(10**20 + 1, 10**19)) >= Fraction(10**20 + 1, 10**19)
    with pytest.raises(InvalidInput, match="too large"):
        ratio_at_least(1e12)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_round_trip(law):
    assert law_from_dict(law.as_dict()) == law


@pytest.mark.parametrize("scale", [0, -1, math.inf, math.nan])
def test_bad_parameters_are_refused(scale):
    with pytest.raises(InvalidInput, match="scale"):
        DiscreteLaplace.at_least(scale)
    with pytest.raises(InvalidInput, match="sigma2"):
        DiscreteGaussian.at_least(scale)


def test_unknown_law_and_level():
    with pytest.raises(InvalidInput, match="law"):
        law_from_dict({"law": "cauchy"})
    with pytest.raises(InvalidInput, match="level"):
        LAWS[0].half_width(1.0)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_the_law_of_a_sum_is_the_convolution(law):
    values, chances = law_of_sum(law)
    assert chances.tolist() == law.pmf(values).tolist()
    wide, three = law_of_sum(law, 3)
    slow = np.convolve(np.convolve(chances, chances), chances)  # values from three times the first one on
    start = int(wide[0] - 3 * values[0])
    if start >= 0:
        np.testing.assert_allclose(three, slow[start : start + wide.size], atol=1e-14)
    assert three.sum() == pytest.approx(1, abs=1e-12)
    assert (wide * wide * three).sum() == pytest.approx(3 * law.variance, rel=1e-8)


def test_the_law_of_a_sum_on_a_grid_counts_steps():
    law = Stepped(law=DiscreteLaplace.at_least(64), of=Fraction(1, 16))
    values, chances = law_of_sum(law, 2)
    assert (values**2 * chances).sum() / 16**2 == pytest.approx(2 * law.variance, rel=1e-8)
    with pytest.raises(InvalidInput, match="too wide"):
        law_of_sum(DiscreteLaplace.at_least(10**6))
