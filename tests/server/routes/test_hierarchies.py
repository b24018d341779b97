"""Hierarchies over HTTP: built from the schema, stored in the policy, named by releases; no rows are read."""

from __future__ import annotations

from typing import Any

import pytest

PATH = "/v1/datasets/patients/hierarchies"
POLICY = {"quasi": ["age"], "keep": ["smokes"], "k": 5, "several": True}


@pytest.fixture
def steward(world) -> str:
    world.register()
    return world.token("steward")


def post(world, token: str, **body: Any) -> Any:
    return world.call("POST", PATH, token=token, json=body)


def test_build_preview_and_store(world, steward) -> None:
    made = post(world, steward, attribute="age", widths=[10.0, 50.0])
    assert made.status_code == 200, made.text
    found = made.json()
    assert found["rows"][34] == ["34", "30..39", "0..49", "*"]
    assert [each["labels"] for each in found["levels"]] == [100, 10, 2, 1]
    assert (found["stored"], found["levels"][0].get("smallest")) == (False, None)
    assert post(world, steward, attribute="age", store=True).status_code == 403  # there is no policy yet
    world.call("PUT", "/v1/datasets/patients/policy", token=steward, json=POLICY)
    assert post(world, steward, attribute="age", widths=[10.0, 50.0], store=True).json()["stored"]
    policy = world.call("GET", "/v1/datasets/patients/policy", token=steward).json()
    assert policy["hierarchies"]["age"] == found["rows"]
    body = {"dataset": "patients", "k": 5, "method": "ola"}
    place = world.call("POST", "/v1/releases/anonymized", token=steward, json=body).headers["location"]
    world.work()
    rows = world.call("GET", f"{place}/rows?format=csv", token=steward).text.splitlines()[1:]
    labels = {label for row in found["rows"] for label in row}
    assert {row.split(",")[0].strip('"') for row in rows} <= labels
    statement = world.call("GET", f"{place}/statement", token=steward).json()
    assert found["sha256"] in str(statement)


def test_only_stewards_and_only_what_fits(world, steward) -> None:
    assert post(world, world.token("analyst"), attribute="age").status_code == 403
    for body, words in (
        ({"attribute": "nap"}, "nap"),
        ({"attribute": "smokes", "kind": "intervals"}, "for numbers"),
        ({"attribute": "smokes", "rows": [["never", "*"], ["dayly", "*"]]}, "Did you mean 'daily'"),
        ({"attribute": "smokes", "rows": [["never", "*"]], "kind": "digits"}, "goes without"),
        (
            {"attribute": "smokes", "codes": [["code", "parent"], ["never", ""], ["daily", "nver"]]},
            "Did you mean 'never'",
        ),
        ({"attribute": "age", "widths": [1e300]}, "widths"),
    ):
        answer = post(world, steward, **body)
        assert answer.status_code in (404, 422), answer.text
        assert words in answer.json()["detail"]


def test_the_client_builds_them(world) -> None:
    world.register()
    with world.client("steward") as client:
        found = client.hierarchy("patients", "smokes", rows=[["never", "no", "*"], ["daily", "yes", "*"]])
    assert (found.attribute, [each.labels for each in found.levels]) == ("smokes", [2, 2, 1])
