"""Bins of about equal shares, heavy values apart, never too many."""

import numpy as np
import pytest

from tacita.synthesize.numbers.quantiles import bin_leaves, bins_for
from tacita.synthesize.numbers.tree import Leaves


def leaves_of(shares):
    shares = np.asarray(shares, float)
    return Leaves(first=np.arange(len(shares)), shares=shares / shares.sum())


def test_equal_shares_are_cut_at_their_quantiles():
    assert bin_leaves(leaves_of(np.ones(100)), 4).tolist() == [0, 25, 50, 75]


def test_heavy_values_have_bins_of_their_own():
    shares = np.ones(50)
    shares[[0, 20]] = 100, 40
    starts = bin_leaves(leaves_of(shares), 8).tolist()
    assert starts[:2] == [0, 1]
    assert {20, 21} <= set(starts)
    assert len(starts) == 8


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most", [2, 5, 16, 32])
def test_never_more_bins_than_were_planned_for(seed, most):
    rng = np.random.default_rng(seed)
    for size in (1, 2, 7, 300):
        starts = bin_leaves(leaves_of(rng.gamma(0.1, size=size) + 1e-12), most)
        assert starts[0] == 0
        assert (np.diff(starts) > 0).all()
        assert 1 <= len(starts) <= most
        assert starts[-1] < size


def test_shares_of_nothing_are_no_trouble():
    assert bin_leaves(leaves_of([0, 0, 1, 0, 0]), 8)[0] == 0


def test_more_rows_and_less_noise_give_more_bins():
    found = [bins_for(people, 50.0) for people in (10, 1000, 10**5, 10**9)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (2, 32)
    assert bins_for(1000, 10.0) > bins_for(1000, 1000.0)
    assert bins_for(1000, 0.0) == 32
