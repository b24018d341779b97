from __future__ import annotations

from typing import Any

import pytest
import uvicorn

from tacita.server import run
from tacita.server.http import listening
from tacita.settings import Settings


def served_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Any, **settings: Any) -> uvicorn.Config:
    """How uvicorn is asked to serve."""
    asked: list[uvicorn.Config] = []

    def note(server: listening.DrainingServer) -> None:
        server.started = True
        asked.append(server.config)
        server.config.app.state.services.close()

    monkeypatch.setattr(listening.DrainingServer, "run", note)
    run.serve(Settings.load(home=tmp_path, worker=False, **settings))
    (config,) = asked
    config.app = _echo
    return config


async def _echo(scope: Any, receive: Any, send: Any) -> None:
    await send({"client": scope["client"][0]})


async def _address(config: uvicorn.Config, peer: str) -> str:
    """The address that the app sees when a peer names another one."""
    config.load()
    seen: list[str] = []

    async def send(message: Any) -> None:
        seen.append(message["client"])

    headers = [(b"x-forwarded-for", b"203.0.113.9")]
    scope = {"type": "http", "client": (peer, 1234), "headers": headers, "scheme": "http"}
    await config.loaded_app(scope, None, send)
    return seen[0]


@pytest.mark.parametrize(
    ("proxies", "peer", "seen"),
    [
        ((), "127.0.0.1", "127.0.0.1"),
        ((), "10.0.0.1", "10.0.0.1"),
        (("10.0.0.1",), "10.0.0.1", "203.0.113.9"),
        (("10.0.0.1",), "127.0.0.1", "127.0.0.1"),
        (("10.0.0.0/24",), "10.0.0.7", "203.0.113.9"),
    ],
)
@pytest.mark.anyio
async def test_only_trusted_proxies_name_addresses(monkeypatch, tmp_path, proxies, peer, seen) -> None:
    monkeypatch.delenv("FORWARDED_ALLOW_IPS", raising=False)
    config = served_with(monkeypatch, tmp_path, trusted_proxies=proxies)
    assert await _address(config, peer) == seen


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
