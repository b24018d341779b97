"""SQL on the command line, as a user runs it."""

import json

import pytest

from .conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true, missing: true}
- {name: sex, kind: categorical, levels: [f, m]}
"""
SQL = "SELECT sex, COUNT(*) AS n, AVG(age) AS age_mean, MEDIAN(age) FROM people WHERE age >= 18 GROUP BY sex"


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "people.csv").write_text("age,sex\n" + "".join(f"{i % 80},{'fm'[i % 2]}\n" for i in range(800)))
    (tmp_path / "people.yaml").write_text(SCHEMA)
    run("budget", "open", "people", "--epsilon", "2")
    return tmp_path


def ask(sql, *more):
    return run("query", sql, "--data", "people.csv", "--schema", "people.yaml", *more)


def spent():
    return json.loads(run("budget", "show", "people", "--json").out)[0]["spent"]


def test_a_plan_states_the_split_and_charges_nothing():
    shown = ask(SQL, "--epsilon", "1", "--dry-run")
    assert shown.code == 0, shown.err
    assert "moments" in shown.out
    assert "age_mean" in shown.out
    data = json.loads(ask(SQL, "--epsilon", "1", "--dry-run", "--json").out)
    assert [part["measure"] for part in data["split"]] == ["tally", "moments", "choice", "ranks"]
    assert sum(part["alone"] for part in data["split"]) == pytest.approx(data["cost"])
    assert spent() == 0


def test_the_same_question_is_answered_once_and_paid_once(folder):
    first = json.loads(ask(SQL, "--epsilon", "1", "--json", "-o", "out.json").out)
    assert first["groups"] == [["f"], ["m"]]
    assert sum(first["columns"]["n"]["value"]) == pytest.approx(620, abs=120)
    assert json.loads((folder / "out.json").read_text())["columns"] == first["columns"]
    again = json.loads(ask(SQL, "--epsilon", "1", "--json").out)
    assert again["columns"] == first["columns"]
    assert spent() == 1
    shown = ask(SQL, "--epsilon", "1").out
    assert "age_mean" in shown
    assert "remaining" in shown
    anew = json.loads(ask(SQL, "--epsilon", "1", "--json", "--fresh").out)
    assert anew["columns"] != first["columns"]
    assert spent() == 2
    assert ask(SQL, "--epsilon", "1", "--fresh").code == 5


def test_a_file_that_was_written_anew_is_asked_anew(folder):
    sql = "SELECT COUNT(*) AS n FROM people"
    first = json.loads(ask(sql, "--epsilon", "0.5", "--json").out)
    (folder / "people.csv").write_text("age,sex\n" + "30,f\n" * 5000)
    second = json.loads(ask(sql, "--epsilon", "0.5", "--json").out)
    assert first["columns"]["n"]["value"][0] == pytest.approx(800, abs=100)
    assert second["columns"]["n"]["value"][0] == pytest.approx(5000, abs=100)
    assert spent() == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((SQL.replace("AVG(age)", "MAX(age)"), "--epsilon", "1"), "MAX(age)"),
        ((SQL + " UNION SELECT 1", "--epsilon", "1"), "SELECT"),
        ((SQL.replace("people", "persons"), "--epsilon", "1"), "persons"),
        ((SQL.replace("18", "20"), "--epsilon", "1"), "cuts a bin"),
        ((SQL,), "--epsilon"),
        ((SQL, "--epsilon", "nan"), "epsilon"),
        ((SQL, "--epsilon", "1", "--by", "sex"), "--by"),
        (("people.csv", "--epsilon", "1", "--by", "sex"), "give SQL with --data"),
    ],
)
def test_what_cannot_be_asked_is_refused_and_nothing_is_charged(arguments, says):
    done = ask(*arguments)
    assert done.code == 2, done.err
    assert says in done.err
    assert "Traceback" not in done.err
    assert spent() == 0


def test_sql_without_data_and_tables_without_an_account_are_refused():
    assert "--data" in run("query", SQL, "-s", "people.yaml", "--epsilon", "1").err
    assert "--account" in run("query", "people.csv", "-s", "people.yaml", "--by", "sex", "--epsilon", "1").err
