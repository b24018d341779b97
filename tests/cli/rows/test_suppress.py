"""Suppressed tables on the command line."""

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
- {name: region, kind: categorical, levels: [north, east, south]}
- {name: industry, kind: categorical, levels: [a, b, c, d]}
- {name: size, kind: categorical, levels: [small, large]}
- {name: turnover, kind: numeric, bounds: [0, 100000], bins: 4}
- {name: w, kind: numeric, bounds: [1, 50], bins: 4}
"""
BY = ("-s", "firms.yaml", "--by", "region,industry")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    regions, industries = ([0.6, 0.3, 0.1], [0.5, 0.3, 0.15, 0.05])
    lines = [
        f"{rng.choice(['north', 'east', 'south'], p=regions)},{rng.choice(list('abcd'), p=industries)},"
        f"{rng.choice(['small', 'large'])},{rng.lognormal(4, 2):.2f},{rng.integers(1, 9)}\n"
        for _ in range(120)
    ]
    (tmp_path / "firms.csv").write_text("region,industry,size,turnover,w\n" + "".join(lines))
    (tmp_path / "firms.yaml").write_text(SCHEMA)
    return tmp_path


def test_a_table_of_sums_with_all_rules(folder: Path) -> None:
    more = ("--sum", "turnover", "--minimum", "3", "--dominance", "1,75", "--p", "10", "--weight", "w")
    shown = run("suppress", "firms.csv", *BY, *more, "-o", "table.csv", "--report", "page.html", "--json")
    assert shown.code == 0, shown.err
    found = json.loads(shown.out)
    assert found["guarantee"] == "none"
    assert found["owner"]["audited"] == found["owner"]["primary"] > 0
    assert found["recipe"]["rules"] == {"minimum": 3, "margin": 10.0, "dominance": [1, 75.0], "p": 10.0}
    cells = pa_csv.read_csv("table.csv").to_pylist()
    assert len(cells) == 4 * 5 == found["rows"]
    assert sum(row["status"] == "suppressed" for row in cells) == found["suppressed"]
    assert "For the owner" in (folder / "page.html").read_text()


def test_linked_tables_and_the_log_of_releases() -> None:
    more = ("--by", "region,size", "--minimum", "8", "--zeros", "sensitive", "--cost", "cells")
    shown = run("suppress", "firms.csv", *BY, *more, "-o", "table.xlsx")
    assert shown.code == 0, shown.err
    assert "proven" in shown.out
    again = run(
        "suppress", "firms.csv", *BY, "--minimum", "5", "--no-margins", "--nodes", "0", "-o", "t.json", "--json"
    )
    if again.code == 0:
        assert json.loads(again.out)["warnings"]  # the same people were released before
    else:
        assert "cannot be protected" in again.err


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (("-o", "t.csv"), "at least one"),
        (("-o", "t.csv", "--p", "10"), "rule for sums"),
        (("-o", "t.csv", "--minimum", "0"), "at least 1"),
        (("-o", "t.csv", "--sum", "turnover", "--dominance", "x"), "two numbers"),
        (("-o", "t.pdf", "--minimum", "3"), "must end in"),
    ],
)
def test_what_cannot_be_made_is_refused(wrong: tuple[str, ...], says: str) -> None:
    shown = run("suppress", "firms.csv", *BY, *wrong)
    assert shown.code != 0
    assert says in shown.err
