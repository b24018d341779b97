from __future__ import annotations

import datetime as dt

import pytest

from tacita.server.auth import auth
from tacita.server.auth import tokens as module

ANALYST = ("GET", "/v1/datasets/patients/budget")
STEWARD = ("GET", "/v1/datasets/patients/charges")
ADMIN = ("GET", "/v1/tokens")


@pytest.mark.parametrize(
    "header",
    [None, "", "Basic YTpi", "Bearer", "Bearer nonsense", "tct_x_y", f"Bearer tct_{'0' * 16}_{'0' * 64}"],
)
def test_no_good_token(world, header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    response = world.call("GET", "/v1/datasets", headers=headers)
    assert response.status_code == 401
    assert response.json()["code"] == "unauthorized"
    assert response.json()["hint"]
    assert response.headers["www-authenticate"].startswith("Bearer")


def test_a_token_in_the_query_is_not_read(world) -> None:
    assert world.call("GET", f"/v1/datasets?token={world.token()}").status_code == 401


def test_expired_and_revoked(world, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1)
    token, gone = world.token("analyst", expires=soon), world.services.tokens.issue(name="x", role="admin")
    assert world.call("GET", "/v1/datasets", token=token).status_code == 200
    world.services.tokens.revoke(gone.token.id)
    assert "revoked" in world.call("GET", "/v1/datasets", token=gone.text).json()["detail"]
    monkeypatch.setattr(module, "now", lambda: soon + dt.timedelta(minutes=1))
    refused = world.call("GET", "/v1/datasets", token=token)
    assert (refused.status_code, "expired" in refused.json()["detail"]) == (401, True)


@pytest.mark.parametrize(
    ("role", "allowed"),
    [
        ("admin", {ANALYST, STEWARD, ADMIN}),
        ("steward", {ANALYST, STEWARD}),
        ("analyst", {ANALYST}),
        ("holder", set()),
    ],
)
def test_roles(world, role: str, allowed: set[tuple[str, str]]) -> None:
    assert world.register().status_code == 201
    token = world.token(role)
    for route in (ANALYST, STEWARD, ADMIN):
        response = world.call(*route, token=token)
        assert response.status_code == (200 if route in allowed else 403), (role, route)
        if route not in allowed:
            assert (response.json()["field"], response.json()["value"]) == ("role", role)


def test_scope(world) -> None:
    world.register()
    token = world.token("analyst", datasets=["others"])
    assert world.call("GET", "/v1/datasets", token=token).json() == []
    there = world.query(token)
    absent = world.call("GET", "/v1/datasets/nothing", token=token)
    # the answer does not tell whether it exists
    assert there.status_code == absent.status_code == 403
    assert there.json()["rule"] == absent.json()["rule"]


def test_an_unknown_name_lists_only_what_is_in_scope(world) -> None:
    world.register()
    token = world.token("analyst", datasets=["mine"])
    response = world.call("GET", "/v1/datasets/mine", token=token)
    assert response.status_code == 404
    assert "patients" not in response.text


def test_a_scoped_steward_registers_only_its_own(world) -> None:
    token = world.token("steward", datasets=["others"])
    body = {"name": "patients", "source": "patients", "schema": {}, "unit": "row", "neighbours": "x"}
    response = world.call("POST", "/v1/datasets", token=token, json=body | {"budget": {"epsilon": 1.0}})
    assert (response.status_code, response.json()["field"]) == (403, "dataset")


def test_campaigns_have_scopes_too(world) -> None:
    id = world.campaign()["id"]
    mine, other = world.token("analyst", datasets=[id]), world.token("analyst", datasets=["x"])
    assert world.call("GET", f"/v1/campaigns/{id}", token=mine).status_code == 200
    assert world.call("GET", f"/v1/campaigns/{id}", token=other).status_code == 403
    assert world.call("GET", f"/v1/campaigns/{id}/releases", token=other).status_code == 403
    assert world.call("GET", "/v1/campaigns", token=other).json() == []
    schema = {"tacita": 1, "attributes": [{"kind": "boolean", "name": "x"}]}
    body = {"title": "t", "schema": schema, "tables": [["x"]], "epsilon": 1.0, "respondents": 100}
    scoped = world.call("POST", "/v1/campaigns", token=world.token("steward", datasets=["x"]), json=body)
    assert scoped.status_code == 403


@pytest.mark.parametrize(
    ("addresses", "senders"),
    [
        (("2001:db8:0:1::1", "2001:db8:0:1:ffff::2"), 1),  # one household
        (("2001:db8:0:1::1", "2001:db8:0:2::1"), 2),
        (("192.0.2.1", "::ffff:192.0.2.1"), 1),
        (("192.0.2.1", "192.0.2.2"), 2),
        (("unknown", "unknown"), 1),
    ],
)
def test_who_an_address_belongs_to(addresses, senders) -> None:
    assert len({auth._sender(address) for address in addresses}) == senders
