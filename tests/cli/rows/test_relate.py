"""Synthetic parents and children on the command line."""

import json

import pyarrow.csv as pa_csv
import pytest

from ..conftest import run

PARENTS = """
tacita: 1
person: home
attributes:
- {name: home, kind: identifier}
- {name: town, kind: categorical, levels: [A, B]}
"""
CHILDREN = """
tacita: 1
person: lives_in
attributes:
- {name: lives_in, kind: identifier}
- {name: age, kind: numeric, bounds: [0, 99], edges: [0, 18, 65, 99], integer: true}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "homes.csv").write_text("home,town\n" + "".join(f"h{i},{'AB'[i % 2]}\n" for i in range(300)))
    people = [f"h{i},{70 if i % 2 else 10}\n" for i in range(300) for _ in range(1 + i % 2)]
    (tmp_path / "people.csv").write_text("lives_in,age\n" + "".join(people))
    (tmp_path / "homes.yaml").write_text(PARENTS)
    (tmp_path / "people.yaml").write_text(CHILDREN)
    run("budget", "open", "homes", "--epsilon", "10", "--unit", "person:home:2")
    return tmp_path


def relate(*more, account="homes"):
    shared = ("-s", "homes.yaml", "--children-schema", "people.yaml", "--most", "2", "-a", account, "--epsilon", "4")
    return run("relate", "homes.csv", "people.csv", *shared, *more)


def spent():
    return json.loads(run("budget", "show", "homes", "--json").out)[0]["spent"]


def test_parents_and_children_are_planned_paid_and_written(folder):
    planned = relate("-o", "out", "--dry-run", "--json")
    assert planned.code == 0, planned.err
    assert json.loads(planned.out)["cost"] <= 4
    assert spent() == 0
    made = relate("-o", "out", "-n", "400", "--form", "csv", "--statement", "said.json", "--key", "once", "--json")
    assert made.code == 0, made.err
    parents, children = (pa_csv.read_csv(folder / "out" / f"{name}.csv") for name in ("parents", "children"))
    assert parents.num_rows == 400
    assert set(children.column("lives_in").to_pylist()) <= set(parents.column("home").to_pylist())
    town = dict(zip(*(parents.column(name).to_pylist() for name in ("home", "town")), strict=True))
    old = [town[row["lives_in"]] == "B" for row in children.to_pylist() if row["age"] == "65..99"]
    assert sum(old) > 0.8 * len(old)  # the old live in B
    assert run("verify", "said.json", "--file", "out/parents.csv", "--file", "out/children.csv").code == 0
    assert spent() == pytest.approx(4)
    again = relate("-o", "more", "--key", "once")
    assert again.code == 0, again.err
    assert spent() == pytest.approx(4)


def test_the_children_cannot_be_asked_on_another_account():
    assert relate("-o", "out").code == 0
    run("budget", "open", "people", "--epsilon", "10", "--unit", "person:lives_in:2")
    asked = ("query", "people.csv", "-s", "people.yaml", "-a", "people", "--by", "age", "--epsilon", "1")
    assert run(*asked).code == 8


def test_wrong_uses_cost_nothing(folder):
    run("budget", "open", "other", "--epsilon", "10", "--unit", "person:home:3")
    refused = relate("-o", "out", account="other")
    assert (refused.code, "most" in refused.err) == (2, True)
    (folder / "there").mkdir()
    assert relate("-o", "there").code == 2
    assert relate("-o", "out", "-n", "-1").code == 2
    assert spent() == 0
