"""`tacita anonymize` as a user runs it: real files, exit codes and messages."""

import csv
import json
from collections import Counter

import pytest

from .conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: name, kind: identifier}
- {name: age, kind: numeric, bounds: [0, 99], integer: true, role: quasi-identifier}
- {name: town, kind: categorical, levels: [Ulm, Bonn, Lyon], role: quasi-identifier}
- {name: ill, kind: categorical, levels: [flu, cold, gout], role: sensitive}
- {name: visits, kind: numeric, bounds: [0, 9], integer: true}
"""
TOWNS = "Ulm;Germany;*\nBonn;Germany;*\nLyon;France;*\n"


@pytest.fixture(autouse=True)
def folder(tmp_path):
    people = [
        f"secret{i},{20 + i * 7 % 50},{('Ulm', 'Bonn', 'Lyon')[i % 3]},{('flu', 'cold', 'gout')[i // 3 % 3]},{i % 9}"
        for i in range(300)
    ]
    (tmp_path / "people.csv").write_text("name,age,town,ill,visits\n" + "\n".join(people) + "\n")
    (tmp_path / "people.yaml").write_text(SCHEMA)
    (tmp_path / "towns.csv").write_text(TOWNS)
    return tmp_path


def anonymized(*options):
    return run("anonymize", "people.csv", "-s", "people.yaml", *options)


def test_rows_report_and_figures(folder):
    code, out, err = anonymized(
        "--k", "10", "--l", "2", "--hierarchy", "town=towns.csv", "-o", "out.csv", "--report", "out.html", "--json"
    )
    assert code == 0, err
    told = json.loads(out)
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    sizes = Counter((row["age"], row["town"]) for row in rows)
    assert list(rows[0]) == told["columns"] == ["age", "town", "ill"]
    assert min(sizes.values()) == told["achieved"]["k"] >= 10
    assert {row["town"] for row in rows} <= {"Ulm", "Bonn", "Lyon", "Germany", "France", "*"}
    for place in sizes:
        assert len({row["ill"] for row in rows if (row["age"], row["town"]) == place}) >= 2
    page = (folder / "out.html").read_text()
    assert "No differential privacy" in page
    assert "secret" not in page + out + (folder / "out.csv").read_text()


def test_figures_in_a_terminal_and_other_columns(folder):
    code, out, err = anonymized("--k", "5", "--qi", "age", "--keep", "visits", "-o", "out.parquet")
    assert code == 0, err
    assert "people in the smallest class" in out
    assert (folder / "out.parquet").is_file()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--k", "301"], "largest k that these rows allow is 300"),
        (["--k", "5", "--qi", "name"], "an identifier never leaves"),
        (["--k", "5", "--l", "4"], "not even all people together"),
        (["--k", "5", "--hierarchy", "town"], "attribute=file"),
        (["--k", "5", "--keep", "shoe"], "no such name"),
    ],
)
def test_refusals_leave_nothing_behind(folder, options, words):
    code, _, err = anonymized(*options, "-o", "out.csv")
    assert (code, words in err) == (2, True), err
    assert not (folder / "out.csv").exists()


def test_a_file_of_no_known_kind_is_refused(folder):
    code, _, err = anonymized("--k", "5", "-o", "out.xlsx")
    assert (code, "must end in .csv or .parquet" in err) == (2, True)


@pytest.mark.parametrize("method", ["datafly", "samarati", "ola", "incognito", "bayardo"])
def test_whole_columns_are_recoded(method, folder):
    options = ("--qi", "town", "--k", "20", "--method", method, "--hierarchy", "town=towns.csv", "-o", "out.csv")
    code, out, err = anonymized(*options, "--json")
    assert code == 0, err
    rows = list(csv.DictReader((folder / "out.csv").read_text().splitlines()))
    assert min(Counter(row["town"] for row in rows).values()) >= 20
    assert 0 <= json.loads(out)["loss"]["gcp"] <= 1
