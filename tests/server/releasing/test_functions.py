"""Functions over HTTP: planned for nothing, paid for once, asked for ever, shown to nobody."""

from __future__ import annotations

from typing import Any

import pytest

from tacita.learn.functions.bundle import load_bundle
from tacita.learn.functions.model import FunctionModel
from tacita.learn.functions.registry import Registry
from tacita.learn.functions.sealing import Seal
from tacita.learn.functions.service import FunctionService
from tacita.noise import SecureSource
from tacita.report.signing import SigningKey
from tacita.store import Database

BUDGET = {"epsilon": 0.4, "delta": 1e-6}
BODY: dict[str, Any] = {"dataset": "patients", "name": "ages", "kind": "density", "features": ["age"], "budget": BUDGET}
POINTS = {"points": [[20], [40.5], [20.0]]}


@pytest.fixture
def buyer(world) -> str:
    world.register(budget={"epsilon": 1.0, "delta": 1e-5})
    return world.token("analyst")


def make(world, token: str, *, key: str | None = None, **changes: Any) -> Any:
    return world.call("POST", "/v1/models", token=token, key=key, json=BODY | changes)


def released(world, token: str, **changes: Any) -> str:
    return world.made(make(world, token, **changes), token)


def test_from_plan_to_answers(world, buyer) -> None:
    plan = world.call("POST", "/v1/models/plan", token=buyer, json=BODY)
    assert plan.status_code == 200, plan.text
    assert plan.json()["affordable"] is True
    assert world.spent() == 0
    id = released(world, buyer)
    paid = world.spent()
    assert 0 < paid <= 0.4
    first = world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=POINTS)
    assert first.status_code == 200, first.text
    assert first.json()["values"][0] == first.json()["values"][2]
    for ref in (id, "ages", "ages@1"):
        assert world.call("POST", f"/v1/models/{ref}/predict", token=buyer, json=POINTS).json() == first.json()
    assert world.spent() == paid
    listed = world.call("GET", "/v1/models", token=buyer).json()
    assert [(entry["id"], entry["points"], entry["state"]) for entry in listed] == [(id, 2, "active")]


def test_a_retry_finds_its_function(world, buyer) -> None:
    first, second = (make(world, buyer, key="once").json()["id"] for _ in range(2))
    world.work()
    assert first == second
    assert len(world.call("GET", "/v1/models", token=buyer).json()) == 1


def test_a_job_that_is_not_done(world, buyer) -> None:
    place = make(world, buyer).headers["location"]
    assert world.call("GET", place, token=buyer).status_code == 409
    assert world.call("GET", place, token=world.token("analyst")).status_code == 404


def test_a_function_that_would_be_mostly_noise_is_refused_and_nothing_is_charged(world, buyer) -> None:
    small: dict[str, Any] = {"budget": {"epsilon": 0.001, "delta": 1e-6}, "people": 8}
    plan = world.call("POST", "/v1/models/plan", token=buyer, json=BODY | small).json()
    assert plan["error"]["too_large"] is True
    place = make(world, buyer, **small).headers["location"]
    world.work()
    assert "nothing was charged" in world.call("GET", place, token=buyer).json()["detail"]
    assert world.spent() == 0
    id = released(world, buyer, **small, accept_noise=True)
    found = world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=POINTS).json()
    large = found["noise_std"] > plan["error"]["reference"]  # the noised number of rows decides
    assert ("mostly noise" in (found["warning"] or "")) is large


def test_over_budget(world, buyer) -> None:
    assert make(world, buyer, budget={"epsilon": 3.0, "delta": 1e-6}).json()["code"] == "budget-exceeded"
    assert world.call("GET", "/v1/jobs", token=buyer).json() == []  # refused before a job is queued
    assert world.call("GET", "/v1/models", token=buyer).json() == []


@pytest.mark.parametrize(
    ("points", "says"),
    [
        ([[1, 2]], "1 value"),
        ([[10**400]], "integer"),
        ([[None]], "finite"),
        ([["x"]], "finite"),
        ([[500]], "between"),
        ([], "points"),
    ],
)
def test_bad_points(world, buyer, points, says) -> None:
    id = released(world, buyer)
    answer = world.call("POST", f"/v1/models/{id}/predict", token=buyer, json={"points": points})
    assert answer.status_code == 422
    assert says in answer.json()["detail"]


