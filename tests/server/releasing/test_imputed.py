"""Imputed rows over REST: for stewards alone, marked as without a guarantee, and logged."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow.csv as pa_csv
import pytest

from tacita.client import Client
from tacita.errors import Forbidden, InvalidInput, UnknownName

ASKED: dict[str, Any] = {"dataset": "patients", "no_guarantee": True, "replace": ["age: smokes = daily"], "m": 2}


@pytest.fixture
def client(world: Any) -> Iterator[Client]:
    world.register(budget={"epsilon": 1.0})
    with world.client("steward") as made:
        yield made


def test_rows_are_planned_made_and_stated_without_a_guarantee(client: Client, world: Any) -> None:
    plan = client.plan_release("imputed", **ASKED)
    assert (plan["replaced"], plan["guarantee"]) == (["age"], "none")
    job = client.release("imputed", **ASKED)
    about = client.wait_release(job.id, every=0.01)
    assert (about.guarantee, about.rows, about.releases) == ("none", 1234, 2)  # type: ignore[union-attr]
    rows = pa_csv.read_csv(io.BytesIO(client.rows(job.id)))
    assert rows.column_names == ["release", "smokes", "age"]
    assert rows.column("release").to_pylist() == [1] * 1234 + [2] * 1234
    stated = client.statement(job.id)
    assert (stated.guarantee, stated.epsilon) == ("none", None)
    assert world.spent() == 0
    (logged,) = world.services.release_log.history("patients")
    assert (logged.kind, logged.attributes) == ("imputed", ("smokes", "age"))


def test_imputed_rows_are_assessed_as_several_releases(client: Client) -> None:
    job = client.release("imputed", **ASKED)
    client.wait_release(job.id, every=0.01)
    found = client.wait_assessment(client.assess(job.id, attempts=50).id, every=0.01)
    assert found.rows == 1234
    assert found.kept is not None
    assert found.kept > 0.9


def test_only_stewards_who_confirm_may_have_them(client: Client, world: Any) -> None:
    with pytest.raises(InvalidInput, match="no_guarantee"):
        client.release("imputed", **ASKED | {"no_guarantee": False})
    with (
        world.client("analyst") as other,
        pytest.raises(Forbidden),
    ):
        other.release("imputed", **ASKED)
    job = client.release("imputed", **ASKED)
    client.wait_release(job.id, every=0.01)
    with (
        world.client("analyst") as other,
        pytest.raises(UnknownName),
    ):
        other.rows(job.id)


@pytest.mark.parametrize(
    "wrong",
    [
        {"replace": ["height"]},
        {"replace": ["age: height = 3"]},
        {"kind": "frame"},
        {"frame": "patients"},
        {"m": 1},
        {"attributes": ["smokes"]},
    ],
)
def test_wrong_requests_are_refused_before_a_job(client: Client, wrong: dict[str, Any]) -> None:
    with pytest.raises((InvalidInput, UnknownName)):
        client.release("imputed", **ASKED | wrong)
    assert client.jobs() == []
