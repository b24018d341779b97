"""Travel times by distance: bands, bins and draws."""

import numpy as np
import pytest

from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.travel import EDGES, Bands, draw_rows, draw_travel, travel_bin


def test_bands_follow_distance_zones_or_nothing():
    one, other = np.array([0, 0, 0]), np.array([0, 1, 2])
    far = Places(ids=("a", "b", "c"), x=(0, 0.9, 5), y=(0, 0, 0))
    assert Bands(far).of(one, other).tolist() == [0, 0, 3]
    assert Bands(far).count == 7
    zoned = Places(ids=("a", "b", "c"), zones=("x", "x", "y"))
    assert Bands(zoned).of(one, other).tolist() == [0, 0, 1]
    assert Bands(zoned).count == 2
    assert Bands(Places(ids=("a", "b", "c"))).of(one, other).tolist() == [0, 0, 0]


def test_bins_hold_their_minutes():
    minutes = np.arange(0, 400)
    bins = travel_bin(minutes)
    inside = minutes < EDGES[-1]
    assert (EDGES[bins[inside]] <= minutes[inside]).all()
    assert (minutes[inside] < EDGES[bins[inside] + 1]).all()
    assert bins[-1] == len(EDGES) - 2


def test_rows_are_drawn_in_proportion():
    rng = np.random.default_rng(0)
    table = np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [0.0, 5.0, 0.0]])
    drawn = draw_rows(table, np.repeat([0, 1, 2], 20_000), rng).reshape(3, -1)
    shares = np.stack([np.bincount(each, minlength=3) / 20_000 for each in drawn])
    expected = np.array([[0.25, 0, 0.75], [1 / 3] * 3, [0, 1, 0]])
    assert shares == pytest.approx(expected, abs=0.02)
    assert shares[0, 1] == 0


def test_modes_and_minutes_of_a_band():
    table = np.zeros((2, 3, len(EDGES) - 1))
    table[1, 2, 4] = 1.0
    mode, minutes = draw_travel(table, np.ones(500, np.int64), np.random.default_rng(0))
    assert set(mode) == {2}
    assert set(minutes) == set(range(EDGES[4], EDGES[5]))
