"""Forty messy files are read right, or refused with the way out; none is silently wrong."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.support.messy import PEOPLE, Dialect, Fault, messy_files, write_messy

from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.engines.local.files.draft import draft
from tacita.engines.local.files.open import open_source
from tacita.errors import DataError, InvalidInput

FILES = list(messy_files())
IDS = [f"{dialect.name}-{fault}" for dialect, fault in FILES]
NAMES = ("name", "age", "pay", "born", "town")


def read(path: Path, domain: Domain, columns: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Rows as the schema reads them: numbers and dates in one form."""
    table = pa.Table.from_batches(open_source(str(path), domain).batches(columns))
    return list(zip(*(table.column(name).to_pylist() for name in columns), strict=True))


def test_there_are_forty_files_of_eight_dialects() -> None:
    assert len(FILES) == 40
    assert len({dialect.name for dialect, _ in FILES}) == 8


@pytest.mark.parametrize(("dialect", "fault"), FILES, ids=IDS)
def test_a_messy_file_is_read_right(tmp_path: Path, dialect: Dialect, fault: Fault) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(write_messy(dialect, fault))
    if dialect.name == "british" and fault == "spaces":  # quoted numbers behind a space
        with pytest.raises(DataError, match="spaces come before quotes"):
            draft(str(path))
        return
    if "%y" in dialect.dates:  # the century is not written
        with pytest.raises(InvalidInput, match="must be stated") as caught:
            draft(str(path))
        assert dialect.dates in str(caught.value.hint)
        return
    made = draft(str(path))
    names = made.domain.names
    if fault == "no header":
        assert names == ("c1", "c2", "c3", "c4", "c5")
        made = draft(str(path), given={"columns": NAMES})
        names = made.domain.names
    assert names == NAMES
    kinds = {name: made.domain[name].kind for name in names}
    assert kinds == {"name": "identifier", "age": "numeric", "pay": "numeric", "born": "date", "town": "categorical"}
    domain = made.domain
    rows = read(path, domain, ("age", "pay", "born", "town"))
    assert len(rows) == len(PEOPLE)
    for (age, pay, born, town), person in zip(rows, PEOPLE, strict=True):
        assert (None if age in (*domain.nulls, None) else int(age)) == person.age
        assert (None if pay in (*domain.nulls, None) else float(pay)) == person.pay
        assert dt.date.fromisoformat(born) == person.born
        assert town == person.town.encode(dialect.encoding, "replace").decode(dialect.encoding)
    checked = LocalEngine(domain, str(path)).check()
    assert checked.rows == len(PEOPLE)
    assert checked.fits
    missing = {column.name: column.missing for column in checked.columns}
    assert missing["age"] == sum(person.age is None for person in PEOPLE)
    assert missing["pay"] == sum(person.pay is None for person in PEOPLE)


@pytest.mark.parametrize(
    ("text", "where", "ways"),
    [
        ("a;b\n1;2.345\n3;4.125\n", "csv.decimal", ("decimal '.'", "thousands '.'")),
        ("a;b\n1;2,345\n3;4,125\n", "csv.decimal", ("decimal ','", "thousands ','")),
        ("d,b\n03/04/2020,x\n05/06/2021,y\n", "csv.dates", ("%d/%m/%Y", "%m/%d/%Y")),
        ("d,b\n03-04-2020,x\n05-06-2021,y\n", "csv.dates", ("%d-%m-%Y", "%m-%d-%Y")),
    ],
)
def test_two_possible_readings_are_refused_with_both(
    tmp_path: Path, text: str, where: str, ways: tuple[str, str]
) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InvalidInput) as caught:
        draft(str(tmp_path / "t.csv"))
    assert caught.value.field == where
    assert all(way in str(caught.value.hint) for way in ways)


def test_a_number_of_another_dialect_is_no_number(tmp_path: Path) -> None:
    """With decimal commas and no groups, 1.234 is neither 1.234 nor 1234: it is out of domain."""
    (tmp_path / "t.csv").write_text("x;y\n1,5;a\n1.234;a\nN/A;a\n 2,5 ;a\n;a\n")
    domain = Domain.from_text(
        "csv: {delimiter: ';', decimal: ','}\nnulls: ['', 'N/A']\n"
        "attributes: [{name: x, kind: numeric, bounds: [0, 2000], bins: 2, missing: true}]"
    )
    (column,) = LocalEngine(domain, str(tmp_path / "t.csv")).check().columns
    assert (column.missing, column.nowhere) == (2, 1)
    assert LocalEngine(domain, str(tmp_path / "t.csv")).project(["x"]).values.tolist() == [2, 0, 2]


