"""Rounding to a base."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tacita.anonymize.masking.rounding import Round, _uniform
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

from .test_microaggregate import columns_of


def test_to_the_nearest_multiple() -> None:
    made = Round(attributes=("x",), base=10).apply(
        columns_of(x=[4.9, 5, 14, -4, -6, 20, float("nan")]), SeededSource(1)
    )
    assert made.columns["x"].values[:6].tolist() == [0, 10, 10, 0, -10, 20]
    assert np.isnan(made.columns["x"].values[6])


def test_random_rounding_is_unbiased() -> None:
    n = 40_000
    made = Round(attributes=("x",), base=4, how="random").apply(columns_of(x=[7.0] * n), SeededSource(2))
    values = made.columns["x"].values
    assert set(values.tolist()) == {4.0, 8.0}
    assert values.mean() == pytest.approx(7.0, abs=5 * np.sqrt(3.0 / n))  # variance 4^2 * 3/4 * 1/4
    exact = Round(attributes=("x",), base=4, how="random").apply(columns_of(x=[8.0] * 1000), SeededSource(3))
    assert set(exact.columns["x"].values.tolist()) == {8.0}


def test_the_probability_to_go_up_is_the_remainder() -> None:
    """All words of 53 bits are equally likely: f is at least (word + 1) / 2^53 for f 2^53 of them."""

    class Ends:
        simulated = True

        def words(self, count: int) -> np.ndarray:
            return np.array([0, 2**64 - 1], np.uint64)[:count]

    low, high = _uniform(2, Ends())
    assert (Fraction(low), Fraction(high)) == (Fraction(1, 2**53), Fraction(1))


def test_values_that_no_base_changes_are_noted() -> None:
    made = Round(attributes=("x",), base=1e-320).apply(columns_of(x=[7.0, float("nan")]), SeededSource(2))
    assert "take a larger base" in made.notes[0]
    assert not Round(attributes=("x",), base=4).apply(columns_of(x=[7.0, float("nan")]), SeededSource(2)).notes


@pytest.mark.parametrize("wrong", [{"base": 0}, {"base": float("inf")}, {"base": 1, "how": "up"}])
def test_parameters_are_checked(wrong: dict) -> None:
    with pytest.raises(InvalidInput):
        Round(attributes=("x",), **wrong)
