"""Routes without a token: pages of other origins may use them, and reports go straight to their handler.

Respondents cannot rely on a page that the aggregator serves itself. They can rely on one from another host, which
needs these routes. They reveal nothing more: anyone with the address may use them, and the request carries no cookie
and no token.

Most requests to a server are reports. The framework, between the gate and their handler, takes as long as the handler
itself, so reports bypass it.
"""

from __future__ import annotations

import re

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacita.server.http.errors import problem_of

__all__ = ["CrossOrigin"]

_OPEN = re.compile(r"/v1/campaigns/([^/]+)/(questions|reports|invitations/redeem)")
_ASKED = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "86400",
}


class CrossOrigin:
    """Adds what browsers ask for to the answers of those routes; answers their preflight requests.

    Args:
        app: What is behind.
        reports: The route that takes reports.
    """

    def __init__(self, app: ASGIApp, *, reports: Route) -> None:
        self._app, self._reports = app, reports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        found = _OPEN.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._app(scope, receive, send)
            return

        async def allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Access-Control-Allow-Origin"] = "*"
            await send(message)

        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=_ASKED)(scope, receive, allowed)
        elif scope["method"] == "POST" and found[2] == "reports":
            await self._take(found[1], scope, receive, allowed)
        else:
            await self._app(scope, receive, allowed)

    async def _take(self, id: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand reports to their handler, and answer what it refuses."""
        scope["route"], scope["path_params"] = self._reports, {"id": id}
        try:
            await self._reports.app(scope, receive, send)
        except Exception as error:
            problem = problem_of(error, scope)
            if problem is None:  # for the gate, the last resort
                raise
            await problem(scope, receive, send)
