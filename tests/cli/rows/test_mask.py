"""`tacita mask` as a user runs it: real files, exit codes and messages."""

import csv
import json
from collections import Counter

import pytest

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: name, kind: identifier}
- {name: age, kind: numeric, bounds: [0, 99], integer: true, role: quasi-identifier}
- {name: job, kind: categorical, levels: [a, b, c], role: quasi-identifier}
- {name: income, kind: numeric, bounds: [0, 200000], bins: 5, role: sensitive}
- {name: weight, kind: numeric, bounds: [0, 10], bins: 2}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    people = [f"secret{i},{20 + i * 7 % 50},{'abc'[i % 3]},{i * 37 % 1000 * 120},{1 + i % 4}" for i in range(300)]
    (tmp_path / "people.csv").write_text("name,age,job,income,weight\n" + "\n".join(people) + "\n")
    (tmp_path / "people.yaml").write_text(SCHEMA)
    return tmp_path


def masked(*options):
    return run("mask", "people.csv", "-s", "people.yaml", "-o", "out.csv", *options)


def rows_of(folder):
    with (folder / "out.csv").open() as file:
        return list(csv.DictReader(file))


def test_rows_report_and_figures(folder):
    options = "--microaggregate income,age=5 --pram job=0.8 --top income=90000 --bottom age=30 --round income=1000"
    done = masked(*options.split(), "--suppress-locally", "3", "--weight", "weight", "--report", "out.html")
    assert done.code == 0, done.err
    rows = rows_of(folder)
    assert len(rows) == 300
    assert list(rows[0]) == ["income", "age", "job", "weight"]
    assert min(Counter((row["age"], row["job"]) for row in rows).values()) >= 3
    assert {int(row["income"]) % 1000 for row in rows} == {0}
    assert max(int(row["income"]) for row in rows) <= 90000
    for words in ("SSE/SST", "weighted", "estimated shares", "No differential privacy", "for the owner"):
        assert words in " ".join(done.out.split())
    page = (folder / "out.html").read_text()
    assert "Step 1: top" in page
    assert "secret" not in page + (folder / "out.csv").read_text()


def test_json_and_the_log_of_releases(folder):
    first = masked("--round", "income=1000", "--keep", "age", "--json")
    found = json.loads(first.out)
    assert (found["tacita"], found["guarantee"]) == ("masked/1", "none")
    assert any("unmasked: age" in warning for warning in found["warnings"])
    again = json.loads(masked("--round", "income=500", "--keep", "age", "--json").out)
    assert any("intersected" in warning for warning in again["warnings"])


def test_a_plan_file(folder):
    (folder / "mask.yaml").write_text("- pram: {attributes: [job], epsilon: 1}\n")
    found = json.loads(masked("--plan", "mask.yaml", "--json").out)
    assert found["guarantee"].startswith("local differential privacy, epsilon = 1")
    assert masked("--plan", "mask.yaml", "--round", "income=5").code == 2
    assert masked("--plan", "none.yaml").code == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "at least one step"),
        (("--microaggregate", "job=5"), "is categorical"),
        (("--microaggregate", "wage=5"), "wage"),
        (("--microaggregate", "income=500"), "fewer rows"),
        (("--pram", "name=0.8"), "identifier"),
        (("--pram", "job=0.3"), "above 1/3"),
        (("--round", "income"), "needs base"),
        (("--suppress-locally", "many"), "whole number"),
        (("--round", "income=5", "--weight", "income"), "cannot be masked"),
    ],
)
def test_wrong_options_are_refused(folder, options, words):
    done = masked(*options)
    assert done.code == 2
    assert words in " ".join(done.err.split())
    assert not (folder / "out.csv").exists()


def test_a_negative_weight_is_refused_without_its_value(folder):
    text = (folder / "people.csv").read_text().replace(",1\n", ",-7\n", 1)
    (folder / "people.csv").write_text(text)
    done = masked("--round", "income=5", "--weight", "weight")
    assert done.code != 0
    assert "not negative" in done.err
    assert "-7" not in done.err
