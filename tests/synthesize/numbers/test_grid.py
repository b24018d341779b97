"""Grids depend on the schema alone and hold its edges."""

import itertools

import numpy as np
import pytest

from tacita.domain import Date, Numeric
from tacita.synthesize.numbers.grid import Grid

ATTRIBUTES = [
    Numeric(name="x", bounds=(0, 99), bins=2, integer=True),
    Numeric(name="x", bounds=(0, 99_999), edges=(0, 1, 1000, 99_999), integer=True),
    Numeric(name="x", bounds=(-500_000, 3_000_000), bins=7, integer=True, missing=True),
    Numeric(name="x", bounds=(0, 1), bins=1),
    Numeric(name="x", bounds=(0, 1e6), edges=(0, 1, 10, 100, 1e3, 1e4, 1e5, 1e6), other=True),
    Numeric(name="x", bounds=(1, 1 + 1e-12), bins=3),
    Date(name="x", bounds=("2020-01-01", "2024-12-31"), by="year"),
    Date(name="x", bounds=("0001-01-01", "9999-12-31"), by="year", missing=True),
]


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda each: str(each.bounds))
def test_cells_fill_the_bounds_and_end_where_bins_do(attribute):
    grid = Grid.of(attribute)
    low, high = attribute.line_bounds
    assert grid.starts[0] == low
    assert grid.starts[-1] <= high < grid.end or (grid.end == high and grid.starts[-1] < high)
    assert all(a < b for a, b in itertools.pairwise(grid.edges.tolist()))
    assert np.isin(attribute.starts, grid.starts).all()
    assert len(grid) <= 1 << 18
    assert grid.parts**grid.rounds >= len(grid)
    assert 2 <= grid.parts <= 64
    counted = grid.attribute(attribute)
    assert counted.starts == pytest.approx(grid.starts.tolist(), abs=0)
    assert (counted.missing, counted.other) == (attribute.missing, attribute.other)


def test_whole_numbers_and_days_have_a_cell_each():
    assert [len(Grid.of(each)) for each in (ATTRIBUTES[0], ATTRIBUTES[1], ATTRIBUTES[6])] == [100, 100_000, 1827]
    assert Grid.of(ATTRIBUTES[0]).single
    assert not Grid.of(ATTRIBUTES[2]).single
    assert [Grid.of(each).rounds for each in ATTRIBUTES[:2]] == [2, 3]


def test_of_very_many_whole_numbers_zero_is_a_cell_and_groups_are_round():
    edges = Grid.of(ATTRIBUTES[2]).edges
    at = int(np.searchsorted(edges, 0))
    assert edges[at - 1 : at + 4].tolist() == [-20, 0, 1, 20, 40]
    assert np.isin(np.arange(0, 3_000_000, 1000), edges).all()
