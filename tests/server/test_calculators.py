"""Calculators over REST."""

from __future__ import annotations

from typing import Any

from tacita.calculators.registry import CALCULATORS


def test_calculators_are_listed_and_asked(world: Any) -> None:
    token = world.token("analyst")
    listed = world.call("GET", "/v1/calculators", token=token).json()
    assert [each["name"] for each in listed] == list(CALCULATORS)
    found = world.call("POST", "/v1/calculators/odds", token=token, json={"epsilon": 1.0, "before": 0.5})
    assert found.status_code == 200
    assert round(found.json()["values"]["after_most"], 4) == 0.7311


def test_wrong_numbers_are_refused_with_their_field(world: Any) -> None:
    token = world.token("analyst")
    for body, field in (({"epsilon": -1.0}, "epsilon"), ({}, "epsilon"), ({"epsilon": 1.0, "other": 1}, "other")):
        refused = world.call("POST", "/v1/calculators/odds", token=token, json=body)
        assert refused.status_code == 422
        assert refused.json()["field"] == field
    assert world.call("POST", "/v1/calculators/nothing", token=token, json={}).status_code == 404
    assert world.call("POST", "/v1/calculators/odds", json={"epsilon": 1.0}).status_code == 401


def test_a_long_computation_is_refused_by_role(world: Any) -> None:
    body = {"shares": [0.005] * 200, "keep": 0.5, "block": 20, "people": 100_000}
    seconds = CALCULATORS["block-protocol"].seconds(CALCULATORS["block-protocol"].request.model_validate(body))
    assert seconds > 60
    refused = world.call("POST", "/v1/calculators/block-protocol", token=world.token("analyst"), json=body)
    assert refused.status_code == 422
    assert "at most 60 s" in refused.json()["rule"]


def test_the_client_calculates(world: Any) -> None:
    with world.client("analyst") as client:
        assert [each.name for each in client.calculators()] == list(CALCULATORS)
        assert client.calculate("odds", epsilon=1.0).values["odds_factor"] > 2.7
