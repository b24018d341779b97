"""Every measure together: as a table, as plain data, and on files of few rows."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tacita.assess.risk.measure import RiskOptions
from tacita.assess.risk.microdata import microdata_risk
from tacita.assess.risk.sample import Sample, sample_of


def _sample(many: int = 50) -> Sample:
    rng = np.random.default_rng(0)
    codes = np.array([rng.integers(0, 5, many) for _ in range(3)])
    return sample_of("abc", codes, weights=rng.uniform(1, 9, many), households=rng.integers(0, 20, many))


def test_the_result_as_people_use_it(tmp_path: Path) -> None:
    found = microdata_risk(_sample())
    plain = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert [each["name"] for each in plain["measures"]] == [
        "prosecutor",
        "individual",
        "household",
        "loglinear",
        "suda",
    ]
    assert plain["guarantee"] == "none"
    assert [each["what"] for each in plain["skipped"]] == ["journalist"]
    assert "row" not in json.dumps(plain["measures"])
    assert found.to_arrow().num_rows == sum(len(each["figures"]) for each in plain["measures"])
    assert found.records().num_rows == 50
    found.save(tmp_path / "risk.csv")
    assert "<svg" in found.chart()
    assert "not publish" in found.facts()["note"]


@pytest.mark.parametrize("codes", [np.zeros((3, 1), np.int64), np.zeros((3, 7), np.int64), np.arange(12).reshape(3, 4)])
def test_one_row_equal_rows_and_different_rows(codes: np.ndarray) -> None:
    many = codes.shape[1]
    found = microdata_risk(sample_of("abc", codes, weights=np.full(many, 2.0), households=np.zeros(many, np.int64)))
    table = found.to_arrow().to_pylist()
    assert all(np.isfinite(row["value"]) for row in table)
    assert all(row["low"] <= row["value"] <= row["high"] for row in table if row["low"] == row["low"])


def test_measures_are_selected_by_name() -> None:
    found = microdata_risk(_sample(), RiskOptions(measures=("suda",)))
    assert [measure.name for measure, _ in found.measured] == ["suda"]