def test_not_a_number(world, buyer) -> None:
    id = released(world, buyer)
    headers = {"Content-Type": "application/json"}
    answer = world.call("POST", f"/v1/models/{id}/predict", token=buyer, content='{"points": [[NaN]]}', headers=headers)
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"kernel": {"name": "cubic"}}, 404),
        ({"kind": "svm", "target": "smokes"}, 422),
        ({"budget": {"epsilon": 0.4}}, 422),
        ({"name": "job_1"}, 422),
        ({"features": ["smokes"]}, 422),
        ({"kind": "gaussian-process", "target": "smokes", "public_inputs": True}, 403),
    ],
)
def test_bad_requests_are_refused_before_they_cost(world, buyer, changes, status) -> None:
    assert make(world, buyer, **changes).status_code == status
    assert world.spent() == 0


def test_a_service_shows_no_parameters(world, buyer) -> None:
    path, open_ = released(world, buyer), released(world, buyer, form="features", name="other")
    refused = world.call("GET", f"/v1/models/{path}/parameters", token=buyer)
    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    shown = world.call("GET", f"/v1/models/{open_}/parameters", token=buyer).json()
    assert len(shown["parameters"]["weights"]) == 512


def test_who_sees_what(world, buyer) -> None:
    id = released(world, buyer)
    stranger = world.token("analyst", datasets=["else"])
    for method, place in [("GET", ""), ("POST", "/predict"), ("GET", "/parameters")]:
        sent = {"json": POINTS} if method == "POST" else {}
        assert world.call(method, f"/v1/models/{id}{place}", token=stranger, **sent).status_code == 404
    assert world.call("GET", "/v1/models", token=stranger).json() == []
    assert world.call("DELETE", f"/v1/models/{id}", token=buyer).status_code == 403
    assert make(world, stranger).status_code == 403


def test_a_name_is_looked_up_in_scope_alone(world, buyer) -> None:
    """Somebody else's newer function of the same name hides nothing, and is not even known."""
    registry = world.services.functions.registry
    mine = released(world, buyer)
    entry = registry.get(mine)
    theirs = registry.put(registry.model(entry), "ages")
    registry.activate(theirs, charge="ch_else", dataset="else")
    analyst = world.token("analyst", datasets=["patients"])
    assert world.call("GET", "/v1/models/ages", token=analyst).json()["id"] == mine
    assert world.call("GET", f"/v1/models/{theirs}", token=analyst).status_code == 404
    stranger = world.token("analyst", datasets=["else"])
    assert world.call("GET", "/v1/models/ages", token=stranger).json()["id"] == theirs
    assert world.call("GET", "/v1/models/ages@1", token=stranger).json()["version"] == 1


def test_a_simulated_function_is_not_served(world, buyer) -> None:
    registry = world.services.functions.registry
    real = registry.model(registry.get(released(world, buyer, form="features")))
    model = FunctionModel(about={**real.about, "simulated": True}, arrays=real.arrays)
    id = registry.activate(registry.put(model, "toy"), charge="ch_x", dataset="patients").id
    steward = world.token("steward")
    for method, place in [("POST", "/predict"), ("GET", "/parameters"), ("POST", "/export")]:
        sent = {"json": POINTS} if place == "/predict" else {}
        assert world.call(method, f"/v1/models/{id}{place}", token=steward, **sent).status_code == 409


@pytest.mark.parametrize("place", ["/ages@\u00b2", "/ages@99999999999999999999", "?offset=99999999999999999999"])
def test_odd_references_are_answered(world, buyer, place) -> None:
    released(world, buyer)
    assert world.call("GET", f"/v1/models{place}", token=buyer).status_code in (404, 422)


def test_deleting(world, buyer) -> None:
    id = released(world, buyer)
    gone = world.call("DELETE", f"/v1/models/{id}", token=world.token("steward"))
    assert gone.json()["state"] == "deleted"
    assert world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=POINTS).status_code == 409
    assert world.call("GET", "/v1/models/ages", token=buyer).status_code == 404
    assert world.spent() > 0


def test_a_bundle(world, buyer, tmp_path) -> None:
    id = released(world, buyer, form="features")
    values = world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=POINTS).json()["values"]
    bundle = world.call("POST", f"/v1/models/{id}/export", token=world.token("steward"))
    assert bundle.status_code == 200, bundle.text
    other = Registry(Database(f"sqlite:///{tmp_path}/other.db"), Seal())
    load_bundle(other, bundle.text, trusted=[SigningKey.of(world.services.settings.home).public])
    assert list(FunctionService(other, SecureSource()).predict(id, POINTS["points"]).values) == values


def test_latency_is_measured(world, buyer) -> None:
    id = released(world, buyer)
    world.call("POST", f"/v1/models/{id}/predict", token=buyer, json=POINTS)
    text = world.call("GET", "/metrics").text
    assert 'tacita_predict_seconds_count{form="path"} 1.0' in text
    assert 'tacita_points_predicted_total{form="path"} 3.0' in text
    assert id not in text
