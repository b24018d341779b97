from __future__ import annotations

from typing import Any

import pytest

from tacita.server.jobs.computing import EACH, QUICK_SECONDS
from tacita.server.releasing.functions import MODEL
from tacita.server.releasing.synthetic import SYNTHETIC
from tacita.wire import FitRequest, SyntheticRequest

DELTA = {"epsilon": 1.0, "delta": 1e-6}


def synthetic(method: str, budget: dict[str, float]) -> SyntheticRequest:
    return SyntheticRequest.model_validate({"dataset": "d", "method": method, "budget": budget})


def fit(kind: str, budget: dict[str, float]) -> FitRequest:
    return FitRequest.model_validate({"dataset": "d", "name": "m", "kind": kind, "target": "t", "budget": budget})


def kind_of(request: Any) -> Any:
    return SYNTHETIC if isinstance(request, SyntheticRequest) else MODEL


def test_what_is_accounted_for_by_loss_distributions_goes_to_a_process() -> None:
    slow = [synthetic("gan", DELTA), synthetic("independent", DELTA), fit("network", DELTA), fit("linear", DELTA)]
    quick = [synthetic("mst", DELTA), synthetic("independent", {"epsilon": 1.0}), fit("linear", {"epsilon": 1.0})]
    assert all(kind_of(each).seconds(each) > QUICK_SECONDS for each in slow)
    assert all(kind_of(each).seconds(each) <= QUICK_SECONDS for each in quick)


def test_a_plan_is_the_same_from_a_process(world: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world.register()
    body = {"dataset": "patients", "method": "independent", "budget": {"epsilon": 0.5}}
    call = ("POST", "/v1/releases/synthetic/plan")
    here = world.call(*call, token=world.token("analyst"), json=body)
    monkeypatch.setattr("tacita.server.releasing.kind.ReleaseKind.seconds", lambda *_: 10 * QUICK_SECONDS)
    there = world.call(*call, token=world.token("analyst"), json=body)
    assert here.status_code == there.status_code == 200, there.text
    assert here.json() == there.json()


def test_one_token_cannot_plan_more_than_its_share(world: Any) -> None:
    world.register()
    token = world.token("analyst")
    principal = world.services.tokens.authenticate(token).principal
    world.services.computing._held[principal] = EACH
    body = {"dataset": "patients", "method": "mst", "budget": {"epsilon": 0.5}}
    refused = world.call("POST", "/v1/releases/synthetic/plan", token=token, json=body)
    assert refused.status_code == 429
