"""Collections as named sources: one account for the same data, and no query that fails on somebody's document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.support.mongo import MongoServer

from tacita.errors import InvalidInput
from tacita.settings import Settings

SECRET = "hunter2"
FIRST = {"url": "mongodb://db.example/clinic", "table": "people"}
SCHEMA: dict[str, Any] = {"attributes": [{"name": "smokes", "kind": "categorical", "levels": ["never", "daily"]}]}
VISITS: dict[str, Any] = {
    "person": "who",
    "attributes": [
        {"name": "who", "kind": "identifier"},
        {"name": "visits.pain", "kind": "numeric", "bounds": [0, 9], "integer": True},
    ],
}


@pytest.mark.parametrize(
    "other",
    [
        {"url": "mongodb://DB.Example:27017/clinic", "table": "people"},
        {"url": f"mongodb://reader:{SECRET}@db.example./clinic?tls=true", "table": "people"},
        {"url": "mongodb://db.example/clinic", "table": "people", "unwind": "visits"},
    ],
)
def test_a_collection_has_one_name(other: dict[str, str]) -> None:
    with pytest.raises(InvalidInput, match=r"sources\.b: is the same data as the source 'a'") as caught:
        Settings.load(sources={"a": FIRST, "b": other})
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "other",
    [
        {"url": "mongodb://db.example/clinic", "table": "People"},
        {"url": "mongodb://db.example/other", "table": "people"},
        {"url": "mongodb://db.example:27018/clinic", "table": "people"},
        {"url": "mongodb+srv://db.example/clinic", "table": "people"},
        {"url": "postgresql://db.example/clinic", "table": "people"},
    ],
)
def test_other_collections_are_other_data(other: dict[str, str]) -> None:
    assert len(Settings.load(sources={"a": FIRST, "b": other}).sources) == 2


@pytest.mark.parametrize(
    "bad",
    [
        {"url": f"mongodb://u:{SECRET}@h:x:y/db", "table": "t"},
        {"url": f"mongodb://u:{SECRET}@h", "table": "t"},
        {"url": f"mongodb://u:{SECRET}@h/db"},
        {"url": f"postgresql://u:{SECRET}@h/db", "table": "t", "unwind": "a"},
        {"path": "a.csv", "unwind": "a"},
    ],
)
def test_a_bad_source_is_named(bad: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        Settings.load(sources={"a": bad})
    assert caught.value.field == "sources.a"
    assert SECRET not in str(caught.value)


@pytest.fixture
def mongo() -> Iterator[MongoServer]:
    with MongoServer() as server:
        server.store("clinic", "people", [{"smokes": "never"}] * 40 + [{"smokes": "daily"}] * 10)
        yield server


def test_register_and_ask(world_of, mongo: MongoServer) -> None:
    world = world_of(sources={"patients": {"url": mongo.url("clinic"), "table": "people"}})
    assert world.register(schema=SCHEMA).status_code == 201
    assert world.query(world.token("analyst"), 0.1).status_code == 200
    mongo.store("clinic", "people", [{"smokes": ["never"]}, {"smokes": {"a": 1}}, {"smokes": "never"}])
    answer = world.query(world.token("analyst"), 0.2)
    assert answer.status_code == 200, answer.text  # whether a query fails would tell of somebody


def test_lists_are_refused_unless_they_are_declared(world_of, mongo: MongoServer) -> None:
    mongo.store("clinic", "visits", [{"who": f"p{i}", "visits": [{"pain": 3}, {"pain": 4}]} for i in range(20)])
    plain = {"url": mongo.url("clinic"), "table": "visits"}
    unit = "person:who:2"
    refused = world_of(sources={"patients": plain}).register(schema=VISITS, unit=unit)
    assert (refused.status_code, refused.json()["field"]) == (422, "visits")
    world = world_of(sources={"patients": plain | {"unwind": "visits"}})
    made = world.register(schema=VISITS, unit=unit)
    assert made.status_code == 201, made.text
    answer = world.query(world.token("analyst"), tables=[["visits.pain"]])
    assert answer.status_code == 200, answer.text


def test_a_collection_under_two_names_has_one_account(world_of, mongo: MongoServer) -> None:
    mongo.store("clinic", "others", [{"smokes": "never"}])
    with MongoServer() as member:  # another member of the same set: what only the server can tell
        member._states, member._uuids = mongo._states, mongo._uuids
        here, there = mongo.url("clinic"), member.url("clinic")
        sources = {"patients": {"url": here, "table": "people"}, "b": {"url": there, "table": "people"}}
        world = world_of(sources=sources | {"c": {"url": there, "table": "others"}})
        assert world.register(schema=SCHEMA).status_code == 201
        again = world.register("b", source="b", schema=SCHEMA)
        assert (again.status_code, again.json()["field"]) == (409, "source"), again.text
        assert world.register("c", source="c", schema=SCHEMA).status_code == 201


def test_the_server_goes_away(world_of) -> None:
    with MongoServer() as mongo:
        mongo.store("clinic", "people", [{"smokes": "never"}] * 40)
        url = mongo.url("clinic") + "?serverSelectionTimeoutMS=100"
        world = world_of(sources={"patients": {"url": url, "table": "people"}})
        assert world.register(schema=SCHEMA).status_code == 201
    response = world.query(world.token("analyst"))
    assert (response.status_code, response.json()["code"]) == (503, "source-unavailable")
    for part in ("127.0.0.1", "clinic", "people"):  # nothing about the place
        assert part not in response.text
    assert world.services.ledger.balance("patients").spent == 0
