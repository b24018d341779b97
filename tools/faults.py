"""Break the service while it works: `make faults [RUNS=300] [SEED=1]`.

A real server with its worker, on SQLite and on PostgreSQL. Each run does one kind of work (reports, queries, jobs, or
the deeds of an admin) while one fault happens at a random moment:

    kill      SIGKILL to the server and its worker, then a new start
    stop      SIGTERM: the server drains and ends in order, its worker hands its jobs back, then a new start
    away      the state database takes no connection (PostgreSQL) or is locked (SQLite) for a while
    full      no file may grow any more (SQLite)
    skew      the server's clock is off by up to ten years, for the time of the run
    slow      a crowd of clients sends one byte now and again; some of the work comes slowly too
    drop      clients hang up before they read the answer
    repeat    requests are sent several times, at once

Whatever has no answer is sent again, as a client would. Then these must hold:

    reports   each counted once, acknowledged or not
    budget    never over its total, never less than before; no key charged twice
    answers   the same bytes for the same key
    releases  whole, or not there
    deeds     what was acknowledged is there, once
    statuses  none of 500 or above but 503, which says that the state is away or full
    privacy   a text that only private rows hold is in no answer and no log

Everything random follows from the seed and the number of the run, which are printed: `make faults SEED=S RUN=N` repeats
one. Exit status 1 when something did not hold.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psycopg
import sqlalchemy as sa

from tacita.server.auth.tokens import Tokens
from tacita.store import Database

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # as a script: the root of the project
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer

PRIVATE = "zq8private"
SCHEMA = {
    "tacita": 1,
    "attributes": [
        {"name": "smokes", "kind": "categorical", "levels": ["never", "daily"]},
        {"name": "age", "kind": "numeric", "bounds": [0, 99], "bins": 5, "integer": True},
    ],
}
CAMPAIGN = {
    "title": "Faults",
    "schema": {"tacita": 1, "attributes": [{"kind": "boolean", "name": "smokes"}]},
    "tables": [["smokes"]],
    "epsilon": 1.0,
    "respondents": 100,
    "minimum": 1,
    "channel": "rr",
    "mode": "tables",
}
PARENT, OFFSET = "FAULTS_PARENT", "FAULTS_CLOCK_OFFSET"  # in the environment of the server
SECONDS = 120.0
"""How long anything may take before it counts as lost."""
BUSY = (429, 503)
"""Statuses after which a client tries again: a request whose client hung up may still hold a place."""


class Violation(Exception):
    """Something that must hold did not."""


def _serve(offset: float) -> None:
    """The server with a clock that is off: what a child process of this harness runs."""
    from tacita.server.run import serve
    from tacita.settings import Settings
    from tacita.store import clock

    os.environ[OFFSET] = str(offset)

    def skewed() -> Any:
        import datetime
        import os

        return datetime.datetime.now(datetime.UTC) + datetime.timedelta(
            seconds=float(os.environ["FAULTS_CLOCK_OFFSET"])
        )

    clock.now.__code__ = skewed.__code__  # everyone has imported it by name
    threading.Thread(target=_end_with, args=(int(os.environ[PARENT]),), daemon=True).start()
    serve(Settings.load(console=False))


def _end_with(parent: int) -> None:
    """End, with all that was started, when the harness is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os.killpg(0, signal.SIGKILL)


