"""The REST interface for pages: called inside the process, with the token of the person who is signed in.

Pages have no other access to data: roles have the same rights as over REST, and charges are made there. Errors keep
their type.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any, TypeVar

import httpx
from fastapi import FastAPI

from tacita.errors import Unauthorized
from tacita.server.jobs.computing import ComputePool
from tacita.wire.refusals import rebuild

__all__ = ["Api"]

T = TypeVar("T")

_REHEARSAL_SECONDS = 5.0
_SECONDS = 3600.0  # registering a dataset reads all of it


def _not_signed_in() -> Unauthorized:
    return Unauthorized("your session has ended", field="session", hint="Sign in again")


class Api:
    """One person's requests.

    Args:
        app: The server.
        token: Gives the token that a request is sent with, anew for each request; None if no one is signed in.
    """

    def __init__(self, app: FastAPI, token: Callable[[], str | None]) -> None:
        self._app, self._token = app, token

    async def get(self, path: str, **query: Any) -> Any:
        """Return the answer of a path as plain data."""
        return (await self._send("GET", path, params=query or None)).json()

    async def text(self, path: str, **query: Any) -> str:
        """Return the answer of a path as text."""
        return (await self._send("GET", path, params=query or None)).text

    async def post(self, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """Send a body; with a key, the same again does nothing more."""
        headers = {"Idempotency-Key": key} if key else {}
        return (await self._send("POST", path, json={} if body is None else body, headers=headers)).json()

    async def put(self, path: str, body: Any) -> Any:
        """Replace the resource at a path."""
        return (await self._send("PUT", path, json=body)).json()

    async def send_file(self, path: str, content: bytes | AsyncIterator[bytes], media: str) -> Any:
        """Upload a file, whole or in chunks."""
        return (await self._send("PUT", path, content=content, headers={"Content-Type": media})).json()

    async def delete(self, path: str) -> Any:
        """Delete the resource at a path."""
        return (await self._send("DELETE", path)).json()

    async def compute(self, compute: Callable[[], T]) -> T:
        """Compute from public values only, in the server's pool and within its limits."""
        token = self._token()
        if token is None:
            raise _not_signed_in()
        pool: ComputePool = self._app.state.services.computing
        return await pool.run(compute, estimate=_REHEARSAL_SECONDS, principal=f"console {token.split('_')[1]}")

    @staticmethod
    def new_key() -> str:
        """A key under which something is done at most once."""
        return uuid.uuid4().hex

    async def _send(self, method: str, path: str, **parts: Any) -> httpx.Response:
        token = self._token()
        if token is None:
            raise _not_signed_in()
        headers = {"Authorization": f"Bearer {token}"} | parts.pop("headers", {})
        transport = httpx.ASGITransport(app=self._app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://console", timeout=_SECONDS) as client:
            answer = await client.request(method, path, headers=headers, **parts)
        if answer.status_code >= 400:
            raise rebuild(answer.json())
        return answer
