"""Whether the service answers while analysts do their worst: hostile plans beside `/healthz` and respondents.

A real server process on loopback. Twelve plans are sent again and again, each abandoned after two seconds; some are
refused by their estimate, some computed until their client has gone. Meanwhile a prober asks for `/healthz`, the
questions of a campaign and its page, and measures how long each answer takes.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from bench.ingest import Server, _campaign
from bench.rows import Row
from tacita.server.auth.tokens import Tokens
from tacita.store import Database

PLANS, ANALYSTS = 12, 4


def _plan(attributes: int, levels: int) -> dict[str, Any]:
    names = [f"a{i}" for i in range(attributes)]
    return {
        "schema": {
            "attributes": [
                {"name": name, "kind": "categorical", "levels": [str(i) for i in range(levels)]} for name in names
            ]
        },
        "tables": [[a, b] for a in names for b in names if a < b],
        "epsilon": 1.0,
        "respondents": 100_000,
    }


HOSTILE = [_plan(20, 8), _plan(8, 4), _plan(6, 4)]


def _attack(port: int, token: str, number: int, stop: threading.Event, statuses: list[int]) -> None:
    body = json.dumps(HOSTILE[number % len(HOSTILE)])
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    while not stop.is_set():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        with contextlib.suppress(OSError):  # hung up
            connection.request("POST", "/v1/campaigns/plan", body, headers)
            statuses.append(connection.getresponse().status)
            stop.wait(0.2)
        connection.close()


def _probe(port: int, path: str) -> float:
    started = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    assert answer.status == 200, (path, answer.status)
    return 1000 * (time.perf_counter() - started)


def run(*, quick: bool) -> list[Row]:
    """One server on SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(f"sqlite:///{folder}/state.db", Path(folder))
        server.start()
        try:
            return _rows(server, 5.0 if quick else 30.0)
        finally:
            server.kill(signal.SIGTERM)


def _rows(server: Server, seconds: float) -> list[Row]:
    campaign = _campaign(server)
    database = Database(server.state)
    tokens = [Tokens(database).issue(name=f"analyst {i}", role="analyst").text for i in range(ANALYSTS)]
    database.close()
    paths = {"/healthz": "/healthz", "questions": f"/v1/campaigns/{campaign}/questions", "page": f"/{campaign}"}
    stop = threading.Event()
    statuses: list[int] = []
    attackers = [
        threading.Thread(target=_attack, args=(server.port, tokens[i % ANALYSTS], i, stop, statuses))
        for i in range(PLANS)
    ]
    for attacker in attackers:
        attacker.start()
    taken: dict[str, list[float]] = {name: [] for name in paths}
    begun = time.perf_counter()
    try:
        while time.perf_counter() - begun < seconds:
            for name, path in paths.items():
                taken[name].append(_probe(server.port, path))
            time.sleep(0.02)
    finally:
        stop.set()
        for attacker in attackers:
            attacker.join()
    answered = {status: statuses.count(status) for status in sorted(set(statuses))}
    note = f"{PLANS} clients with hostile plans, hung up after 2 s; answers {answered}"
    rows = [
        Row(
            bar=f"p95 of {name} under hostile plans",
            ours=statistics.quantiles(times, n=20)[-1],
            unit="ms",
            goal="< 100",
            note=note,
        )
        for name, times in taken.items()
    ]
    return [*rows, Row(bar="5xx among the plans", ours=sum(s >= 500 for s in statuses), unit="answers", goal="= 0")]
