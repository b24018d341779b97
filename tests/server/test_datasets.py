from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest

SCHEMA: dict[str, Any] = {"attributes": [{"name": "smokes", "kind": "categorical", "levels": ["never", "daily"]}]}


def test_register_and_look(both) -> None:
    made = both.register()
    assert made.status_code == 201, made.text
    token = both.token("analyst")
    assert both.call("GET", "/v1/datasets", token=token).json() == [made.json()]
    assert both.call("GET", "/v1/datasets/patients", token=token).json() == made.json()
    schema = both.call("GET", "/v1/datasets/patients/schema", token=token).json()
    assert [attribute["name"] for attribute in schema["attributes"]] == ["smokes", "age"]
    balance = both.call("GET", "/v1/datasets/patients/budget", token=token).json()
    assert (balance["remaining"], balance["spent"], balance["charges"]) == (1.0, 0.0, 0)


def test_no_answer_tells_how_many_rows_there_are(world) -> None:
    world.register()
    token = world.token()
    for path in ("", "/patients", "/patients/schema", "/patients/budget", "/patients/charges"):
        assert "1234" not in world.call("GET", f"/v1/datasets{path}", token=token).text


def test_twice(both) -> None:
    both.register()
    again = both.register()
    assert (again.status_code, again.json()["code"], again.json()["value"]) == (409, "conflict", "patients")


def test_one_source_has_one_account(both) -> None:
    both.register()
    other = both.register("others")
    assert (other.status_code, other.json()["field"]) == (409, "source")
    assert "'patients'" in other.json()["detail"]


def test_racing_to_register(both) -> None:
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: answers.append(both.register(f"name{n}").status_code)) for n in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [201, 409, 409, 409]


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"name": "a b"}, 422, "name"),
        ({"name": "../x"}, 422, "name"),
        ({"name": 'x"; drop table accounts; --'}, 422, "name"),
        ({"source": "nowhere"}, 404, "source"),
        ({"source": "postgresql://u:p@host/db"}, 404, "source"),
        ({"schema": {}}, 422, "attributes"),
        ({"schema": {"attributes": [{"name": "x", "kind": "wrong"}]}}, 422, "attributes.0"),
        ({"schema": {"attributes": [{"name": "height", "kind": "boolean"}]}}, 422, "height"),
        ({"unit": "family"}, 422, "unit"),
        ({"unit": "person:id:3"}, 422, "unit"),
        ({"neighbours": "all"}, 422, "neighbours"),
        ({"budget": {"epsilon": 0}}, 422, "epsilon"),
        ({"budget": {}}, 422, "budget"),
        ({"budget": {"epsilon": 1.0, "colour": 1}}, 422, "budget.colour"),
        ({"rows": 1234}, 422, "rows"),
    ],
)
def test_bad_registrations_are_explained(world, changes: dict[str, Any], status: int, field: str) -> None:
    response = world.register(**changes)
    assert (response.status_code, response.json().get("field")) == (status, field), response.text
    assert world.services.ledger.accounts() == []


def test_a_draft_schema_is_refused(world) -> None:
    draft = [{"name": "smokes", "kind": "categorical", "levels": ["never"], "derived": ["levels"]}]
    response = world.register(schema={"attributes": draft})
    assert (response.status_code, response.json()["code"]) == (409, "not-public")
    assert world.services.ledger.accounts() == []


def test_the_source_is_away(world_of, tmp_path: Path) -> None:
    world = world_of(sources={"patients": {"path": tmp_path / "gone.csv"}})
    response = world.register()
    assert (response.status_code, response.json()["code"]) == (503, "source-unavailable")
    assert str(tmp_path) not in response.text


@pytest.fixture
def hospital(postgres_url: str) -> str:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for table in ('"pat""ients"', '"o\'brien"'):
            connection.execute(f"create table {table} (smokes text)")
            connection.execute(f"insert into {table} select 'never' from generate_series(1, 50)")
    return postgres_url


@pytest.mark.postgres
@pytest.mark.parametrize("table", ['"pat""ients"', "o'brien"])
def test_a_table_with_quotes_in_its_name(world_of, hospital: str, table: str) -> None:
    world = world_of(sources={"patients": {"url": hospital, "table": table}})
    response = world.register(schema=SCHEMA)
    assert response.status_code == 201, response.text
    assert world.query(world.token("analyst")).status_code == 200


@pytest.mark.postgres
@pytest.mark.parametrize("table", ['x"; drop table y; --', "no'such", "missing"])
def test_a_table_that_is_not_there(world_of, hospital: str, table: str) -> None:
    response = world_of(sources={"patients": {"url": hospital, "table": table}}).register(schema=SCHEMA)
    assert response.status_code == 422
    assert response.json()["code"] in ("data-error", "invalid-input")
    assert response.json()["field"] == "table"


@pytest.mark.postgres
def test_the_source_database_goes_away(world_of, postgres, hospital: str) -> None:
    world = world_of(sources={"patients": {"url": hospital, "table": "o'brien"}})
    assert world.register(schema=SCHEMA).status_code == 201
    postgres.drop_database(urlsplit(hospital).path[1:])
    response = world.query(world.token("analyst"))
    assert (response.status_code, response.json()["code"]) == (503, "source-unavailable")
    assert "steward" in response.json()["hint"]
    for part in ("/tmp", "postgres", "test_"):  # nothing about the place
        assert part not in response.text
    assert world.services.ledger.balance("patients").spent == 0  # noticed before it was paid for
