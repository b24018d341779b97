"""Rank swapping."""

from __future__ import annotations

import numpy as np
import pytest

from tacita.anonymize.masking.columns import Columns
from tacita.anonymize.masking.swapping import SwapRanks
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


def test_levels_and_missing_cells(columns: Columns) -> None:
    made = SwapRanks(attributes=("grade", "born"), percent=5).apply(columns, SeededSource(3)).columns
    for name in ("grade", "born"):
        assert (made[name].missing == columns[name].missing).all()
        there = ~columns[name].missing
        assert sorted(made[name].values[there].tolist()) == sorted(columns[name].values[there].tolist())
    for wrong in (0, 101):
        with pytest.raises(InvalidInput):
            SwapRanks(attributes=("x",), percent=wrong)
