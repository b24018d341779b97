from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from tacita.engines.connect import connect
from tacita.plans import NoisyTables
from tacita.server.data.datasets import Dataset
from tacita.store.schema import charges
from tacita.tables.release import Releases

from ..conftest import SCHEMA


class Broken:
    def __init__(self, engine: Any) -> None:
        self.domain = engine.domain

    def tables(self, *_: object) -> None:
        raise ValueError("row 17 holds 4711")


def test_an_answer(both) -> None:
    both.register()
    token = both.token("analyst")
    response = both.query(token, tables=[["smokes"], ["smokes", "age"]])
    assert response.status_code == 200, response.text
    releases = Releases.from_json(response.text)
    assert set(releases) == {("smokes",), ("smokes", "age")}
    release = releases[["smokes"]]
    assert (release.provenance.simulated, release.provenance.dataset) == (False, "patients")
    assert abs(float(release.values.sum()) - 1234) < 400
    assert both.call("GET", "/v1/datasets/patients/budget", token=token).json()["spent"] == 0.5


def test_a_dry_run_charges_nothing_and_touches_nothing(world_of) -> None:
    def untouchable(_: object) -> Any:
        raise AssertionError("a plan must not touch the data")

    world = world_of(engine_for=untouchable)
    world.register()
    plan = world.query(world.token("analyst"), dry_run=True)
    assert plan.status_code == 200
    assert plan.json()["cost"] == plan.json()["account_cost"] == 0.5
    assert plan.json()["predictions"][0]["std"] > 0
    assert plan.json()["affordable"] is True
    assert world.query(world.token("analyst"), 1.5, dry_run=True).json()["affordable"] is False
    assert world.services.ledger.balance("patients").charges == 0


def test_a_plan_adds_up_as_the_ledger_does(world, monkeypatch: pytest.MonkeyPatch) -> None:
    world.register(budget={"epsilon": 1.0, "delta": 1e-6})
    token, part = world.token("analyst"), {"budget": {"rho": 0.004}}
    alone = world.query(token, **part, dry_run=True).json()["account_cost"]
    answers = 0
    monkeypatch.setattr(world.services.ledger.__class__, "history", None)  # what is left is not read charge by charge
    spent = 0.0
    while (plan := world.query(token, **part, dry_run=True).json())["affordable"]:
        assert world.query(token, **part).status_code == 200
        answers += 1
        balance = world.call("GET", "/v1/datasets/patients/budget", token=token).json()
        assert balance["spent"] == pytest.approx(spent + plan["account_added"])  # the plan said by how much
        spent = balance["spent"]
    assert world.query(token, **part).status_code == 403
    assert answers * alone > 1.0  # together they cost less than one by one


