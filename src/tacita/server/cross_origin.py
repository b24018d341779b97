"""Lets pages of other origins ask questions and send reports: the routes that need no token, and no others.

A page that the aggregator serves cannot be held to what it says. One from another host can, and needs these routes.
Nothing is given away: whoever has the address may use them anyway, and no cookie or token travels with the request.
"""

from __future__ import annotations

import re

from starlette.datastructures import MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["CrossOrigin"]

_OPEN = re.compile(r"/v1/campaigns/[^/]+/(questions|reports|invitations/redeem)")
_ASKED = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Content-Type",
    "Access-Control-Max-Age": "86400",
}


class CrossOrigin:
    """Adds what browsers ask for to the answers of those routes; answers their preflight requests."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http" or _OPEN.fullmatch(scope["path"]) is None:
            await self._app(scope, receive, send)
            return

        async def allowed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Access-Control-Allow-Origin"] = "*"
            await send(message)

        if scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=_ASKED)(scope, receive, allowed)
            return
        await self._app(scope, receive, allowed)
