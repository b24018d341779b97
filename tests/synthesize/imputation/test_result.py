import json

import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from tacita.errors import InvalidInput
from tacita.privacy.event import NonPrivate
from tacita.tables.cells import Projectable


@pytest.fixture(scope="module")
def made(imputed):
    return imputed(replace=("income", "job"), m=3)


def test_it_says_that_nothing_is_promised(made):
    assert made.guarantee == "none"
    assert isinstance(made.event, NonPrivate)
    assert "No guarantee" in made.statement()
    assert "Assess the risk of disclosure before you release them" in made.statement()
    mark = json.loads(made.releases[0].schema.metadata[b"tacita"])
    assert mark["guarantee"] == "none"
    assert mark["event"]["kind"] == "non-private"
    assert mark["simulated"], "the source was seeded"


def test_it_stands_where_a_model_stands(made, engine):
    assert isinstance(made, Projectable)
    assert made.supports(["job", "age"])
    assert not made.supports(["nobody"])
    table = made.project(("school", "job")).values
    truth = engine.project(("school", "job")).normalize().values
    assert table.sum() == pytest.approx(1)
    assert np.abs(table - truth).sum() / 2 < 0.05
    rows = made.sample(200, np.random.default_rng(1))
    assert rows.num_rows == 200
    assert rows["age"].type == "int64"
    labels = made.sample(200, np.random.default_rng(1), policy="label")
    assert set(labels["income"].drop_null().to_pylist()) <= set(made.domain["income"].labels)
    again = made.sample(200, np.random.default_rng(1), policy="uniform")
    assert again["income"].type == "double"


def test_what_is_written_has_no_origins_and_comes_whole(made, tmp_path):
    for form, read in (("parquet", pq.read_table), ("csv", pa_csv.read_csv)):
        files = made.write(tmp_path / form, form=form)
        assert len(files) == 3
        assert read(files[0]).num_rows == made.releases[0].num_rows
        about = json.loads((tmp_path / form / "release.json").read_text())
        assert about["guarantee"] == "none"
        assert about["releases"] == 3
        assert "origins" not in about
    assert sorted(path.name for path in tmp_path.iterdir()) == ["csv", "parquet"]
    plain = json.loads(made.to_json())
    assert made.releases[0]["income"][0].as_py() not in plain.values()
    with pytest.raises(InvalidInput, match="exists"):
        made.write(tmp_path / "csv")


def test_nothing_half_written_is_left(made, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(InvalidInput, match="No space left"):
        made.write(tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_refusals(made, tmp_path):
    with pytest.raises(InvalidInput, match="rows"):
        made.sample(-1, np.random.default_rng(1))
    with pytest.raises(InvalidInput, match="form"):
        made.write(tmp_path / "x", form="xls")