@dataclass
class Service:
    """A server process that can be broken and started again."""

    state: str
    folder: Path
    sources: int
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None
    token: str = ""

    def prepare(self) -> None:
        """Write the sources and make a token."""
        rows = [f"{'daily' if i % 3 == 0 else 'never'},{i % 90},{PRIVATE}{i}" for i in range(60)]
        for number in range(self.sources):
            rows[0] = f"never,{number % 90},{PRIVATE} of {number}"
            (self.folder / f"s{number}.csv").write_text("smokes,age,note\n" + "\n".join(rows) + "\n")
        named = {f"s{number}": {"path": str(self.folder / f"s{number}.csv")} for number in range(self.sources)}
        lines = [f'[sources.{name}]\npath = "{place["path"]}"' for name, place in named.items()]
        (self.folder / "tacita.toml").write_text(f'data_folders = ["{self.folder}"]\n' + "\n".join(lines) + "\n")
        database = Database(self.state)
        self.token = Tokens(database).issue(name="faults", role="admin").text
        database.close()

    def start(self, offset: float = 0.0) -> None:
        """Start it and wait until it is ready."""
        environment = os.environ | {
            "TACITA_CONFIG": str(self.folder / "tacita.toml"),
            "TACITA_PORT": str(self.port),
            "TACITA_HOME": str(self.folder / "home"),
            "TACITA_STATE": self.state,
            "TACITA_RATE_LIMIT": "0",
            "TACITA_ANONYMOUS_RATE_LIMIT": "0",
            "TACITA_JOB_STALE_SECONDS": "2",
            "TACITA_CLIENT_SECONDS": "2",
            "TACITA_DRAIN_SECONDS": "0.2",
            PARENT: str(os.getpid()),
        }
        command = [sys.executable, __file__, "--serve", str(offset)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, env=environment, stderr=log, stdout=log, start_new_session=True)
        until(self._is_ready, "the server starts")

    def _is_ready(self) -> bool:
        if self.process is None or self.process.poll() is not None:
            raise Violation("the server ended by itself: " + (self.folder / "log").read_text()[-2000:])
        try:
            return httpx.get(f"{self.url}/readyz", timeout=5).status_code == 200
        except httpx.HTTPError:
            return False

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """End it and its worker at once."""
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(SECONDS)
            self.process = None

    def stop(self) -> None:
        """End it in order."""
        if self.process is not None:
            self.process.terminate()
            if self.process.wait(SECONDS) != 0:
                raise Violation(f"the server ended with status {self.process.returncode}")
            self.kill()

    def processes(self) -> list[int]:
        """Ids of the server and what it has started."""
        if self.process is None:
            return []
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                if os.getpgid(int(entry.name)) == self.process.pid:
                    found.append(int(entry.name))
        return found


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for something that must happen."""
    deadline = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise Violation(f"not within {SECONDS:g} s: {what}")
        time.sleep(0.05)


# -- clients ---------------------------------------------------------------------------------------------------------


@dataclass
class Client:
    """Sends requests until each has an answer, badly where the run says so."""

    service: Service
    manner: str
    random_: random.Random
    statuses: Counter[int] = field(default_factory=Counter)

    def once(self, method: str, path: str, body: Any, key: str | None) -> httpx.Response | None:
        """One attempt; None where no answer came, or the server is busy with earlier ones."""
        headers = {"Authorization": f"Bearer {self.service.token}"} | ({"Idempotency-Key": key} if key else {})
        content = None if body is None else json.dumps(body).encode()
        if content is not None:
            headers["Content-Type"] = "application/json"
        try:
            if self.manner == "drop" and self.random_.random() < 0.5:
                self._hang_up(method, path, headers, content or b"")
                return None
            if self.manner == "slow" and content and self.random_.random() < 0.3:
                answer = httpx.request(
                    method, self.service.url + path, headers=headers, content=_slowly(content), timeout=30
                )
            else:
                answer = httpx.request(method, self.service.url + path, headers=headers, content=content, timeout=30)
        except httpx.HTTPError:
            return None
        self.statuses[answer.status_code] += 1
        if answer.status_code >= 500 and answer.status_code != 503:
            raise Violation(f"{method} {path} answered {answer.status_code}: {answer.text}")
        if PRIVATE in answer.text:
            raise Violation(f"{method} {path} shows a private value")
        return None if answer.status_code in BUSY else answer

    def send(self, method: str, path: str, body: Any = None, key: str | None = None) -> httpx.Response:
        """Send until it is answered."""
        deadline = time.monotonic() + SECONDS
        while (answer := self.once(method, path, body, key)) is None:
            if time.monotonic() > deadline:
                raise Violation(f"{method} {path} was never answered")
            time.sleep(0.05)
        return answer

    def _hang_up(self, method: str, path: str, headers: dict[str, str], content: bytes) -> None:
        lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Content-Length: {len(content)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        data = ("\r\n".join(lines) + "\r\n\r\n").encode() + content
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.service.port), 5) as connection:
            connection.sendall(data[: self.random_.choice((len(data), len(data), len(data) // 2))])


def _slowly(content: bytes) -> Iterator[bytes]:
    step = max(1, len(content) // 4)
    for start in range(0, len(content), step):
        yield content[start : start + step]
        time.sleep(0.05)


# -- work ------------------------------------------------------------------------------------------------------------


class Work:
    """One kind of work: requests to send, and what must hold afterwards.

    Args:
        client: How requests are sent.
        number: Of the run: names are made of it.
    """

    def __init__(self, client: Client, number: int) -> None:
        self.client, self.number = client, number

    def begin(self) -> None:
        """Make what the work is about, while all is well."""

    def requests(self) -> Sequence[Callable[[], None]]:
        """What is sent while the fault happens."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise where something does not hold."""
        raise NotImplementedError


