"""Made-up rows over HTTP: planned for nothing, paid for once, fetched in pieces."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from tacita.errors import InternalError, InvalidInput
from tacita.noise import SeededSource
from tacita.report.statement import Statement, verify
from tacita.server.releasing import synthetic
from tacita.server.releasing.answers import ModelResponse, RowsResponse
from tacita.synthesize import Synthesized

BODY: dict[str, Any] = {"dataset": "patients", "budget": {"epsilon": 0.4}, "rows": 500}


def make(world, token: str, *, key: str | None = None, **changes: Any) -> Any:
    return world.call("POST", "/v1/releases/synthetic", token=token, key=key, json=BODY | changes)


@pytest.fixture
def buyer(world) -> str:
    world.register()
    return world.token("analyst")


def test_from_plan_to_rows(world, buyer, tmp_path) -> None:
    plan = world.call("POST", "/v1/releases/synthetic/plan", token=buyer, json=BODY)
    assert plan.status_code == 200, plan.text
    assert plan.json()["affordable"] is True
    assert plan.json()["account_cost"] == pytest.approx(0.4)
    assert world.spent() == 0
    submitted = make(world, buyer)
    assert submitted.status_code == 202, submitted.text
    place = submitted.headers["location"]
    world.work()
    known = world.call("GET", place, token=buyer).json()
    assert (known["tacita"], known["guarantee"], known["rows"]) == ("synthesized/1", "central", 500)
    assert known["columns"] == ["smokes", "age"]
    assert "private" in known["statement"]
    rows = world.call("GET", f"{place}/rows", token=buyer)
    table = pacsv.read_csv(io.BytesIO(rows.content))
    assert (table.num_rows, table.column_names) == (500, ["smokes", "age"])
    assert set(table["smokes"].to_pylist()) == {"never", "daily"}
    parquet = world.call("GET", f"{place}/rows?format=parquet", token=buyer)
    assert pq.read_table(io.BytesIO(parquet.content)).num_rows == 500
    model = Synthesized.from_json(world.call("GET", f"{place}/model", token=buyer).text)
    assert model.supports(["smokes", "age"])
    assert world.spent() == pytest.approx(0.4)
    (tmp_path / "rows.parquet").write_bytes(parquet.content)
    statement = Statement.from_json(world.call("GET", f"{place}/statement", token=buyer).text)
    assert statement.epsilon == pytest.approx(0.4)
    assert all(check.good for check in verify(statement, files={"rows.parquet": tmp_path / "rows.parquet"}))
    assert world.call("DELETE", place, token=buyer).status_code == 200
    for path in (f"{place}/rows", f"{place}/model", f"{place}/statement"):
        assert world.call("GET", path, token=buyer).status_code == 409


def test_rows_for_one_target(world, buyer) -> None:
    plan = world.call("POST", "/v1/releases/synthetic/plan", token=buyer, json=BODY | {"target": "smokes"})
    assert plan.status_code == 200, plan.text
    assert "with smokes" in plan.json()["reason"]
    place = make(world, buyer, target="smokes").headers["location"]
    world.work()
    known = world.call("GET", place, token=buyer).json()
    assert known["rows"] == 500
    spent = world.spent()
    for changes in ({"target": "smoker"}, {"target": "age", "method": "mst"}, {"method": "targeted"}):
        refused = make(world, buyer, **changes)
        assert refused.status_code in (404, 422), refused.text  # a name that the schema lacks is not found
        assert refused.json()["field"] == "target"
    assert world.spent() == spent


def test_numbers_are_kept_as_numbers(world, buyer) -> None:
    fine = {"numbers": "fine", "people": 400}
    plan = world.call("POST", "/v1/releases/synthetic/plan", token=buyer, json=BODY | fine)
    assert plan.status_code == 200, plan.text
    assert plan.json()["numbers"]["found"] == ["age"]
    assert plan.json()["account_cost"] == pytest.approx(0.4)
    assert world.call("POST", "/v1/releases/synthetic/plan", token=buyer, json=BODY).json()["numbers"] is None
    place = make(world, buyer, **fine).headers["location"]
    world.work()
    known = world.call("GET", place, token=buyer).json()
    assert known["provenance"]["recipe"]["edges"]["age"][0] == 0
    table = pacsv.read_csv(io.BytesIO(world.call("GET", f"{place}/rows", token=buyer).content))
    assert pa.types.is_integer(table.schema.field("age").type)
    drawn = world.call("POST", f"{place}/draw", token=buyer, json={"rows": 20, "decode": "label"})
    assert not pa.types.is_integer(pacsv.read_csv(io.BytesIO(drawn.content)).schema.field("age").type)
    rule = {"if": ["age < 18"], "then": ["smokes = never"]}
    spent = world.spent()
    refused = make(world, buyer, rules=[rule], **fine)
    assert (refused.status_code, refused.json()["field"]) == (422, "rules")
    assert make(world, buyer, numbers="exact").status_code == 422
    assert world.spent() == spent


def test_a_job_that_is_killed_while_it_writes_is_charged_once(world, buyer, monkeypatch) -> None:
    place = make(world, buyer).headers["location"]
    jobs, id = world.services.jobs, make(world, buyer, key="once").json()["id"]

    class Killed(BaseException):
        pass

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(synthetic, "_write", die)
        with pytest.raises(Killed):
            jobs.work(id, world.services)
    assert world.spent() == pytest.approx(0.4)
    jobs._move(id, ("running",), {"state": "queued"})  # what recovery does when the heart has stopped
    world.work()
    assert world.call("GET", f"/v1/releases/{id}/rows", token=buyer).status_code == 200
    assert make(world, buyer, key="once").json()["id"] == id
    assert world.call("GET", place, token=buyer).status_code == 200
    assert world.spent() == pytest.approx(0.8)


def test_cancelling_leaves_no_file(world, buyer, monkeypatch) -> None:
    id = make(world, buyer, rows=50_000).json()["id"]
    jobs, write = world.services.jobs, Synthesized.write

    def cancelled(self: Synthesized, *parts: Any, **named: Any) -> None:
        jobs.cancel(id)
        write(self, *parts, **named)

    monkeypatch.setattr(Synthesized, "write", cancelled)
    jobs.work(id, world.services)
    assert jobs.get(id).state == "cancelled"
    assert not list((world.services.settings.home / "releases").iterdir())
    assert world.spent() == pytest.approx(0.4)  # what was measured was measured


def test_what_no_budget_allows(world, buyer) -> None:
    refused = make(world, buyer, budget={"epsilon": 3.0})
    assert (refused.status_code, refused.json()["code"]) == (403, "budget-exceeded")
    assert world.services.jobs.list() == []
    assert world.spent() == 0


def test_a_job_that_is_known_is_found_though_nothing_is_left(world, buyer) -> None:
    first = make(world, buyer, key="k", budget={"epsilon": 0.9})
    world.work()
    assert make(world, buyer, budget={"epsilon": 0.9}).status_code == 403
    again = make(world, buyer, key="k", budget={"epsilon": 0.9})
    assert (again.status_code, again.json()["id"]) == (202, first.json()["id"])


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(28, "No space left"), "conflict"),
        (InvalidInput("cannot be written", field="path", value="/secret/rows: full"), "conflict"),
        (InvalidInput("leaves no rows", field="rules"), "invalid-input"),
    ],
)
def test_only_what_the_disk_says_is_told_as_the_disk(world, buyer, monkeypatch, error, code) -> None:
    def broken(self: Synthesized, *parts: Any, **named: Any) -> None:
        raise error

    monkeypatch.setattr(Synthesized, "write", broken)
    id = make(world, buyer).json()["id"]
    world.services.jobs.work(id, world.services)
    found = world.services.jobs.get(id).error
    assert found is not None
    assert found["code"] == code
    assert "secret" not in json.dumps(found)


@pytest.mark.parametrize(
    "wish",
    [
        {"method": "magic"},
        {"attributes": ["name"]},
        {"rows": -1},
        {"rows": "5"},
        {"people": 1},
        {"seconds": 0},
        {"decode": "exact"},
        {"seed": 1},
        {"budget": {}},
        {"dataset": "nobody"},
    ],
)
def test_bad_input(world, buyer, wish) -> None:
    assert make(world, buyer, **wish).status_code in (404, 422)


def test_others_see_nothing(world, buyer) -> None:
    place = make(world, buyer).headers["location"]
    world.work()
    other = world.token("analyst")
    for path in (place, f"{place}/rows", f"{place}/model", f"{place}/statement"):
        assert world.call("GET", path, token=other).status_code == 404
    assert make(world, world.token("holder")).status_code == 403


def test_simulated_or_unprotected_rows_are_not_served(world, buyer, tmp_path) -> None:
    object.__setattr__(world.services, "randomness", SeededSource(1))
    id = make(world, buyer).json()["id"]
    world.services.jobs.work(id, world.services)
    assert world.services.jobs.get(id).state == "failed"
    marks = [
        {"synthetic": True, "event": {"kind": "pure", "epsilon": 1}, "simulated": True},
        {"synthetic": True, "event": {"kind": "non-private", "reason": "exact"}},
        {"synthetic": True},
        {"synthetic": False, "event": {"kind": "pure"}},
    ]
    for place, mark in enumerate(marks):
        path = tmp_path / f"{place}.parquet"
        pq.write_table(pa.table({"x": [1]}).replace_schema_metadata({"tacita": json.dumps(mark)}), path)
        with pytest.raises(InternalError):
            RowsResponse(path, "csv")
    with pytest.raises(InternalError):
        ModelResponse({"tacita": "synthesized/1"})  # type: ignore[arg-type]


def test_a_worker_knows_every_kind() -> None:
    """In an interpreter that has imported nothing but the worker, as a real one has."""
    code = (
        "from tacita.server.jobs.worker import load_kinds; from tacita.settings import Settings; "
        "from tacita.server.jobs import jobs; load_kinds(Settings.load()); print(sorted(jobs._KINDS))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"anonymize", "assess", "query", "synthesize"} <= set(json.loads(done.stdout.replace("'", '"')))
