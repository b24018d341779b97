"""Every error as one shape: application/problem+json (RFC 9457).

    type, title, status, detail, instance     as the RFC has them
    code, field, rule, value, hint            as `TacitaError.as_dict` has them
    request_id                                stands in the log line of this request as well

`TacitaError.private` never gets here. What we did not foresee becomes a 500 that says nothing about our
insides.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from tacita.errors import SourceUnavailable, TacitaError, Unauthorized
from tacita.server.http import logs
from tacita.wire import Problem
from tacita.wire.refusals import (
    MethodNotAllowed,
    NotFound,
    NotJson,
    TooLarge,
    TooManyRequests,
    internal_fault,
    invalid_input,
)

__all__ = ["DOCUMENTED", "MEDIA", "RefusedBody", "install", "problem_of", "respond"]

MEDIA = "application/problem+json"

_MEANINGS = {
    400: "The body is not JSON.",
    401: "No token, or one that is malformed, unknown, expired or revoked.",
    403: "The token's role or scope does not allow it, or the budget does not.",
    404: "There is nothing of that name.",
    409: "It clashes with what is there.",
    413: "The body is too large.",
    415: "The body is not declared as JSON.",
    422: "A value breaks a rule; `field` and `rule` say which.",
    429: "Too many requests; `Retry-After` says when to come back.",
    500: "A fault of the server.",
    503: "The state database or a data source cannot be reached.",
}

DOCUMENTED: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": meaning, "content": {MEDIA: {}}} for status, meaning in _MEANINGS.items()
}
"""The problems that every route of the API may answer with, for OpenAPI."""


class ProblemResponse(Response):
    """One problem document."""

    media_type = MEDIA


def respond(error: TacitaError, scope: Scope, headers: Mapping[str, str] | None = None) -> Response:
    """The answer for an error; also notes its code for the log and the counters."""
    state = scope.setdefault("state", {})
    shown = _presentable(error)
    state["problem"] = shown.code
    content = shown.as_dict() | {
        "type": f"urn:tacita:problem:{shown.code}",
        "status": shown.status,
        "instance": scope.get("path", ""),
        "request_id": state.get("request_id", ""),
    }
    return ProblemResponse(
        json.dumps(content, ensure_ascii=False),
        status_code=shown.status,
        headers=_headers(shown) | dict(headers or {}),
    )


def _presentable(error: TacitaError) -> TacitaError:
    if error.status == 500:
        return internal_fault()
    if isinstance(error, SourceUnavailable):  # its value is an address: the caller knows the name, not the place
        return SourceUnavailable(error.rule, field=error.field, hint=error.hint)
    return error


def _headers(error: TacitaError) -> dict[str, str]:
    if isinstance(error, Unauthorized):
        return {"WWW-Authenticate": 'Bearer realm="tacita"'}
    if isinstance(error, TooManyRequests):
        return {"Retry-After": str(error.retry_after)}
    return {}


def _invalid(error: RequestValidationError) -> TacitaError:
    """The first fault of a request, in our shape."""
    faults = error.errors()
    first = faults[0]
    if first["type"] == "json_invalid":
        return NotJson(f"cannot be read as JSON: {first['ctx']['error']}", field="body")
    return invalid_input(faults, skip=1)  # the first part says body, path, query or header


class RefusedBody(HTTPException):
    """A body that was refused while it was read: the one kind of error that frameworks pass on from there."""

    def __init__(self, error: TacitaError) -> None:
        super().__init__(error.status)
        self.error = error


def _from_http(error: HTTPException, method: str) -> TacitaError:
    if isinstance(error, RefusedBody):
        return error.error
    if error.status_code == 404:
        return NotFound("no such route", hint="The routes are listed at /openapi.json")
    if error.status_code == 405:
        return MethodNotAllowed("this route has no such method", field="method", value=method[:20])
    if error.status_code == 413:
        return TooLarge("the body is larger than this server takes", field="body")
    return NotJson("the body could not be read", field="body")


def problem_of(error: Exception, scope: Scope) -> Response | None:
    """The answer for an error that a route raised, if it is of a kind that routes raise."""
    match error:
        case TacitaError():
            if error.status == 500:
                logs.fault(error, request_id=scope["state"].get("request_id"))
            return respond(error, scope)
        case RequestValidationError():
            return respond(_invalid(error), scope)
        case HTTPException():
            return respond(_from_http(error, scope["method"]), scope, error.headers)
    return None


def install(app: FastAPI) -> None:
    """Make the app answer every error in this shape."""

    async def answer(request: Request, error: Exception) -> Response:
        found = problem_of(error, request.scope)
        assert found is not None
        return found

    for kind in (TacitaError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)
