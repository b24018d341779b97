"""Reports over HTTP, durable before they are acknowledged: single posts and batches, on an empty campaign and on one
that holds a million reports, killed in the middle.

A real server process on loopback, with SQLite and with PostgreSQL (fsync on). The senders are bare sockets with
requests built beforehand, so that they take as little of the machine as they can; still they share it, so the rate
by the server's own CPU time stands beside the rate by the clock. Half-way through another run the server is killed with
SIGKILL and started again, and the senders send what they have no answer for; then what was counted is compared with
what was sent.

The cost of a report must not depend on how many a campaign holds already: the same requests go to an empty campaign and
to a full one, in turns, and the CPU time of the server and of its database is compared.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import secrets
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from tests.support.postgres import PostgresServer

from bench.rows import Row
from tacita.client.client import Client
from tacita.collect.campaigns.intake import add_counts
from tacita.collect.campaigns.seen import SeenReports
from tacita.domain import Categorical, Domain
from tacita.server.auth.tokens import Tokens
from tacita.store import Database

DOMAIN = Domain(attributes=[Categorical(name="x", levels=[f"level {i}" for i in range(8)])])
SINGLE_SENDERS, BATCH_SENDERS = 200, 4
BATCH, LARGE_BATCH = 1000, 10_000
HELD = 1_000_000


@dataclass
class Server:
    """A server process at one place, which can be killed and started again."""

    state: str
    folder: Path
    postmaster: int | None = None
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        if not self.port:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", 0))
                self.port = int(probe.getsockname()[1])
        environment = os.environ | {
            "TACITA_PORT": str(self.port),
            "TACITA_HOME": str(self.folder / "home"),
            "TACITA_STATE": self.state,
            "TACITA_WORKER": "false",
            "TACITA_ANONYMOUS_RATE_LIMIT": "0",
        }
        with (self.folder / "server.log").open("ab") as log:
            self.process = subprocess.Popen([sys.executable, "-m", "tacita.server.run"], env=environment, stderr=log)
        for _ in range(600):
            with contextlib.suppress(OSError):
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return
            time.sleep(0.05)
        raise RuntimeError((self.folder / "server.log").read_text())

    def kill(self, how: int = signal.SIGKILL) -> None:
        """End it, and wait until it is gone."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(30)
            self.process = None

    def cpu(self) -> float:
        """CPU seconds that it has used."""
        assert self.process is not None
        return sum(_ticks(self.process.pid)[:2]) / os.sysconf("SC_CLK_TCK")

    def cpu_with_database(self) -> float:
        """CPU seconds that it and its database have used."""
        ticks = 0
        if self.postmaster is not None:
            ticks = sum(_ticks(self.postmaster)[:4])  # those of processes that have ended too
            for entry in Path("/proc").iterdir():
                with contextlib.suppress(OSError, IndexError):
                    if entry.name.isdigit() and _parent(int(entry.name)) == self.postmaster:
                        ticks += sum(_ticks(int(entry.name))[:2])
        return self.cpu() + ticks / os.sysconf("SC_CLK_TCK")


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def _parent(pid: int) -> int:
    return int(_stat(pid)[1])


def _ticks(pid: int) -> list[int]:
    """Own and waited-for children's time of a process, in user and kernel mode."""
    return [int(field) for field in _stat(pid)[11:15]]


@dataclass
class Sending:
    """Requests over several connections, each sent once, until they are through or the server is gone.

    One thread serves all connections: a thread for each would be woken for every answer, which costs the server more
    than the answer itself.
    """

    ports: Sequence[int]
    waiting: Iterator[tuple[int, bytes]]
    answered: set[int] = field(default_factory=set)

    def run(self, senders: int) -> float:
        """Send everything; how many seconds it took."""
        started = time.perf_counter()
        with selectors.DefaultSelector() as selector:
            for number in range(senders):
                self._next(selector, _Sender(self.ports[number % len(self.ports)]))
            while selector.get_map():
                for key, _ in selector.select():
                    self._go_on(selector, key.data)
        return time.perf_counter() - started

    def _next(self, selector: selectors.BaseSelector, sender: _Sender) -> None:
        number, request = next(self.waiting, (-1, b""))
        if number < 0:
            self._end(selector, sender)
            return
        sender.number, sender.left, sender.answer = number, memoryview(request), b""
        self._write(selector, sender)

    def _go_on(self, selector: selectors.BaseSelector, sender: _Sender) -> None:
        try:
            if sender.left:
                self._write(selector, sender)
            elif (status := sender.read()) is not None:
                if status in (200, 409):  # 409: it had counted before
                    self.answered.add(sender.number)
                self._next(selector, sender)
        except OSError:
            self._end(selector, sender)

    def _write(self, selector: selectors.BaseSelector, sender: _Sender) -> None:
        with contextlib.suppress(BlockingIOError):
            sender.left = sender.left[sender.socket.send(sender.left) :]
        wanted = selectors.EVENT_WRITE if sender.left else selectors.EVENT_READ
        change = selector.modify if sender.socket in selector.get_map() else selector.register
        change(sender.socket, wanted, sender)

    def _end(self, selector: selectors.BaseSelector, sender: _Sender) -> None:
        if sender.socket in selector.get_map():
            selector.unregister(sender.socket)
        sender.socket.close()


