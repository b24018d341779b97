"""Noise in standard deviations."""

from __future__ import annotations

import numpy as np
import pytest

from tacita.anonymize.masking.columns import Columns
from tacita.anonymize.masking.noise import AddNoise
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

from .test_microaggregate import columns_of


def test_variance_grows_by_the_stated_factor() -> None:
    rng = np.random.default_rng(1)
    x = rng.normal(50, 10, 40_000)
    made = AddNoise(attributes=("x",), level=0.5).apply(columns_of(x=x.tolist()), SeededSource(1))
    after = made.columns["x"].values
    assert after.mean() == pytest.approx(x.mean(), abs=0.15)
    assert after.var() / x.var() == pytest.approx(1.25, rel=0.03)
    assert "1.25" in made.notes[0]


def test_correlated_noise_keeps_correlations() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=30_000)
    y = 0.9 * x + 0.3 * rng.normal(size=30_000)
    columns = columns_of(x=x.tolist(), y=y.tolist())
    plain = AddNoise(attributes=("x", "y"), level=1.0).apply(columns, SeededSource(3)).columns
    kept = AddNoise(attributes=("x", "y"), level=1.0, correlated=True).apply(columns, SeededSource(3)).columns
    before = np.corrcoef(x, y)[0, 1]
    assert np.corrcoef(kept["x"].values, kept["y"].values)[0, 1] == pytest.approx(before, abs=0.01)
    assert np.corrcoef(plain["x"].values, plain["y"].values)[0, 1] < before - 0.3


def test_missing_and_equal_values(columns: Columns) -> None:
    made = AddNoise(attributes=("x",), level=0.5).apply(columns_of(x=[3, 3, float("nan")]), SeededSource(1))
    assert made.columns["x"].values[:2].tolist() == [3, 3]
    assert np.isnan(made.columns["x"].values[2])
    with pytest.raises(InvalidInput, match="no rows with all"):
        nan = float("nan")
        AddNoise(attributes=("x", "y"), level=1, correlated=True).apply(
            columns_of(x=[nan, 1], y=[1, nan]), SeededSource(1)
        )
    for wrong in (0, 101, 1e308):
        with pytest.raises(InvalidInput):
            AddNoise(attributes=("x",), level=wrong)