def test_texts_that_mean_missing_in_one_column_count_there_alone(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(
        "age,pay\n" + "".join(f"{20 + i % 50},{900 + i * i * i % 97}\n" for i in range(300)) + "999,999\n"
    )
    made = draft(str(tmp_path / "t.csv"))
    assert any("999 is far from all other values" in note for note in made.notes)
    made = draft(str(tmp_path / "t.csv"), given={"absent": {"age": ("999",)}})
    assert made.domain["age"].missing
    assert not made.domain["pay"].missing
    checked = LocalEngine(made.domain, str(tmp_path / "t.csv")).check()
    assert {column.name: column.missing for column in checked.columns} == {"age": 1, "pay": 0}


def test_guesses_have_reasons_and_keep_the_spelling(tmp_path: Path) -> None:
    lines = [f"{i},{i % 2},{'yes' if i % 3 else 'no'},{10 ** (i % 6)},true\n" for i in range(600)]
    (tmp_path / "t.csv").write_text("id,flag,smokes,amount,known\n" + "".join(lines))
    made = draft(str(tmp_path / "t.csv"))
    assert made.domain["flag"].levels == ("0", "1")
    assert made.domain["smokes"].levels == ("no", "yes")
    assert made.domain["known"].kind == "boolean"
    assert set(made.reasons) == set(made.domain.names)
    assert "logarithmic" in made.reasons["amount"]
    amount = made.domain["amount"]
    assert isinstance(amount, Numeric)
    assert amount.edges is not None
    assert amount.edges[0] == 0
    assert made.preview[0] == made.domain.names
    assert made.preview[1][0] == "0"
    assert made.as_dict()["preview"][1] == ["9", "9", "xx", "9", "xxxx"]  # masked wherever it is sent


def test_a_draft_of_a_frame_and_of_parquet(tmp_path: Path) -> None:
    table = pa.table({"sex": ["f", "m"] * 20, "age": list(range(40))})
    assert draft(table).domain["sex"].kind == "categorical"
    pq.write_table(table, tmp_path / "t.parquet")
    assert draft(str(tmp_path / "t.parquet")).domain.as_dict() == draft(table).domain.as_dict()


@pytest.mark.parametrize("text", ["", "\n\n", " \n"])
def test_an_empty_file_says_so(tmp_path: Path, text: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(DataError, match="empty"):
        draft(str(tmp_path / "t.csv"))


def test_a_header_alone_has_nothing_to_infer_from(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n")
    with pytest.raises(DataError, match="no rows"):
        draft(str(tmp_path / "t.csv"))


def test_names_that_do_not_fit_the_lines_are_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("1,2,3\n4,5,6\n")
    with pytest.raises(InvalidInput, match=r"csv\.columns: must be as many as the values of a line, which are 3"):
        draft(str(tmp_path / "rows.csv"), given={"columns": ["a", "b"]})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (",a,b\n" + "0,5,x\n1,6,y\n" * 20, ("a", "b")),  # a frame with its index
        ("a,b,\n" + "5,x,\n6,y,\n" * 20, ("a", "b")),
        ("sep=;\na;b\n" + "5;x\n6;y\n" * 20, ("a", "b")),
        ("x,NA,NA\n" + "y,5,6\nz,7,8\n" * 20, ("c1", "c2", "c3")),  # no header, and no names twice
    ],
)
def test_what_other_programs_write_is_read(tmp_path: Path, text: str, names: tuple[str, ...]) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text)
    found = draft(path).domain
    assert found.names == names
    assert len(read(path, found, names)) in (40, 41)


def test_a_header_with_a_name_twice_is_no_row(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    for header, rule in (("a,a,b", "there twice.*'a'"), ("a,,", "have no name")):
        path.write_text(header + "\n" + "1,2,x\n3,4,y\n" * 20)
        with pytest.raises(DataError, match=rule):
            draft(path)


def test_codes_with_leading_zeros_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("zip,n\n" + "".join(f"{17 * (at % 40):05d},{at % 40}\n" for at in range(2000)))
    notes = [note for note in draft(path).notes if "begin with 0" in note]
    assert [note.split(":")[0] for note in notes] == ["zip"]
