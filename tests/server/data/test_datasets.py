from __future__ import annotations

import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.domain import Domain
from tacita.errors import Conflict
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.server.data.datasets import Datasets
from tacita.settings import SourceSettings
from tacita.store import Database

from ..conftest import write_patients

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


def test_the_unit_comes_from_the_schema_where_none_is_given(world) -> None:
    made = world.register(unit=None)
    assert (made.status_code, made.json()["unit"]) == (201, "row")


def test_an_unused_account_is_replaced_and_an_unused_dataset_removed(both) -> None:
    both.register()
    steward, analyst = both.token("steward"), both.token("analyst")
    path, body = "/v1/datasets/patients", {"budget": {"epsilon": 0.25}, "neighbours": "replace-one"}
    for method, place in (("PUT", f"{path}/budget"), ("DELETE", path)):
        assert both.call(method, place, token=analyst, json=body).status_code == 403
    replaced = both.call("PUT", f"{path}/budget", token=steward, json=body).json()
    assert (replaced["unit"], replaced["neighbours"], replaced["remaining"]) == ("row", "replace-one", 0.25)
    wrong = both.call("PUT", f"{path}/budget", token=steward, json=body | {"unit": "person:who:2"})
    assert (wrong.status_code, wrong.json()["field"]) == (422, "unit")
    policy = {"quasi": ["age"], "sensitive": ["smokes"], "k": 5, "l": 2.0}
    assert both.call("PUT", f"{path}/policy", token=steward, json=policy).status_code == 200
    assert both.call("DELETE", path, token=steward).status_code == 200
    assert both.call("GET", path, token=steward).status_code == 404
    assert both.register("anew").status_code == 201  # the source is free, and no reason is asked for


def test_a_dataset_that_was_charged_stays(both) -> None:
    both.register()
    steward = both.token("steward")
    query = {"tables": [["smokes"]], "budget": {"epsilon": 0.5}}
    assert both.call("POST", "/v1/datasets/patients/query", token=steward, json=query).status_code == 200
    for method, place in (("PUT", "/v1/datasets/patients/budget"), ("DELETE", "/v1/datasets/patients")):
        refused = both.call(method, place, token=steward, json={"budget": {"epsilon": 9.0}})
        assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
        assert "spent for ever" in refused.json()["rule"]
    assert both.call("GET", "/v1/datasets/patients/budget", token=steward).json()["charges"] == 1


