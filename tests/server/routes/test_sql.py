"""Questions in SQL over HTTP."""

from __future__ import annotations

import threading
from typing import Any

import pytest

SQL = "SELECT smokes, COUNT(*) AS n, AVG(age) AS age FROM patients GROUP BY smokes"


def ask(world, token: str, sql: str = SQL, epsilon: float = 0.25, **more: Any) -> Any:
    body = {"sql": sql, "budget": {"epsilon": epsilon}} | more
    return world.call("POST", "/v1/query", token=token, json=body)


@pytest.fixture
def analyst(world) -> str:
    world.register()
    return world.token("analyst")


def left(world) -> float:
    found: float = world.call("GET", "/v1/datasets/patients/budget", token=world.token("analyst")).json()["remaining"]
    return found


def test_an_answer_with_intervals_that_is_paid_for_once(world, analyst) -> None:
    first = ask(world, analyst)
    assert first.status_code == 200, first.text
    data = first.json()
    assert (data["tacita"], data["groups"]) == ("statistics/1", [["never"], ["daily"]])
    assert abs(sum(data["columns"]["n"]["value"]) - 1234) < 200
    rest = left(world)
    assert rest == pytest.approx(0.75, abs=0.01)
    other = world.token("analyst")  # whoever asks the same of the same data gets the same
    assert ask(world, other).json()["columns"] == data["columns"]
    assert left(world) == rest
    assert ask(world, analyst, fresh=True).json()["columns"] != data["columns"]
    assert left(world) < rest


def test_a_dry_run_costs_nothing(world, analyst) -> None:
    plan = ask(world, analyst, dry_run=True).json()
    assert plan["affordable"]
    assert len(plan["expected"]) == 2
    assert left(world) == 1.0


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT age FROM patients", "GROUP BY"),
        ("SELECT MAX(age) FROM patients", "max"),
        ("SELECT COUNT(*) FROM patients; DROP TABLE patients", ""),
        ("SELECT COUNT(*) FROM patients WHERE name = 'Ada'", "name"),
        ("SELECT COUNT(*) FROM patients JOIN other ON 1=1", ""),
        ("DELETE FROM patients", ""),
        ("nonsense", ""),
        ("SELECT SUM(smokes) FROM patients", "smokes"),
    ],
)
def test_what_is_not_in_the_subset_is_refused_by_name(world, analyst, sql: str, says: str) -> None:
    response = ask(world, analyst, sql)
    assert response.status_code in (404, 422), response.text
    assert says.lower() in response.text.lower()
    assert left(world) == 1.0


def test_what_comes_after_noise_is_free(world, analyst) -> None:
    data = ask(world, analyst).json()
    rest = left(world)
    turned = SQL.replace("COUNT(*) AS n", "2 * COUNT(*) AS n2") + " HAVING COUNT(*) > -1000 ORDER BY n2 LIMIT 1"
    found = ask(world, analyst, turned).json()
    assert found["headings"] == ["smokes", "n2", "age"]
    assert found["intervals"] == {"n2": "linear", "age": "own"}
    assert found["columns"]["n2"]["value"] == [pytest.approx(2 * min(data["columns"]["n"]["value"]))]
    assert left(world) == rest


def test_groups_are_shrunk_beside_what_they_were_at_no_cost(world, analyst) -> None:
    sql = "SELECT smokes, age, COUNT(*) AS n FROM patients GROUP BY smokes, age"
    plain = ask(world, analyst, sql).json()
    rest = left(world)
    shrunk = ask(world, analyst, sql, shrink="overall").json()
    assert left(world) == rest
    assert shrunk["columns"]["n"] == plain["columns"]["n"]
    assert shrunk["intervals"]["n_shrunk"] == "average"
    assert len(shrunk["columns"]["n_shrunk"]["value"]) == 10
    few = ask(world, analyst, shrink="overall")
    assert few.status_code == 422
    assert "at least 10 groups" in few.text
    assert ask(world, analyst, sql, shrink="much").status_code == 422


