"""Suppressed tables over REST: for stewards alone, audited, stated without a guarantee, and logged."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow.csv as pa_csv
import pytest

from tacita.client import Client
from tacita.errors import Forbidden, InvalidInput, UnknownName

ASKED: dict[str, Any] = {"dataset": "patients", "by": [["smokes", "age"]], "minimum": 45}


@pytest.fixture
def client(world: Any) -> Iterator[Client]:
    world.register(budget={"epsilon": 1.0})
    with world.client("steward") as made:
        yield made


def test_tables_are_planned_made_and_stated_without_a_guarantee(client: Client, world: Any) -> None:
    plan = client.plan_release("suppressed", **ASKED)
    assert plan["guarantee"] == "none"
    job = client.release("suppressed", **ASKED)
    about: Any = client.wait_release(job.id, every=0.01)
    assert (about.guarantee, about.rows) == ("none", plan["cells"])
    assert about.owner.audited == about.owner.primary
    cells = pa_csv.read_csv(io.BytesIO(client.rows(job.id))).to_pylist()
    assert len(cells) == about.rows
    hidden = [row for row in cells if row["status"] == "suppressed"]
    assert len(hidden) == about.suppressed
    assert 0 < len(hidden) < len(cells)
    assert all(row["value"] in (None, "") for row in hidden)
    stated = client.statement(job.id)
    assert (stated.guarantee, stated.epsilon) == ("none", None)
    assert world.spent() == 0
    (logged,) = world.services.release_log.history("patients")
    assert (logged.kind, logged.attributes) == ("suppressed", ("smokes", "age"))


def test_only_stewards_may_have_them(client: Client, world: Any) -> None:
    with world.client("analyst") as other, pytest.raises(Forbidden):
        other.release("suppressed", **ASKED)
    job = client.release("suppressed", **ASKED)
    client.wait_release(job.id, every=0.01)
    with world.client("analyst") as other, pytest.raises((Forbidden, UnknownName)):
        other.rows(job.id)


@pytest.mark.parametrize(
    "wrong",
    [
        {"by": [["smokes", "smokes"]]},
        {"by": []},
        {"minimum": None},
        {"dominance": [1, 75]},
        {"sum": "smokes"},
        {"p": 0},
    ],
)
def test_what_cannot_be_made_is_refused_before_a_job(client: Client, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        client.release("suppressed", **ASKED | wrong)
