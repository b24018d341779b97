"""Assessments over HTTP: for the steward, and for nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from tacita.assess.attacks.registry import ATTACKS


@pytest.fixture
def release(world) -> str:
    world.register()
    body = {"dataset": "patients", "budget": {"epsilon": 0.5}, "rows": 800}
    made = world.call("POST", "/v1/releases/synthetic", token=world.token("analyst"), json=body)
    world.work()
    return made.json()["id"]


def ask(world, token: str, made: str, **changes: Any) -> Any:
    body = {"release": made, "attempts": 100} | changes
    return world.call("POST", "/v1/assessments", token=token, json=body)


def test_from_release_to_page(world, release) -> None:
    steward = world.token("steward")
    submitted = ask(world, steward, release)
    assert submitted.status_code == 202, submitted.text
    place = submitted.headers["location"]
    assert world.call("GET", place, token=steward).status_code == 409
    world.work()
    found = world.call("GET", place, token=steward)
    assert found.status_code == 200, found.text
    told = found.json()
    assert (told["release"], told["dataset"], told["people"]) == (release, "patients", 1234)
    assert 0 <= told["risk"] <= 1
    assert [what for what, _ in told["skipped"] if what == "control group"] == ["control group"]
    page = world.call("GET", f"{place}/page", token=steward)
    assert page.headers["content-type"].startswith("text/html")
    assert "<svg" in page.text
    assert world.spent() == pytest.approx(0.5)  # an assessment stays with the steward


def test_selected_attacks(world, release) -> None:
    steward = world.token("steward")
    listed = world.call("GET", "/v1/attacks", token=steward).json()
    assert [each["name"] for each in listed] == [attack.name for attack in ATTACKS]
    assert world.call("GET", "/v1/attacks", token=world.token("analyst")).status_code == 403
    place = ask(world, steward, release, attacks=["copies", "inference"]).headers["location"]
    world.work()
    told = world.call("GET", place, token=steward).json()
    assert [each["name"] for each in told["attacks"] if each["ran"]] == ["inference", "copies"]
    assert told["membership"] == []


def test_several_releases_are_joined(world, release) -> None:
    steward = world.token("steward")
    body = {"dataset": "patients", "budget": {"epsilon": 0.2}, "rows": 300}
    other = world.call("POST", "/v1/releases/synthetic", token=world.token("analyst"), json=body).json()["id"]
    assert ask(world, steward, release, others=[other]).status_code == 409  # not done yet
    world.work()
    place = ask(world, steward, release, others=[other]).headers["location"]
    world.work()
    told = world.call("GET", place, token=steward).json()
    assert told["rows"] == 800
    assert told["further"][0]["name"].startswith("intersection of 2 releases")
    assert told["further"][0]["name"] in [each["name"] for each in told["risks"]]
    assert "intersection of 2 releases" in world.call("GET", f"{place}/page", token=steward).text
    for bad in ([release], [other, other], ["job_nothing"]):
        assert ask(world, steward, release, others=bad).status_code in (404, 422)


def test_a_model_and_tables_alone(world) -> None:
    world.register()
    steward = world.token("steward")
    body = {"dataset": "patients", "name": "m", "kind": "bayes", "target": "smokes", "budget": {"epsilon": 0.2}}
    world.call("POST", "/v1/releases/model", token=steward, json=body)
    world.work()
    asked = {"tables": [["smokes", "age"]], "budget": {"epsilon": 0.2}}
    tables = world.call("POST", "/v1/datasets/patients/query", token=steward, json=asked).json()
    rows = "".join(f"{('never', 'daily')[place % 3 == 0]},{place * 7 % 90}\n" for place in range(400))
    sent = world.call(
        *("PUT", "/v1/sources/others"),
        token=steward,
        headers={"Content-Type": "text/csv"},
        content=f"smokes,age\n{rows}".encode(),
    )
    assert sent.status_code == 200, sent.text
    assert world.register("others", source="others").status_code == 201
    what = {"release": None, "dataset": "patients", "model": "m", "tables": [tables], "secrets": ["smokes"]}

    def found(**more: Any) -> Any:
        submitted = ask(world, steward, None, **what, **more)
        assert submitted.status_code == 202, submitted.text
        world.work()
        done = world.call("GET", submitted.headers["location"], token=steward)
        assert done.status_code == 200, done.text
        page = world.call("GET", f"{submitted.headers['location']}/page", token=steward)
        return done.json() | {"page": page.text}

    told = found()
    ran = [each["name"] for each in told["attacks"] if each["ran"]]
    assert (told["release"], told["kept"], ran) == (None, None, ["reconstruction"])
    assert "not used" in dict(told["skipped"])["membership in a model"]  # no one was held back
    assert [each["name"] for each in told["risks"]] == ["reconstruction of smokes"]
    assert "reconstruction of smokes" in told["page"]
    told = found(control="others")
    assert "loss threshold, bayes model of smokes" in [each["name"] for each in told["membership"]]
    assert "membership, loss threshold, bayes model of smokes" in told["page"]
    for bad in ({"model": None, "tables": []}, {"dataset": None}, {"model": "none"}, {"tables": [{}]}):
        assert ask(world, steward, None, **(what | bad)).status_code in (404, 422), bad
    assert ask(world, steward, None, **(what | {"dataset": "others"})).status_code == 422  # a model of another dataset


def test_nobody_else_sees_it(world, release) -> None:
    steward = world.token("steward")
    assert ask(world, world.token("analyst"), release).status_code == 403
    assert ask(world, world.token("steward", datasets=("others",)), release).status_code in (403, 404)
    place = ask(world, steward, release).headers["location"]
    world.work()
    for path in (place, f"{place}/page"):
        assert world.call("GET", path, token=world.token("analyst")).status_code == 403
        assert world.call("GET", path, token=world.token("steward")).status_code == 404
        assert world.call("GET", path, token=world.token("admin")).status_code == 200


@pytest.mark.parametrize(
    "change",
    [
        {"release": "job_nothing"},
        {"control": "nobody"},
        {"control": "patients"},
        {"attempts": 1},
        {"attacks": ["magic"]},
        {"attempts": "9"},
        {"colour": "red"},
    ],
)
def test_bad_input(world, release, change) -> None:
    assert ask(world, world.token("steward"), release, **change).status_code in (404, 422)


def test_bad_options_fail_with_their_field(world, release) -> None:
    steward = world.token("steward")
    place = ask(world, steward, release, secrets=["nobody"]).headers["location"]
    world.work()
    refused = world.call("GET", place, token=steward)
    assert (refused.status_code, refused.json()["field"]) == (422, "secrets")


def test_a_release_that_is_gone(world, release) -> None:
    steward = world.token("steward")
    world.call("DELETE", f"/v1/releases/{release}", token=world.token("admin"))
    place = ask(world, steward, release).headers["location"]
    world.work()
    assert world.call("GET", place, token=steward).status_code == 409


PLAN = {
    "dataset": "patients",
    "attempts": 100,
    "control": 0.4,
    "releases": [{"synthesize": {"epsilon": 1.0}}, {"statistics": {"epsilon": 1.0}}],
}


def test_a_comparison(world) -> None:
    world.register()
    steward = world.token("steward")
    submitted = world.call("POST", "/v1/comparisons", token=steward, json=PLAN)
    assert submitted.status_code == 202, submitted.text
    place = submitted.headers["location"]
    world.work()
    found = world.call("GET", place, token=steward)
    assert found.status_code == 200, found.text
    plain = found.json()
    assert len(plain["results"]) == 2
    assert plain["repeated"]["trials"] in plain["repeated"]["looks"] == [6, 10, 16, 24]
    assert [each["figure"] for each in plain["verdicts"]][-1] == "risk"
    assert all(each["words"] in plain["reasons"] for each in plain["verdicts"])
    for each in plain["differences"]:
        assert -1 <= each["low"] <= each["value"] <= each["high"] <= 1
    assert all(each["kept"]["trials"] >= 6 for each in plain["results"])
    assert "hold together with 95%" in world.call("GET", f"{place}/page", token=steward).text
    assert "<svg" in world.call("GET", f"{place}/page", token=steward).text
    assert world.call("GET", place, token=world.token("analyst")).status_code == 403
    assert world.call("GET", place.replace("comparisons", "assessments"), token=steward).status_code == 404
    assert world.spent() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"releases": []},
        {"releases": [{"magic": {}}]},
        {"dataset": "nobody"},
        {"control": 2},
        {"colour": 1},
        {"most_trials": 0},
    ],
)
def test_a_bad_comparison(world, change) -> None:
    world.register()
    refused = world.call("POST", "/v1/comparisons", token=world.token("steward"), json=PLAN | change)
    assert refused.status_code in (404, 422)