def test_a_name_that_is_registered_anew_reads_the_new_source(world_of, tmp_path) -> None:
    """Also in a process that had read the old one."""
    (tmp_path / "new.csv").write_text("smokes\n" + "daily\n" * 100)
    write_patients(tmp_path / "old.csv")
    world = world_of(sources={name: {"path": tmp_path / f"{name}.csv"} for name in ("old", "new")})
    datasets = world.services.datasets
    world.register(source="old", schema=SCHEMA)
    before = datasets.get("patients")
    assert datasets.engine(before).project(["smokes"]).sum() > 100
    other = Datasets(world.services.database, world.services.sources)  # another process
    other.remove("patients")
    world.register(source="new", schema=SCHEMA)
    assert datasets.engine(datasets.get("patients")).project(["smokes"]).values.tolist() == [0, 100]


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
        ({"schema": {"attributes": [{"name": "x", "kind": "wrong"}]}}, 422, "x.kind"),
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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ragged.csv", b"smokes,age\nnever,3\nnever\n"),
        ("latin.csv", b"smokes,age\nnever,3\nj\xe4hrlich,4\n"),
        ("empty.csv", b""),
        ("cut.parquet", b"PAR1"),
    ],
)
def test_what_cannot_be_read_is_told_to_the_steward(world_of, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    world = world_of(sources={"patients": {"path": tmp_path / name}})
    response = world.register()
    assert (response.status_code, response.json()["code"]) == (422, "data-error"), response.text
    assert world.services.ledger.accounts() == []
    assert world.call("GET", "/v1/datasets", token=world.token()).json() == []


def test_keys_that_cannot_be_read_are_told_to_the_steward(world_of, tmp_path: Path) -> None:
    columns = {"who": pa.array([0.5, 1.5]), "smokes": pa.array(["never", "daily"])}
    pq.write_table(pa.table(columns), tmp_path / "visits.parquet")
    world = world_of(sources={"patients": {"path": tmp_path / "visits.parquet"}})
    schema = {"person": "who", "attributes": [{"name": "who", "kind": "identifier"}, *SCHEMA["attributes"]]}
    response = world.register(schema=schema, unit="person:who:1")
    assert (response.status_code, response.json()["field"]) == (422, "who"), response.text
    assert world.services.ledger.accounts() == []


def test_values_outside_the_schema_are_no_fault_and_nobody_learns_of_them(world_of, tmp_path: Path) -> None:
    rows = ["never,3"] * 50 + ["weekly,777"] * 4711
    (tmp_path / "strange.csv").write_text("\n".join(["smokes,age", *rows]) + "\n")
    world = world_of(sources={"patients": {"path": tmp_path / "strange.csv"}})
    made = world.register()
    assert made.status_code == 201, made.text
    for word in ("4711", "4761", "weekly"):
        assert word not in made.text
    assert world.query(world.token("analyst")).status_code == 200


def test_a_file_under_two_names_has_one_account(world_of, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    write_patients(tmp_path / "a" / "patients.csv")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "linked.csv").hardlink_to(tmp_path / "a" / "patients.csv")
    sources = {"patients": {"path": tmp_path / "a" / "patients.csv"}, "linked": {"path": tmp_path / "b"}}
    world = world_of(sources=sources | {"copy": {"path": tmp_path / "patients.csv"}})
    assert world.register().status_code == 201
    linked = world.register("linked", source="linked")
    assert (linked.status_code, linked.json()["field"]) == (409, "source")
    assert "same data as the dataset 'patients'" in linked.json()["detail"]
    copy = world.register("copy", source="copy")  # the same bytes in another file
    assert (copy.status_code, copy.json()["field"]) == (409, "data")
    assert "patients" not in copy.text  # it might be outside the caller's scope
    assert [account.name for account in world.services.ledger.accounts()] == ["patients"]
    assert world.register("copy", source="copy", again="a rehearsal with invented people").status_code == 201
    (line,) = world.services.events.list(kind="data-again")
    assert line.detail["reason"] == "a rehearsal with invented people"


@pytest.mark.postgres
def test_a_table_under_two_names_has_one_account(world_of, postgres, hospital: str) -> None:
    other = f"{hospital}&options=-csearch_path%3Dpublic"  # what only the server can tell
    sources = {"patients": {"url": hospital, "table": "o'brien"}, "b": {"url": other, "table": "o'brien"}}
    world = world_of(sources=sources | {"c": {"url": hospital, "table": '"pat""ients"'}})
    assert world.register(schema=SCHEMA).status_code == 201
    again = world.register("b", source="b", schema=SCHEMA)
    assert (again.status_code, again.json()["field"]) == (409, "source"), again.text
    assert world.register("c", source="c", schema=SCHEMA).status_code == 201


@pytest.mark.postgres
def test_a_statement_that_takes_too_long_is_ended(world_of, hospital: str) -> None:
    with psycopg.connect(hospital, autocommit=True) as connection:
        connection.execute('CREATE VIEW slow AS SELECT smokes FROM "o\'brien", pg_sleep(130) AS waited')
    world = world_of(sources={"patients": {"url": hospital, "table": "slow"}}, database_seconds=1)
    answer = world.register(schema=SCHEMA)
    assert (answer.status_code, answer.json()["rule"]) == (503, "the database did not answer in time"), answer.text


@pytest.mark.postgres
def test_a_source_that_cannot_be_compared(world_of, postgres, hospital: str) -> None:
    gone = postgres.create_database()
    with psycopg.connect(gone, autocommit=True) as connection:
        connection.execute("create table people (smokes text)")
    sources = {"patients": {"url": gone, "table": "people"}, "b": {"url": hospital, "table": "o'brien"}}
    world = world_of(sources=sources)
    assert world.register(schema=SCHEMA).status_code == 201
    postgres.drop_database(urlsplit(gone).path[1:])
    response = world.register("b", source="b", schema=SCHEMA)
    assert (response.status_code, response.json()["code"]) == (503, "source-unavailable")
    assert "'patients'" in response.json()["detail"]


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


def test_a_renamed_source_gets_no_second_budget(tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_text("smokes\nnever\n")
    database = Database(f"sqlite:///{tmp_path}/s.db")
    about: dict[str, Any] = {
        "domain": Domain.from_dict(SCHEMA),
        "unit": Unit.row(),
        "neighbours": Neighbours.ADD_REMOVE,
        "budget": Budget.pure(1.0),
    }
    place = SourceSettings(path=tmp_path / "p.csv")
    Datasets(database, {"old": place}).register(name="one", source="old", **about)
    with pytest.raises(Conflict, match="no longer name"):
        Datasets(database, {"new": place}).register(name="two", source="new", **about)


def test_a_source_outside_the_scope_cannot_be_registered_under_a_name_inside(world_of, tmp_path) -> None:
    write_patients(tmp_path / "others.csv")
    with (tmp_path / "others.csv").open("a") as file:
        file.write("never,7\n")  # not the same data as the first
    sources = {"mine": {"path": tmp_path / "patients.csv"}, "others": {"path": tmp_path / "others.csv"}}
    world = world_of(sources=sources)
    scoped = world.token("steward", datasets=["mine"])
    body = {
        "name": "mine",
        "schema": SCHEMA,
        "unit": "row",
        "neighbours": "add-remove",
        "budget": {"epsilon": 1000.0},
    }
    for source in ("others", "unknown"):
        refused = world.call("POST", "/v1/datasets", token=scoped, json=body | {"source": source})
        assert refused.status_code == 403, refused.text
        assert refused.json()["field"] == "source"
        assert "patients" not in refused.text
    assert world.services.datasets.list() == []
    assert world.call("POST", "/v1/datasets", token=scoped, json=body | {"source": "mine"}).status_code == 201
