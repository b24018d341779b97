"""Every format gives the same counts; what is no such file is refused."""

from __future__ import annotations

import datetime as dt
import gzip
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
import pytest
import xlsxwriter

from tacita.domain import CsvDialect, Domain
from tacita.engines.connect import connect
from tacita.engines.local.files.draft import draft
from tacita.engines.local.files.open import open_source
from tacita.engines.local.files.stored import StoredFile
from tacita.engines.local.files.workbook import sheets_of
from tacita.engines.marks import data_marks
from tacita.errors import DataError, InvalidInput, SourceUnavailable, UnknownName

DOMAIN = Domain.from_text(
    """
attributes:
- {name: sex, kind: categorical, levels: [female, male], missing: true}
- {name: age, kind: numeric, bounds: [0, 100], bins: 4, missing: true}
- {name: born, kind: date, bounds: [1900-01-01, 2000-12-31], by: year}
"""
)
ROWS = [
    ("female", 31.0, dt.date(1970, 3, 1)),
    ("male", None, dt.date(1980, 12, 31)),
    (None, 77.5, dt.date(1940, 1, 1)),
    ("female", 12.0, dt.date(1999, 7, 7)),
]
TABLE = pa.table(
    {
        "sex": pa.array([row[0] for row in ROWS]),
        "age": pa.array([row[1] for row in ROWS]),
        "born": pa.array([row[2] for row in ROWS], pa.date32()),
    }
)


def text(delimiter: str = ",") -> bytes:
    lines = [delimiter.join("" if value is None else str(value) for value in row) for row in ROWS]
    return "\n".join([delimiter.join(TABLE.column_names), *lines, ""]).encode()


def write_xlsx(path: Path) -> None:
    with xlsxwriter.Workbook(path) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        sheet, other = book.add_worksheet("people"), book.add_worksheet("notes")
        other.write(0, 0, "nothing")
        for at, name in enumerate(TABLE.column_names):
            sheet.write(0, at, name)
        for line, (sex, age, born) in enumerate(ROWS, 1):
            if sex is not None:
                sheet.write(line, 0, sex)
            if age is not None:
                sheet.write(line, 1, age)
            sheet.write_datetime(line, 2, dt.datetime.combine(born, dt.time()), day)


def write_statistical(path: Path) -> None:
    codes = {"female": 1.0, "male": 2.0, None: None}
    frame = pd.DataFrame(
        {
            "sex": [codes[row[0]] for row in ROWS],
            "age": [row[1] for row in ROWS],
            "born": [row[2] for row in ROWS],
        }
    )
    labels = {"sex": {1.0: "female", 2.0: "male"}}
    if path.suffix == ".sav":
        pyreadstat.write_sav(frame, str(path), variable_value_labels=labels)
    else:
        pyreadstat.write_dta(frame, str(path), variable_value_labels=labels)


def write_duckdb(path: Path) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.register("given", TABLE)
        connection.execute('CREATE TABLE "the people" AS SELECT * FROM given')


def _stream(path: Path) -> None:
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, TABLE.schema) as writer:
        writer.write_table(TABLE)


WRITERS: dict[str, Any] = {
    "people.csv": lambda path: path.write_bytes(text()),
    "people.tsv": lambda path: path.write_bytes(text("\t")),
    "people.tab": lambda path: path.write_bytes(text("\t")),
    "people.data": lambda path: path.write_bytes(text()),
    "people.csv.gz": lambda path: path.write_bytes(gzip.compress(text())),
    "people.parquet": lambda path: pq.write_table(TABLE, path),
    "people.feather": lambda path: pyarrow.feather.write_feather(TABLE, path),
    "people.arrows": _stream,
    "people.xlsx": write_xlsx,
    "people.sav": write_statistical,
    "people.dta": write_statistical,
    "people.duckdb": write_duckdb,
}
TABLES = {"people.xlsx": "people", "people.duckdb": "the people"}


def address(tmp_path: Path, name: str) -> str:
    WRITERS[name](tmp_path / name)
    return f"duckdb:{tmp_path / name}" if name.endswith(".duckdb") else str(tmp_path / name)


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_is_counted_alike(tmp_path: Path, name: str) -> None:
    place = address(tmp_path, name)
    engine = connect(place, DOMAIN, TABLES.get(name))
    wanted = connect(TABLE, DOMAIN)
    for key in (["sex", "age"], ["born"]):
        assert engine.project(key).values.tolist() == wanted.project(key).values.tolist()  # type: ignore[attr-defined]
    assert engine.check().rows == len(ROWS)
    drafted = draft(place, table=TABLES.get(name)).domain
    assert set(drafted.names) == set(TABLE.column_names)


