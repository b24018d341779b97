"""Widths of weighted sums, against convolution one draw after the other."""

from fractions import Fraction

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Stepped
from tacita.noise.sums import Part, half_width_of_sum

LAPLACE, GAUSSIAN = DiscreteLaplace.at_least(2), DiscreteGaussian.at_least(9)


def brute(parts, level):
    """Convolve the laws of all draws."""
    found = np.ones(1)
    for part in parts:
        reach = 80
        one = np.zeros(2 * reach * part.weight + 1)
        one[:: part.weight] = part.law.pmf(np.arange(-reach, reach + 1))
        for _ in range(part.terms):
            found = np.convolve(found, one)
    middle = len(found) // 2
    inside = np.cumsum(found[middle:]) + np.cumsum(np.append(0, found[:middle][::-1]))
    return float(np.searchsorted(inside, level - 1e-12))


@pytest.mark.parametrize(
    "parts",
    [
        [Part(LAPLACE, 1)],
        [Part(LAPLACE, 3), Part(LAPLACE, 1, 5)],
        [Part(LAPLACE, 2, 3), Part(GAUSSIAN, 4), Part(GAUSSIAN, 1, 7)],
    ],
)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_widths_are_exact(parts, level):
    assert half_width_of_sum(parts, level) == brute(parts, level)
    assert half_width_of_sum(parts[::-1], level) == brute(parts, level)


def test_one_law_is_as_wide_as_the_law_says():
    wide = DiscreteLaplace.at_least(3_000_000)
    for law, terms in ((LAPLACE, 7), (GAUSSIAN, 20_000), (wide, 2)):
        assert half_width_of_sum([Part(law, terms)], 0.95) == pytest.approx(law.half_width(0.95, terms), rel=1e-5)
    grid = Stepped(law=LAPLACE, of=Fraction(1, 8))
    assert half_width_of_sum([Part(grid, 5)], 0.9) == grid.half_width(0.9, 5)


def test_very_wide_sums_are_rounded_outward():
    parts = [Part(DiscreteLaplace.at_least(40_000), 1, weight) for weight in (1, 16)]
    exact = half_width_of_sum([Part(DiscreteLaplace.at_least(4_000), 1, weight) for weight in (1, 16)], 0.95)
    assert 10 * exact * 0.999 <= half_width_of_sum(parts, 0.95) <= 10 * exact * 1.001 + 200


@pytest.mark.parametrize(
    ("parts", "level", "field"),
    [
        ([], 0.9, "parts"),
        ([Part(LAPLACE, 0)], 0.9, "parts"),
        ([Part(LAPLACE, 1, 0)], 0.9, "parts"),
        ([Part(LAPLACE, 1), Part(Stepped(law=LAPLACE, of=Fraction(1, 8)), 1)], 0.9, "parts"),
        ([Part(LAPLACE, 1)], 1.0, "level"),
    ],
)
def test_bad_input(parts, level, field):
    with pytest.raises(InvalidInput, match=field):
        half_width_of_sum(parts, level)