def test_public_dimensions_are_sent_with_the_question(world, analyst) -> None:
    rows = [{"habit": "never", "word": "no"}, {"habit": "daily", "word": "yes"}]
    sql = "SELECT word, COUNT(*) AS n FROM patients JOIN habits ON smokes = habit GROUP BY word ORDER BY word"
    data = ask(world, analyst, sql, dimensions={"habits": rows}).json()
    assert data["groups"] == [["no"], ["yes"]]
    assert abs(sum(data["columns"]["n"]["value"]) - 1234) < 200
    twice = ask(world, analyst, sql, dimensions={"habits": [*rows, rows[0]]})
    assert twice.status_code == 422
    assert "twice" in twice.text
    assert ask(world, analyst, sql).status_code == 422


def test_scopes_and_unknown_datasets(world, analyst) -> None:
    assert ask(world, world.token("analyst", datasets=["x"])).status_code == 403
    assert ask(world, analyst, "SELECT COUNT(*) FROM nothing").status_code == 404
    assert ask(world, analyst, epsilon=-1).status_code == 422
    assert ask(world, analyst, epsilon=50).json()["code"] == "budget-exceeded"


def test_two_buyers_race_for_the_last_of_a_budget(both) -> None:
    both.register()
    tokens = [both.token("analyst") for _ in range(2)]
    sqls = ["SELECT COUNT(*) FROM patients", "SELECT AVG(age) FROM patients"]
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda t=t, q=q: statuses.append(ask(both, t, q, 0.7).status_code))
        for t, q in zip(tokens, sqls, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(statuses) == [200, 403]


def test_long_questions_are_refused_or_answered_but_never_break(world, analyst) -> None:
    for join in (" OR ", " AND "):
        where = join.join(["smokes = 'never'"] * 700)
        assert ask(world, analyst, f"SELECT COUNT(*) FROM patients WHERE {where}").status_code == 422
    many = ", ".join(f"AVG(age) AS a{i}" for i in range(300))
    assert ask(world, analyst, f"SELECT {many} FROM patients").status_code == 422
    assert ask(world, analyst, "SELECT STDDEV_SAMP(age) FROM patients").status_code == 422


def test_an_answer_does_not_cross_purposes(world_of, tmp_path) -> None:
    """A thousand agreed to research and ten to marketing: whoever asks for marketing gets the ten."""
    lines = "\n".join(f"p{i},never,{i % 40}" for i in range(1000))
    (tmp_path / "persons.csv").write_text(f"person,smokes,age\n{lines}\n")
    agreed = [f"p{i},research,yes,2020-01-01," for i in range(1000)]
    agreed += [f"p{i},marketing,yes,2020-01-01," for i in range(10)]
    (tmp_path / "consent.csv").write_text("person,purpose,answer,since,until\n" + "\n".join(agreed) + "\n")
    source = {"path": tmp_path / "persons.csv", "consent": tmp_path / "consent.csv"}
    world = world_of(sources={"persons": source}, data_folders=(tmp_path,))
    attributes = [
        {"kind": "identifier", "name": "person"},
        {"name": "smokes", "kind": "categorical", "levels": ["never", "daily"]},
        {"name": "age", "kind": "numeric", "bounds": [0, 99], "bins": 5, "integer": True},
    ]
    schema = {"tacita": 1, "person": "person", "attributes": attributes}
    made = world.register("persons", source="persons", schema=schema, unit="person:person:1", budget={"epsilon": 500.0})
    assert made.status_code == 201, made.text
    token, sql = world.token("analyst"), "SELECT COUNT(*) AS n FROM persons"
    found = [
        ask(world, token, sql, 20.0, purpose=purpose).json()["columns"]["n"]["value"][0]
        for purpose in ("research", "marketing")
    ]
    assert abs(found[0] - 1000) < 10
    assert abs(found[1] - 10) < 10