class Reports(Work):
    """Batches of reports, some ids in several of them."""

    def begin(self) -> None:
        """Open a campaign and draw the batches."""
        self.campaign = self.client.send("POST", "/v1/campaigns", CAMPAIGN).json()["id"]
        random_ = self.client.random_
        ids = [random_.randbytes(16).hex() for _ in range(60)]
        self.batches = [random_.sample(ids, random_.randint(1, 8)) for _ in range(25)]

    def requests(self) -> Sequence[Callable[[], None]]:
        """One for each batch."""
        return [lambda batch=batch: self._send(batch) for batch in self.batches]  # type: ignore[misc]

    def _send(self, batch: list[str]) -> None:
        members = {"wire": 1, "campaign": self.campaign, "question": "q1", "answer": 1}
        body = {"reports": [members | {"report": id} for id in batch]}
        answer = self.client.send("POST", f"/v1/campaigns/{self.campaign}/reports", body)
        if answer.status_code not in (200, 409):
            raise Violation(f"reports answered {answer.status_code}: {answer.text}")

    def check(self) -> None:
        """Each id counts once."""
        wanted = len({id for batch in self.batches for id in batch})
        found = self.client.send("GET", f"/v1/campaigns/{self.campaign}").json()["received"]
        tally = self.client.send("GET", f"/v1/campaigns/{self.campaign}/tally").json()
        counted = {sum(counts) for counts in tally["counts"].values()}
        if found != wanted or len(tally["reports"]) != wanted or counted != {wanted}:
            raise Violation(f"{wanted} reports were sent, {found} counted, {len(tally['reports'])} known, {counted}")


class Paid(Work):
    """What is paid for: a dataset of the run's own."""

    total, each, number_of = 0.5, 0.1, 8  # more is asked for than there is

    def begin(self) -> None:
        """Register the dataset."""
        self.name = f"d{self.number}"
        body = {
            "name": self.name,
            "source": f"s{self.number}",
            "schema": SCHEMA,
            "unit": "row",
            "neighbours": "add-remove",
            "budget": {"epsilon": self.total},
        }
        made = self.client.send("POST", "/v1/datasets", body)
        if made.status_code not in (201, 409):
            raise Violation(f"registering answered {made.status_code}: {made.text}")
        self.answers: dict[str, bytes] = {}
        self.lowest = 0.0

    def spent(self) -> float:
        """What the account has lost."""
        found: float = self.client.send("GET", f"/v1/datasets/{self.name}/budget").json()["spent"]
        if found > self.total * (1 + 1e-9):
            raise Violation(f"{found} spent of {self.total}")
        if found < self.lowest - 1e-9:
            raise Violation(f"{found} spent after {self.lowest}")
        self.lowest = found
        return found


class Queries(Paid):
    """Queries with keys, more than the budget allows; each asks something of its own."""

    def requests(self) -> Sequence[Callable[[], None]]:
        """Each key twice."""
        self.cost = {f"r{self.number}k{i}": self.each + i / 10_000 for i in range(self.number_of)}
        return [lambda key=key: self._ask(key) for key in [*self.cost] * 2]  # type: ignore[misc]

    def _ask(self, key: str) -> None:
        body = {"tables": [["smokes"]], "budget": {"epsilon": self.cost[key]}}
        answer = self.client.send("POST", f"/v1/datasets/{self.name}/query", body, key=key)
        if answer.status_code not in (200, 403, 409):
            raise Violation(f"a query answered {answer.status_code}: {answer.text}")
        if answer.status_code == 200 and self.answers.setdefault(key, answer.content) != answer.content:
            raise Violation(f"the key {key} was answered in two ways")

    def check(self) -> None:
        """All answers stay, and each key was charged at most once."""
        before = dict(self.answers)
        for key in before:
            self._ask(key)
        spent, paid = self.spent(), sum(self.cost[key] for key in before)
        if spent < paid - 1e-6:
            raise Violation(f"answers that cost {paid} for {spent}")
        found = self.client.send("GET", f"/v1/datasets/{self.name}/charges?limit=1000").json()
        keys = Counter(charge["key"] for charge in found["charges"])
        if len(before) > len(keys) or len(keys) > self.number_of or max(keys.values(), default=0) > 1:
            raise Violation(f"{len(before)} answers and {len(keys)} charges for {self.number_of} keys: {keys}")


