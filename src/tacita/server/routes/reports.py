"""The collecting path: a raw ASGI route with msgspec, because it is the one that everybody comes through.

A typed handler costs three times as much for each request. The answer is sent when the reports are on disk.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import msgspec
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from tacita.errors import InternalError, InvalidInput
from tacita.server import errors
from tacita.server.auth import check_anonymous
from tacita.server.models import Accepted, ReportBatch
from tacita.server.refusals import NotJson
from tacita.server.services import Services

__all__ = ["DOCUMENTED", "ROUTE"]

PATH = "/v1/campaigns/{id}/reports"
_WRITERS = 4  # batches that wait for the disk at once; each holds a connection


class _Batch(msgspec.Struct, forbid_unknown_fields=True):
    reports: list[dict[str, Any]]


_DECODER = msgspec.json.Decoder(_Batch)
_ENCODER = msgspec.json.Encoder()


class _Reports:
    """POST {"reports": [...]}: counts a batch, all of it or nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        services: Services = scope["app"].state.services
        check_anonymous(scope, services)
        batch = _decode(await _read(receive))
        accept = partial(services.campaigns.accept, scope["path_params"]["id"], batch)
        receipt = await anyio.to_thread.run_sync(accept, limiter=_writers(scope))
        services.metrics.reports.inc(receipt.accepted)
        answer = Response(_ENCODER.encode(receipt.as_dict()), media_type="application/json")
        await answer(scope, receive, send)


def _writers(scope: Scope) -> anyio.CapacityLimiter:
    state = scope["app"].state
    if not hasattr(state, "report_writers"):  # made inside the loop that uses it
        state.report_writers = anyio.CapacityLimiter(_WRITERS)
    limiter: anyio.CapacityLimiter = state.report_writers
    return limiter


async def _read(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise NotJson("the body ended early", field="body")
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _decode(body: bytes) -> list[dict[str, Any]]:
    # neither message repeats what was sent: it is somebody's answer
    try:
        return _DECODER.decode(body).reports
    except msgspec.ValidationError:
        raise InvalidInput(
            'must be {"reports": [...]} with a list of objects and nothing else', field="reports"
        ) from None
    except msgspec.DecodeError:
        raise NotJson("cannot be read as JSON", field="body") from None


class _RawRoute(Route):
    """A route that names itself, so that the log and the counters know it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        return match, {**child, "route": self} if match is not Match.NONE else child


ROUTE = _RawRoute(PATH, _Reports(), methods=["POST"], include_in_schema=False)


def send_reports(id: str, body: ReportBatch) -> Accepted:
    """Needs no token. Counts a batch, all of it or nothing; no report counts twice."""
    raise InternalError("stands in the contract only; the route above answers")


DOCUMENTED = APIRoute(
    PATH,
    send_reports,
    methods=["POST"],
    summary="Send reports",
    tags=["campaigns"],
    response_model=Accepted,
    responses=errors.DOCUMENTED,
    operation_id="send_reports",
)
