"""200 respondents at once against one server process: none lost, none doubled, and nobody waits.

A real `tacita serve` process on loopback with SQLite, and the respondents as coroutines in this one, so both cores are
shared by server and load. All 200 begin in the same moment and never pause to think, which people do: each fetches the
questions, sends the report that a device made of them, and in one of ten cases sends it once more, as a page does that
had no answer. Then the next 200 come. The first 200 of a new server, and opening the page with all its files (which a
browser does once), are shown by themselves.
"""

from __future__ import annotations

import asyncio
import json
import math
import signal
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from bench.ingest import Server
from bench.rows import Row
from tacita.client.client import Client
from tacita.collect.device.device import Device
from tacita.domain import Categorical, Domain
from tacita.server.auth.tokens import Tokens
from tacita.server.respond.files import load
from tacita.store import Database

RESPONDENTS = 200
GOAL = "< 300"
DOMAIN = Domain(
    attributes=[
        Categorical(name="smokes", levels=["never", "sometimes", "daily"]),
        Categorical(name="age", levels=["under 30", "30 to 60", "over 60"]),
    ]
)
ANSWER = {"smokes": "daily", "age": "over 60"}


class Visitor:
    """One respondent's connection."""

    def __init__(self, port: int, times: dict[str, list[float]]) -> None:
        self._port, self._times = port, times

    async def __aenter__(self) -> Visitor:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, kind: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        """One request, timed from its first byte to the last of the answer."""
        head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        started = time.perf_counter()
        self._writer.write(head.encode() + b"\r\n" + (body or b""))
        answer = await self._reader.readuntil(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in answer.split(b"\r\n")[1:-2])
        content = await self._reader.readexactly(int(fields[b"content-length"]))
        self._times[kind].append(1000 * (time.perf_counter() - started))
        return int(answer[9:12]), content


def p95(times: list[float]) -> float:
    """The time within which 95 of 100 were answered."""
    return sorted(times)[math.ceil(0.95 * len(times)) - 1]


def run(*, quick: bool) -> list[Row]:
    """One server, several crowds."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(f"sqlite:///{folder}/state.db", Path(folder))
        server.start()
        try:
            return _rows(server, Path(folder), crowds=2 if quick else 10)
        finally:
            server.kill(signal.SIGTERM)


def _rows(server: Server, folder: Path, crowds: int) -> list[Row]:
    database = Database(server.state)
    token = Tokens(database).issue(name="bench", role="admin").text
    database.close()
    with Client(f"http://127.0.0.1:{server.port}", token) as client:
        parts = {"title": "bench", "epsilon": 1.0, "respondents": 1000, "minimum": 1, "channel": "rr"}
        campaign = client.create_campaign(DOMAIN, [["smokes", "age"]], mode="tables", **parts).id
        times: dict[str, list[float]] = defaultdict(list)
        problems: list[int] = []
        cold, *bodies = [_bodies(client, campaign, folder / str(crowd)) for crowd in range(crowds + 1)]
        first: dict[str, list[float]] = defaultdict(list)
        problems += asyncio.run(_crowd(server.port, campaign, cold, first))
        before = server.cpu()
        for crowd in bodies:
            problems += asyncio.run(_crowd(server.port, campaign, crowd, times))
        used = server.cpu() - before
        asyncio.run(_openings(server.port, campaign, times))
        received = client.campaign(campaign).received
    sent = (crowds + 1) * RESPONDENTS
    note = f"{crowds} crowds of {RESPONDENTS} who begin at once and never pause; load generator on the same cores"
    both = times["questions"] + times["report"]
    return [
        Row(bar="reports lost", ours=max(sent - received, 0), unit="reports", goal="= 0", note=f"{sent} sent"),
        Row(bar="reports doubled", ours=max(received - sent, 0), unit="reports", goal="= 0"),
        Row(bar="requests refused", ours=len(problems), unit="requests", goal="= 0"),
        Row(bar="p95 of questions and reports", ours=p95(both), unit="ms", goal=GOAL, note=note),
        Row(bar="p95 of fetching the questions", ours=p95(times["questions"]), unit="ms", goal=GOAL, note=note),
        Row(bar="p95 of sending the report", ours=p95(times["report"]), unit="ms", goal=GOAL, note=note),
        Row(bar="p95 of the first crowd of a new server", ours=p95(first["questions"] + first["report"]), unit="ms"),
        Row(bar="p95 of a file, when all open the page for the first time", ours=p95(times["page"]), unit="ms"),
        Row(bar="page with all its files", ours=sum(len(file) for file, _ in load().content.values()), unit="bytes"),
        Row(bar="server's CPU for a respondent", ours=1000 * used / (crowds * RESPONDENTS), unit="cpu_ms"),
    ]


def _bodies(client: Client, campaign: str, folder: Path) -> list[bytes]:
    """A report for each of a crowd, from a device of its own; made beforehand: people have their own machine."""
    folder.mkdir()
    bodies = []
    for number in range(RESPONDENTS):
        device = Device(
            service="https://survey.example",
            ledger_path=folder / str(number),
            limit_total_epsilon=2.0,
            limit_question_epsilon=2.0,
        )
        sheet = device.answer_sheet(client.questions(campaign), ANSWER)
        bodies.append(json.dumps({"reports": [report.to_dict() for report, _ in sheet]}).encode())
    return bodies


async def _crowd(port: int, campaign: str, bodies: list[bytes], times: dict[str, list[float]]) -> list[int]:
    """All at once; the statuses that nobody should see."""
    ready = asyncio.Barrier(len(bodies))

    async def answer(number: int, body: bytes) -> list[int]:
        async with Visitor(port, times) as visitor:
            await ready.wait()
            statuses = [(await visitor.ask("questions", f"/v1/campaigns/{campaign}/questions"))[0]]
            path = f"/v1/campaigns/{campaign}/reports"
            statuses.append((await visitor.ask("report", path, body))[0])
            if number % 10 == 0:
                again, _ = await visitor.ask("report", path, body)
                statuses.append(200 if again == 409 else again)  # it had counted before
            return [status for status in statuses if status != 200]

    found = await asyncio.gather(*(answer(*one) for one in enumerate(bodies)))
    return [status for statuses in found for status in statuses]


async def _openings(port: int, campaign: str, times: dict[str, list[float]]) -> None:
    """All open the page for the first time, each over six connections, as browsers do."""
    paths = [f"/{campaign}", *(f"/respond/{load().version}/{name}" for name in load().content)]

    async def connection(part: int) -> None:
        async with Visitor(port, times) as visitor:
            for path in paths[part::6]:
                await visitor.ask("page", path)

    await asyncio.gather(*(connection(part) for _ in range(RESPONDENTS) for part in range(6)))
