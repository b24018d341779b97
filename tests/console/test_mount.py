"""Who may speak for a page of the console. NiceGUI is one for each process: these tests use its guard alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tacita.console.mount import _Guard, _guarded
from tacita.console.sessions import COOKIE


@pytest.fixture
def pages(doored):
    """An admin and an analyst, signed in, with a page each: the sessions, and their cookies."""
    world, sessions = doored
    cookies = {}
    for role in ("admin", "analyst"):
        cookies[role] = sessions.enter(world.token(role))
        sessions.find(cookies[role]).pages.add(f"page of the {role}".replace(" ", "-"))
    return sessions, cookies


def knock(sessions, cookie: str, query: str, path: str = "/_nicegui_ws/socket.io/") -> bool:
    """Whether a socket gets past the guard."""
    passed, sent = [], []

    async def app(scope, receive, send) -> None:
        passed.append(scope)

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {
        "type": "websocket",
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"cookie", f"{COOKIE}={cookie}".encode())],
    }
    asyncio.run(_Guard(app, sessions=sessions)(scope, None, send))
    assert bool(passed) != bool(sent)
    return bool(passed)


def test_only_the_session_that_opened_a_page_speaks_for_it(pages) -> None:
    sessions, cookies = pages
    assert knock(sessions, cookies["analyst"], "client_id=page-of-the-analyst")
    assert not knock(sessions, cookies["analyst"], "client_id=page-of-the-admin")
    assert not knock(sessions, cookies["analyst"], "")


@pytest.mark.parametrize(
    "query",
    [
        "client_id=page-of-the-admin&client_id=page-of-the-analyst",
        "client_id=page-of-the-analyst&client_id=page-of-the-admin",
        "client_id=&client_id=page-of-the-analyst",
        "client%5Fid=page-of-the-admin&client_id=page-of-the-analyst",
    ],
)
def test_a_second_page_in_the_address_is_refused(pages, query: str) -> None:
    sessions, cookies = pages
    assert not knock(sessions, cookies["analyst"], query)


def test_a_message_about_another_page_is_dropped(pages, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions, cookies = pages
    heard: list[str] = []

    async def handle(sid: str, message: dict[str, Any]) -> bool:
        heard.append(message["client_id"])
        return True

    def environ(sid: str) -> dict[str, Any]:
        return {"asgi.scope": {"type": "websocket", "headers": [(b"cookie", f"{COOKIE}={cookies[sid]}".encode())]}}

    monkeypatch.setattr("tacita.console.mount.core.sio.get_environ", environ)
    guarded = _guarded(handle, sessions)
    own, other = {"client_id": "page-of-the-analyst"}, {"client_id": "page-of-the-admin"}
    assert asyncio.run(guarded("analyst", own)) is True
    for message in (other, {}, None, {"client_id": None}, {"client_id": ["page-of-the-analyst"]}):
        assert asyncio.run(guarded("analyst", message)) is False
    sessions.leave(cookies["analyst"])
    sent: list[tuple[Any, ...]] = []

    async def emit(*parts: Any, **named: Any) -> None:
        sent.append((*parts, named))

    monkeypatch.setattr("tacita.console.mount.core.sio.emit", emit)
    assert asyncio.run(guarded("analyst", own)) is False
    assert sent == [("open", {"path": "/enter", "new_tab": False}, {"room": "analyst"})]  # to the door, and no further
    assert heard == ["page-of-the-analyst"]
