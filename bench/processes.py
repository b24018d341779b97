"""Several server processes on one PostgreSQL: rolling restarts under load lose no request and double no budget.

Two real servers, each with its worker, share a PostgreSQL (fsync on) and a home folder. A tiny balancer on loopback
asks each for `/readyz` every 0.2 s and sends requests to those that are ready, over connections that it keeps; it never
tries a request a second time, so what a server drops is lost. Clients send reports, queries with keys and jobs, and do
not try again either. Meanwhile one server after the other gets SIGTERM, drains, ends and is started again.

Afterwards each key is asked once more, and what the ledger and the campaign hold is compared with what was answered.
The same with SIGKILL, without a promise about requests in flight, shows that a lost request is seen and that even then
no budget is doubled.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import itertools
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.postgres import PostgresServer

from bench.rows import Row
from tacita.server.auth.tokens import Tokens
from tacita.store import Database

CLIENTS, PORTION = 4, 5
DRAIN, LOOK = 1.5, 0.2
SECONDS = 120.0
"""How long anything may take before it counts as lost."""
TOTAL, COST = 1.0, 0.0015
"""The budget, and what a query costs: more is asked for than there is."""
SCHEMA = {
    "tacita": 1,
    "attributes": [
        {"name": "smokes", "kind": "categorical", "levels": ["never", "daily"]},
        {"name": "age", "kind": "numeric", "bounds": [0, 99], "bins": 5, "integer": True},
    ],
}
CAMPAIGN = {
    "title": "Rolling",
    "schema": {"tacita": 1, "attributes": [{"kind": "boolean", "name": "smokes"}]},
    "tables": [["smokes"]],
    "epsilon": 1.0,
    "respondents": 100,
    "minimum": 1,
    "channel": "rr",
    "mode": "tables",
}


def _until(condition: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {SECONDS:g} s: {what}")
        time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Server:
    """One server process with its worker."""

    state: str
    folder: Path
    port: int = field(default_factory=_free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        environment = os.environ | {
            "TACITA_CONFIG": str(self.folder / "tacita.toml"),
            "TACITA_PORT": str(self.port),
            "TACITA_HOME": str(self.folder / "home"),
            "TACITA_STATE": self.state,
            "TACITA_CONSOLE": "false",
            "TACITA_RATE_LIMIT": "0",
            "TACITA_ANONYMOUS_RATE_LIMIT": "0",
            "TACITA_DRAIN_SECONDS": str(DRAIN),
            "TACITA_JOB_STALE_SECONDS": "4",
        }
        command = [sys.executable, "-m", "tacita.server.run"]
        with (self.folder / f"log{self.port}").open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stderr=log, stdout=log)
        _until(self.is_ready, "the server starts")

    def is_ready(self) -> bool:
        """Whether it takes requests."""
        if self.process is None or self.process.poll() is not None:
            raise RuntimeError((self.folder / f"log{self.port}").read_text()[-2000:])
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
            with contextlib.closing(connection):
                connection.request("GET", "/readyz")
                return connection.getresponse().status == 200
        return False

    def end(self, how: int) -> None:
        """Send a signal, and wait until it is gone."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(SECONDS)
            self.process = None


class Balancer:
    """Sends each request to a server that is ready, once.

    Args:
        ports: Of the servers.
    """

    def __init__(self, ports: list[int]) -> None:
        self.port = _free_port()
        self._ready: dict[int, bool] = dict.fromkeys(ports, False)
        self._kept: dict[int, list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]] = {port: [] for port in ports}
        self._turns = itertools.cycle(ports)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(SECONDS)

    def wait(self, port: int) -> None:
        """Wait until a server is in the round."""
        _until(lambda: self._ready[port], "the balancer sees the server")

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        looks = [asyncio.create_task(self._look(port)) for port in self._ready]
        await self._ended.wait()
        server.close()
        for look in looks:
            look.cancel()
        await asyncio.gather(*looks, return_exceptions=True)
        for port in self._kept:
            self._forget(port)
        await asyncio.sleep(0.1)  # connections close at the next turns of the loop

    def _forget(self, port: int) -> None:
        for _, writer in self._kept[port]:
            writer.close()
        self._kept[port].clear()

    async def _look(self, port: int) -> None:
        while True:
            self._ready[port] = await self._asks(port)
            if not self._ready[port]:  # what is kept open is not used any more
                self._forget(port)
            await asyncio.sleep(LOOK)

    async def _asks(self, port: int) -> bool:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            async with asyncio.timeout(5):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                try:
                    writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    return b" 200 " in await reader.readuntil(b"\r\n")
                finally:
                    writer.close()
        return False

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                request = await _message(reader)
                writer.write(await self._forward(request))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):  # the client has gone
            pass
        finally:
            writer.close()

    async def _forward(self, request: bytes) -> bytes:
        port = next((each for each in itertools.islice(self._turns, len(self._ready)) if self._ready[each]), None)
        if port is None:
            return b"HTTP/1.1 502 No server\r\nContent-Length: 0\r\n\r\n"
        kept, writer = self._kept[port], None
        try:
            reader, writer = kept.pop() if kept else await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            answer = await _message(reader)
        except (OSError, asyncio.IncompleteReadError):
            if writer is not None:
                writer.close()
            return b"HTTP/1.1 502 Lost\r\nContent-Length: 0\r\n\r\n"
        if b"\r\nconnection: close" in answer.lower().split(b"\r\n\r\n", 1)[0] or not self._ready[port]:
            writer.close()
        else:
            kept.append((reader, writer))
        return answer.replace(b"\r\nconnection: close", b"", 1)  # that is between the server and the balancer


