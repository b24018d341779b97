"""A server that ends finishes what it has begun, and says so before it refuses anything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.support.ports import free_port

SECONDS = 120.0
# a route that answers when a file appears: the test decides when
APP = """
import sys
from functools import partial
from pathlib import Path
import anyio
from fastapi import FastAPI, Request
from tacita.server.http.gate import Gate
from tacita.server.http.listening import listen
from tacita.server.http.metrics import Metrics

app = FastAPI()
app.add_middleware(Gate, metrics=Metrics(None), max_request_bytes=1000, max_upload_bytes=1000)
folder = Path(sys.argv[2])

@app.get("/quick")
async def quick(request: Request):
    return {"draining": getattr(request.app.state, "draining", False)}

@app.get("/slow")
async def slow():
    (folder / "began").touch()
    while not (folder / "go").exists():
        await anyio.sleep(0.02)
    return "done"

listen(app, host="127.0.0.1", port=int(sys.argv[1]), drain_seconds=float(sys.argv[3]),
       shutdown_seconds=float(sys.argv[4]), on_drain=partial(setattr, app.state, "draining", True))
(folder / "ended in order").touch()
"""


def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)


class Started:
    """A server process, and requests to it."""

    def __init__(self, folder: Path, drain: float, shutdown: float) -> None:
        self.folder, self.port = folder, free_port()
        (folder / "app.py").write_text(APP)
        command = [sys.executable, str(folder / "app.py"), str(self.port), str(folder), str(drain), str(shutdown)]
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log, env=os.environ)
        until(lambda: self.answers("/quick"))

    def answers(self, path: str) -> httpx.Response | None:
        assert self.process.poll() is None, (self.folder / "log").read_text()
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}{path}", timeout=SECONDS)
        except httpx.HTTPError:
            return None

    def slowly(self) -> tuple[threading.Thread, list[Any]]:
        """A request that is in flight when this returns, and what becomes of it."""
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(self.answers("/slow")))
        thread.start()
        until((self.folder / "began").exists)
        return thread, found

    def go(self) -> None:
        (self.folder / "go").touch()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    started: list[Started] = []

    def make(*, drain: float = 0.0, shutdown: float = SECONDS) -> Started:
        started.append(Started(tmp_path, drain, shutdown))
        return started[-1]

    yield make
    for each in started:
        each.go()
        if each.process.poll() is None:
            each.process.kill()
        each.process.wait(SECONDS)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_request_in_flight_is_answered(start, how) -> None:
    server = start()
    thread, found = server.slowly()
    server.process.send_signal(how)
    until(lambda: _refused(server))  # nothing more is accepted
    assert thread.is_alive()
    server.go()
    thread.join(SECONDS)
    assert found[0].json() == "done"
    assert server.process.wait(SECONDS) == 0
    assert (server.folder / "ended in order").exists()


def test_it_drains_first(start) -> None:
    """All is still served, each answer closes its connection, and the app knows: this is what a proxy sees."""
    server = start(drain=SECONDS)
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=SECONDS) as client:
        before = client.get("/quick")
        assert before.json() == {"draining": False}
        assert "connection" not in before.headers
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.answers("/quick").json()["draining"])
        after = client.get("/quick")
        assert after.headers["connection"] == "close"
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)  # the second one ends draining
        assert server.process.wait(SECONDS) == 0


def test_it_ends_by_itself_when_it_has_drained(start) -> None:
    server = start(drain=0.3)
    thread, found = server.slowly()
    server.process.send_signal(signal.SIGTERM)
    until(lambda: _refused(server))
    server.go()
    thread.join(SECONDS)
    assert found[0].json() == "done"
    assert server.process.wait(SECONDS) == 0


def test_a_request_that_takes_too_long_is_given_up(start) -> None:
    server = start(shutdown=1.0)
    thread, found = server.slowly()
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(SECONDS) == 0
    thread.join(SECONDS)
    answer = found[0]
    assert answer.status_code == 503
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["field"] == "server"
    assert "Idempotency-Key" in answer.json()["hint"]


def _refused(server: Started) -> bool:
    try:
        httpx.get(f"http://127.0.0.1:{server.port}/quick", timeout=SECONDS)
    except httpx.ConnectError:
        return True
    except httpx.HTTPError:
        return False
    return False


def test_a_port_that_is_taken_ends_it_with_an_error(start) -> None:
    server = start()
    command = [sys.executable, str(server.folder / "app.py"), str(server.port), str(server.folder), "0", "1"]
    assert subprocess.run(command, capture_output=True, timeout=SECONDS, check=False).returncode == 3
