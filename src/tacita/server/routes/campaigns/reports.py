"""The collecting path: a raw ASGI route with msgspec, because every respondent uses it.

A typed handler costs three times as much for each request. Bodies are JSON, or packed bytes from gateways that send
many reports. The answer is sent when the reports are on disk.
"""

from __future__ import annotations

from typing import Any

import anyio.to_thread
import msgspec
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tacita.errors import InternalError, InvalidInput
from tacita.server.auth.auth import check_anonymous, check_sender
from tacita.server.http import errors
from tacita.server.routes.raw import RawRoute
from tacita.server.services import Services
from tacita.wire import Accepted, ReportBatch
from tacita.wire.refusals import NotJson

__all__ = ["DOCUMENTED", "ROUTE"]

PATH = "/v1/campaigns/{id}/reports"
PACKED = b"application/vnd.tacita.reports"
_FEW = 64  # so few reports are checked at once, without handing them to a thread


class _Batch(msgspec.Struct, forbid_unknown_fields=True):
    reports: list[dict[str, Any]]


_DECODER = msgspec.json.Decoder(_Batch)
_ENCODER = msgspec.json.Encoder()


class _Reports:
    """POST {"reports": [...]}, or packed bytes: counts a batch, all of it or nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        services: Services = scope["app"].state.services
        request, id = Request(scope), scope["path_params"]["id"]
        if "authorization" in request.headers:  # looks the token up
            gateway = await anyio.to_thread.run_sync(check_sender, request, services, limiter=services.page_threads)
        else:
            gateway = check_sender(request, services)
        body = await _read(receive)
        batch = body if _is_packed(scope) else _decode(body)
        if isinstance(batch, list) and len(batch) <= _FEW:
            parsed = services.campaigns.parse(id, batch)
        else:
            parsed = await anyio.to_thread.run_sync(services.campaigns.parse, id, batch, limiter=services.page_threads)
        if not gateway and len(parsed.ids) > 1:
            check_anonymous(scope, services, len(parsed.ids) - 1)
        receipt = await services.commits.submit(parsed)
        services.metrics.reports.inc(receipt.accepted)
        answer = Response(_ENCODER.encode(receipt.as_dict()), media_type="application/json")
        await answer(scope, receive, send)


def _is_packed(scope: Scope) -> bool:
    media: bytes = dict(scope["headers"]).get(b"content-type", b"")
    return media.split(b";")[0].strip().lower() == PACKED


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
    # neither message repeats what was sent: it is a person's answer
    try:
        return _DECODER.decode(body).reports
    except msgspec.ValidationError:
        raise InvalidInput(
            'must be {"reports": [...]} with a list of objects and nothing else', field="reports"
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise NotJson("cannot be read as JSON", field="body") from None


ROUTE = RawRoute(PATH, _Reports(), methods=["POST"], include_in_schema=False)


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
