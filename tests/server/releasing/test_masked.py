"""Masked rows over REST: for stewards, logged, stated without a guarantee, and the same as in Python."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.csv as pa_csv
import pytest

from tacita.anonymize import PramMatrix
from tacita.client import Client
from tacita.errors import Forbidden, InvalidInput, UnknownName

SCHEMA = {
    "tacita": 1,
    "attributes": [
        {"name": "who", "kind": "identifier"},
        {"name": "age", "kind": "numeric", "bounds": [0, 99], "integer": True, "role": "quasi-identifier"},
        {"name": "job", "kind": "categorical", "levels": ["a", "b", "c"], "role": "quasi-identifier"},
        {"name": "income", "kind": "numeric", "bounds": [0, 99999], "bins": 9, "role": "sensitive"},
    ],
}
STEPS: dict[str, Any] = {
    "microaggregate": ["income=5"],
    "round": ["age=10"],
    "pram": ["job=0.8"],
    "suppress_locally": ["3"],
}


@pytest.fixture
def client(world_of: Any, tmp_path: Path) -> Iterator[Client]:
    lines = "".join(f"secret{i},{20 + i * 7 % 60},{'abc'[i % 3]},{i * 37 % 1000 * 50}\n" for i in range(300))
    (tmp_path / "people.csv").write_text("who,age,job,income\n" + lines)
    world = world_of(sources={"people": {"path": tmp_path / "people.csv"}})
    assert world.register("people", source="people", schema=SCHEMA).status_code == 201
    with world.client("steward") as made:
        made.world = world  # type: ignore[attr-defined]
        yield made


def test_rows_are_planned_made_and_stated(client: Client) -> None:
    plan = client.plan_release("masked", dataset="people", **STEPS)
    assert plan["attributes"] == ["income", "age", "job"]
    assert plan["steps"] == ["microaggregate", "round", "pram", "suppress locally"]
    assert (plan["guarantee"], plan["warnings"]) == ("none", [])
    job = client.mask("people", **STEPS)
    about = client.wait_release(job.id, every=0.01)
    rows = pa_csv.read_csv(io.BytesIO(client.rows(job.id)))
    assert rows.column_names == ["income", "age", "job"]
    assert rows.num_rows == about.rows == 300
    assert min(Counter(rows.column("income").to_pylist()).values()) >= 5
    keys = zip(rows.column("age").to_pylist(), rows.column("job").to_pylist(), strict=True)
    assert min(Counter(keys).values()) >= 3
    matrix = PramMatrix.from_dict(about.matrices["job"])  # type: ignore[union-attr]
    assert matrix.labels == ("a", "b", "c")
    assert sum(matrix.counts) == 300
    stated = client.statement(job.id)
    assert (stated.guarantee, stated.epsilon) == ("none", None)
    world: Any = client.world  # type: ignore[attr-defined]
    (logged,) = world.services.release_log.history("people")
    assert (logged.kind, logged.attributes) == ("masked", ("income", "age", "job"))
    assert world.services.ledger.balance("people").spent == 0


def test_a_plan_has_an_order_of_its_own(client: Client) -> None:
    steps = [{"round": {"attributes": ["income"], "base": 1000}}, {"top": "income=20000"}]
    plan = client.plan_release("masked", dataset="people", plan=steps, keep=["age"])
    assert plan["steps"] == ["round", "top"]
    assert "released unmasked: age" in plan["warnings"][0]
    with pytest.raises(InvalidInput, match="not both"):
        client.plan_release("masked", dataset="people", plan=steps, round=["age=5"])


def test_all_randomised_is_local_privacy(client: Client) -> None:
    assert client.plan_release("masked", dataset="people", pram=["job:epsilon=1"])["guarantee"] == "local"
    about = client.wait_release(client.mask("people", pram=["job:epsilon=1"]).id, every=0.01)
    assert about.guarantee.startswith("local differential privacy, epsilon = 1")
    assert about.epsilon <= 1.0
    assert about.utility == []


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"pram": ["who=0.8"]}, InvalidInput),
        ({"keep": ["who"], "round": ["age=5"]}, InvalidInput),
        ({"microaggregate": ["job=5"]}, InvalidInput),
        ({"microaggregate": ["wage=5"]}, UnknownName),
        ({"round": ["age"]}, InvalidInput),
        ({"weight": "job", "round": ["age=5"]}, InvalidInput),
        ({"plan": [{"blur": "age=5"}]}, UnknownName),
        ({}, InvalidInput),
    ],
)
def test_wrong_requests_are_refused_before_a_job(client: Client, asked: dict[str, Any], error: type) -> None:
    with pytest.raises(error):
        client.mask("people", **asked)
    assert client.jobs() == []


def test_only_stewards(client: Client) -> None:
    world: Any = client.world  # type: ignore[attr-defined]
    with world.client("analyst") as other, pytest.raises(Forbidden):
        other.mask("people", **STEPS)
