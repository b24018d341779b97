"""Paid answers over REST: planned, paid once, fetched as JSON and as rows, stated, deleted."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import pyarrow.csv as pa_csv
import pytest
from python_calamine import CalamineWorkbook

from tacita.client import Client
from tacita.errors import BudgetExceeded, Conflict, InvalidInput, UnknownName
from tacita.privacy.budget import Budget
from tacita.recipes.registry import RECIPES
from tacita.report.statement import Statement, verify

ASKED: dict[str, dict[str, Any]] = {
    "tables": {"tables": [["smokes"], ["age"]]},
    "statistics": {"sql": "SELECT smokes, AVG(age) FROM patients GROUP BY smokes"},
    "clusters": {"columns": ["age"], "clusters": 2},
    "components": {"columns": ["age"]},
    "bounds": {"column": "age"},
    "network": {"columns": ["age"]},
}


@pytest.fixture
def client(world: Any) -> Iterator[Client]:
    world.register(budget={"epsilon": 1.0})
    with world.client("analyst") as made:
        yield made


@pytest.mark.parametrize("kind", RECIPES)
def test_an_answer_is_planned_paid_once_and_fetched(client: Client, world: Any, kind: str) -> None:
    asked = {"dataset": "patients", "budget": Budget.pure(0.5)} | ASKED[kind]
    plan = client.plan_release(kind, **asked)
    assert (plan["affordable"], plan["cost"] <= 0.5, world.spent()) == (True, True, 0)
    job = client.release(kind, key="once", **asked)
    assert client.release(kind, key="once", **asked).id == job.id
    answer = client.wait_answer(job.id, every=0.01)
    assert answer.as_dict() == client.answer(job.id).as_dict()
    assert world.spent() == pytest.approx(0.5, rel=0.02)
    rows = pa_csv.read_csv(io.BytesIO(client.rows(job.id)))
    assert rows.num_rows == answer.to_arrow().num_rows
    book = CalamineWorkbook.from_filelike(io.BytesIO(client.rows(job.id, "xlsx")))
    assert book.get_sheet_by_name("table").to_python()[0] == rows.column_names
    about = dict(book.get_sheet_by_name("guarantee").to_python())
    assert (about["guarantee"], about["signature"]) == (
        "central differential privacy",
        client.statement(job.id).signature,
    )
    stated = client.statement(job.id)
    assert stated.epsilon == pytest.approx(0.5, rel=0.02)
    assert list(stated.digests) == ["release.json"]
    assert job.dataset == "patients"


@pytest.mark.parametrize("kind", RECIPES)
def test_plans_whose_accounting_takes_long_are_made_in_another_process(client: Client, kind: str) -> None:
    asked = {"dataset": "patients", "budget": Budget.approx(0.5, 1e-6)} | ASKED[kind]
    plan = client.plan_release(kind, **asked)
    assert 0 < plan["cost"] <= 0.5


def test_answers_of_others_are_unknown(client: Client, world: Any) -> None:
    job = client.release("bounds", dataset="patients", column="age", budget=Budget.pure(0.5))
    client.wait_answer(job.id, every=0.01)
    with (
        world.client("analyst") as other,
        pytest.raises(UnknownName),
    ):
        other.answer(job.id)


def test_what_is_wrong_is_refused_before_a_job(client: Client, world: Any) -> None:
    some = {"dataset": "patients", "budget": Budget.pure(0.5)}
    with pytest.raises(UnknownName):
        client.release("clusters", **some, columns=["agee"], clusters=2)
    with pytest.raises(InvalidInput, match="FROM"):
        client.release("statistics", **some, sql="SELECT COUNT(*) FROM others")
    with pytest.raises(BudgetExceeded):
        client.release("bounds", dataset="patients", budget=Budget.pure(1.5), column="age")
    assert client.jobs() == []
    assert world.spent() == 0


def test_large_answers_are_refused(world_of: Any) -> None:
    world = world_of(max_cells=3)
    world.register()
    with world.client("analyst") as client:
        with pytest.raises(InvalidInput, match="3 cells"):
            client.plan_release("tables", dataset="patients", budget=Budget.pure(0.5), tables=[["age"]])
        assert client.plan_release("tables", dataset="patients", budget=Budget.pure(0.5), tables=[["smokes"]])


def test_rows_have_no_answer_and_a_deleted_answer_is_gone(client: Client, world: Any) -> None:
    rows = client.release("synthetic", dataset="patients", budget=Budget.pure(0.25), method="independent", rows=5)
    client.wait_release(rows.id, every=0.01)
    with pytest.raises(InvalidInput, match="rows"):
        client.answer(rows.id)
    job = client.release("bounds", dataset="patients", column="age", budget=Budget.pure(0.25))
    client.wait_answer(job.id, every=0.01)
    deleted = world.call("DELETE", f"/v1/releases/{job.id}", token=world.token("admin"))
    assert deleted.status_code == 200
    for fetch in (client.answer, client.rows, client.statement):
        with pytest.raises(Conflict, match="deleted"):
            fetch(job.id)


def test_the_statement_verifies_with_the_document(client: Client, tmp_path: Any) -> None:
    job = client.release("bounds", dataset="patients", column="age", budget=Budget.pure(0.5))
    client.wait_answer(job.id, every=0.01)
    stated = Statement.from_json(client._get(f"/v1/releases/{job.id}/statement").decode())
    document = tmp_path / "release.json"
    document.write_bytes(client._get(f"/v1/releases/{job.id}"))
    assert all(check.good for check in verify(stated, files={"release.json": document}))
