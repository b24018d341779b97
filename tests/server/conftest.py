"""An app over a small file of made-up patients, with a client that calls it without a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio.from_thread
import httpx
import pytest
from fastapi import FastAPI

from tacita.client.client import Client
from tacita.server.app import create_app
from tacita.server.auth.tokens import Role
from tacita.server.jobs.worker import load_kinds
from tacita.server.services import Services
from tacita.settings import Settings
from tacita.store import Database

SCHEMA: dict[str, Any] = {
    "tacita": 1,
    "title": "Patients",
    "attributes": [
        {"name": "smokes", "kind": "categorical", "levels": ["never", "daily"]},
        {"name": "age", "kind": "numeric", "bounds": [0, 99], "bins": 5, "integer": True},
    ],
}
ROWS = 1234


def write_patients(path: Path) -> None:
    lines = [f"{'daily' if i % 3 == 0 else 'never'},{i % 90}" for i in range(ROWS)]
    path.write_text("smokes,age\n" + "\n".join(lines) + "\n")


class Through(httpx.BaseTransport):
    """Sends requests to an app in this process; jobs are done before the next request."""

    def __init__(self, world: World) -> None:
        self._world = world

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._world.work()
        path = request.url.raw_path.decode()
        headers = {name: value for name, value in request.headers.items() if name != "host"}
        answer = self._world.http(request.method, path, headers=headers, content=request.read())
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


@dataclass
class World:
    """A running app and the ways to call it."""

    app: FastAPI
    http: Callable[..., httpx.Response]

    @property
    def services(self) -> Services:
        found: Services = self.app.state.services
        return found

    def token(self, role: Role = "admin", **parts: Any) -> str:
        return self.services.tokens.issue(name=f"a {role}", role=role, **parts).text

    def client(self, role: Role = "admin") -> Client:
        """The Python client over this app; jobs are done before its next request."""
        return Client("http://test", self.token(role), transport=Through(self))

    def owner(self) -> str:
        """The id of a token, for jobs that no request submits."""
        return self.services.tokens.issue(name="a tester", role="analyst").token.id

    def call(
        self,
        method: str,
        path: str,
        *,
        token: str | None = None,
        key: str | None = None,
        headers: dict[str, str] | None = None,
        **parts: Any,
    ) -> httpx.Response:
        sent = dict(headers or {})
        if key is not None:
            sent["Idempotency-Key"] = key
        if token is not None:
            sent["Authorization"] = f"Bearer {token}"
        return self.http(method, path, headers=sent, **parts)

    def register(self, name: str = "patients", **changes: Any) -> httpx.Response:
        body = {
            "name": name,
            "source": "patients",
            "schema": SCHEMA,
            "unit": "row",
            "neighbours": "add-remove",
            "budget": {"epsilon": 1.0},
        }
        return self.call("POST", "/v1/datasets", token=self.token("steward"), json=body | changes)

    def query(self, token: str, epsilon: float = 0.5, *, key: str | None = None, **changes: Any) -> httpx.Response:
        body = {"tables": [["smokes"]], "budget": {"epsilon": epsilon}}
        return self.call("POST", "/v1/datasets/patients/query", token=token, key=key, json=body | changes)

    def work(self) -> None:
        """Do what a worker would: all jobs that wait."""
        for job in self.services.jobs.list():
            if job.state == "queued":
                self.services.jobs.work(job.id, self.services)

    def made(self, submitted: httpx.Response, token: str) -> str:
        """The id of what a submitted job makes, when it is done."""
        assert submitted.status_code == 202, submitted.text
        self.work()
        found = self.call("GET", submitted.headers["location"], token=token)
        assert found.status_code == 200, found.text
        id: str = found.json()["id"]
        return id

    def spent(self) -> float:
        """What the patients' budget has lost so far."""
        found = self.call("GET", "/v1/datasets/patients/budget", token=self.token("steward"))
        amount: float = found.json()["spent"]
        return amount

    def campaign(self, **changes: Any) -> dict[str, Any]:
        body = {
            "title": "Smoking",
            "schema": {"tacita": 1, "attributes": [{"kind": "boolean", "name": "smokes"}]},
            "tables": [["smokes"]],
            "epsilon": 1.0,
            "respondents": 100,
            "minimum": 5,
        }
        response = self.call("POST", "/v1/campaigns", token=self.token("steward"), json=body | changes)
        assert response.status_code == 201, response.text
        found: dict[str, Any] = response.json()
        return found


@pytest.fixture(scope="session")
def empty_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state database that is migrated once, and copied for each test."""
    file = tmp_path_factory.mktemp("state") / "state.db"
    Database(f"sqlite:///{file}").close()
    return file


@pytest.fixture
def world_of(tmp_path: Path, empty_state: Path) -> Iterator[Callable[..., World]]:
    """Makes apps with settings of the test's own; each is closed when the test ends."""
    with ExitStack() as stack:
        write_patients(tmp_path / "patients.csv")
        (tmp_path / "home").mkdir()
        shutil.copy(empty_state, tmp_path / "home" / "state.db")

        def make(**settings: Any) -> World:
            defaults: dict[str, Any] = {
                "home": tmp_path / "home",
                "data_folders": [tmp_path],
                "sources": {"patients": {"path": tmp_path / "patients.csv"}},
                "job_stale_seconds": 1.0,
            }
            engine_for = settings.pop("engine_for", None)
            chosen = Settings.load(**defaults | settings)
            load_kinds(chosen)  # tests do jobs where the app is, as a worker would
            app = create_app(chosen, engine_for=engine_for)
            portal = stack.enter_context(anyio.from_thread.start_blocking_portal())
            stack.enter_context(portal.wrap_async_context_manager(app.router.lifespan_context(app)))
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            client = stack.enter_context(
                portal.wrap_async_context_manager(httpx.AsyncClient(transport=transport, base_url="http://test"))
            )

            def http(method: str, path: str, **parts: Any) -> httpx.Response:
                response: httpx.Response = portal.call(partial(client.request, method, path, **parts))
                return response

            return World(app, http)

        yield make


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def state(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty state database, on both stores."""
    if request.param == "postgres":
        url: str = request.getfixturevalue("postgres_url")
        return url
    shutil.copy(request.getfixturevalue("empty_state"), tmp_path / "state.db")
    return f"sqlite:///{tmp_path / 'state.db'}"


@pytest.fixture
def world(world_of: Callable[..., World]) -> World:
    """An app on SQLite without datasets."""
    return world_of()


@pytest.fixture
def both(world_of: Callable[..., World], state: str) -> World:
    """An app on each store."""
    return world_of(state=state)
