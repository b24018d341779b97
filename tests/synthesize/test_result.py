import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacita.domain import Domain, Numeric
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Independent, Synthesized, result
from tacita.testing.mechanism import FixedEngine


@pytest.fixture(scope="module")
def made(domain, engine):
    budget = Budget.zcdp(0.5)
    return (
        Independent()
        .calibrate(domain, budget, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
        .run(engine, SeededSource(1))
    )


def test_rows_are_written_whole_and_marked(made, tmp_path, monkeypatch):
    monkeypatch.setattr(result, "_BATCH", 1000)
    made.write(tmp_path / "rows.parquet", 3500, np.random.default_rng(1))
    made.write(tmp_path / "rows.csv", 3500, np.random.default_rng(1))
    parquet, csv = pq.read_table(tmp_path / "rows.parquet"), pa_csv.read_csv(tmp_path / "rows.csv")
    assert parquet.num_rows == csv.num_rows == 3500
    assert parquet.column_names == list(made.domain.names)
    assert b"synthetic" in parquet.schema.metadata[b"tacita"]
    assert parquet["a"].to_pylist() == [str(value) for value in csv["a"].to_pylist()]
    again = [batch.to_pylist() for batch in made.batches(3500, np.random.default_rng(1))]
    assert [row for batch in again for row in batch] == parquet.to_pylist()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "rows.parquet"]


def test_no_rows_is_a_file_with_columns(made, tmp_path):
    made.write(tmp_path / "none.parquet", 0, np.random.default_rng(1))
    assert pq.read_table(tmp_path / "none.parquet").column_names == list(made.domain.names)


def test_nothing_half_written_is_left(made, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", full)
    with pytest.raises(InvalidInput, match="No space left"):
        made.write(tmp_path / "rows.parquet", 10, np.random.default_rng(1))
    assert not list(tmp_path.iterdir())


def test_bins_come_back_as_numbers():
    domain = Domain(attributes=[Numeric(name="age", bounds=(0, 90), edges=(0, 30, 60, 90), integer=True)])
    engine = FixedEngine(domain, np.array([[0]] * 500 + [[2]] * 500))
    plan = Independent().calibrate(domain, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    rows = plan.run(engine, SeededSource(1)).sample(1000, np.random.default_rng(1), policy="uniform")
    ages = np.array(rows["age"])
    assert ages.min() >= 0
    assert ages.max() <= 90
    assert len(np.unique(ages)) > 30


@pytest.mark.parametrize("bad", [{"rows": -1}, {"path": "rows.txt"}])
def test_bad_input(made, tmp_path, bad):
    arguments = {"path": tmp_path / "x.csv", "rows": 5} | bad
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        made.write(**arguments, rng=np.random.default_rng(1))


def test_what_is_no_result_is_refused(made):
    with pytest.raises(InvalidInput, match="synthesized/1"):
        Synthesized.from_json("{}")
    with pytest.raises(InvalidInput, match="model"):
        Synthesized.from_json(made.to_json().replace("network/1", "oracle/1"))
    assert made.with_charge("c1", "census").provenance.charge == "c1"
