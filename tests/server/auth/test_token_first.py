from __future__ import annotations

import asyncio
from typing import Any

FILES = {"/v1/anonymize": b"multipart/form-data", "/v1/sources/name": b"text/csv"}


def status_without_body(app: Any, method: str, path: str) -> int:
    """The status of a request without a token whose body never comes: reading it fails the test."""
    sent: list[Any] = []

    async def receive() -> Any:
        raise AssertionError("the body was read before the token was checked")

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": b"",
        "headers": [(b"content-type", FILES.get(path, b"application/json")), (b"content-length", b"1000")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    asyncio.run(app(scope, receive, send))
    return int(sent[0]["status"])


def test_no_route_reads_a_body_before_the_token(world: Any) -> None:
    found = [
        (method.upper(), path.replace("{", "").replace("}", ""))
        for path, operations in world.app.openapi()["paths"].items()
        for method, operation in operations.items()
        if "requestBody" in operation and "security" in operation and path.startswith("/v1/")
    ]
    assert len(found) > 15
    assert {call: status_without_body(world.app, *call) for call in found} == dict.fromkeys(found, 401)


def test_a_wrong_token_is_refused_before_the_body_too(world: Any) -> None:
    headers = {"Content-Type": "application/json"}
    refused = world.call("POST", "/v1/datasets", token="tct_wrong", headers=headers, content=b"{not JSON")
    assert refused.status_code == 401


def test_a_request_counts_once_against_its_token(world_of: Any) -> None:
    world = world_of(rate_limit=3)
    world.register()
    token = world.token("analyst")
    assert [world.query(token).status_code == 429 for _ in range(4)] == [False, False, False, True]


def test_a_file_that_is_not_there_names_no_other(world: Any) -> None:
    file = {"Content-Type": "text/csv"}
    admin = world.token("admin")
    assert world.call("PUT", "/v1/sources/hidden", token=admin, headers=file, content=b"x\n1\n").status_code == 200
    scoped = world.token("steward", datasets=["mine"])
    refused = world.call("DELETE", "/v1/sources/mine", token=scoped)
    assert refused.status_code == 404
    assert "hidden" not in refused.text
