"""Accounts at the command line: who is protected comes from the schema, and unused accounts can be replaced."""

from __future__ import annotations

import json

import pytest

from .conftest import run

SCHEMA = """tacita: 1
attributes:
- {name: who, kind: identifier}
- {name: sex, kind: categorical, levels: [f, m]}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A home with a schema of persons, one without, and data in which each person has one row."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TACITA_HOME", str(tmp_path / "home"))
    (tmp_path / "persons.yaml").write_text(SCHEMA + "person: who\n")
    (tmp_path / "rows.yaml").write_text(SCHEMA)
    (tmp_path / "people.csv").write_text("who,sex\n" + "".join(f"{n},{'fm'[n % 2]}\n" for n in range(400)))
    return tmp_path


def unit_of(name: str) -> str:
    (found,) = json.loads(run("budget", "show", name, "--json").out)
    return str(found["unit"])


def test_the_unit_comes_from_the_schema(folder) -> None:
    opened = run("budget", "open", "people", "-s", "persons.yaml", "--epsilon", "1")
    assert opened.code == 0, opened.err
    assert "one row of each is counted" in opened.out
    assert unit_of("people") == "person:who:1"
    asked = run("query", "people.csv", "-s", "persons.yaml", "-a", "people", "--by", "sex", "--epsilon", "1", "--json")
    assert asked.code == 0, asked.err  # the account fits the schema, and no bound was given by hand
    run("budget", "open", "several", "-s", "persons.yaml", "--max-rows", "3", "--epsilon", "1")
    assert unit_of("several") == "person:who:3"
    run("budget", "open", "rows", "-s", "rows.yaml", "--epsilon", "1")
    assert unit_of("rows") == "row"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-s", "persons.yaml", "--unit", "row"), "names a person"),
        (("-s", "rows.yaml", "--max-rows", "3"), "names a person"),
        (("-s", "persons.yaml", "--unit", "person:who:2", "--max-rows", "3"), "part of --unit"),
        (("--max-rows", "3"), "goes with a schema"),
    ],
)
def test_units_that_do_not_fit_are_refused(folder, options, words) -> None:
    refused = run("budget", "open", "people", "--epsilon", "1", *options)
    assert refused.code != 0
    assert words in refused.err
    assert run("budget", "close", "people").code != 0  # nothing was opened


def test_an_unused_account_is_replaced_and_closed_and_a_charged_one_is_not(folder) -> None:
    run("budget", "open", "people", "--epsilon", "1")
    wrong = run("budget", "open", "people", "-s", "persons.yaml", "--epsilon", "2")
    assert "exists already" in wrong.err
    assert run("budget", "open", "people", "-s", "persons.yaml", "--epsilon", "2", "--replace").code == 0
    assert unit_of("people") == "person:who:1"
    assert run("budget", "close", "people").code == 0
    assert run("budget", "open", "people", "-s", "persons.yaml", "--epsilon", "2", "--replace").code == 0
    ask = ("query", "people.csv", "-s", "persons.yaml", "-a", "people", "--by", "sex", "--epsilon", "1")
    assert run(*ask).code == 0
    for refused in (
        run("budget", "close", "people"),
        run("budget", "open", "people", "--epsilon", "9", "--replace"),
    ):
        assert refused.code != 0
        assert "spent for ever" in refused.err