class Releases(Paid):
    """Synthetic rows as jobs, with keys."""

    number_of, rows = 3, 500

    def requests(self) -> Sequence[Callable[[], None]]:
        """Each key twice."""
        self.jobs: dict[str, str] = {}
        return [lambda i=i: self._submit(f"r{self.number}j{i}") for i in [*range(self.number_of)] * 2]  # type: ignore[misc]

    def _submit(self, key: str) -> None:
        body = {"dataset": self.name, "budget": {"epsilon": self.each}, "method": "independent", "rows": self.rows}
        answer = self.client.send("POST", "/v1/releases/synthetic", body, key=key)
        if answer.status_code != 202:
            raise Violation(f"a release answered {answer.status_code}: {answer.text}")
        if self.jobs.setdefault(key, answer.json()["id"]) != answer.json()["id"]:
            raise Violation(f"the key {key} began two jobs")
        self._rows(self.jobs[key])

    def _rows(self, job: str) -> bytes | None:
        """The rows, whole or not there."""
        answer = self.client.send("GET", f"/v1/releases/{job}/rows")
        if answer.status_code in (404, 409):
            return None
        if answer.status_code != 200 or answer.content.count(b"\n") != self.rows + 1:
            raise Violation(f"rows answered {answer.status_code} with {answer.content.count(chr(10).encode())} lines")
        return answer.content

    def check(self) -> None:
        """All jobs end; what is there is whole, stays, and was charged once."""
        ended = ("done", "failed", "cancelled")
        for job in self.jobs.values():
            until(lambda job=job: self._state(job) in ended, f"the job {job} ends")  # type: ignore[misc]
        done = [job for job in self.jobs.values() if self._state(job) == "done"]
        first = [self._rows(job) for job in done]
        if None in first or first != [self._rows(job) for job in done]:
            raise Violation("the rows of a job that is done are missing or change")
        spent = self.spent()
        if not self.each * len(done) - 1e-9 <= spent <= self.each * len(self.jobs) + 1e-9:
            raise Violation(f"{len(done)} of {len(self.jobs)} releases for {spent}")

    def _state(self, job: str) -> str:
        found: str = self.client.send("GET", f"/v1/jobs/{job}").json()["state"]
        return found


class Deeds(Work):
    """Tokens and campaigns that an admin makes."""

    def begin(self) -> None:
        """Nothing was done yet."""
        self.made: set[str] = set()
        self.names = [f"run {self.number} token {i}" for i in range(10)]

    def requests(self) -> Sequence[Callable[[], None]]:
        """One for each token."""
        return [lambda name=name: self._make(name) for name in self.names]  # type: ignore[misc]

    def _make(self, name: str) -> None:
        answer = self.client.send("POST", "/v1/tokens", {"name": name, "role": "analyst"})
        if answer.status_code != 201:
            raise Violation(f"a token answered {answer.status_code}: {answer.text}")
        self.made.add(answer.json()["id"])

    def check(self) -> None:
        """What was acknowledged is there, and in the audit log once."""
        known = {token["id"] for token in self.client.send("GET", "/v1/tokens").json()}
        page = self.client.send("GET", "/v1/audit?limit=1000&kind=token-made").json()
        lines = Counter(json.dumps(entry) for entry in page["events"])
        if not self.made <= known:
            raise Violation(f"acknowledged tokens are gone: {self.made - known}")
        for id in self.made:
            if sum(count for line, count in lines.items() if f'"{id}"' in line) != 1:
                raise Violation(f"the token {id} is not in the audit log once")


WORKS: tuple[type[Work], ...] = (Reports, Queries, Releases, Deeds)
FAULTS = {
    "sqlite": ("kill", "stop", "away", "full", "skew", "slow", "drop", "repeat"),
    "postgres": ("kill", "stop", "away", "skew", "slow", "drop", "repeat"),
}


# -- faults ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _broken(fault: str, service: Service, random_: random.Random) -> Iterator[None]:
    """Let a fault happen while the block runs; all is well again afterwards."""
    moment = random_.uniform(0, 0.6)
    if fault == "skew":
        service.kill()
        service.start(offset=random_.choice((-1, 1)) * random_.choice((3600, 86_400, 3.15e8)))
        yield
        service.kill()
        service.start()
        return
    happen = {
        "kill": _kill,
        "stop": _stop,
        "away": _locked if service.state.startswith("sqlite") else _unreachable,
        "full": _full,
        "slow": _crowd,
    }.get(fault)
    failed: list[BaseException] = []

    def later() -> None:
        time.sleep(moment)
        try:
            if happen is not None:
                happen(service)
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=later)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if failed:
        raise failed[0]


