"""Bins on round numbers."""

from __future__ import annotations

import itertools

import pytest

from tacita.domain import Numeric
from tacita.domain.bins import log_edges, round_edges, round_outward


@pytest.mark.parametrize("low", [-1e6, -3.7, 0.0, 0.00012, 17.0, 1e9])
@pytest.mark.parametrize("span", [1e-3, 0.5, 9.0, 73.0, 1234.5, 1e7])
@pytest.mark.parametrize("whole", [True, False])
def test_edges_are_few_round_and_beyond_the_data(low, span, whole):
    if whole:
        low, span = float(int(low)), max(float(int(span)), 60.0)
    start, end = round_outward(low, low + span, whole=whole)
    assert start <= low
    assert end >= low + span
    edges = round_edges(start, end, whole=whole)
    if edges is None:
        assert span / max(abs(low), abs(low + span)) < 1e-6  # too fine for floats
        return
    assert (edges[0], edges[-1]) == (start, end)
    assert 2 <= len(edges) <= 17
    inner = [b - a for a, b in itertools.pairwise(edges[1:-1])]
    assert not inner or max(inner) == pytest.approx(min(inner), rel=1e-6)
    Numeric(name="x", bounds=(start, end), edges=edges, integer=whole)


def test_logarithmic_edges():
    assert log_edges(1000, whole=True) == (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
    fine = log_edges(0.02, whole=False)
    assert fine[0] == 0
    assert fine[-1] == 0.02
    Numeric(name="x", bounds=(0, 0.02), edges=fine)
