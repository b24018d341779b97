"""Events and sets over REST: for stewards, logged, stated without a guarantee, and counted again from the rows."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest

from tacita.client import Client
from tacita.errors import Forbidden, InvalidInput, UnknownName

SCHEMA = {
    "tacita": 1,
    "person": "who",
    "attributes": [
        {"name": "who", "kind": "identifier"},
        {"name": "minute", "kind": "numeric", "bounds": [0, 999], "bins": 10, "integer": True},
        {"name": "page", "kind": "categorical", "levels": ["home", "news", "help"]},
    ],
}
PAGES = ("home", "home", "news", "help", "secret")
EVENTS: dict[str, Any] = {"dataset": "visits", "time": "minute", "values": ["page"], "z": 5, "window": 30}
SETS: dict[str, Any] = {"dataset": "visits", "item": "page", "k": 3}


@pytest.fixture
def client(world_of: Any, tmp_path: Path) -> Iterator[Client]:
    lines = "".join(f"p{(7 * i) % 23},{i // 3},{PAGES[(i * i + i // 5) % 5]}\n" for i in range(400))
    (tmp_path / "visits.csv").write_text("who,minute,page\n" + lines)
    world = world_of(sources={"visits": {"path": tmp_path / "visits.csv"}})
    assert world.register("visits", source="visits", schema=SCHEMA, unit="person:who:50").status_code == 201
    with world.client("steward") as made:
        made.world = world  # type: ignore[attr-defined]
        yield made


def rows_of(client: Client, id: str) -> Any:
    return pa_csv.read_csv(io.BytesIO(client.rows(id)))


def test_events_are_planned_made_and_stated(client: Client) -> None:
    plan = client.plan_release("events", **EVENTS)
    assert (plan["attributes"], plan["guarantee"]) == (["minute", "page"], "none")
    job = client.release("events", **EVENTS)
    about = client.wait_release(job.id, every=0.01)
    rows = rows_of(client, job.id)
    assert rows.column_names == ["minute", "page"]
    assert 0 < rows.num_rows == about.rows < 400
    assert set(rows.column("page").to_pylist()) <= {"home", "news", "help"}
    stated = client.statement(job.id)
    assert (stated.guarantee, stated.epsilon) == ("none", None)
    world: Any = client.world  # type: ignore[attr-defined]
    (logged,) = world.services.release_log.history("visits")
    assert (logged.kind, logged.attributes) == ("events", ("minute", "page"))
    assert world.services.ledger.balance("visits").spent == 0


def test_sets_hold_their_condition(client: Client) -> None:
    job = client.release("sets", **SETS)
    about = client.wait_release(job.id, every=0.01)
    sets: dict[int, set[str]] = defaultdict(set)
    rows = rows_of(client, job.id)
    for number, item in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        sets[number].add(item)
    pairs = {(a, b) for one in sets.values() for a in one for b in one}
    assert min(sum({a, b} <= one for one in sets.values()) for a, b in pairs) == about.support >= 3  # type: ignore[union-attr]
    assert client.statement(job.id).guarantee == "none"


def test_the_hierarchy_of_the_policy_is_used(client: Client) -> None:
    policy = {
        "quasi": ["page"],
        "k": 2,
        "hierarchies": {"page": [["home", "site"], ["news", "site"], ["help", "site"]]},
    }
    world: Any = client.world  # type: ignore[attr-defined]
    answer = world.call("PUT", "/v1/datasets/visits/policy", token=world.token("steward"), json=policy)
    assert answer.status_code in (200, 201, 204), answer.text
    plan = client.plan_release("sets", **SETS | {"k": 22})
    assert plan["recipe"]["sets"]["hierarchy"] == "page"


def test_only_stewards_and_only_what_the_schema_has(client: Client) -> None:
    world: Any = client.world  # type: ignore[attr-defined]
    with world.client("analyst") as other:
        for kind, asked in (("events", EVENTS), ("sets", SETS)):
            with pytest.raises(Forbidden):
                other.release(kind, **asked)
    with pytest.raises(InvalidInput, match="whole number"):
        client.plan_release("events", **EVENTS | {"time": "page", "values": ["minute"]})
    with pytest.raises(InvalidInput, match="never released"):
        client.plan_release("sets", **SETS | {"item": "who"})
    with pytest.raises(UnknownName):
        client.plan_release("events", **EVENTS | {"values": ["pages"]})
    job = client.release("sets", **SETS)
    client.wait_release(job.id, every=0.01)
    with pytest.raises(UnknownName):
        client.assess(job.id)  # attacks are for rows that each describe a person
