"""The gate around every request: id, limits, headers, counters, one line of log, and the handler of last resort.

Plain ASGI, to keep the collecting path fast.
"""

from __future__ import annotations

import asyncio
import errno
import re
import time
import uuid
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacita.common.wellformed import check_characters, check_integer, check_json
from tacita.errors import InvalidInput, SourceUnavailable, TacitaError
from tacita.server.http import logs
from tacita.server.http.errors import RefusedBody, respond
from tacita.server.http.metrics import Metrics
from tacita.wire.refusals import NotJsonMedia, TooLarge, internal_fault
from tacita.wire.sources import MEDIA

__all__ = ["Gate"]

API = "/v1/"
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_UPLOAD, _FORM = "/v1/anonymize", b"multipart/form-data"  # a file beside other fields
_SOURCES, _FILES = "/v1/sources/", tuple(media.encode() for media in MEDIA)  # a file as the body
_JSON = b"application/json"
_PACKED = b"application/vnd.tacita.reports"  # the collecting path takes bytes too
_MOST_FIELDS = 1000
_MOST_INTEGER = (1 << 53) - 1  # of a query: what may be added to without leaving 64 bits
_LONG_INTEGER = re.compile(r"\s*[+-]?[0-9_]{16,4000}\s*")  # as Python reads integers
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}
_ENDING = SourceUnavailable(
    "the server ended before the answer was ready",
    field="server",
    hint="Send the request again with the same Idempotency-Key: what was charged is not charged twice",
)


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
        except asyncio.CancelledError:  # a server that ends waits no longer
            if answered.status:
                raise
            await respond(_ENDING, scope)(scope, receive, answered)
        except Exception as error:  # the last resort: nothing of it may reach the caller or the log
            logs.fault(error, request_id=state["request_id"])
            if not answered.status:
                await respond(_refusal_of(error), scope)(scope, receive, answered)
        finally:
            self._note(scope, state, answered.status or 500, time.perf_counter() - started)

    async def _pass(self, scope: Scope, receive: Receive, send: Send) -> None:
        most, media = self._limit(scope), _media(scope)
        try:
            check_address(scope)
            self._check(scope, most, media)
        except TacitaError as error:
            await respond(error, scope)(scope, receive, send)
            return
        if scope["method"] in ("GET", "HEAD"):  # no route reads a body; answers in pieces wait for the end of one
            await self._app(scope, receive, send)
            return
        limited = self._limited(receive, most)
        await self._app(scope, _checked(limited) if media == _JSON else limited, send)

    def _check(self, scope: Scope, most: int, media: bytes) -> None:
        headers = dict(scope["headers"])
        if len(headers) < len(scope["headers"]):
            names = [name for name, _ in scope["headers"]]
            for name in (b"content-type", b"content-length"):  # readers would choose between two, each in its own way
                if names.count(name) > 1:
                    raise InvalidInput("must be sent once", field=name.decode())
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length) > most:
            raise TooLarge(f"must have at most {most} bytes", field="body", value=int(length))
        if not scope["path"].startswith(API):  # pages have forms and files
            return
        has_body = length not in (b"", b"0") or b"transfer-encoding" in headers
        packed = media == _PACKED and scope["path"].endswith("/reports")
        form = media == _FORM and scope["path"] == _UPLOAD
        file = media in _FILES and scope["path"].startswith(_SOURCES)
        if has_body and media != _JSON and not (packed or form or file):
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
        self._metrics.note(method, route, status, seconds)
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


def _refusal_of(error: Exception) -> TacitaError:
    """Return the error that a caller sees for an exception that no route handled."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return SourceUnavailable("the server's disk is full", field="disk", hint="Try again later")
    return internal_fault()


def _media(scope: Scope) -> bytes:
    for name, value in scope["headers"]:
        if name == b"content-type":
            return bytes(value).split(b";")[0].strip().lower()
    return b""


def check_address(scope: Scope) -> None:
    """Refuse a path or query that no route, database or log can take.

    Raises:
        InvalidInput: It is not UTF-8, has control characters, or an integer of the query is beyond 2^53 - 1.
    """
    path = scope["path"]
    if not path.isprintable() or "\ufffd" in path:  # what a server puts where the bytes were not UTF-8
        raise InvalidInput("must be printable UTF-8", field="path")
    query = scope.get("query_string", b"")
    if not query:
        return
    try:
        pairs = parse_qsl(query.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:  # also of bytes that are not UTF-8
        rule = f"must be at most {_MOST_FIELDS} parameters, percent-encoded UTF-8"
        raise InvalidInput(rule, field="query") from None
    for name, value in pairs:
        check_characters(name, field="query")
        check_characters(value, field="query")
        if _LONG_INTEGER.fullmatch(value):
            check_integer(int(value), field=name[:40], most=_MOST_INTEGER)


def _checked(receive: Receive) -> Receive:
    """Read the whole body and check it before its first byte is passed on."""
    body: bytes | None = None

    async def checked() -> Message:
        nonlocal body
        if body is not None:
            return await receive()
        parts = []
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return message
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                break
        body = b"".join(parts)
        try:
            check_json(body)
        except InvalidInput as error:
            raise RefusedBody(error) from None
        return {"type": "http.request", "body": body, "more_body": False}

    return checked


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