class _Sender:
    """One connection: the request that is on its way, and what has come of its answer."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.number, self.left, self.answer = -1, memoryview(b""), b""

    def read(self) -> int | None:
        """The status of the answer, when it is there to its end."""
        part = self.socket.recv(65536)
        if not part:
            raise ConnectionError
        self.answer += part
        head, end, body = self.answer.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head.lower())
        if not end or length is None or len(body) < int(length[1]):
            return None
        return int(head[9:12])


def _request(campaign: str, body: bytes, media: str = "application/json") -> bytes:
    head = f"POST /v1/campaigns/{campaign}/reports HTTP/1.1\r\nHost: x\r\nContent-Type: {media}\r\n"
    return head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


def json_request(campaign: str, size: int) -> bytes:
    members = {"wire": 1, "campaign": campaign, "question": "q1", "answer": 3}
    return _request(
        campaign, json.dumps({"reports": [members | {"report": secrets.token_hex(16)} for _ in range(size)]}).encode()
    )


def packed_request(campaign: str, size: int) -> bytes:
    rows = b"".join(secrets.token_bytes(16) + (3).to_bytes(4, "little") for _ in range(size))
    return _request(campaign, b"TCR1\x02q1" + rows, "application/vnd.tacita.reports")


def run(*, quick: bool) -> list[Row]:
    """Both stores."""
    rows = []
    with tempfile.TemporaryDirectory() as folder, PostgresServer(fsync=True) as postgres:
        urls = {"SQLite": f"sqlite:///{folder}/state.db", "PostgreSQL": postgres.create_database()}
        for store, url in urls.items():
            place = Path(folder) / store
            place.mkdir()
            server = Server(url, place, postmaster=postgres.pid if store == "PostgreSQL" else None)
            server.start()
            try:
                rows += _held(store, server, quick)
                rows += _rows(store, [server], quick)
                rows += _killed(store, server, quick)
                if store == "PostgreSQL":
                    rows += _several(store, server, quick)
            finally:
                server.kill(signal.SIGTERM)
    return rows


def open_campaign(server: Server) -> str:
    database = Database(server.state)
    token = Tokens(database).issue(name="bench", role="admin").text
    database.close()
    with Client(f"http://127.0.0.1:{server.port}", token) as client:
        made = client.create_campaign(
            DOMAIN, [["x"]], title="bench", epsilon=1.0, respondents=1000, minimum=1, channel="rr"
        )
    return made.id


def _received(server: Server, campaign: str) -> int:
    database = Database(server.state)
    token = Tokens(database).issue(name="bench", role="admin").text
    database.close()
    with Client(f"http://127.0.0.1:{server.port}", token) as client:
        return client.campaign(campaign).received


def fill(server: Server, campaign: str, size: int) -> None:
    """Put reports into a campaign in bulk, as intake would have."""
    database, seen = Database(server.state), SeenReports()
    for _ in range(0, size, 100_000):
        with database.writing() as connection:
            seen.remember(connection, campaign, {secrets.token_bytes(16) for _ in range(100_000)})
            add_counts(connection, campaign, "q1", np.full(8, 12_500), 100_000)
    database.close()


def _held(store: str, server: Server, quick: bool) -> list[Row]:
    """The same requests to an empty campaign and to one that holds a million reports, in turns."""
    held = HELD // 10 if quick else HELD
    full = open_campaign(server)
    fill(server, full, held)
    turns, singles, batches = (2, 300, 5) if quick else (5, 1000, 10)
    kinds = {
        "a single post": (SINGLE_SENDERS, singles, lambda id: json_request(id, 1)),
        f"a packed batch of {LARGE_BATCH}": (BATCH_SENDERS, batches, lambda id: packed_request(id, LARGE_BATCH)),
    }
    rows = []
    for name, (senders, count, make) in kinds.items():
        used = {"empty": 0.0, "full": 0.0}
        for turn in range(turns + 1):
            for place, id in (("empty", open_campaign(server)), ("full", full)):
                requests = [make(id) for _ in range(count)]
                before = server.cpu_with_database()
                sending = Sending([server.port], iter(enumerate(requests)))
                sending.run(senders)
                assert len(sending.answered) == count
                if turn:  # the first warms up
                    used[place] += server.cpu_with_database() - before
        each = {place: 1000 * seconds / (turns * count) for place, seconds in used.items()}
        bar = f"{store}: CPU of {name}, {held:,} reports held against none"
        note = "server and database together; each turn to a new campaign and to the full one"
        rows.append(
            Row(bar=bar, ours=each["full"], peer=each["empty"], peer_name="empty", unit="ms", goal="<= 1.3", note=note)
        )
    return rows


def _several(store: str, server: Server, quick: bool) -> list[Row]:
    """Two server processes on one database, as behind a balancer: each has a core of its own."""
    place = server.folder / "second"
    place.mkdir()
    second = Server(server.state, place)
    second.start()
    try:
        return _rows(f"{store}, 2 processes", [server, second], quick)
    finally:
        second.kill(signal.SIGTERM)


def _rows(store: str, servers: Sequence[Server], quick: bool) -> list[Row]:
    """Rates of single posts and batches."""
    campaign = open_campaign(servers[0])
    singles, batches = (1000, 20) if quick else (20_000, 400)
    kinds = [
        ("single posts", singles, SINGLE_SENDERS, lambda: json_request(campaign, 1), 1),
        (f"JSON batches of {BATCH}", batches, BATCH_SENDERS, lambda: json_request(campaign, BATCH), BATCH),
        (f"packed batches of {BATCH}", batches, BATCH_SENDERS, lambda: packed_request(campaign, BATCH), BATCH),
        (
            f"packed batches of {LARGE_BATCH}",
            batches // 4,
            4,
            lambda: packed_request(campaign, LARGE_BATCH),
            LARGE_BATCH,
        ),
    ]
    goals = {"single posts": ">= 4000", f"packed batches of {LARGE_BATCH}": ">= 100000"}
    rows, sent = [], 0
    for name, count, senders, make, size in kinds:
        requests = [make() for _ in range(count)]
        before = sum(server.cpu() for server in servers)
        sending = Sending([server.port for server in servers], iter(enumerate(requests)))
        seconds = sending.run(senders)
        used = sum(server.cpu() for server in servers) - before
        reports = size * len(sending.answered)
        sent += reports
        note = f"loopback, senders on the same cores: {SINGLE_SENDERS} of single posts, {BATCH_SENDERS} of batches"
        rows += [
            Row(
                bar=f"{store}: {name}, by the clock",
                ours=reports / seconds,
                unit="reports/s",
                goal=goals.get(name, "shown") if len(servers) > 1 else "shown",  # on two idle cores
                note=note,
            ),
            Row(bar=f"{store}: {name}, by the server's CPU", ours=reports / used, unit="reports/CPU s"),
        ]
    rows.append(
        Row(
            bar=f"{store}: acknowledged reports not counted once",
            ours=_received(servers[0], campaign) - sent,
            unit="reports",
            goal="= 0",
        )
    )
    return rows


def _killed(store: str, server: Server, quick: bool) -> list[Row]:
    """The server dies half-way; afterwards every report that was ever sent must count once, acknowledged or not."""
    singles, batches = (1000, 20) if quick else (8000, 200)
    campaign = open_campaign(server)
    requests = [json_request(campaign, 1) for _ in range(singles)] + [
        packed_request(campaign, BATCH) for _ in range(batches // 4)
    ]
    sizes = [1] * singles + [BATCH] * (batches // 4)
    secrets.SystemRandom().shuffle(order := list(range(len(requests))))
    sending = Sending([server.port], iter([(n, requests[n]) for n in order]))
    worker = threading.Thread(target=lambda: sending.run(16))
    worker.start()
    while len(sending.answered) < len(requests) // 2:
        time.sleep(0.001)
    server.kill()
    worker.join()
    acknowledged = set(sending.answered)
    server.start()
    counted = _received(server, campaign)
    lost = max(0, sum(sizes[n] for n in acknowledged) - counted)
    left = [n for n in range(len(requests)) if n not in acknowledged] + sorted(acknowledged)[:50]  # some once more
    Sending([server.port], iter([(n, requests[n]) for n in left])).run(16)
    note = f"killed with SIGKILL after {len(acknowledged)} of {len(requests)} requests, then all the others were sent"
    return [
        Row(bar=f"{store}: acknowledged reports lost by a kill", ours=lost, unit="reports", goal="= 0", note=note),
        Row(
            bar=f"{store}: reports missing or counted twice in the end",
            ours=abs(_received(server, campaign) - sum(sizes)),
            unit="reports",
            goal="= 0",
        ),
    ]
