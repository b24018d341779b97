"""A reader sees what was released, whoever made it, and nothing else."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tacita.errors import Conflict, Forbidden
from tacita.tables.release import Releases

SYNTHETIC = {"dataset": "patients", "budget": {"epsilon": 0.4}, "rows": 50}
POLICY = {"quasi": ["age"], "sensitive": ["smokes"], "k": 5, "l": 2.0, "several": True}
MAY = {
    *(("GET", f"/v1/{path}") for path in ("audit", "calculators", "campaigns", "datasets", "jobs", "models")),
    *(("GET", f"/v1/{path}") for path in ("releases/kinds", "tokens/mine")),
    *(
        ("GET", f"/v1/datasets/{{name}}{path}")
        for path in ("", "/schema", "/budget", "/charges", "/policy", "/releases")
    ),
    ("GET", "/v1/datasets/{name}/charges/{id}/answer"),
    *(("GET", f"/v1/campaigns/{{id}}{path}") for path in ("", "/changes", "/integrity", "/means", "/network")),
    *(("GET", f"/v1/campaigns/{{id}}/{path}") for path in ("releases", "rules", "synthetic", "test", "waves")),
    ("POST", "/v1/campaigns/{id}/releases"),
    ("POST", "/v1/campaigns/plan"),
    *(("GET", f"/v1/releases/{{id}}{path}") for path in ("", "/model", "/rows", "/statement")),
    ("GET", "/v1/models/{id}"),
    ("GET", "/v1/models/{id}/parameters"),
    ("POST", "/v1/releases/{id}/shares"),
    *(("GET", f"/v1/jobs/{{id}}{path}") for path in ("", "/result")),
}
FREE = re.compile(r"/v1/calculators/[a-z-]+|/v1/(releases|campaigns)/\{id\}/decide/[a-z]+")
"""Computations from public numbers and released tables."""
OPEN = {
    ("GET", "/v1/campaigns/{id}/questions"),
    ("POST", "/v1/campaigns/{id}/reports"),
    ("POST", "/v1/campaigns/{id}/invitations/redeem"),
}
"""What needs no token."""


def made(world, path: str, body: dict[str, Any], *, role: str = "analyst") -> str:
    token = world.token(role)
    submitted = world.call("POST", path, token=token, json=body)
    assert submitted.status_code == 202, submitted.text
    world.work()
    return submitted.headers["location"].rpartition("/")[2]


@pytest.fixture
def shown(world) -> dict[str, str]:
    """Ids of a paid release, of one without a guarantee, and of an assessment, which is exact."""
    world.register()
    world.call("PUT", "/v1/datasets/patients/policy", token=world.token("steward"), json=POLICY)
    paid = made(world, "/v1/releases/synthetic", SYNTHETIC)
    plain = made(world, "/v1/releases/anonymized", {"dataset": "patients", "k": 5})
    steward = world.token("steward")
    own = world.call("POST", "/v1/releases/synthetic", token=steward, json=SYNTHETIC, key="own")
    world.work()
    release = own.headers["location"].rpartition("/")[2]
    exact = world.call("POST", "/v1/assessments", token=steward, json={"release": release, "attacks": ["copies"]})
    assert exact.status_code == 202, exact.text
    world.work()
    return {"paid": paid, "plain": plain, "exact": exact.headers["location"].rpartition("/")[2]}


def test_no_route_does_more_for_a_reader_than_is_listed_here(world, shown) -> None:
    """All routes of the interface, with names of things that are there: a new route must be listed, or refuse."""
    reader, campaign = world.token("reader"), world.campaign()["id"]
    spent = world.spent()
    for path, operations in world.app.openapi()["paths"].items():
        for method in map(str.upper, operations):
            route = (method, path)
            if not path.startswith("/v1/") or route in OPEN or FREE.fullmatch(path):
                continue
            known = {"name": "patients", "id": campaign if "campaigns" in path else shown["paid"]}
            answer = world.call(
                method, path.format(**known), token=reader, json={} if method in ("POST", "PUT") else None
            )
            if route in MAY:
                assert answer.status_code != 403, (route, answer.text)
            else:
                assert answer.status_code in (403, 404), (route, answer.text)
    assert world.spent() == spent
    assert (
        world.call("GET", f"/v1/releases/{shown['paid']}/rows", token=reader).status_code == 200
    )  # nothing was deleted


def test_releases_of_all_are_listed_and_shown(world, shown) -> None:
    reader = world.token("reader")
    listed = {job["id"] for job in world.call("GET", "/v1/jobs", token=reader).json()}
    assert {shown["paid"], shown["plain"]} <= listed
    assert shown["exact"] not in listed
    assert world.call("GET", f"/v1/releases/{shown['paid']}/statement", token=reader).status_code == 200
    assert world.call("GET", f"/v1/releases/{shown['paid']}", token=reader).json()["rows"] == 50
    unpaid = world.call("GET", f"/v1/releases/{shown['plain']}", token=reader).json()
    assert unpaid["columns"] == ["age", "smokes"]
    assert world.call("GET", f"/v1/releases/{shown['paid']}/rows", token=reader).status_code == 200
    assert world.call("GET", f"/v1/releases/{shown['paid']}/model", token=reader).status_code == 200


def test_rows_of_people_are_not(world, shown) -> None:
    """k-anonymous rows hold cells of real people."""
    refused = world.call("GET", f"/v1/releases/{shown['plain']}/rows", token=world.token("reader"))
    assert (refused.status_code, refused.json()["field"]) == (403, "release")


UNPAID = [
    ("anonymized", "analyst", {"k": 5}),
    ("masked", "steward", {"microaggregate": ["age=5"], "keep": ["smokes"]}),
    ("imputed", "steward", {"no_guarantee": True, "replace": ["age: smokes = daily"], "m": 2}),
    ("suppressed", "steward", {"by": [["smokes", "age"]], "minimum": 45}),
]


@pytest.mark.parametrize(("kind", "role", "asked"), UNPAID, ids=[kind for kind, _, _ in UNPAID])
def test_no_figure_of_an_unpaid_release_is(world, shown, kind: str, role: str, asked: dict[str, Any]) -> None:
    """Every number that a reader sees of it was asked for: figures of it come from real rows."""
    submitted = world.call(
        "POST", f"/v1/releases/{kind}", token=world.token(role), json={"dataset": "patients"} | asked
    )
    assert submitted.status_code == 202, submitted.text
    world.work()
    place, reader = submitted.headers["location"], world.token("reader")
    seen = world.call("GET", place, token=reader)
    assert seen.status_code == 200, seen.text
    assert set(seen.json()) <= {"tacita", "id", "guarantee", "columns", "asked", "attributes"}
    assert "1234" not in seen.text  # the number of rows
    for more in ("/statement", "/rows"):
        assert world.call("GET", f"{place}{more}", token=reader).status_code in (403, 409)


def test_digests_of_rows_are_not(world, shown) -> None:
    left = world.call("GET", "/v1/datasets/patients/releases", token=world.token("reader")).json()
    assert {each["classes"] for each in left} == {""}


def test_what_is_hidden_looks_like_what_is_not_there(world, shown) -> None:
    reader = world.token("reader", datasets=["others"])
    for path in ("/v1/releases/{}", "/v1/releases/{}/rows", "/v1/models/{}", "/v1/jobs/{}"):
        hidden, absent = (
            world.call("GET", path.format(id), token=reader).json() for id in (shown["paid"], "job_" + "0" * 32)
        )
        for each in (hidden, absent):
            for own in ("value", "instance", "request_id", "detail"):
                each.pop(own, None)
        assert hidden == absent


def test_exact_figures_are_not(world, shown) -> None:
    reader = world.token("reader")
    for path in (f"/v1/assessments/{shown['exact']}", f"/v1/assessments/{shown['exact']}/page"):
        assert world.call("GET", path, token=reader).status_code == 403
    assert world.call("GET", f"/v1/jobs/{shown['exact']}", token=reader).status_code == 404


def test_what_is_outside_the_scope_is_not_seen(world, shown) -> None:
    reader = world.token("reader", datasets=["others"])
    assert world.call("GET", "/v1/jobs", token=reader).json() == []
    for path in (f"/v1/releases/{shown['paid']}", f"/v1/jobs/{shown['paid']}"):
        assert world.call("GET", path, token=reader).status_code == 404
    for path in ("", "/charges", "/releases", "/policy"):
        assert world.call("GET", f"/v1/datasets/patients{path}", token=reader).status_code == 403
    assert world.call("GET", "/v1/audit", token=reader).json()["events"] == []


def test_a_scoped_reader_is_shown_pages_of_what_is_in_scope(world, shown) -> None:
    world.register("others", source="patients", again="a test")
    for key in "abc":
        body = SYNTHETIC | {"budget": {"epsilon": 0.01}}
        world.call("POST", "/v1/releases/synthetic", token=world.token("analyst"), json=body, key=key)
    world.work()
    reader = world.token("reader", datasets=["patients"])
    whole = [job["id"] for job in world.call("GET", "/v1/jobs", token=reader).json()]
    assert len(whole) == 6
    parts = [
        job["id"]
        for offset in (0, 2, 4)
        for job in world.call("GET", f"/v1/jobs?limit=2&offset={offset}", token=reader).json()
    ]
    assert parts == whole


def test_answers_of_questions_are_read_off_the_ledger(world) -> None:
    world.register()
    analyst = world.token("analyst")
    given = Releases.from_json(world.query(analyst, 0.3).text)
    client = world.client("reader")
    (charge,) = client.charges("patients")
    found = client.charge_answer("patients", charge.id)
    assert isinstance(found, Releases)
    assert found.to_json() == given.to_json()
    assert world.spent() == pytest.approx(0.3)
    lines = world.call("GET", "/v1/audit?kind=answer-read", token=world.token()).json()["events"]
    assert [line["subject"] for line in lines] == ["patients"]
    for role in ("analyst", "steward"):  # answers are for those who paid
        with pytest.raises(Forbidden):
            world.client(role).charge_answer("patients", charge.id)


def test_an_answer_that_is_a_release_of_its_own_is_fetched_there(world, shown) -> None:
    client = world.client("reader")
    charge = next(iter(client.charges("patients")))
    with pytest.raises(Conflict, match="elsewhere"):
        client.charge_answer("patients", charge.id)


def test_a_reader_may_not_change_what_it_sees(world, shown) -> None:
    reader = world.token("reader")
    assert world.call("DELETE", f"/v1/releases/{shown['paid']}", token=reader).status_code == 403
    assert world.call("POST", f"/v1/jobs/{shown['paid']}/cancel", token=reader).status_code == 403
