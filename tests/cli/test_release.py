"""Paid answers on the command line, as a user makes them."""

import json

import pytest

from tacita.recipes.registry import RECIPES

from .conftest import run

SCHEMA = """
tacita: 1
attributes:
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true}
- {name: pay, kind: numeric, bounds: [0, 1000], bins: 4}
- {name: sex, kind: categorical, levels: [f, m]}
"""
ASKED = {
    "tables": ("--tables", "age,sex", "--tables", "sex"),
    "statistics": ("--sql", "SELECT sex, AVG(pay) FROM people GROUP BY sex"),
    "clusters": ("--columns", "age,pay", "--clusters", "2"),
    "components": ("--columns", "age,pay"),
    "bounds": ("--column", "pay"),
    "network": ("--columns", "age,pay", "--forbid", "pay:age"),
}


@pytest.fixture(autouse=True)
def folder(tmp_path):
    lines = [f"{i % 80},{(i * 7) % 900},{'fm'[i % 2]}\n" for i in range(800)]
    (tmp_path / "people.csv").write_text("age,pay,sex\n" + "".join(lines))
    (tmp_path / "people.yaml").write_text(SCHEMA)
    run("budget", "open", "people", "--epsilon", "2")
    return tmp_path


def release(kind, *more, epsilon="0.5"):
    shared = ("people.csv", "-s", "people.yaml", "-a", "people", "--epsilon", epsilon)
    return run("release", kind, *shared, *ASKED[kind], *more)


def spent():
    return json.loads(run("budget", "show", "people", "--json").out)[0]["spent"]


@pytest.mark.parametrize("kind", RECIPES)
def test_a_kind_is_planned_released_and_stated(kind, folder):
    planned = release(kind, "--dry-run", "--json")
    assert planned.code == 0, planned.err
    assert json.loads(planned.out)["cost"] <= 0.5
    assert spent() == 0
    made = release(kind, "--key", "once", "-o", "out.json", "--statement", "out.statement.json", "--json")
    assert made.code == 0, made.err
    answer = json.loads((folder / "out.json").read_text())
    assert RECIPES[kind].answer.model_validate(answer)
    assert spent() == pytest.approx(0.5, rel=0.02)
    checked = run("verify", "out.statement.json", "--file", "out.json")
    assert checked.code == 0, checked.out
    again = release(kind, "--key", "once", "-o", "out.csv")
    assert again.code == 0, again.err
    assert spent() == pytest.approx(0.5, rel=0.02)  # the same key costs nothing more
    assert len((folder / "out.csv").read_text().splitlines()) >= 2


def test_wrong_requests_cost_nothing():
    assert release("clusters", epsilon="3").code == 5
    assert run("release", "clusters", "people.csv", "-s", "people.yaml", "-a", "people").code == 2
    wrong = release("bounds", "--share", "2")
    assert (wrong.code, "share" in wrong.err) == (2, True)
    assert release("tables", "-o", "out.doc").code == 2
    assert release("tables", "--statement", "s.json").code == 2
    assert spent() == 0
