"""Every error on every route has one shape, and says nothing that it should not."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tacita.errors import BudgetExceeded, SourceUnavailable, TacitaError, UnknownName
from tacita.wire import Problem
from tacita.wire.refusals import TooManyRequests, rebuild

ALWAYS = {"type", "title", "status", "detail", "instance", "code", "request_id"}
SOMETIMES = {"field", "rule", "value", "hint"}
EXTRA = {"account", "requested", "remaining", "budget", "retry_after", "reason"}


def check_shape(response: httpx.Response) -> dict[str, Any]:
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    assert set(body) >= ALWAYS
    assert set(body) <= ALWAYS | SOMETIMES | EXTRA
    assert body["status"] == response.status_code
    assert body["type"] == f"urn:tacita:problem:{body['code']}"
    assert body["instance"] == response.url.path
    assert body["request_id"] == response.headers["x-request-id"]
    assert all(isinstance(body[name], str) for name in (SOMETIMES & set(body)) | ALWAYS - {"status"})
    Problem.model_validate(body)
    return body


def routes(world) -> list[tuple[str, str, dict[str, Any]]]:
    paths = world.app.openapi()["paths"]
    found = [(method.upper(), path, spec) for path, item in paths.items() for method, spec in item.items()]
    assert len(found) >= 24
    return found


NEEDS = {"/kanon": "?k=2", "/diffpriv": "?query=sum&epsilon=1&column_indexes=0"}


def at(path: str) -> str:
    return path.replace("{name}", "nothing").replace("{id}", "nothing") + NEEDS.get(path, "")


def test_wrong_method_everywhere(world) -> None:
    for _, path, _ in routes(world):
        response = world.call("PATCH", at(path))
        assert response.status_code == 405, path
        check_shape(response)
        assert response.headers["allow"]


def test_no_token_everywhere(world) -> None:
    for method, path, spec in routes(world):
        response = world.call(method, at(path), json={} if method == "POST" else None)
        if spec.get("security"):
            assert response.status_code == 401, path
            check_shape(response)
        elif path.startswith("/v1"):
            check_shape(response)


def test_no_role_everywhere(world) -> None:
    token = world.token("holder", datasets=[])
    for method, path, spec in routes(world):
        if spec.get("security"):
            body = spec.get("requestBody")
            response = world.call(method, at(path), token=token, json={} if body else None)
            if response.status_code != 200:  # lists are empty for those who may see nothing
                check_shape(response)
                assert response.status_code in (403, 404), (path, response.text)


def test_bad_bodies_everywhere(world) -> None:
    token, json_type = world.token(), {"Content-Type": "application/json"}
    for method, path, spec in routes(world):
        if "application/json" not in spec.get("requestBody", {}).get("content", {}):
            continue
        for content, status in ((b"{", 400), (b"[]", 422), (b'"text"', 422), (b'{"unknown": 1}', 422)):
            response = world.call(method, at(path), token=token, content=content, headers=json_type)
            assert check_shape(response)["status"] == status, (path, content, response.text)
        check_shape(world.call(method, at(path), token=token, content=b"[" * 100_000, headers=json_type))
        check_shape(world.call(method, at(path), token=token, content=b"\xff\xfe", headers=json_type))


def test_nothing_of_that_name_everywhere(world) -> None:
    token = world.token()
    for method, path, _ in routes(world):
        if "{" in path and method == "GET":
            response = world.call(method, at(path), token=token)
            assert check_shape(response)["code"] == "unknown-name", path


class Exploding:
    """Services in which everything is broken, with a message that must not be seen."""

    def __getattr__(self, name: str) -> object:
        raise RuntimeError("the value 4711 of a patient")


def test_a_fault_everywhere_says_nothing(world, caplog: pytest.LogCaptureFixture) -> None:
    token = world.token()
    services, world.app.state.services = world.services, Exploding()
    try:
        for method, path, _ in routes(world):
            if path in ("/healthz", "/v1/anonymize"):  # one has no parts that could break, the other needs a file first
                continue
            body = {"reports": []} if method == "POST" else None
            response = world.call(method, at(path), token=token, json=body)
            assert response.status_code == 500, path
            body = check_shape(response)
            assert body["code"] == "internal-error"
            said = response.text.replace(body["request_id"], "")  # random digits, which may be any
            assert "4711" not in said
            assert "RuntimeError" not in said
    finally:
        world.app.state.services = services
    assert "the value 4711" not in caplog.text


def test_private_parts_and_addresses_stay(world, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object, **__: object) -> None:
        raise SourceUnavailable("is away", field="state", value="postgresql://db.internal/x", private="line 4711")

    monkeypatch.setattr(world.services.tokens, "authenticate", away)
    response = world.call("GET", "/v1/datasets", token="x")
    assert check_shape(response)["code"] == "source-unavailable"
    assert "4711" not in response.text
    assert "internal" not in response.text


def test_a_big_value_is_not_repeated(world) -> None:
    body = {"name": "x" * 100_000, "role": "analyst", "datasets": None}
    response = world.call("POST", "/v1/tokens", token=world.token(), json=body)
    assert response.status_code == 422
    assert len(response.content) < 2000


@pytest.mark.parametrize("path", ["/", "/nothing", "/v1", "/v1/", "/v1/datasets/", "/docs", "/redoc"])
def test_no_such_route(world, path: str) -> None:
    assert check_shape(world.call("GET", path))["code"] == "not-found"


@pytest.mark.parametrize(
    "error",
    [
        BudgetExceeded(account="a", requested="1", remaining="0.5", budget="epsilon 1"),
        UnknownName("smoke", field="attribute", available=["smokes"]),
        SourceUnavailable("is away", field="source"),
        TooManyRequests("too many", retry_after=7, hint="wait"),
    ],
)
def test_an_error_survives_the_journey(error: TacitaError) -> None:
    back = rebuild(error.as_dict() | {"status": error.status, "request_id": "r", "type": "t", "instance": "/"})
    assert type(back) is type(error)
    assert str(back) == str(error)
    assert back.as_dict() | error.extra() == error.as_dict()
    assert back.extra() == error.extra()


def test_a_code_from_the_future_is_still_an_error() -> None:
    back = rebuild({"code": "brand-new", "detail": "something new"})
    assert type(back) is TacitaError
    assert "something new" in str(back)
