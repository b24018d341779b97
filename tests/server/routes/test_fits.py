"""Fitted models over HTTP: planned for nothing, paid for once, released as parameters, asked as functions are."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from tacita.learn.models import read_model
from tacita.models.neural.training import PrivateTraining
from tacita.report.signing import SigningKey, canonical
from tacita.server.releasing import functions
from tacita.store.schema import models

BODY: dict[str, Any] = {
    "dataset": "patients",
    "name": "smokers",
    "kind": "logistic",
    "target": "smokes",
    "budget": {"epsilon": 0.4},
}
POINTS = {"points": [[20], [80]]}


@pytest.fixture
def buyer(world) -> str:
    world.register(budget={"epsilon": 2.0, "delta": 1e-5})
    return world.token("analyst")


def fit(world, token: str, *, key: str | None = None, **changes: Any) -> Any:
    return world.call("POST", "/v1/models/fit", token=token, key=key, json=BODY | changes)


def fitted(world, token: str, **changes: Any) -> str:
    return world.made(fit(world, token, **changes), token)


def test_from_plan_to_predictions_and_parameters(world, buyer) -> None:
    plan = world.call("POST", "/v1/models/fit/plan", token=buyer, json=BODY)
    assert plan.status_code == 200, plan.text
    assert plan.json()["affordable"] is True
    assert plan.json()["why"].startswith("tilted: ")
    assert world.spent() == 0
    id = fitted(world, buyer)
    paid = world.spent()
    assert 0.39 < paid <= 0.4
    told = world.call("POST", "/v1/models/smokers/predict", token=buyer, json=POINTS)
    assert told.status_code == 200, told.text
    assert told.json()["model"] == id
    shown = world.call("GET", f"/v1/models/{id}/parameters", token=buyer).json()
    model = read_model(json.dumps(shown["parameters"]))
    rows = pa.table({"age": [20, 80]})
    assert told.json()["labels"] == model.predict(rows).to_pylist()
    assert [row[1] for row in told.json()["values"]] == pytest.approx(model.probabilities(rows).tolist())
    assert model.provenance.charge == world.services.functions.registry.get(id).charge
    by_name = {"rows": [{"age": 20}, {"age": 80}]}
    assert world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=by_name).json() == told.json()
    assert world.spent() == paid


@pytest.mark.parametrize(
    ("changes", "classes"),
    [
        ({"kind": "trees", "depth": 2, "trees": 2}, 2),
        ({"kind": "bayes"}, 2),
        ({"kind": "logistic", "numbers": "bins"}, 2),
        ({"kind": "linear", "target": "age", "penalties": [[1.0, 1.0], [10, 0.5]], "share": 0.3}, None),
        ({"kind": "linear", "target": "age", "narrow": 0.2}, None),
        ({"kind": "linear", "target": "age", "norm": 1.0, "intercept": False, "outside": "leave-out"}, None),
    ],
)
def test_every_kind_is_served(world, buyer, changes, classes) -> None:
    id = fitted(world, buyer, **changes)
    point = ["never"] if changes.get("target") == "age" else [20]
    told = world.call("POST", f"/v1/models/{id}/predict", token=buyer, json={"points": [point]}).json()
    if classes is None:
        assert told["labels"] is None
        assert 0 <= told["values"][0] <= 99
    else:
        assert told["labels"][0] in ("never", "daily")
        assert sum(told["values"][0]) == pytest.approx(1)


def test_a_network_is_served(world, buyer) -> None:
    pytest.importorskip("torch")
    changes = {"kind": "network", "hidden": [4], "epochs": 2, "people": 1000, "batch": 500}
    id = fitted(world, buyer, budget={"epsilon": 0.5, "delta": 1e-6}, **changes)
    told = world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=POINTS).json()
    assert set(told["labels"]) <= {"never", "daily"}


def test_versions_of_a_name(world, buyer) -> None:
    first, second = fitted(world, buyer), fitted(world, buyer, kind="bayes")
    assert world.call("GET", "/v1/models/smokers", token=buyer).json()["id"] == second
    assert world.call("GET", "/v1/models/smokers@1", token=buyer).json()["id"] == first
    fitted(world, buyer, name="other", kind="bayes")
    listed = world.call("GET", "/v1/models?name=smokers", token=buyer).json()
    assert {(each["id"], each["version"], each["about"]["kind"]) for each in listed} == {
        (first, 1, "logistic"),
        (second, 2, "bayes"),
    }


def test_a_retry_is_charged_once(world, buyer) -> None:
    first, second = (fit(world, buyer, key="once").json()["id"] for _ in range(2))
    world.work()
    assert first == second
    assert 0.39 < world.spent() <= 0.4
    assert len(world.call("GET", "/v1/models", token=buyer).json()) == 1


def test_over_budget(world, buyer) -> None:
    assert fit(world, buyer, budget={"epsilon": 3.0}).json()["code"] == "budget-exceeded"
    assert world.call("GET", "/v1/jobs", token=buyer).json() == []  # refused before a job is queued
    assert world.call("GET", "/v1/models", token=buyer).json() == []


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"points": [[1, 2]]}, "points[0]"),
        ({"points": [[20], [None]]}, "points[1].age"),
        ({"points": [["old"]]}, "points[0].age"),
        ({"points": [[10**400]]}, "body"),
        ({"points": [[500]]}, "points[0].age"),
        ({"rows": [{"age": 3}, {"height": 3}]}, "rows[1]"),
        ({"rows": [{}]}, "rows[0].age"),
        ({"points": [[True]]}, "points[0].age"),
        ({"points": [[20]], "rows": [{"age": 20}]}, "body"),
        ({}, "body"),
    ],
)
def test_bad_points_are_named(world, buyer, sent, field) -> None:
    id = fitted(world, buyer)
    answer = world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=sent)
    assert answer.status_code == 422
    assert answer.json()["field"] == field


def test_a_level_that_is_none(world, buyer) -> None:
    id = fitted(world, buyer, kind="linear", target="age")
    answer = world.call("POST", f"/v1/models/{id}/predict", token=buyer, json={"points": [["weekly"]]})
    assert (answer.status_code, answer.json()["field"]) == (422, "points[0].smokes")
    headers = {"Content-Type": "application/json"}
    answer = world.call("POST", f"/v1/models/{id}/predict", token=buyer, content='{"points": [[NaN]]}', headers=headers)
    assert (answer.status_code, answer.json()["field"]) == (422, "points[0].smokes")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"depth": 3}, "depth"),
        ({"kind": "trees", "penalty": 1.0}, "penalty"),
        ({"method": "magic"}, "method"),
        ({"share": 0.5}, "share"),
        ({"penalties": [[1.0]]}, "penalties.0"),
        ({"kind": "network", "hidden": [0]}, "hidden"),
        ({"kind": "network"}, "budget"),
        ({"kind": "network", "budget": {"epsilon": 1000, "delta": 1e-12}, "epochs": 100}, "budget"),
        ({"kind": "network", "budget": {"epsilon": 1, "delta": 1e-6}, "people": 10**400}, "body"),
        ({"method": "dpsgd", "budget": {"epsilon": 1, "delta": 1e-6}, "people": 10**400}, "body"),
        ({"kind": "network", "budget": {"epsilon": 1, "delta": 1e-6}, "clip": 1e-320}, "clip"),
        ({"kind": "network", "budget": {"epsilon": 1, "delta": 1e-6}, "learning_rate": 1e308}, "learning_rate"),
        ({"penalty": 1.0, "penalties": [[1.0, 1.0]]}, "penalty"),
        ({"narrow": 0.2, "penalties": [[1.0, 1.0]]}, "narrow"),
        ({"narrow": 1.0}, "narrow"),
        ({"penalty": 1e308}, "penalty"),
        ({"kind": "forest"}, "kind"),
        ({"name": "fn_1"}, "name"),
        ({"target": "height"}, "attribute"),
        ({"outside": "refuse"}, "outside"),
    ],
)
def test_bad_requests_are_refused_before_they_cost(world, buyer, changes, field) -> None:
    answer = fit(world, buyer, **changes)
    assert answer.status_code in (404, 422), answer.text
    assert answer.json()["field"] == field
    assert world.spent() == 0


def test_who_sees_what(world, buyer) -> None:
    id = fitted(world, buyer)
    stranger = world.token("analyst", datasets=["else"])
    for method, place in [("GET", ""), ("POST", "/predict"), ("GET", "/parameters")]:
        sent = {"json": POINTS} if method == "POST" else {}
        assert world.call(method, f"/v1/models/{id}{place}", token=stranger, **sent).status_code == 404
    assert fit(world, stranger).status_code == 403
    assert world.call("POST", "/v1/models/bundles", token=buyer, json={"bundle": {}}).status_code == 403


def test_bundles_come_and_go(world, buyer) -> None:
    id = fitted(world, buyer)
    steward = world.token("steward")
    told = world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=POINTS).json()["values"]
    bundle = world.call("POST", f"/v1/models/{id}/export", token=steward).json()
    load = {"bundle": bundle}
    assert world.call("POST", "/v1/models/bundles", token=steward, json=load).status_code == 409  # it is here
    with world.services.database.writing() as connection:
        connection.execute(models.delete())
    elsewhere = world.token("steward", datasets=["else"])
    assert world.call("POST", "/v1/models/bundles", token=elsewhere, json=load).status_code == 403
    changed = {"bundle": bundle | {"name": "mine"}}
    refused = world.call("POST", "/v1/models/bundles", token=steward, json=changed)
    assert (refused.status_code, refused.json()["field"]) == (422, "signature")
    strange = load | {"signed_by": [SigningKey.new().public]}
    assert world.call("POST", "/v1/models/bundles", token=steward, json=strange).json()["field"] == "signature"
    assert world.call("POST", "/v1/models/bundles", token=steward, json={"bundle": {}}).json()["field"] == "bundle"
    taken = world.call("POST", "/v1/models/bundles", token=steward, json=load)
    assert taken.status_code == 201, taken.text
    assert taken.json()["id"] == id
    assert world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=POINTS).json()["values"] == told


def test_latency_is_measured(world, buyer) -> None:
    id = fitted(world, buyer)
    world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=POINTS)
    text = world.call("GET", "/metrics").text
    assert 'tacita_predict_seconds_count{form="parameters"} 1.0' in text
    assert 'tacita_points_predicted_total{form="parameters"} 2.0' in text


def test_a_network_that_is_cancelled_stops_and_stays_paid(world, buyer, monkeypatch) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(functions, "_PROGRESS_SECONDS", 0.0)
    changes = {"kind": "network", "hidden": [4], "epochs": 50, "people": 1000, "batch": 100}
    id = fit(world, buyer, budget={"epsilon": 0.5, "delta": 1e-6}, **changes).json()["id"]
    jobs, made = world.services.jobs, []
    step = PrivateTraining.step

    def cancelling(training) -> None:
        made.append(jobs.get(id).progress)
        if len(made) == 5:
            world.call("POST", f"/v1/jobs/{id}/cancel", token=buyer)
        step(training)

    monkeypatch.setattr(PrivateTraining, "step", cancelling)
    world.work()
    assert jobs.get(id).state == "cancelled"
    assert len(made) == 5
    assert 0.1 < made[2] < made[4] < 0.95
    assert world.spent() > 0.3  # what was begun is paid for
    assert world.call("GET", "/v1/models", token=buyer).json() == []


def test_a_bundle_of_a_dataset_that_nobody_knows_here(world, buyer) -> None:
    steward, id = world.token("steward"), fitted(world, buyer)
    bundle = world.call("POST", f"/v1/models/{id}/export", token=steward).json()
    del bundle["signature"]
    with world.services.database.writing() as connection:
        connection.execute(models.delete())
    signer = SigningKey.new()
    for change in ({"dataset": "nowhere"}, {"id": "fn_z1"}, {"created": "2999-01-01T00:00:00+00:00"}):
        body = bundle | {"signer": signer.public} | change
        sent = {"bundle": body | {"signature": signer.sign(canonical(body))}, "signed_by": [signer.public]}
        assert world.call("POST", "/v1/models/bundles", token=steward, json=sent).status_code in (404, 422)
    assert world.call("GET", "/v1/models", token=steward).json() == []


def test_the_kind_goes_by_the_target_and_coefficients_have_errors(world, buyer) -> None:
    body = {name: value for name, value in BODY.items() if name != "kind"}
    plan = world.call("POST", "/v1/models/fit/plan", token=buyer, json=body).json()
    assert (plan["kind"], plan["why"].split(";")[0]) == ("logistic", "logistic: smokes has two levels")
    numeric = body | {"target": "age", "name": "ages"}
    assert world.call("POST", "/v1/models/fit/plan", token=buyer, json=numeric).json()["kind"] == "linear"
    job = world.call("POST", "/v1/models/fit", token=buyer, json=body | {"method": "functional"})
    shown = world.call("GET", f"/v1/models/{world.made(job, buyer)}/parameters", token=buyer).json()["parameters"]
    assert [row["term"] for row in shown["terms"]] == ["(intercept)", "age"]
    assert all(row["standard_error"] > 0 for row in shown["terms"])