@pytest.mark.parametrize(
    "frame",
    [
        TABLE.to_pandas(),
        pl.from_arrow(TABLE),
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        duckdb.arrow(TABLE),
        duckdb.arrow(TABLE).filter("true"),
    ],
    ids=["pandas", "polars", "batch", "reader", "duckdb", "duckdb query"],
)
def test_frames_are_counted_alike(frame: Any) -> None:
    engine = connect(frame, DOMAIN)
    wanted = connect(TABLE, DOMAIN)
    for _ in range(2):
        assert engine.project(["sex", "age"]).values.tolist() == wanted.project(["sex", "age"]).values.tolist()  # type: ignore[attr-defined]


def test_labels_of_statistical_files_are_levels_in_the_order_of_their_codes(tmp_path: Path) -> None:
    domain = draft(address(tmp_path, "people.sav")).domain
    assert domain["sex"].kind == "ordinal"
    assert domain["sex"].labels == ("female", "male")


def test_a_workbook_with_several_sheets_needs_one(tmp_path: Path) -> None:
    place = address(tmp_path, "people.xlsx")
    assert sheets_of(StoredFile(place)) == ["people", "notes"]
    with pytest.raises(InvalidInput, match="several sheets") as caught:
        open_source(place)
    assert "people, notes" in str(caught.value.hint)
    with pytest.raises(InvalidInput, match="is no sheet"):
        open_source(place, table="persons")


def test_a_table_of_duckdb_must_be_there(tmp_path: Path) -> None:
    place = address(tmp_path, "people.duckdb")
    with pytest.raises(InvalidInput, match="needs the name of a table"):
        open_source(place)
    with pytest.raises(UnknownName):
        open_source(place, table='the people" UNION SELECT')
    with pytest.raises(SourceUnavailable, match="no such file"):
        open_source("duckdb:" + str(tmp_path / "gone.duckdb"), table="x")
    assert not (tmp_path / "gone.duckdb").exists()


@pytest.mark.parametrize("name", ["a.xlsx", "a.sav", "a.dta", "a.sas7bdat", "a.feather", "a.parquet"])
def test_a_broken_file_is_refused_without_its_content(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"SECRET" * 100)
    with pytest.raises((DataError, SourceUnavailable)) as caught:
        open_source(str(tmp_path / name))
    assert "SECRET" not in str(caught.value)
    with pytest.raises((DataError, SourceUnavailable)):
        open_source(str(tmp_path / f"gone-{name}"))


def test_folders_hold_one_kind(tmp_path: Path) -> None:
    for part in ("x", "y"):
        pa_csv.write_csv(TABLE, tmp_path / f"{part}.csv")
    assert connect(str(tmp_path), DOMAIN).check().rows == 2 * len(ROWS)
    pq.write_table(TABLE, tmp_path / "z.parquet")
    assert connect(str(tmp_path), DOMAIN).check().rows == len(ROWS)  # Parquet comes first
    with pytest.raises(InvalidInput, match="of one kind"):
        open_source([str(tmp_path / "x.csv"), str(tmp_path / "z.parquet")])
    with pytest.raises(InvalidInput, match="must be a file of a format"):
        open_source(str(tmp_path / "a.doc"))


def test_marks_of_files_follow_their_bytes(tmp_path: Path) -> None:
    one, two = address(tmp_path, "people.duckdb"), tmp_path / "copy.duckdb"
    two.write_bytes((tmp_path / "people.duckdb").read_bytes())
    assert len(data_marks(one, DOMAIN, "the people").marks) == 1
    assert data_marks(one, DOMAIN, "the people").marks == data_marks(f"duckdb:{two}", DOMAIN, "the people").marks


def test_a_plain_file_is_read_with_the_schema_of_another_dialect(tmp_path: Path) -> None:
    """Tacita writes plain files: what it released can be read with the schema of the source."""
    german = DOMAIN.model_copy(update={"csv": CsvDialect(delimiter=";", encoding="cp1252", decimal=",")})
    (tmp_path / "plain.csv").write_bytes(text(","))
    (tmp_path / "german.csv").write_bytes(text(";"))
    for name in ("plain.csv", "german.csv"):
        assert connect(str(tmp_path / name), german).check().rows == len(ROWS)


def test_a_dialect_is_that_of_the_schema(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(text(";"))
    with pytest.raises(DataError, match="semicolons"):
        connect(str(tmp_path / "t.csv"), DOMAIN)
    german = DOMAIN.model_copy(update={"csv": CsvDialect(delimiter=";")})
    assert connect(str(tmp_path / "t.csv"), german).check().rows == len(ROWS)
