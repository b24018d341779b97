"""Disclosure risk on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.csv as pa_csv
import pytest

from ..conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: sex, kind: categorical, levels: [f, m], role: quasi-identifier}
- {name: age, kind: numeric, bounds: [0, 99], bins: 5, integer: true, role: quasi-identifier}
- {name: town, kind: categorical, levels: [a, b, c]}
- {name: w, kind: numeric, bounds: [1, 50], bins: 4}
- {name: home, kind: identifier}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.choice(['f', 'm'])},{rng.integers(0, 90)},{rng.choice(list('abc'))},{rng.integers(1, 9)},h{i // 2}\n"
        for i in range(100)
    ]
    (tmp_path / "survey.csv").write_text("sex,age,town,w,home\n" + "".join(lines[:40]))
    (tmp_path / "everyone.csv").write_text("sex,age,town,w,home\n" + "".join(lines))
    (tmp_path / "survey.yaml").write_text(SCHEMA)
    return tmp_path


def test_all_measures_with_files(folder: Path) -> None:
    more = ("--weight", "w", "--household", "home", "--population", "everyone.csv", "--records", "risk.csv")
    shown = run("disclosure", "survey.csv", "-s", "survey.yaml", *more, "--report", "risk.html", "--json")
    assert shown.code == 0, shown.err
    found = json.loads(shown.out)
    assert found["guarantee"] == "none"
    assert [each["name"] for each in found["measures"]] == [
        "prosecutor",
        "journalist",
        "individual",
        "household",
        "loglinear",
        "suda",
    ]
    assert found["skipped"] == []
    assert pa_csv.read_csv("risk.csv").num_rows == 40
    assert "Prosecutor risk" in (folder / "risk.html").read_text()


def test_quasi_identifiers_by_name_and_measures_that_do_not_apply() -> None:
    shown = run(
        "disclosure", "survey.csv", "-s", "survey.yaml", "--qi", "town,sex", "--measures", "prosecutor,journalist"
    )
    assert shown.code == 0, shown.err
    assert "6" in shown.out
    assert "needs a table of the population" in shown.out


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("--qi", "shoe"), "shoe"),
        (("--threshold", "2"), "between 0 and 1"),
        (("--measures", "luck"), "must be among"),
        (("--population", "survey.csv", "--qi", "home"), "identifier"),
        (("--records", "risk.txt"), "must end in"),
    ],
)
def test_what_cannot_be_measured_is_refused(wrong: tuple[str, ...], says: str) -> None:
    shown = run("disclosure", "survey.csv", "-s", "survey.yaml", *wrong)
    assert shown.code != 0
    assert says in shown.err
