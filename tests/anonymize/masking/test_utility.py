"""Utility figures against direct formulas."""

from __future__ import annotations

import numpy as np
import pytest

from tacita.anonymize.masking.columns import Columns
from tacita.anonymize.masking.utility import change_of, correlation_change

from .test_microaggregate import columns_of


def test_moments_and_weights() -> None:
    rng = np.random.default_rng(1)
    x, y, w = rng.normal(size=50), rng.normal(size=50), rng.random(50)
    x[:3] = np.nan
    y[2:5] = np.nan
    before, after = columns_of(x=x.tolist()), columns_of(x=y.tolist())
    found = change_of(before["x"], after["x"], w)
    both = ~np.isnan(x) & ~np.isnan(y)
    a, b, v = x[both], y[both], w[both]
    assert found.suppressed == 2
    assert found.changed == pytest.approx(1 - 1 / 50)  # one cell is missing before and after
    assert found.moments is not None
    assert found.weighted is not None
    assert found.moments.loss == pytest.approx(((a - b) ** 2).sum() / ((a - a.mean()) ** 2).sum())
    mean = np.average(a, weights=v)
    lost = np.average((a - b) ** 2, weights=v) / np.average((a - mean) ** 2, weights=v)
    assert found.weighted.loss == pytest.approx(lost)
    assert found.weighted.mean == pytest.approx((mean, np.average(b, weights=v)))
    assert found.moments.std == pytest.approx((a.std(), b.std()))


def test_levels_have_no_moments(columns: Columns) -> None:
    found = change_of(columns["job"], columns["job"])
    assert (found.moments, found.changed, found.suppressed) == (None, 0.0, 0)


def test_equal_values_have_no_share_of_variance() -> None:
    found = change_of(columns_of(x=[3, 3])["x"], columns_of(x=[3, 4])["x"])
    assert found.moments is not None
    assert found.moments.loss is None
    assert change_of(columns_of(x=[])["x"], columns_of(x=[])["x"]).changed == 0


def test_correlations() -> None:
    one, other = columns_of(x=[1, 2, 3, 4], y=[1, 2, 3, 4.5]), columns_of(x=[1, 2, 3, 4], y=[2, 2, 1, 0.0])
    assert correlation_change(one, one, ["x", "y"]) == pytest.approx(0, abs=1e-12)
    expected = np.corrcoef([1, 2, 3, 4], [1, 2, 3, 4.5])[0, 1] - np.corrcoef([1, 2, 3, 4], [2, 2, 1, 0.0])[0, 1]
    assert correlation_change(one, other, ["x", "y"]) == pytest.approx(expected)
    assert correlation_change(one, other, ["x"]) is None
    assert correlation_change(one, columns_of(x=[1, 1, 1, 1], y=[1, 2, 3, 4]), ["x", "y"]) is None
