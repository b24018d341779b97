"""Rank swapping."""

from __future__ import annotations

import numpy as np
import pytest

from tacita.anonymize.masking.columns import Columns
from tacita.anonymize.masking.swapping import SwapRanks, _partners
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

from .test_microaggregate import columns_of


@pytest.mark.parametrize("percent", [1, 10, 100])
def test_values_are_exchanged_within_the_window(percent: float) -> None:
    x = np.random.default_rng(4).permutation(500).astype(float)  # distinct: the value is the rank
    made = SwapRanks(attributes=("x",), percent=percent).apply(columns_of(x=x.tolist()), SeededSource(2))
    after = made.columns["x"].values
    assert sorted(after.tolist()) == sorted(x.tolist())
    assert 0 < np.abs(after - x).max() <= 500 * percent / 100
    # an exchange: whose value a row has, has the row's value
    place = {value: row for row, value in enumerate(x.tolist())}
    assert all(after[place[value]] == x[row] for row, value in enumerate(after.tolist()))
    assert made.figures["swaps"]["x"]["swapped"] >= 490


def test_partners_are_those_of_a_scan_of_the_window() -> None:
    rng = np.random.default_rng(7)
    for count in (0, 1, 2, 3, 8, 50, 257):
        for window in (0, 1, 3, count // 2, count):
            chances = rng.random(count)
            partner, done = list(range(count)), set()
            for rank in range(count):
                if rank in done:
                    continue
                free = [other for other in range(rank + 1, min(rank + window, count - 1) + 1) if other not in done]
                if free:
                    other = free[min(int(chances[rank] * len(free)), len(free) - 1)]
                    partner[rank], partner[other] = other, rank
                    done |= {rank, other}
            assert _partners(count, window, chances).tolist() == partner


def test_wide_windows_of_many_rows_take_no_scan() -> None:
    # a scan of each window would look at 10^11 ranks
    partner = _partners(1_000_000, 200_000, np.random.default_rng(1).random(1_000_000))
    assert (partner[partner] == np.arange(1_000_000)).all()
    assert 0 < np.abs(partner - np.arange(1_000_000)).max() <= 200_000


def test_levels_and_missing_cells(columns: Columns) -> None:
    made = SwapRanks(attributes=("grade", "born"), percent=5).apply(columns, SeededSource(3)).columns
    for name in ("grade", "born"):
        assert (made[name].missing == columns[name].missing).all()
        there = ~columns[name].missing
        assert sorted(made[name].values[there].tolist()) == sorted(columns[name].values[there].tolist())
    for wrong in (0, 101):
        with pytest.raises(InvalidInput):
            SwapRanks(attributes=("x",), percent=wrong)
