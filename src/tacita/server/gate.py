"""What every request passes, before and after: id, limits, headers, counters, one line of log, and the last
resort.

Plain ASGI, because the collecting path must not pay for more.
"""

from __future__ import annotations

import time
import uuid
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacita.errors import TacitaError
from tacita.server import logs
from tacita.server.errors import respond
from tacita.server.metrics import Metrics
from tacita.server.refusals import NotJsonMedia, TooLarge, from_nobody

__all__ = ["Gate"]

API = "/v1/"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_UPLOAD, _FORM = "/v1/anonymize", b"multipart/form-data"  # a file beside other fields
_SOURCES, _FILES = "/v1/sources/", (b"text/csv", b"application/vnd.apache.parquet")  # a file as the body
_PACKED = b"application/vnd.tacita.reports"  # the collecting path takes bytes too
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}


class Gate:
    """The outermost layer of the app.

    Args:
        app: What is behind.
        metrics: Where requests are counted.
        max_request_bytes: Largest body that the API takes.
        max_upload_bytes: Largest body with a file.
    """

    def __init__(self, app: ASGIApp, *, metrics: Metrics, max_request_bytes: int, max_upload_bytes: int) -> None:
        self._app, self._metrics = app, metrics
        self._most, self._most_of_file = max_request_bytes, max_upload_bytes

    def _limit(self, scope: Scope) -> int:
        path = scope["path"]
        files = path == _UPLOAD or path.startswith(_SOURCES) or not path.startswith(API)
        return self._most_of_file if files else self._most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state: dict[str, Any] = scope.setdefault("state", {})
        state["request_id"] = uuid.uuid4().hex
        started, answered = time.perf_counter(), _Answered(send, state["request_id"])
        try:
            await self._pass(scope, receive, answered)
        except Exception as error:  # the last resort: nothing of it may reach the caller or the log
            logs.fault(error, request_id=state["request_id"])
            if not answered.status:
                await respond(from_nobody(), scope)(scope, receive, answered)
        finally:
            self._note(scope, state, answered.status or 500, time.perf_counter() - started)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        most = self._limit(scope)
        try:
            self._check(scope, most)
        except TacitaError as error:
            await respond(error, scope)(scope, receive, send)
            return
        await self._app(scope, self._limited(receive, most), send)

    def _check(self, scope: Scope, most: int) -> None:
        headers = dict(scope["headers"])
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > most:
            raise TooLarge(f"must have at most {most} bytes", field="body", value=int(length))
        if not scope["path"].startswith(API):  # pages have forms and files
            return
        has_body = length not in (b"", b"0") or b"transfer-encoding" in headers
        media = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
        packed = media == _PACKED and scope["path"].endswith("/reports")
        form = media == _FORM and scope["path"] == _UPLOAD
        file = media in _FILES and scope["path"].startswith(_SOURCES)
        if has_body and media != b"application/json" and not (packed or form or file):
            raise NotJsonMedia(
                "must be application/json",
                field="content-type",
                value=media.decode("latin-1") or "nothing",
                hint="Send the header Content-Type: application/json",
            )

    def _limited(self, receive: Receive, most: int) -> Receive:
        """Count the body as it comes: a sender may say nothing about its length, or lie."""
        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise HTTPException(413)  # the one kind that frameworks pass on from inside a read
            return message

        return limited

    def _note(self, scope: Scope, state: dict[str, Any], status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        route = getattr(scope.get("route"), "path", "(none)")  # the template: a path may hold a value
        problem = state.get("problem")
        self._metrics.requests.labels(method, route, str(status)).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)
        if problem:
            self._metrics.refusals.labels(problem).inc()
        logs.line(
            "request",
            method=method,
            route=route,
            status=status,
            ms=round(1000 * seconds, 2),
            request_id=state["request_id"],
            token=state.get("token"),
            problem=problem,
        )


class _Answered:
    """A `send` that adds our headers and remembers the status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send, self._request_id, self.status = send, request_id, 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers["X-Request-ID"] = self._request_id
        await self._send(message)
