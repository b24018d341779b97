"""Widths of weighted sums, against convolution one draw after the other."""

from fractions import Fraction

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import DiscreteGaussian, DiscreteLaplace, Stepped
from tacita.noise.sums import Part, half_width_of_sum

LAPLACE, GAUSSIAN = DiscreteLaplace.at_least(2), DiscreteGaussian.at_least(9)


def brute(parts, level):
    """Convolve the laws of all draws; weights are whole numbers."""
    found = np.ones(1)
    for part in parts:
        reach = 80
        weight = int(part.weight)
        one = np.zeros(2 * reach * weight + 1)
        one[::weight] = part.law.pmf(np.arange(-reach, reach + 1))
        for _ in range(part.terms):
            found = np.convolve(found, one)
    middle = len(found) // 2
    inside = np.cumsum(found[middle:]) + np.cumsum(np.append(0, found[:middle][::-1]))
    return float(np.searchsorted(inside, level - 1e-12))


@pytest.mark.parametrize(
    "parts",
    [
        [Part(LAPLACE, 3), Part(LAPLACE, 1, 5)],
        [Part(LAPLACE, 2, 3), Part(GAUSSIAN, 4), Part(GAUSSIAN, 1, 7)],
        [Part(LAPLACE, 30), Part(GAUSSIAN, 1, 2)],
    ],
)
@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_widths_hold_and_are_hardly_wider_than_needed(parts, level):
    exact = brute(parts, level)
    found = half_width_of_sum(parts, level)
    std = sum(part.variance for part in parts) ** 0.5
    assert exact <= found + 1e-9
    assert found <= exact + 1 + 0.015 * std
    assert half_width_of_sum(parts[::-1], level) == found
    smaller = [Part(part.law, part.terms, -part.weight / 7) for part in parts]
    assert half_width_of_sum(smaller, level) == pytest.approx(found / 7)


def test_one_law_is_as_wide_as_the_law_says():
    wide = DiscreteLaplace.at_least(3_000_000)
    for law, terms in ((LAPLACE, 7), (GAUSSIAN, 20_000), (wide, 2), (Stepped(law=LAPLACE, of=Fraction(1, 8)), 5)):
        assert half_width_of_sum([Part(law, terms - 1), Part(law, 1, -1.0)], 0.95) == law.half_width(0.95, terms)
    assert half_width_of_sum([Part(LAPLACE, 7, 0.5)], 0.95) == LAPLACE.half_width(0.95, 7) / 2
    assert half_width_of_sum([Part(LAPLACE, 7, 0.0)], 0.95) == 0


def test_two_grids():
    mixed = [Part(LAPLACE, 1), Part(Stepped(law=LAPLACE, of=Fraction(1, 8)), 1)]
    assert LAPLACE.half_width(0.95) * 0.95 < half_width_of_sum(mixed, 0.95) < LAPLACE.half_width(0.95) * 1.2


@pytest.mark.parametrize(
    ("parts", "level", "field"),
    [
        ([], 0.9, "parts"),
        ([Part(LAPLACE, 0)], 0.9, "parts"),
        ([Part(LAPLACE, 1, float("nan"))], 0.9, "parts"),
        ([Part(LAPLACE, 1)], 1.0, "level"),
    ],
)
def test_bad_input(parts, level, field):
    with pytest.raises(InvalidInput, match=field):
        half_width_of_sum(parts, level)
