"""The result of masking in all its forms."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.anonymize import Mask, Masked, Microaggregate, Pram, PramMatrix
from tacita.anonymize.masking.masked import loss_text
from tacita.domain import Domain
from tacita.noise import SecureSource


@pytest.fixture
def made(domain: Domain, table: pa.Table) -> Masked:
    steps = (Microaggregate(attributes=("income", "debt"), k=5), Pram(attributes=("job",), keep=0.8))
    return Mask(steps=steps, weight="weight", keep=("age",)).prepare(domain).run_on(table, SecureSource())


def test_plain_data_is_json_and_holds_the_matrix(made: Masked) -> None:
    found = json.loads(json.dumps(made.as_dict(), allow_nan=False))
    assert (found["tacita"], found["guarantee"], found["rows"]) == ("masked/1", "none", 300)
    assert [each["attribute"] for each in found["utility"]] == ["income", "debt"]
    assert 0 < found["utility"][0]["loss"] < 1
    assert 0 < found["utility"][0]["weighted"]["loss"] < 1
    assert found["utility"][0]["mean"][0] == pytest.approx(found["utility"][0]["mean"][1])
    matrix = PramMatrix.from_dict(found["matrices"]["job"])
    assert sum(matrix.estimate(made.rows.column("job")).frequencies) == pytest.approx(1)
    assert "job alone: local differential privacy" in found["statement"]
    assert found["recipe"]["mask"][0]["microaggregate"]["k"] == 5


def test_the_shape_of_all_results(made: Masked, tmp_path: Path) -> None:
    assert made.to_arrow() is made.rows
    assert made.facts()["guarantee"] == "none"
    assert "microaggregate" in made.facts()["steps"]
    made.save(tmp_path / "rows.parquet")
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 300
    made.save(tmp_path / "facts.json")
    assert json.loads((tmp_path / "facts.json").read_text())["tacita"] == "masked/1"
    assert "income" in made.chart()
    assert "<svg" in made.plot().svg
    assert "guarantee" in made._repr_html_()


def test_a_loss_is_never_rounded_down() -> None:
    assert loss_text(2.0794415) == "2.080"
    assert float(loss_text(0.12341)) >= 0.12341
