"""Fuzz the REST interface: `make fuzz [REQUESTS=50000] [SEED=1] [ONLY=operation]`.

A server inside this process, on SQLite and on PostgreSQL, is seeded with what requests are about: datasets, policies,
jobs, releases, models, tokens, and campaigns in every state. Requests come from three places: schemathesis makes them
from the OpenAPI document, valid and invalid; templates are requests that work; and both are mutated with values that
break parsers and databases. Every request is sent with every role. Ids are mostly those of things that exist.

What must hold for every answer:

    no fault        no status of 500 or above
    one shape       every error is a problem document
    no private row  a text that only private rows hold is in no answer

Everything follows from the seed, which is printed; a failure prints the line that repeats it. Exit status 1 when there
was one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio.from_thread
import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as hypothesis_seed
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from tacita.server.app import create_app
from tacita.server.http import logs
from tacita.server.jobs.worker import load_kinds
from tacita.server.services import Services
from tacita.settings import Settings

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # as a script: the root of the project
from tests.support.postgres import PostgresServer

PRIVATE = "zq8private"
"""Part of values that only private rows hold."""
ROLES = ("admin", "steward", "analyst", "holder", "scoped", "anonymous")
SCHEMA: dict[str, Any] = {
    "tacita": 1,
    "attributes": [
        {"name": "smokes", "kind": "categorical", "levels": ["never", "daily"]},
        {"name": "age", "kind": "numeric", "bounds": [0, 99], "bins": 5, "integer": True},
    ],
}
HOSTILE: list[Any] = [
    None,
    True,
    0,
    -1,
    1 << 31,
    (1 << 53) + 1,
    (1 << 63) - 1,
    1 << 63,
    10**40,
    1e308,
    5e-324,
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "\U0001f600",
    "..",
    "../../etc/passwd",
    "%00",
    "'; DROP TABLE tokens; --",
    "{{7*7}}",
    "x" * 5000,
    "9999-12-31T23:59:59-12:00",
    "0001-01-01T00:00:00+14:00",
    [],
    {},
    [[]],
    [None],
    {"": None},
    [["smokes", "smokes"]],
    ["smokes"] * 50,
]
RAW = [
    b"",
    b"null",
    b"[" * 5000,
    b'{"a":' * 5000,
    b"\xff\xfe",
    b'{"a": NaN}',
    b'{"a": 1e999}',
    b"{",
    b'"\\ud800"',
    b"\0",
]
MEDIA = ["application/json", "text/csv", "application/vnd.apache.parquet", "application/vnd.tacita.reports", "x/y", ""]


@dataclass
class World:
    """A seeded server, and what is in it."""

    services: Services
    send: Callable[..., httpx.Response]
    spec: dict[str, Any]
    tokens: dict[str, str | None]
    ids: dict[str, list[str]] = field(default_factory=dict)

    def call(self, method: str, path: str, role: str = "admin", **parts: Any) -> httpx.Response:
        """Send one request."""
        headers = dict(parts.pop("headers", {}))
        if self.tokens[role] is not None:
            headers["Authorization"] = f"Bearer {self.tokens[role]}"
        return self.send(method, path, headers=headers, **parts)

    def work(self) -> None:
        """Do the jobs that wait."""
        for job in self.services.jobs.list():
            if job.state == "queued":
                self.services.jobs.work(job.id, self.services)


@contextlib.contextmanager
def seeded(state: str, folder: Path) -> Iterator[World]:
    """A server with something of everything."""
    rows = [f"{'daily' if i % 3 == 0 else 'never'},{i % 90},{PRIVATE}{i}" for i in range(400)]
    for name in ("patients", "others", "free"):
        (folder / f"{name}.csv").write_text("smokes,age,note\n" + "\n".join([*rows, f"{PRIVATE},7,{name}"]) + "\n")
    chosen = Settings.load(
        home=folder / "home",
        state=state,
        data_folders=[folder],
        sources={name: {"path": folder / f"{name}.csv"} for name in ("patients", "others", "free")},
        rate_limit=0,
        anonymous_rate_limit=0,
        compute_processes=1,
        compute_seconds=10,
        max_cells=10_000,
    )
    logs.configure("error")
    load_kinds(chosen)
    app = create_app(chosen)
    with contextlib.ExitStack() as stack:
        portal = stack.enter_context(anyio.from_thread.start_blocking_portal())
        stack.enter_context(portal.wrap_async_context_manager(app.router.lifespan_context(app)))
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        client = stack.enter_context(
            portal.wrap_async_context_manager(httpx.AsyncClient(transport=transport, base_url="http://test"))
        )

        def send(method: str, path: str, **parts: Any) -> httpx.Response:
            answer: httpx.Response = portal.call(partial(client.request, method, path, **parts))
            return answer

        services: Services = app.state.services
        tokens: dict[str, str | None] = {"anonymous": None}
        for role in ("admin", "steward", "analyst", "holder"):
            tokens[role] = services.tokens.issue(name=f"fuzz {role}", role=role).text  # type: ignore[arg-type]
        tokens["scoped"] = services.tokens.issue(name="fuzz scoped", role="steward", datasets=["others"]).text
        world = World(services=services, send=send, spec=app.openapi(), tokens=tokens)
        _fill(world)
        yield world


def _fill(world: World) -> None:
    """Put something of every kind there."""

    def done(answer: httpx.Response) -> Any:
        assert answer.status_code < 300, answer.text
        return answer.json()

    for name in ("patients", "others"):
        done(world.call("POST", "/v1/datasets", json=templates("x")["create_dataset"] | {"name": name, "source": name}))
        done(world.call("PUT", f"/v1/datasets/{name}/policy", json=templates(name)["put_policy"]))
    jobs = [
        done(world.call("POST", path, json=templates("patients")[operation]))["id"]
        for path, operation in (
            ("/v1/jobs", "submit_job"),
            ("/v1/releases/anonymized", "make_release"),
            ("/v1/releases/synthetic", "make_synthetic"),
            ("/v1/models", "release_function"),
            ("/v1/releases/masked", "make_masked"),
            ("/v1/releases/suppressed", "make_suppressed"),
            ("/v1/disclosures", "make_disclosure"),
        )
    ]
    world.work()
    jobs.append(done(world.call("POST", "/v1/jobs", json=templates("others")["submit_job"]))["id"])  # waits
    campaigns = []
    for number, changes in enumerate(
        ({}, {"draft": True}, {"keep_reports": True}, {"rounds": {"size": 5}, "channel": "rr"}, {"minimum": 1})
    ):
        made = done(world.call("POST", "/v1/campaigns", json=templates("x")["create_campaign"] | changes))
        campaigns.append(made["id"])
        if number == 4:
            done(world.call("POST", f"/v1/campaigns/{made['id']}/close"))
    decoys = [world.services.tokens.issue(name="decoy", role="analyst").token.id for _ in range(5)]
    world.ids = {
        "datasets": ["patients", "others"],
        "sources": ["patients", "others", "free", "brought"],
        "jobs": jobs,
        "releases": jobs,
        "assessments": jobs,
        "comparisons": jobs,
        "disclosures": jobs,
        "models": [*jobs, "ages", "ages@1"],
        "campaigns": campaigns,
        "tokens": decoys,
    }


def templates(dataset: str) -> dict[str, Any]:
    """Bodies that work, by operation."""
    budget = {"epsilon": 0.01}
    attributes = [{"kind": "boolean", "name": "smokes"}]
    campaign = {
        "schema": {"tacita": 1, "attributes": attributes},
        "tables": [["smokes"]],
        "epsilon": 1.0,
        "respondents": 100,
        "mode": "tables",
    }
    masked = {
        "dataset": dataset,
        "plan": [{"microaggregate": {"attributes": ["age"], "k": 5}}, {"pram": "smokes=0.8"}],
        "purpose": "fuzz",
    }
    suppressed = {
        "dataset": dataset,
        "by": [["smokes", "age"]],
        "minimum": 5,
        "zeros": "public",
        "cost": "log",
        "programs": 50,
        "nodes": 5,
    }
    function = {"dataset": dataset, "name": "ages", "kind": "density", "features": ["age"], "budget": budget}
    return {
        "create_dataset": {
            "name": "new",
            "source": "free",
            "schema": SCHEMA,
            "unit": "row",
            "neighbours": "add-remove",
            "budget": {"epsilon": 1000.0, "delta": 1e-3},
        },
        "query": {"tables": [["smokes"], ["smokes", "age"]], "budget": budget},
        "query_sql": {"sql": f"SELECT smokes, COUNT(*) FROM {dataset} GROUP BY smokes", "budget": budget},
        "put_policy": {"quasi": ["age"], "sensitive": ["smokes"], "k": 5, "l": 1.0, "several": True},
        "plan_anonymized": {"dataset": dataset, "k": 5},
        "make_release": {"dataset": dataset, "k": 5},
        "plan_synthetic": {"dataset": dataset, "budget": budget, "method": "independent", "rows": 10},
        "make_synthetic": {"dataset": dataset, "budget": budget, "method": "independent", "rows": 10},
        "plan_function": function,
        "release_function": function | {"budget": {"epsilon": 0.1, "delta": 1e-6}},
        "predict": {"points": [[1.0]]},
        "raise_budget": {"budget": {"epsilon": 1000.0, "delta": 1e-3}},
        "plan_campaign": campaign,
        "create_campaign": campaign | {"title": "Fuzz", "minimum": 2},
        "submit_job": {"kind": "query", "dataset": dataset, "tables": [["smokes"]], "budget": budget},
        "create_token": {"name": "new", "role": "analyst", "datasets": ["patients"]},
        "send_reports": {"reports": [{"wire": 1, "campaign": "c", "question": "q1", "report": "0" * 32, "answer": 1}]},
        "make_assessment": {"release": "r", "attempts": 100},
        **dict.fromkeys(("plan_masked", "make_masked"), masked),
        **dict.fromkeys(("plan_suppressed", "make_suppressed"), suppressed),
        "make_disclosure": {"dataset": dataset, "qi": ["age", "smokes"], "people": 5000.0, "measures": ["prosecutor"]},
        "post_hierarchy": {"attribute": "age", "kind": "intervals", "widths": [5, 20], "store": False},
    }


def _mutated(random_: random.Random, value: Any, depth: int = 0) -> Any:
    """A copy with one part replaced, removed or doubled."""
    if not isinstance(value, dict | list) or not value or random_.random() < 0.15 * depth:
        return random_.choice(HOSTILE)
    copy: Any = value.copy()
    if isinstance(value, dict):
        key = random_.choice(list(value))
        if random_.random() < 0.1:
            del copy[key]
        elif random_.random() < 0.05:
            copy[str(random_.choice(HOSTILE))] = value[key]
        else:
            copy[key] = _mutated(random_, value[key], depth + 1)
        return copy
    place = random_.randrange(len(value))
    copy[place] = _mutated(random_, value[place], depth + 1)
    return copy * 2 if random_.random() < 0.1 else copy


@dataclass
class Request:
    """One request before a role is chosen."""

    method: str
    path: str
    query: dict[str, Any]
    headers: dict[str, str]
    content: bytes

    def parts(self) -> dict[str, Any]:
        """What httpx takes."""
        return {"params": self.query, "headers": self.headers, "content": self.content}


class Fuzzer:
    """Makes requests and judges their answers.

    Args:
        world: The server.
        seed: All that is random follows from it.
        say: Hears about failures.
    """

    def __init__(self, world: World, seed: int, say: Callable[[str], None]) -> None:
        self._world, self._seed, self._say = world, seed, say
        self.sent = 0
        self.statuses: Counter[int] = Counter()
        self.failures: list[str] = []
        schema = schemathesis.openapi.from_dict(world.spec)
        self._operations = {
            str(result.ok().definition.raw["operationId"]): result.ok() for result in schema.get_all_operations()
        }

    def run(self, requests: int, only: str | None = None) -> None:
        """Send about so many requests, the same number to each operation."""
        chosen = {name: made for name, made in self._operations.items() if only in (None, name)}
        each = max(2, -(-requests // (len(chosen) * len(ROLES))))
        for name, operation in chosen.items():
            random_ = random.Random(f"{self._seed} {name}")
            for mode in GenerationMode:
                self._generated(name, operation, mode, max(1, each // 4), random_)
            for _ in range(max(1, each - 2 * max(1, each // 4))):
                self._send(name, self._from_template(name, operation, random_))

    def _generated(
        self, name: str, operation: Any, mode: GenerationMode, examples: int, random_: random.Random
    ) -> None:
        @hypothesis_seed(self._seed)
        @settings(
            max_examples=examples,
            phases=[Phase.generate],
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(operation.as_strategy(generation_mode=mode))
        def draw(case: Any) -> None:
            body = None if type(case.body).__name__ == "NotSet" else case.body
            self._send(name, self._request(name, operation, random_, body, dict(case.query or {})))

        with contextlib.suppress(Unsatisfiable):  # nothing about it can be invalid
            draw()

    def _from_template(self, name: str, operation: Any, random_: random.Random) -> Request:
        body = templates(random_.choice(self._world.ids["datasets"])).get(name)
        for _ in range(random_.choice((0, 1, 1, 2))):
            body = _mutated(random_, body) if body is not None else None
        names = [each["name"] for each in operation.definition.raw.get("parameters", []) if each["in"] == "query"]
        values: list[Any] = ["1", "smokes", "smokes,age", "patients", "sum", "0.1", *HOSTILE]
        query = {each: random_.choice(values) for each in names if random_.random() < 0.5}
        return self._request(name, operation, random_, body, query)

    def _request(self, name: str, operation: Any, random_: random.Random, body: Any, query: dict[str, Any]) -> Request:
        path = operation.path
        noun = path.split("/")[2] if path.startswith("/v1/") and path.count("/") > 2 else ""
        for each in ("{name}", "{id}"):
            known = self._world.ids.get(noun, ["x"])
            value = random_.choice(known) if random_.random() < 0.8 else str(random_.choice(HOSTILE))
            path = path.replace(each, quote(value.encode("utf-8", "surrogatepass"), safe=""))
        if isinstance(body, dict):
            for member, nouns in (("dataset", "datasets"), ("release", "releases"), ("campaign", "campaigns")):
                if member in body and random_.random() < 0.7:
                    body = body | {member: random_.choice(self._world.ids[nouns])}
        if random_.random() < 0.05:
            content = random_.choice(RAW)
        elif isinstance(body, bytes):
            content = body
        else:
            content = b"" if body is None else json.dumps(body, default=str).encode()
        media = "application/json" if random_.random() < 0.97 else random_.choice(MEDIA)
        texts = {
            str(key)[:200].encode("utf-8", "replace").decode(): str(value).encode("utf-8", "replace").decode()
            for key, value in query.items()
        }
        headers = {"Content-Type": media} if content else {}
        return Request(operation.method.upper(), path, texts, headers, content)

    def _send(self, name: str, request: Request) -> None:
        for role in ROLES:
            try:
                answer = self._world.call(request.method, request.path, role, **request.parts())
            except (httpx.InvalidURL, UnicodeError):
                continue
            self.sent += 1
            self.statuses[answer.status_code] += 1
            fault = self._judge(answer)
            if fault is not None:
                shown = f"{role}: {request.method} {request.path} {request.query} {request.content[:300]!r}"
                self.failures.append(f"{fault}: {shown}")
                self._say(f"FAILURE {fault}\n  {shown}\n  repeat: make fuzz SEED={self._seed} ONLY={name}")

    def _judge(self, answer: httpx.Response) -> str | None:
        if answer.status_code >= 500:
            return f"status {answer.status_code}"
        if PRIVATE in answer.text and "/draft" not in str(
            answer.request.url
        ):  # a draft shows private data to its owner
            return "a private value in the answer"
        if answer.status_code >= 400 and answer.request.method != "HEAD":
            if answer.headers.get("content-type") != "application/problem+json":
                return "an error that is no problem document"
            if not {"type", "title", "status", "detail", "code", "request_id"} <= set(answer.json()):
                return "a problem document that lacks a member"
        return None


def run(
    stores: tuple[str, ...], *, requests: int, seed: int, only: str | None = None, say: Callable[[str], None] = print
) -> list[str]:
    """Fuzz a server on each store; the failures."""
    failures = []
    with contextlib.ExitStack() as stack:
        for store in stores:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            state = f"sqlite:///{folder}/state.db"
            if store == "postgres":
                state = stack.enter_context(PostgresServer()).create_database()
            started = time.monotonic()
            with seeded(state, folder) as world:
                fuzzer = Fuzzer(world, seed, say)
                fuzzer.run(requests // len(stores), only)
            statuses = ", ".join(f"{status}: {count}" for status, count in sorted(fuzzer.statuses.items()))
            say(f"{store}: {fuzzer.sent} requests in {time.monotonic() - started:.0f} s, seed {seed}; {statuses}")
            failures += fuzzer.failures
    return failures


def main(arguments: list[str]) -> int:
    """Read the options and run."""
    parser = argparse.ArgumentParser(description="Fuzz the REST interface.")
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default=None, help="one operation, by its id in OpenAPI")
    parser.add_argument("--store", choices=("sqlite", "postgres"), default=None)
    chosen = parser.parse_args(arguments)
    seed = random.SystemRandom().randrange(1 << 32) if chosen.seed is None else chosen.seed
    print(f"seed {seed}", flush=True)
    stores = ("sqlite", "postgres") if chosen.store is None else (chosen.store,)
    failures = run(stores, requests=chosen.requests, seed=seed, only=chosen.only)
    for kind, number in Counter(failure.split(":")[0] for failure in failures).items():
        print(f"{number} x {kind}")
    print(f"{len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
