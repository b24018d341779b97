"""The page at `/{campaign}`, and its files under one prefix."""

from __future__ import annotations

import re

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from tacita.errors import InvalidInput, TacitaError, UnknownName
from tacita.server.auth.auth import check_anonymous
from tacita.server.http.errors import respond
from tacita.server.respond.files import PREFIX, Files, load
from tacita.server.routes.raw import RawRoute
from tacita.server.services import Services
from tacita.wire.refusals import NotFound

__all__ = ["RESERVED", "check_id", "install"]

RESERVED = frozenset(
    {
        "_nicegui",
        "console",
        "diffpriv",
        "docs",
        "healthz",
        "kanon",
        "metrics",
        "openapi.json",
        "readyz",
        "respond",
        "v1",
    }
)
"""Ids that no campaign may have: its page could not be reached at the first part of another route."""

_CAMPAIGN = re.compile(r"/([A-Za-z0-9][A-Za-z0-9._-]{0,63})")
_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_FOR_EVER = "public, max-age=31536000, immutable"  # the address holds the version


def check_id(id: str) -> None:
    """Refuse an id whose page could not be reached.

    Raises:
        InvalidInput: It is the name of something else that is served.
    """
    if id in RESERVED:
        raise InvalidInput("is the name of another page", field="id", value=id, hint="Choose another id")


def install(app: FastAPI) -> None:
    """Serve the page, for paths that nothing else answers: whatever is added to the app later comes first."""
    files = load()
    path = f"{PREFIX}/{{version}}/{{name:path}}"
    app.router.routes.append(RawRoute(path, _File(files), methods=["GET"], include_in_schema=False))
    app.router.default = _Page(files, app.router.default)


class _File:
    """One file of the page, in the version that there is."""

    def __init__(self, files: Files) -> None:
        self._files = files

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = scope["path_params"]
        found = self._files.content.get(wanted["name"])
        if found is None or wanted["version"] != self._files.version:
            raise NotFound("no such file", hint="Open the page again: it may have a new version")
        headers = _HEADERS | {"Cache-Control": _FOR_EVER}
        if wanted["name"] == "worker.js":  # it serves the page, which stands above its own folder
            headers |= {"Service-Worker-Allowed": "/"}
        await Response(found[0], media_type=found[1], headers=headers)(scope, receive, send)


class _Page:
    """Fallback where no route matches: the page of a campaign, or the previous fallback."""

    path = "/{campaign}"  # by which the log and the counters know it

    def __init__(self, files: Files, otherwise: ASGIApp) -> None:
        self._files, self._otherwise = files, otherwise

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = _CAMPAIGN.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if found is None or scope["method"] not in ("GET", "HEAD"):
            await self._otherwise(scope, receive, send)
            return
        scope["route"] = self
        try:
            answer = await self._answer(Request(scope), found[1])
        except TacitaError as error:
            answer = respond(error, scope)
        await answer(scope, receive, send)

    async def _answer(self, request: Request, id: str) -> Response:
        services: Services = request.app.state.services
        check_anonymous(request.scope, services)
        known = await _is_known(services, id)
        # in a browser the page itself shows the error, in the language of the person
        if not known and "text/html" not in request.headers.get("accept", ""):
            raise NotFound("no such route", hint="The routes are listed at /openapi.json")
        headers = _HEADERS | {"Cache-Control": "no-cache"}
        media = "text/html; charset=utf-8"
        return Response(self._files.page, status_code=200 if known else 404, media_type=media, headers=headers)


async def _is_known(services: Services, id: str) -> bool:
    try:
        await services.shared_reads.at(id)
    except UnknownName:
        return False
    return True
