"""Top and bottom coding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacita.anonymize.masking.coding import BottomCode, TopCode
from tacita.anonymize.masking.columns import Columns
from tacita.errors import InvalidInput
from tacita.noise import SeededSource

from .test_microaggregate import columns_of

SOURCE = SeededSource(1)


def test_tails_are_replaced_by_the_threshold() -> None:
    columns = columns_of(x=[1, 5, 10, 11, 50, float("nan")])
    top = TopCode(attributes=("x",), threshold=10).apply(columns, SOURCE)
    assert top.columns["x"].values[:5].tolist() == [1, 5, 10, 10, 10]
    assert np.isnan(top.columns["x"].values[5])
    assert top.figures["tails"]["x"] == {"threshold": 10.0, "replaced_by": 10.0, "coded": 2}
    bottom = BottomCode(attributes=("x",), threshold=10).apply(columns, SOURCE)
    assert bottom.columns["x"].values[:5].tolist() == [10, 10, 10, 11, 50]


def test_the_mean_of_a_tail_keeps_the_total_unless_the_tail_is_small() -> None:
    columns = columns_of(x=[1, 2, 3, 100, 200, 300, 400, 500])
    made = TopCode(attributes=("x",), threshold=10, replace="mean").apply(columns, SOURCE)
    assert made.columns["x"].values.sum() == pytest.approx(1506)
    assert made.columns["x"].values[3:].tolist() == [300] * 5
    small = TopCode(attributes=("x",), threshold=350, replace="mean").apply(columns, SOURCE)
    assert small.columns["x"].values[6:].tolist() == [350, 350]
    assert "fewer than 5 people" in small.notes[0]


def test_a_tail_of_one_person_is_not_replaced_by_its_mean() -> None:
    """The breach: five rows of one person, whose mean is that person's value."""
    columns = columns_of(x=[1, 2, 3, 700, 700, 700, 700, 700])
    persons = np.array([0, 1, 2, 3, 3, 3, 3, -1])
    made = TopCode(attributes=("x",), threshold=10, replace="mean").apply(replace(columns, persons=persons), SOURCE)
    assert made.columns["x"].values.max() == 10
    several = replace(columns, persons=np.arange(8))
    assert TopCode(attributes=("x",), threshold=10, replace="mean").apply(several, SOURCE).columns["x"].values[7] == 700


def test_a_quantile_is_said_to_be_read_from_the_data(columns: Columns) -> None:
    made = TopCode(attributes=("income",), quantile=0.9).apply(columns, SOURCE)
    before, after = columns["income"].values, made.columns["income"].values
    assert after.max() == made.figures["tails"]["income"]["threshold"]
    assert (before > after.max()).mean() == pytest.approx(0.1, abs=0.01)
    assert "read from exact rows" in made.notes[0]
    nothing = TopCode(attributes=("x",), quantile=0.5).apply(columns_of(x=[float("nan")]), SOURCE)
    assert "no values" in nothing.notes[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"threshold": 1.0, "quantile": 0.5},
        {"threshold": float("nan")},
        {"threshold": "9"},
        {"quantile": 1.0},
        {"threshold": 1.0, "replace": "median"},
        {"threshold": 1.0, "least": 1},
    ],
)
def test_parameters_are_checked(wrong: dict) -> None:
    with pytest.raises(InvalidInput):
        TopCode(attributes=("x",), **wrong)
