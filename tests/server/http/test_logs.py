from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from tacita.server.http import logs

FACTS = {
    "time", "level", "logger", "event", "method", "route", "status", "ms", "request_id", "token", "problem",
}  # fmt: skip


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    """What the server writes, exactly as it writes it."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logs._Json())
    root, level = logging.getLogger(), logs.LOGGER.level
    root.addHandler(handler)
    logs.LOGGER.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    logs.LOGGER.setLevel(level)


def test_one_line_for_each_request(world, written: io.StringIO) -> None:
    world.register()
    token = world.token("analyst")
    written.truncate(0)
    response = world.query(token)
    [line] = [json.loads(text) for text in written.getvalue().strip("\0\n").splitlines()]
    assert set(line) == FACTS
    assert (line["method"], line["route"], line["status"]) == ("POST", "/v1/datasets/{name}/query", 200)
    assert line["token"] == token.split("_")[1]
    assert line["request_id"] == response.headers["x-request-id"]


def test_nothing_that_was_said_is_written(world, written: io.StringIO) -> None:
    secret = "needle4711"
    world.register()
    token, campaign = world.token("analyst"), world.campaign(title=secret)
    reports = f"/v1/campaigns/{campaign['id']}/reports"
    calls = [
        ("GET", f"/v1/datasets?{secret}=1", {}),
        ("GET", f"/v1/datasets/{secret}", {}),
        ("GET", f"/{secret}", {}),
        (f"X{secret}", "/v1/datasets", {}),
        ("POST", "/v1/datasets", {"json": {"name": secret}}),
        ("POST", "/v1/datasets/patients/query", {"json": {"tables": [[secret]], "budget": {"epsilon": 1.0}}}),
        ("POST", reports, {"json": {"reports": [{"answer": secret}]}}),
        (
            "POST",
            reports,
            {"content": f"{{{secret}".encode(), "headers": {"Content-Type": "application/json"}},
        ),
        ("POST", reports, {"content": b"x", "headers": {"Content-Type": secret}}),
        (
            "GET",
            "/v1/datasets",
            {"headers": {"X-Request-ID": secret, "User-Agent": secret, "Cookie": secret}},
        ),
    ]
    for method, path, parts in calls:
        world.call(method, path, token=token, **parts)
    world.call("GET", "/v1/datasets", token=f"tct_{'0' * 16}_{secret}")
    text = written.getvalue()
    assert text.count("\n") >= len(calls)
    assert secret not in text
    assert token.split("_")[2] not in text
    assert campaign["id"] not in text
    assert "127.0.0.1" not in text  # nor who called


def test_a_fault_is_written_without_its_message(world, written: io.StringIO, monkeypatch) -> None:
    def broken() -> list[object]:
        raise ValueError("row 17 holds needle4711")

    monkeypatch.setattr(world.services.datasets, "list", broken)
    response = world.call("GET", "/v1/datasets", token=world.token())
    assert response.status_code == 500
    lines = [json.loads(text) for text in written.getvalue().splitlines()]
    [fault] = [line for line in lines if line["event"] == "fault"]
    assert (fault["type"], fault["request_id"]) == ("ValueError", response.json()["request_id"])
    assert any("broken" in place for place in fault["at"])
    assert "needle4711" not in written.getvalue()