def _kill(service: Service) -> None:
    service.kill()
    service.start()


def _stop(service: Service) -> None:
    service.stop()
    service.start()


def _locked(service: Service) -> None:
    """Another process holds the file."""
    connection = sqlite3.connect(service.state.removeprefix("sqlite:///"), timeout=30, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    time.sleep(1)
    connection.execute("ROLLBACK")
    connection.close()


def _unreachable(service: Service) -> None:
    """The database lets nobody in, and ends those who are."""
    url = sa.make_url(service.state)
    name = url.database
    with psycopg.connect(url.set(database="postgres").render_as_string(False), autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false')  # type: ignore[arg-type]
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
        time.sleep(1)
        connection.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true')  # type: ignore[arg-type]


def _full(service: Service) -> None:
    """No file of the server may grow: writing fails as on a full disk."""
    processes = service.processes()
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    time.sleep(1)
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _crowd(service: Service) -> None:
    """Clients that send a byte now and again."""
    with contextlib.ExitStack() as stack:
        crowd = []
        for _ in range(50):
            with contextlib.suppress(OSError):
                connection = socket.create_connection(("127.0.0.1", service.port), 5)
                crowd.append(stack.enter_context(connection))
                connection.sendall(b"POST /v1/tokens HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n")
        for _ in range(5):
            for connection in crowd:
                with contextlib.suppress(OSError):
                    connection.sendall(b"X")
            time.sleep(0.2)


# -- runs ------------------------------------------------------------------------------------------------------------


def one_run(service: Service, store: str, seed: int, number: int) -> str:
    """Work, break, check; what was done, in words."""
    random_ = random.Random(f"{seed} {number}")
    kind, fault = random_.choice(WORKS), random_.choice(FAULTS[store])
    client = Client(service, "ordinary", random_)
    work = kind(client, number)
    work.begin()
    requests = list(work.requests()) * (3 if fault == "repeat" else 1)
    random_.shuffle(requests)
    client.manner = fault if fault in ("slow", "drop") else "ordinary"
    with _broken(fault, service, random_), ThreadPoolExecutor(4) as senders:
        for sent in [senders.submit(request) for request in requests]:
            sent.result()
    client.manner = "ordinary"
    work.check()
    if PRIVATE.encode() in (service.folder / "log").read_bytes():
        raise Violation("a private value is in the log")
    return f"{kind.__name__.lower()} under {fault}"


def run(
    stores: Sequence[str], *, runs: int, seed: int, only: int | None = None, say: Callable[[str], None] = print
) -> list[str]:
    """Break services on each store; what did not hold."""
    violations: list[str] = []
    done: Counter[str] = Counter()
    numbers = range(runs) if only is None else [only]
    with contextlib.ExitStack() as stack:
        for place, store in enumerate(stores):
            mine = [number for number in numbers if number % len(stores) == place]
            if not mine:
                continue
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            state = f"sqlite:///{folder}/state.db"
            if store == "postgres":
                state = stack.enter_context(PostgresServer(fsync=True)).create_database()
            service = Service(state=state, folder=folder, sources=max(mine) + 1)
            service.prepare()
            try:
                service.start()
                for number in mine:
                    try:
                        what = f"{store}: {one_run(service, store, seed, number)}"
                        done[what] += 1
                        say(f"run {number} held: {what}")
                    except Violation as violation:
                        violations.append(str(violation))
                        say(f"VIOLATION in run {number} of seed {seed} on {store}: {violation}")
                        say(f"  repeat: make faults SEED={seed} RUN={number}")
                        service.kill()
                        service.start()
            finally:
                service.kill()
    for what, times in sorted(done.items()):
        say(f"{times:4} x {what}")
    say(f"{sum(done.values())} runs held, {len(violations)} did not, seed {seed}")
    return violations


def main(arguments: list[str]) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description="Break the service while it works.")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--run", type=int, default=None, help="only this one")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--store", choices=("sqlite", "postgres"), default=None)
    parser.add_argument("--serve", type=float, default=None, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.serve is not None:
        _serve(chosen.serve)
        return 0
    seed = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    say = partial(print, flush=True)
    stores = ("sqlite", "postgres") if chosen.store is None else (chosen.store,)
    return bool(run(stores, runs=chosen.runs, seed=seed, only=chosen.run, say=say))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
