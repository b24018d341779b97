"""What commands write: the format is that of the suffix, and a wrong one is refused before anything is charged."""

from __future__ import annotations

import json

import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from python_calamine import CalamineWorkbook

from tacita.query import Answer
from tacita.tables.release import Releases

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true}
- {name: sex, kind: categorical, levels: [f, m]}
"""
SQL = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean_age FROM people GROUP BY sex"
DATA = ("-s", "people.yaml", "-a", "people")


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{i % 80},{'fm'[i % 2]}\n" for i in range(800)))
    (tmp_path / "people.yaml").write_text(SCHEMA)
    run("budget", "open", "people", "-s", "people.yaml", "--epsilon", "9")
    return tmp_path


def spent() -> float:
    return float(json.loads(run("budget", "show", "people", "--json").out)[0]["spent"])


def ask(*more: str) -> None:
    done = run("query", "people.csv", *DATA, "--epsilon", "1", *more)
    assert done.code == 0, done.err


def read(path) -> list[dict]:
    return (pa_csv.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)).to_pylist()


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".CSV"])
def test_a_table_has_intervals_as_columns(folder, suffix):
    path = folder / f"out{suffix}"
    ask("--by", "sex", "-o", path.name)
    rows = read(path.rename(path.with_suffix(suffix.lower())))
    assert [set(row) for row in rows] == [{"sex", "estimate", "std", "low", "high"}] * 2
    assert [row["sex"] for row in rows] == ["f", "m"]
    assert all(row["low"] < row["estimate"] < row["high"] and abs(row["estimate"] - 400) < 100 for row in rows)


def test_several_tables_are_one_file(folder):
    ask("--by", "age,sex", "--by", "sex", "--count", "-o", "out.csv")
    rows = read(folder / "out.csv")
    assert list(rows[0]) == ["table", "age", "sex", "estimate", "std", "low", "high"]
    assert [row["table"] for row in rows] == ["age x sex"] * 6 + ["sex"] * 2 + ["total"]
    assert (rows[6]["age"], rows[6]["sex"], rows[8]["sex"]) == ("", "f", "")


def test_statistics_have_intervals_as_columns_and_json_holds_all(folder):
    for name in ("out.csv", "out.json"):
        done = run("query", SQL, "-d", "people.csv", "-s", "people.yaml", "--epsilon", "1", "-o", name)
        assert done.code == 0, done.err
    assert spent() == pytest.approx(1)  # the same question is answered once
    rows = read(folder / "out.csv")
    parts = [f"{name}{part}" for name in ("n", "mean_age") for part in ("", "_std", "_low", "_high")]
    assert list(rows[0]) == ["sex", *parts]
    answer = Answer.from_json((folder / "out.json").read_text())
    assert answer.columns["n"].value.tolist() == [row["n"] for row in rows]
    ask("--by", "sex", "-o", "tables.json")
    assert set(Releases.from_json((folder / "tables.json").read_text())) == {("sex",)}


LEARN = ("learn", "fit", "people.csv", *DATA, "--target", "age", "--epsilon", "1")
MAKE = ("synthesize", "people.csv", *DATA, "--epsilon", "1", "-n", "9")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("query", "people.csv", *DATA, "--by", "sex", "--epsilon", "1", "-o", "out.ods"), "Write .xlsx"),
        (
            ("query", "people.csv", *DATA, "--by", "sex", "--epsilon", "1", "-o", "out.doc"),
            ".csv, .parquet, .json or .xlsx",
        ),
        (
            ("query", "people.csv", *DATA, "--by", "sex", "--epsilon", "1", "-o", "out"),
            ".csv, .parquet, .json or .xlsx",
        ),
        (("query", "people.csv", *DATA, "--by", "sex", "--epsilon", "1", "-o", "no/out.csv"), "its folder must exist"),
        ((*LEARN, "-o", "model.csv"), "must end in .json"),
        ((*MAKE, "-o", "rows.json"), "must end in .csv or .parquet"),
        ((*MAKE, "-o", "rows.csv", "--model", "model.csv"), "must end in .json"),
        ((*MAKE, "-o", "rows.csv", "--statement", "statement.csv"), "must end in .json"),
        ((*MAKE, "-o", "rows.csv", "--report", "page.csv"), "must end in .html or .htm"),
        (("schema", "infer", "people.csv", "-o", "schema.csv"), "must end in .yaml, .yml or .json"),
    ],
)
def test_another_suffix_is_refused_before_anything_is_charged(folder, command, words):
    before = sorted(path.name for path in folder.iterdir())
    refused = run(*command)
    assert refused.code == 2
    assert words in refused.err
    assert spent() == 0
    assert sorted(path.name for path in folder.iterdir()) == before


def test_a_file_that_cannot_be_written_is_not_paid_twice(folder, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device", "out.csv")

    with monkeypatch.context() as patch:
        patch.setattr("tacita.cli.query.write_answer", full)
        lost = run("query", "people.csv", *DATA, "--by", "sex", "--epsilon", "1", "-o", "out.csv")
    assert lost.code != 0
    assert "--key query-" in lost.err
    key = lost.err.replace("\n", "").split("--key ")[1].split()[0]
    ask("--by", "sex", "-o", "out.csv", "--key", key)
    assert spent() == pytest.approx(1)


def test_a_workbook_has_the_numbers_and_the_guarantee(folder):
    ask("--by", "sex", "-o", "out.csv")
    ask("--by", "sex", "-o", "out.xlsx")
    book = CalamineWorkbook.from_path(folder / "out.xlsx")
    rows = book.get_sheet_by_name("table").to_python()
    plain = read(folder / "out.csv")
    assert rows[0] == list(plain[0])
    assert len(rows) == 1 + len(plain)
    assert dict(book.get_sheet_by_name("guarantee").to_python())["guarantee"] == "central"