async def _message(reader: asyncio.StreamReader) -> bytes:
    """A request or an answer with a Content-Length, whole."""
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return head + await reader.readexactly(length)


@dataclass
class Load:
    """Clients that send each request once, until they are stopped."""

    port: int
    token: str
    campaign: str
    statuses: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)
    acknowledged: set[str] = field(default_factory=set)
    unanswered: set[str] = field(default_factory=set)
    answers: dict[str, bytes] = field(default_factory=dict)
    jobs: dict[str, str] = field(default_factory=dict)
    longest: float = 0.0

    def __post_init__(self) -> None:
        self._stop, self._lock = threading.Event(), threading.Lock()
        self._threads: list[threading.Thread] = []

    def begin(self) -> None:
        """Let the clients send."""
        self._threads = [threading.Thread(target=self._client, args=(n,)) for n in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """Let them finish what they have sent."""
        self._stop.set()
        for thread in self._threads:
            thread.join(SECONDS)

    def _client(self, number: int) -> None:
        for turn in itertools.count():
            if self._stop.is_set():
                return
            kind = ("reports", "query", "reports", "query", "job" if turn % 25 == 4 else "reports")[turn % 5]
            getattr(self, f"_{kind}")(f"{number}-{turn}-{secrets.token_hex(4)}")
            time.sleep(0.005)

    def call(self, method: str, path: str, body: Any = None, key: str | None = None) -> tuple[int, bytes]:
        """Send one request over a connection of its own; status 0 where no answer came."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        began = time.monotonic()
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
            with contextlib.closing(connection):
                connection.request(method, path, None if body is None else json.dumps(body), headers)
                answer = connection.getresponse()
                status, content = answer.status, answer.read()
        except (OSError, http.client.HTTPException):
            status, content = 0, b""
        with self._lock:
            self.longest = max(self.longest, time.monotonic() - began)
            self.statuses[f"{method} {path.rsplit('/', 1)[-1]} {status}"] += 1
            if status == 0 or status >= 500:
                self.lost.append(f"{method} {path} {status} {content[:200]!r}")
        return status, content

    def _reports(self, name: str) -> None:
        ids = [secrets.token_hex(16) for _ in range(PORTION)]
        members = {"wire": 1, "campaign": self.campaign, "question": "q1", "answer": 1}
        body = {"reports": [members | {"report": id} for id in ids]}
        status, _ = self.call("POST", f"/v1/campaigns/{self.campaign}/reports", body)
        with self._lock:
            (self.acknowledged if status == 200 else self.unanswered).update(ids)

    def _query(self, key: str) -> None:
        body = {"tables": [["smokes"]], "budget": {"epsilon": COST}}
        status, content = self.call("POST", "/v1/datasets/d/query", body, key)
        if status == 200:
            with self._lock:
                self.answers[key] = content

    def _job(self, key: str) -> None:
        body = {"kind": "query", "dataset": "d", "tables": [["smokes"]], "budget": {"epsilon": COST}}
        status, content = self.call("POST", "/v1/jobs", body, key)
        if status == 202:
            with self._lock:
                self.jobs[key] = json.loads(content)["id"]


@dataclass
class World:
    """Two servers, what is in front of them, and what is asked."""

    servers: list[Server]
    balancer: Balancer
    token: str

    def api(self, method: str, path: str, body: Any = None) -> Any:
        """Ask for something that must work."""
        status, content = Load(self.balancer.port, self.token, "").call(method, path, body)
        if not 200 <= status < 300:
            raise RuntimeError(f"{method} {path} answered {status}: {content!r}")
        return json.loads(content)

    def measure(self, *, rounds: int, how: int) -> tuple[Load, dict[str, Any]]:
        """Restart both servers some times under load, and look at what is there afterwards."""
        load = Load(self.balancer.port, self.token, self.api("POST", "/v1/campaigns", CAMPAIGN)["id"])
        load.begin()
        began = time.monotonic()
        try:
            time.sleep(1)
            for _ in range(rounds):
                for server in self.servers:
                    server.end(how)
                    server.start()
                    self.balancer.wait(server.port)
                    time.sleep(1)
        finally:
            load.end()
        return load, self._found(load) | {"seconds": time.monotonic() - began}

    def _found(self, load: Load) -> dict[str, Any]:
        for id in load.jobs.values():
            _until(lambda id=id: self.api("GET", f"/v1/jobs/{id}")["finished"], "a job ends")  # type: ignore[misc]
        sent = Counter(load.statuses)
        changed = 0
        for key, content in load.answers.items():
            body = {"tables": [["smokes"]], "budget": {"epsilon": COST}}
            changed += load.call("POST", "/v1/datasets/d/query", body, key)[1] != content
        charges: list[dict[str, Any]] = []
        offset: int | None = 0
        while offset is not None:
            page = self.api("GET", f"/v1/datasets/d/charges?limit=1000&offset={offset}")
            charges, offset = charges + page["charges"], page["next_offset"]
        tally = self.api("GET", f"/v1/campaigns/{load.campaign}/tally")
        counted = set(tally["reports"])
        keys = Counter(charge["key"] for charge in charges)
        jobs = [self.api("GET", f"/v1/jobs/{id}") for id in load.jobs.values()]
        failed = [job["error"]["code"] for job in jobs if job["state"] != "done"]
        return {
            "requests": sum(sent.values()),
            "changed": changed,
            "done": len(jobs) - len(failed),
            "failed": len([code for code in failed if code != "budget-exceeded"]),
            "most charges of a key": max(keys.values()),
            "over": self.api("GET", "/v1/datasets/d/budget")["spent"] / TOTAL,
            "beyond": abs(self.api("GET", "/v1/datasets/d/budget")["spent"] - COST * len(charges)),
            "refused": sum(times for name, times in sent.items() if name.endswith(" 403")),
            "missing reports": len(load.acknowledged - counted),
            "extra reports": len(counted - load.acknowledged - load.unanswered),
            "doubled reports": sum(tally["counts"]["q1"]) - len(counted),
        }


def _world(state: str, folder: Path) -> World:
    lines = "\n".join(f"{'daily' if i % 3 == 0 else 'never'},{i % 90}" for i in range(600))
    (folder / "rows.csv").write_text("smokes,age\n" + lines + "\n")
    (folder / "tacita.toml").write_text(f'data_folders = ["{folder}"]\n[sources.s]\npath = "{folder}/rows.csv"\n')
    with contextlib.closing(Database(state)) as database:
        token = Tokens(database).issue(name="bench", role="admin").text
    servers = [Server(state, folder) for _ in range(2)]
    world = World(servers, Balancer([server.port for server in servers]), token)
    try:
        for server in servers:
            server.start()
            world.balancer.wait(server.port)
        terms = {"unit": "row", "neighbours": "add-remove", "budget": {"epsilon": TOTAL}}
        world.api("POST", "/v1/datasets", {"name": "d", "source": "s", "schema": SCHEMA} | terms)
    except BaseException:
        _close(world)
        raise
    return world


def _close(world: World) -> None:
    for server in world.servers:
        server.end(signal.SIGTERM)
    world.balancer.close()


def measure(*, rounds: int, how: int) -> tuple[Load, dict[str, Any]]:
    """One measurement on a new database; `how` the servers are ended."""
    with PostgresServer(fsync=True) as postgres, tempfile.TemporaryDirectory() as folder:
        world = _world(postgres.create_database(), Path(folder))
        try:
            return world.measure(rounds=rounds, how=how)
        finally:
            _close(world)


def run(*, quick: bool) -> list[Row]:
    """Rolling restarts, then the same with servers that are killed."""
    rounds = 1 if quick else 3
    rows = []
    for how, name in ((signal.SIGTERM, "rolling restart"), (signal.SIGKILL, "kill -9")):
        load, found = measure(rounds=rounds, how=how)
        note = (
            f"{name}: {2 * rounds} restarts in {found['seconds']:.0f} s under {CLIENTS} clients, {found['requests']:,} "
            f"requests, {len(load.answers)} queries answered, {len(load.jobs)} jobs taken, {found['done']} of them "
            f"done; the other jobs and {found['refused']} queries came after the end of the budget"
        )
        note += f"; lost: {load.lost[:3]}" if load.lost else ""
        promised = how == signal.SIGTERM
        goal = "= 0" if promised else "shown"
        rows += [
            Row(bar=f"{name}: requests lost", ours=len(load.lost), unit="requests", goal=goal, note=note),
            Row(bar=f"{name}: budget spent, of the total", ours=found["over"], unit="ratio", goal="<= 1"),
            Row(
                bar=f"{name}: most charges of one key", ours=found["most charges of a key"], unit="charges", goal="= 1"
            ),
            Row(bar=f"{name}: spent beyond the charges", ours=found["beyond"], unit="epsilon", goal="<= 1e-9"),
            Row(bar=f"{name}: jobs that failed though paid for", ours=found["failed"], unit="jobs", goal="= 0"),
            Row(bar=f"{name}: answers that changed", ours=found["changed"], unit="answers", goal="= 0"),
            Row(bar=f"{name}: acknowledged reports lost", ours=found["missing reports"], unit="reports", goal="= 0"),
            Row(bar=f"{name}: reports counted twice", ours=found["doubled reports"], unit="reports", goal="= 0"),
            Row(bar=f"{name}: reports nobody sent", ours=found["extra reports"], unit="reports", goal="= 0"),
            Row(bar=f"{name}: longest request", ours=load.longest, unit="s"),
        ]
    return rows
