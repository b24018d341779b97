from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from tacita.errors import Conflict, InvalidInput, Unauthorized, UnknownName
from tacita.server.auth import tokens as module
from tacita.server.auth.tokens import Tokens
from tacita.store import Database
from tacita.store.schema import tokens as table


@pytest.fixture
def tokens(state: str) -> Iterator[Tokens]:
    database = Database(state)
    yield Tokens(database)
    database.close()


def test_a_token_is_known_again(tokens: Tokens) -> None:
    issued = tokens.issue(name="Ada", role="analyst", datasets=["patients"])
    found = tokens.authenticate(issued.text)
    assert found == issued.token == tokens.get(issued.token.id)
    assert found.covers("patients")
    assert not found.covers("others")
    assert tokens.issue(name="Root", role="admin").token.covers("anything")
    assert [token.name for token in tokens.list()] == ["Ada", "Root"]


def test_the_secret_is_stored_nowhere(tokens: Tokens) -> None:
    issued = tokens.issue(name="Ada", role="admin")
    secret = issued.text.split("_")[2]
    assert len(bytes.fromhex(secret)) == 32
    with tokens._database.reading() as connection:
        stored = str(connection.execute(sa.select(table)).all())
    for shown in (stored, repr(issued), str(issued.token.as_dict())):
        assert secret not in shown


def test_an_empty_scope_is_not_everything(tokens: Tokens) -> None:
    assert not tokens.issue(name="Ada", role="analyst", datasets=[]).token.covers("patients")


@pytest.mark.parametrize(
    "text", ["", "tct_", "tct_0123456789abcdef_zz", "Bearer x", "tct_" + "0" * 16 + "_" + "0" * 63]
)
def test_malformed(tokens: Tokens, text: str) -> None:
    with pytest.raises(Unauthorized, match="form"):
        tokens.authenticate(text)


def test_unknown_and_wrong(tokens: Tokens) -> None:
    issued = tokens.issue(name="Ada", role="analyst")
    last = "1" if issued.text[-1] == "0" else "0"
    for text in (f"tct_{'0' * 16}_{'0' * 64}", issued.text[:-1] + last):
        with pytest.raises(Unauthorized, match="is not known") as caught:
            tokens.authenticate(text)
        assert text not in str(caught.value)


def test_revoked(tokens: Tokens) -> None:
    issued = tokens.issue(name="Ada", role="analyst")
    assert tokens.revoke(issued.token.id).revoked is not None
    with pytest.raises(Unauthorized, match="revoked"):
        tokens.authenticate(issued.text)
    with pytest.raises(Conflict):
        tokens.revoke(issued.token.id)
    with pytest.raises(UnknownName):
        tokens.revoke("nobody")


def test_expired(tokens: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    soon = dt.datetime.now(dt.timezone(dt.timedelta(hours=5))) + dt.timedelta(minutes=1)
    issued = tokens.issue(name="Ada", role="analyst", expires=soon)
    assert tokens.authenticate(issued.text).expires == soon
    monkeypatch.setattr(module, "now", lambda: dt.datetime.now(dt.UTC) + dt.timedelta(minutes=2))
    with pytest.raises(Unauthorized, match="expired"):
        tokens.authenticate(issued.text)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"role": "king"}, "role"),
        ({"datasets": "patients"}, "datasets"),
        ({"datasets": [""]}, "datasets"),
        ({"expires": dt.datetime(2000, 1, 1, tzinfo=dt.UTC)}, "expires"),
        ({"expires": dt.datetime(2999, 1, 1)}, "expires"),
    ],
)
def test_bad_parts_are_named(tokens: Tokens, given: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        tokens.issue(**{"name": "Ada", "role": "analyst"} | given)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_over_rest(both) -> None:
    admin = both.token()
    made = both.call("POST", "/v1/tokens", token=admin, json={"name": "Ada", "role": "analyst", "datasets": ["a"]})
    assert made.status_code == 201
    text, id = made.json()["token"], made.json()["id"]
    assert both.call("GET", "/v1/datasets", token=text).json() == []
    listed = both.call("GET", "/v1/tokens", token=admin)
    assert text.split("_")[2] not in listed.text
    assert {token["name"] for token in listed.json()} == {"a admin", "Ada"}
    assert both.call("DELETE", f"/v1/tokens/{id}", token=admin).json()["revoked"] is not None
    assert both.call("GET", "/v1/datasets", token=text).status_code == 401


def test_expiry_over_rest(world) -> None:
    body = {"name": "Ada", "role": "analyst", "datasets": None, "expires": "2999-01-01T00:00:00Z"}
    assert world.call("POST", "/v1/tokens", token=world.token(), json=body).status_code == 201
    late = world.call("POST", "/v1/tokens", token=world.token(), json=body | {"expires": "2001-01-01T00:00:00Z"})
    assert (late.status_code, late.json()["field"]) == (422, "expires")


@pytest.mark.parametrize("name", ["\ud800", "a\u0000", "", "a b", "x" * 65])
def test_a_scope_that_could_not_be_read_back_is_refused_and_leaves_nothing(world, name: str) -> None:
    admin = world.token()
    text = json.dumps({"name": "x", "role": "analyst", "datasets": ["fine", name]})  # escapes what httpx could not send
    made = world.call("POST", "/v1/tokens", token=admin, content=text, headers={"Content-Type": "application/json"})
    assert made.status_code == 422
    assert [found["name"] for found in world.call("GET", "/v1/tokens", token=admin).json()] == ["a admin"]
    assert world.call("GET", "/v1/audit", token=admin).status_code == 200


@pytest.mark.parametrize("name", ["\ud800", "a\u0000"])
def test_the_library_refuses_such_a_scope_too(world, name: str) -> None:
    with pytest.raises(InvalidInput, match="datasets"):
        world.services.tokens.issue(name="x", role="analyst", datasets=[name])


@pytest.mark.parametrize("until", ["9999-12-31T23:59:59-12:00", "9999-12-31T23:59:59+12:00"])
def test_an_expiry_at_the_end_of_time_is_refused(world, until: str) -> None:
    body = {"name": "x", "role": "analyst", "datasets": None, "expires": until}
    assert world.call("POST", "/v1/tokens", token=world.token(), json=body).status_code == 422
    campaign = {
        "title": "x",
        "schema": {"tacita": 1, "attributes": [{"kind": "boolean", "name": "smokes"}]},
        "tables": [["smokes"]],
        "epsilon": 1.0,
        "respondents": 100,
        "closes": until,
    }
    assert world.call("POST", "/v1/campaigns", token=world.token(), json=campaign).status_code < 500
