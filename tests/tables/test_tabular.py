"""Results as frames, files, figures and HTML: the numbers are the same in all of them."""

import json

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from python_calamine import CalamineWorkbook

from tacita.domain import Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.release import Releases
from tacita.tables.tabular import finite, write_table
from tacita.tables.workload import Workload

DOMAIN = Domain(
    attributes=[
        Categorical(name="sex", levels=["f", "=1+1", "<b>"]),
        Numeric(name="age", bounds=(0, 100), bins=5),
    ]
)
ROWS = pa.table({"sex": ["f", "=1+1"] * 50, "age": list(range(100))})


def released(*tables):
    plan = NoisyTables(Workload.of(*tables)).calibrate(
        DOMAIN, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    return plan.run(LocalEngine(DOMAIN, ROWS), SeededSource(1))


def test_one_table_keeps_its_columns():
    assert released(["sex"]).to_arrow().column_names == ["sex", "estimate", "std", "low", "high"]


def test_several_tables_have_a_column_with_their_names():
    table = released(["sex"], ["age"], []).to_arrow()
    assert table.column_names == ["table", "sex", "age", "estimate", "std", "low", "high"]
    assert table.column("table").to_pylist() == ["sex"] * 3 + ["age"] * 5 + ["total"]
    assert table.column("sex").to_pylist()[3:] == [None] * 6


def test_frames_have_the_same_numbers():
    found = released(["sex"])[("sex",)]
    for frame in (found.to_pandas(), found.to_polars()):
        assert list(frame["estimate"]) == found.values.tolist()
        assert list(frame["sex"]) == ["f", "=1+1", "<b>"]


def test_files_have_the_same_numbers_and_state_the_guarantee(tmp_path):
    found = released(["sex"], ["age"])
    table = finite(found.to_arrow())
    for suffix in ("csv", "parquet", "json", "xlsx"):
        found.save(tmp_path / f"out.{suffix}")
    read = pa_csv.read_csv(tmp_path / "out.csv")
    assert read.column("estimate").to_pylist() == pytest.approx(table.column("estimate").to_pylist())
    stored = pq.read_table(tmp_path / "out.parquet")
    assert stored.column("estimate").equals(table.column("estimate"))
    assert json.loads(stored.schema.metadata[b"facts"])["cost"] == "epsilon 1"
    assert Releases.from_json((tmp_path / "out.json").read_text())[("sex",)].values.tolist() == (
        found[("sex",)].values.tolist()
    )
    book = CalamineWorkbook.from_path(tmp_path / "out.xlsx")
    assert book.sheet_names == ["table", "guarantee"]
    rows = book.get_sheet_by_name("table").to_python()
    assert rows[0] == table.column_names
    assert [row[3] for row in rows[1:]] == pytest.approx(table.column("estimate").to_pylist())
    assert rows[2][1] == "=1+1", "a text, never a formula"
    about = dict(book.get_sheet_by_name("guarantee").to_python())
    assert about["guarantee"] == "central"
    assert about["note"].startswith("Simulated: NOT private")
    assert b"<f>" not in (tmp_path / "out.xlsx").read_bytes()


def test_other_suffixes_are_refused_and_leave_nothing(tmp_path):
    with pytest.raises(InvalidInput, match=r"must end in \.csv"):
        released(["sex"]).save(tmp_path / "out.doc")
    with pytest.raises(InvalidInput, match="cannot be written"):
        released(["sex"]).save(tmp_path / "no" / "out.csv")
    with pytest.raises(InvalidInput, match="a sheet holds at most"):
        write_table(tmp_path / "long.xlsx", pa.table({"x": pa.nulls(1_048_576)}), {})
    assert not any(tmp_path.iterdir())


def test_notebooks_see_a_table_with_its_guarantee():
    page = released(["sex"])._repr_html_()
    assert page.count("<tr>") == 4
    assert "&lt;b&gt;" in page
    assert "<b>guarantee</b>: central" in page
    long = released(["sex", "age"], ["age"])._repr_html_()
    assert long.count("<tr>") == 21
    assert "… and" not in released(["age"])._repr_html_()


def test_figures_show_each_cell():
    picture = released(["sex"]).plot()
    assert picture.standalone.count("<rect") == 3
    assert "&lt;b&gt;" in picture.standalone


def test_numbers_that_no_error_is_claimed_for_are_empty():
    table = finite(pa.table({"x": [1.0, float("inf"), float("nan")]}))
    assert table.column("x").to_pylist() == [1.0, None, None]
