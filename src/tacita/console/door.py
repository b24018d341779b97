"""Signing in and out, and files for a browser: the console's plain HTTP side.

    GET  /console/enter          the sign-in page; its fragment (#) may hold a code that signs in once
    POST /console/enter          a token or a code in the body; sets the cookie
    POST /console/leave          forgets the session
    GET  /console/files/v1/...   answer of a GET of the API, with the session's token: downloads, pages to print

Only GET passes through `files`, so that no other site can make a browser change anything.
"""

from __future__ import annotations

import html
from pathlib import Path
from urllib.parse import parse_qs

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tacita.console.sessions import COOKIE, Sessions
from tacita.errors import TacitaError, Unauthorized
from tacita.server.auth.limits import RateLimiter
from tacita.server.http.errors import respond
from tacita.wire.refusals import MethodNotAllowed, NotFound, TooManyRequests

__all__ = ["ENTER", "Files", "routes"]

ENTER = "/console/enter"
_HOME = "/console/"
_PAGE = (Path(__file__).parent / "static" / "enter.html").read_text(encoding="utf-8")
_STYLE = "".join((Path(__file__).parent / "static" / name).read_text("utf-8") for name in ("tokens.css", "parts.css"))
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_OLD_LINK = "This link was used before, or has expired. Restart the server for a new link, or sign in with a token."
_OF_OUTER = ("route", "endpoint", "path_params", "router")
_MOST_BODY = 4096
_TRIES_A_MINUTE = 30


def routes(app: FastAPI, sessions: Sessions) -> list[Route | Mount]:
    """Return the routes that the console adds to the server."""
    limiter, refused = RateLimiter(), app.state.services.refused_tokens

    async def show(request: Request) -> Response:
        if sessions.find(request.cookies.get(COOKIE)):
            return RedirectResponse(_HOME, status_code=303)
        return _page("")

    async def enter(request: Request) -> Response:
        if not _same_site(request):
            return _page("This form was sent from another site.", 403)
        given = await _form(request)
        try:
            id = await run_in_threadpool(_enter, sessions, given)  # both look into the database, which may be busy
        except Unauthorized as error:
            if any(given.values()):
                await run_in_threadpool(refused.note, "console", error.rule, whose=error.private, route=ENTER)
            address = request.client.host if request.client else "unknown"
            try:
                limiter.take(f"enter:{address}", _TRIES_A_MINUTE)  # so that guessing is slow
            except TooManyRequests:
                return _page("Too many attempts. Wait a minute.", 429)
            return _page(_OLD_LINK if error.field == "code" else f"The token {error.rule}.", 401)
        answer = RedirectResponse(_HOME, status_code=303)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, id, httponly=True, samesite="lax", secure=secure, path="/console")
        return answer

    async def leave(request: Request) -> Response:
        answer = RedirectResponse(ENTER, status_code=303)
        if not _same_site(request):
            return answer
        sessions.leave(request.cookies.get(COOKIE))
        answer.delete_cookie(COOKIE, path="/console")
        return answer

    return [
        Route(ENTER, show, methods=["GET"]),
        Route(ENTER, enter, methods=["POST"]),
        Route("/console/leave", leave, methods=["POST"]),
        Mount("/console/files", Files(app, sessions)),
    ]


class Files:
    """GET requests of a signed-in browser, passed to the API with the session's token; in pieces, as they come."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app, self._sessions = app, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        path = scope["path"].removeprefix("/console/files")
        session = self._sessions.find(Request(scope).cookies.get(COOKIE))
        refused: TacitaError | None = None
        if session is None:
            refused = Unauthorized("sign in first", field="session", hint="Sign in, then open the file again")
        elif scope["method"] != "GET":
            refused = MethodNotAllowed("must be GET", field="method", value=scope["method"])
        elif not path.startswith("/v1/"):
            refused = NotFound("there is no such file")
        if session is None or refused is not None:
            await respond(refused or NotFound("there is no such file"), scope)(scope, receive, send)
            return
        headers = [(name, value) for name, value in scope["headers"] if name not in (b"authorization", b"cookie")]
        headers.append((b"authorization", f"Bearer {session.token}".encode()))
        inner = {key: value for key, value in scope.items() if key not in _OF_OUTER}
        inner |= {"path": path, "raw_path": path.encode(), "root_path": "", "headers": headers, "state": {}}
        await self._app(inner, receive, send)


def _enter(sessions: Sessions, given: dict[str, str]) -> str:
    """The id of a new session, by a code or a token."""
    code = given.get("code")
    if not code:
        return sessions.enter(given.get("token", "").strip())
    id = sessions.enter_by_code(code)
    if id is None:
        raise Unauthorized("is not a valid sign-in code", field="code")
    return id


def _page(said: str, status: int = 200) -> Response:
    shown = f'<p class="problem" role="alert">{html.escape(said)}</p>' if said else ""
    page = _PAGE.replace("/* style */", _STYLE).replace("<!-- said -->", shown)
    return HTMLResponse(page, status, headers={"Content-Security-Policy": _POLICY})


async def _form(request: Request) -> dict[str, str]:
    """The fields of a small form."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BODY:
            return {}
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


def _same_site(request: Request) -> bool:
    """Whether a form was sent from our own page; browsers say it, and other programs need not."""
    return request.headers.get("sec-fetch-site", "same-origin") in ("same-origin", "none")
