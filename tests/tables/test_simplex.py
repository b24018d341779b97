"""Norm-sub is the Euclidean projection on the simplex."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacita.errors import InvalidInput
from tacita.tables.simplex import norm_sub, norm_sub_rows, to_distribution

VECTORS = st.lists(st.floats(-5, 5), min_size=1, max_size=20)


def test_worked_example():
    result = norm_sub([-0.05, 0.35, 0.70])
    np.testing.assert_allclose(result.frequencies, [0, 0.325, 0.675])
    assert result.method == "norm-sub"
    assert result.shift == pytest.approx(0.025)


@given(VECTORS)
@settings(deadline=None)
def test_is_a_distribution_and_nothing_nearer_is_one(vector):
    v = np.array(vector)
    x = norm_sub(v).frequencies
    assert (x >= 0).all()
    assert x.sum() == pytest.approx(1)
    # x is the projection if and only if (v - x) . (corner - x) <= 0 for every corner of the simplex
    assert ((v - x) - (v - x) @ x <= 1e-9).all()


@given(VECTORS)
@settings(deadline=None)
def test_projecting_twice_changes_nothing(vector):
    once = norm_sub(vector).frequencies
    np.testing.assert_allclose(norm_sub(once).frequencies, once, atol=1e-12)


def test_other_totals():
    assert norm_sub([3, -1, 5], total=10).frequencies.tolist() == [4, 0, 6]


@pytest.mark.parametrize("vector", [[], [[1.0]], [math.nan], [math.inf]])
def test_bad_frequencies_are_refused(vector):
    with pytest.raises(InvalidInput, match="frequencies"):
        norm_sub(vector)


@pytest.mark.parametrize("total", [0, -1, math.inf])
def test_bad_totals_are_refused(total):
    with pytest.raises(InvalidInput, match="total"):
        norm_sub([1.0], total=total)


def test_noisy_counts_become_the_nearest_distribution():
    """Against a search over all distributions on a grid."""
    values = np.array([0.9, 0.3, -0.2])
    found = to_distribution(values)
    grid = [np.array([i, j, 40 - i - j]) / 40 for i in range(41) for j in range(41 - i)]
    best = min(np.sum((values - point) ** 2) for point in grid)
    assert np.sum((values - found) ** 2) <= best + 1e-12
    assert found.sum() == pytest.approx(1)
    assert to_distribution(np.array([-1.0, 0.5])) == pytest.approx([0.5, 0.5])


def test_rows_are_projected_one_by_one():
    rng = np.random.default_rng(3)
    rows, totals = rng.normal(size=(50, 6)), rng.uniform(0.5, 4, 50)
    one_by_one = [norm_sub(row, total=total).frequencies for row, total in zip(rows, totals, strict=True)]
    np.testing.assert_allclose(norm_sub_rows(rows, total=totals), one_by_one, atol=1e-12)
    np.testing.assert_allclose(norm_sub_rows(rows), [norm_sub(row).frequencies for row in rows], atol=1e-12)