def test_the_cells_of_a_query_are_limited(world_of, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_of(max_cells=12)
    world.register()
    token = world.token("analyst")
    assert world.query(token, tables=[["smokes", "age"], ["smokes"]]).status_code == 200
    monkeypatch.setattr(NoisyTables, "calibrate", None)  # refused before any work is done
    for dry_run in (True, False):
        refused = world.query(token, tables=[["smokes", "age"], ["smokes"], ["age"]], dry_run=dry_run)
        assert (refused.status_code, refused.json()["field"]) == (422, "tables"), refused.text
        assert (refused.json()["value"], refused.json()["rule"]) == ("17", "must have at most 12 cells together")
    assert world.services.ledger.balance("patients").charges == 1


@pytest.mark.parametrize("epsilon", [1000.0, 1e9])
def test_a_huge_budget_on_an_account_of_persons(world_of, tmp_path: Path, epsilon: float) -> None:
    (tmp_path / "visits.csv").write_text("who,smokes\nu,never\nu,daily\n")
    world = world_of(sources={"patients": {"path": tmp_path / "visits.csv"}})
    attributes = [{"name": "who", "kind": "identifier"}, SCHEMA["attributes"][0]]
    schema = {"tacita": 1, "person": "who", "attributes": attributes}
    made = world.register(schema=schema, unit="person:who:2", budget={"epsilon": 1.0, "delta": 1e-6})
    assert made.status_code == 201, made.text
    response = world.query(world.token("analyst"), epsilon)
    assert response.status_code in (403, 422), response.text
    assert response.json()["code"] in ("budget-exceeded", "invalid-input")
    assert world.services.ledger.balance("patients").charges == 0


def test_a_slow_plan_blocks_nobody(world, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calibrating holds neither the event loop nor a connection to the state."""
    world.register()
    token, campaign = world.token("analyst"), world.campaign()
    began, go, held, statuses = threading.Event(), threading.Event(), [], []
    calibrate = NoisyTables.calibrate

    def slow(*arguments: Any, **parts: Any) -> Any:
        held.append(world.services.database._engine.pool.checkedout())
        began.set()
        assert go.wait(120)
        return calibrate(*arguments, **parts)

    monkeypatch.setattr(NoisyTables, "calibrate", slow)
    asking = threading.Thread(target=lambda: statuses.append(world.query(token).status_code))
    asking.start()
    assert began.wait(120)
    report = {"wire": 1, "campaign": campaign["id"], "question": "q1", "report": "0" * 32, "answer": 1}
    path = f"/v1/campaigns/{campaign['id']}/reports"
    assert world.call("POST", path, json={"reports": [report]}).status_code == 200
    assert world.call("GET", "/v1/datasets/patients/budget", token=token).status_code == 200
    go.set()
    asking.join()
    assert (held, statuses) == ([0], [200])


def test_the_same_key_gives_the_same_bytes(both) -> None:
    both.register()
    token = both.token("analyst")
    first, second = both.query(token, key="k1"), both.query(token, key="k1")
    assert first.status_code == 200
    assert first.content == second.content
    assert both.services.ledger.balance("patients").charges == 1


def test_another_token_does_not_find_the_answer(both) -> None:
    both.register()
    mine, other = both.query(both.token("analyst"), key="k1"), both.query(both.token("analyst"), key="k1")
    assert mine.json()["releases"][0]["provenance"] != other.json()["releases"][0]["provenance"]
    assert both.services.ledger.balance("patients").charges == 2


@pytest.mark.parametrize("first", ["answered", "failed", "crashed"])
@pytest.mark.parametrize("changes", [{"tables": [["age"]]}, {"budget": {"epsilon": 0.25}}, {"family": "laplace"}])
def test_a_key_is_for_one_request(world_of, tmp_path: Path, first: str, changes: dict[str, Any]) -> None:
    broken = first != "answered"

    def engine_for(dataset: Dataset) -> Any:
        engine = connect(tmp_path / "patients.csv", dataset.domain)
        return Broken(engine) if broken else engine

    world = world_of(engine_for=engine_for)
    world.register()
    token = world.token("analyst")
    assert world.query(token, key="k1").status_code == (500 if broken else 200)
    if first == "crashed":
        with world.services.database.writing() as connection:
            connection.execute(charges.update().values(state="reserved", settled=None))
    broken = False
    response = world.query(token, key="k1", **changes)
    assert (response.status_code, response.json()["code"]) == (409, "conflict")
    assert response.json()["field"] == "Idempotency-Key"
    assert "token:" not in response.text  # how keys are kept is not the caller's
    again = world.query(token, key="k1")  # the same request still finds its charge
    assert again.status_code == (409 if first == "failed" else 200)  # which a failed run has used up
    assert again.status_code == 200 or "may have read data" in again.json()["detail"]
    assert world.services.ledger.balance("patients").charges == 1


def test_racing_for_the_last_of_a_budget(both) -> None:
    both.register()
    tokens = [both.token("analyst") for _ in range(6)]
    answers: list[tuple[int, str]] = []
    gate = threading.Barrier(len(tokens))

    def ask(token: str) -> None:
        gate.wait()
        response = both.query(token, 1.0)
        answers.append((response.status_code, response.json().get("code", "ok")))

    threads = [threading.Thread(target=ask, args=(token,)) for token in tokens]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [(200, "ok"), *[(403, "budget-exceeded")] * 5]
    assert both.services.ledger.balance("patients").remaining == 0


def test_an_exhausted_budget_says_what_is_left(world) -> None:
    world.register()
    token = world.token("analyst")
    world.query(token, 0.75)
    body = world.query(token, 0.5).json()
    assert (body["requested"], body["remaining"], body["account"]) == ("0.5", "0.25", "patients")
    assert body["hint"]


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ('{"tables": [["smoke"]], "budget": {"epsilon": 1}}', 404, "attribute"),
        ('{"tables": [["o\'; drop table x; --"]], "budget": {"epsilon": 1}}', 404, "attribute"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": 0}}', 422, "epsilon"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": -1}}', 422, "epsilon"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": NaN}}', 422, "epsilon"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": Infinity}}', 422, "epsilon"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": 1e999}}', 422, "epsilon"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": 1e-310}}', 422, "epsilon"),
        (
            '{"tables": [["smokes"]], "budget": {"epsilon": 1e-310, "delta": 1e-6}, "family": "gaussian"}',
            422,
            "epsilon",
        ),
        ('{"tables": [["smokes"]], "budget": {"epsilon": 1e308}}', 422, "epsilon"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": 1, "delta": 1e-300}}', 422, "delta"),
        ('{"tables": [["smokes"]], "budget": {"rho": 5e-13}}', 422, "rho"),
        ('{"tables": [["smokes"]], "budget": {"rho": 1e-320}}', 422, "rho"),
        ('{"tables": [["smokes"]], "budget": {"rho": 1e300}}', 422, "rho"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": "1"}}', 422, "budget.epsilon"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": true}}', 422, "budget.epsilon"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": 1, "delta": 2}}', 422, "delta"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": 1, "rho": 1}}', 422, "budget"),
        ('{"tables": [["smokes"]], "budget": {"rho": 0.1}}', 422, "event"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": 1}, "family": "gaussian"}', 422, "family"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": 1}, "weights": [1, 2]}', 422, "weights"),
        ('{"tables": [["smokes"], ["smokes"]], "budget": {"epsilon": 1}}', 422, "workload"),
        ('{"tables": [["smokes", "smokes"]], "budget": {"epsilon": 1}}', 422, "attributes"),
        ('{"tables": [], "budget": {"epsilon": 1}}', 422, "workload"),
        ('{"tables": "smokes", "budget": {"epsilon": 1}}', 422, "tables"),
        ('{"budget": {"epsilon": 1}}', 422, "tables"),
        ('{"tables": [["smokes"]]}', 422, "budget"),
        ('{"tables": [["smokes"]], "budget": {"epsilon": 1}, "seed": 1}', 422, "seed"),
    ],
)
def test_bad_queries_are_explained(world, body: str, status: int, field: str) -> None:
    world.register()
    token, headers = world.token("analyst"), {"Content-Type": "application/json"}
    path = "/v1/datasets/patients/query"
    response = world.call("POST", path, token=token, content=body.encode(), headers=headers)
    assert (response.status_code, response.json().get("field")) == (status, field), response.text
    assert response.json()["rule"]
    assert world.services.ledger.balance("patients").charges == 0


@pytest.mark.parametrize("key", ["", "x" * 121, "a b"])
def test_bad_keys(world, key: str) -> None:
    world.register()
    response = world.query(world.token("analyst"), key=key)
    assert (response.status_code, response.json()["field"]) == (422, "Idempotency-Key")


def test_an_unknown_dataset(world) -> None:
    world.register()
    body = {"tables": [["smokes"]], "budget": {"epsilon": 1.0}}
    response = world.call("POST", "/v1/datasets/patient/query", token=world.token("analyst"), json=body)
    assert (response.status_code, response.json()["field"]) == (404, "dataset")
    assert "patients" in response.json()["hint"]


def test_a_failure_on_the_way_stays_spent_and_private(world_of, tmp_path: Path) -> None:
    source = tmp_path / "patients.csv"
    world = world_of(engine_for=lambda dataset: Broken(connect(source, dataset.domain)))
    world.register()
    response = world.query(world.token("analyst"))
    assert response.status_code == 500
    assert "4711" not in response.text
    [charge] = world.services.ledger.history("patients")
    assert charge.state == "failed"
    assert world.services.ledger.balance("patients").spent > 0


def test_the_details_of_a_source_are_the_owners(world, tmp_path: Path) -> None:
    world.register()
    (tmp_path / "patients.csv").write_text("smokes,secret_column\nnever,1\n")
    response = world.query(world.token("analyst"))
    assert (response.status_code, response.json()["code"]) == (422, "data-error")
    assert "secret_column" not in response.text


def test_budget_and_history(both) -> None:
    both.register()
    steward, analyst = both.token("steward"), both.token("analyst")
    for _ in range(3):
        both.query(analyst, 0.25, purpose="a report")
    path = "/v1/datasets/patients/budget"
    raised = both.call("POST", path, token=steward, json={"budget": {"epsilon": 2.0}})
    assert (raised.json()["remaining"], raised.json()["spent"]) == (1.25, 0.75)
    lowered = both.call("POST", path, token=steward, json={"budget": {"epsilon": 1.0}})
    assert (lowered.status_code, lowered.json()["field"]) == (422, "budget")
    assert both.call("POST", path, token=analyst, json={"budget": {"epsilon": 9.0}}).status_code == 403
    first = both.call("GET", "/v1/datasets/patients/charges?limit=3", token=steward).json()
    rest = both.call("GET", f"/v1/datasets/patients/charges?offset={first['next_offset']}", token=steward).json()
    assert [charge["purpose"] for charge in first["charges"]] == ["a report"] * 3
    assert len(rest["charges"]) == 1
    assert rest["next_offset"] is None
    assert "estimate" not in str(first) + str(rest)
