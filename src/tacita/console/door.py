"""Signing in and out, and files for a browser: the console's plain HTTP side.

    GET  /console/enter          the sign-in page; its fragment (#) may hold a code that signs in once
    POST /console/enter          a token or a code in the body; sets the cookie
    GET  /console/openid         sends the browser to the provider of sign-ins, where the settings have one
    GET  /console/openid/back    where it comes back; sets the cookie
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
from tacita.errors import SourceUnavailable, TacitaError, Unauthorized
from tacita.server.auth.limits import RateLimiter
from tacita.server.auth.openid import Provider, Started
from tacita.server.http.errors import respond
from tacita.wire.refusals import MethodNotAllowed, NotFound, TooManyRequests

__all__ = ["ENTER", "Files", "routes"]

ENTER = "/console/enter"
OPENID = "/console/openid"
_HOME = "/console/"
_PAGE = (Path(__file__).parent / "static" / "enter.html").read_text(encoding="utf-8")
_STYLE = "".join((Path(__file__).parent / "static" / name).read_text("utf-8") for name in ("tokens.css", "parts.css"))
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
_OLD_LINK = "This link was used before, or has expired. Restart the server for a new link, or sign in with a token."
_OTHER = '<p><a class="main-button" href="{address}">Sign in with {label}</a></p>'
_STARTED = "tacita_openid"
_OF_OUTER = ("route", "endpoint", "path_params", "router")
_MOST_BODY = 4096
_WAIT = "Too many attempts. Wait a minute."
_TRIES_A_MINUTE = 30


def routes(app: FastAPI, sessions: Sessions, provider: Provider | None = None) -> list[Route | Mount]:
    """Return the routes that the console adds to the server.

    Args:
        app: The server.
        sessions: People who are signed in.
        provider: Where they may sign in with an account of their organisation.
    """
    door = _Door(app, sessions, provider)
    by_account = [
        Route(OPENID, door.go, methods=["GET"]),
        Route(f"{OPENID}/back", door.come_back, methods=["GET"]),
    ]
    return [
        *(by_account if provider is not None else []),
        Route(ENTER, door.show, methods=["GET"]),
        Route(ENTER, door.enter, methods=["POST"]),
        Route("/console/leave", door.leave, methods=["POST"]),
        Mount("/console/files", Files(app, sessions)),
    ]


class _Door:
    """Answers of the sign-in page."""

    def __init__(self, app: FastAPI, sessions: Sessions, provider: Provider | None) -> None:
        self._sessions, self._provider = sessions, provider
        self._limiter, self._refused = RateLimiter(), app.state.services.refused_tokens

    async def show(self, request: Request) -> Response:
        if self._sessions.find(request.cookies.get(COOKIE)):
            return RedirectResponse(_HOME, status_code=303)
        return self._page("")

    async def enter(self, request: Request) -> Response:
        if not _same_site(request):
            return self._page("This form was sent from another site.", 403)
        given = await _form(request)
        try:  # both look into the database, which may be busy
            id = await run_in_threadpool(_enter, self._sessions, given)
        except Unauthorized as error:
            said = _OLD_LINK if error.field == "code" else f"The token {error.rule}."
            return await self._refuse(request, error, said, ENTER, tried=any(given.values()))
        return _signed_in(request, id)

    async def go(self, request: Request) -> Response:
        """Send the browser to the provider, with a cookie of what it has begun."""
        assert self._provider is not None
        if self._too_many(request):  # each asks the provider
            return self._page(_WAIT, 429)
        started = Started.now()
        try:
            answer = RedirectResponse(await self._provider.begin(started, _back(request)), status_code=303)
        except SourceUnavailable as error:
            return self._page(f"{_sentence(error)} Try again later.", 503)
        secure = self._secure(request)
        answer.set_cookie(
            _STARTED, started.text, max_age=600, httponly=True, samesite="lax", secure=secure, path=OPENID
        )
        return answer

    async def come_back(self, request: Request) -> Response:
        assert self._provider is not None
        if self._too_many(request):
            return self._page(_WAIT, 429)
        started = Started.read(request.cookies.get(_STARTED))
        try:
            name, grant = await self._provider.finish(started, dict(request.query_params), _back(request))
            id = await run_in_threadpool(self._sessions.enter_as, name, grant.role, grant.scope)
        except SourceUnavailable as error:
            return self._page(f"{_sentence(error)} Try again later.", 503)
        except Unauthorized as error:
            await run_in_threadpool(self._note, error, f"{OPENID}/back")
            return self._page(_sentence(error), 401)
        answer = _signed_in(request, id, secure=self._secure(request))
        answer.delete_cookie(_STARTED, path=OPENID)
        return answer

    async def leave(self, request: Request) -> Response:
        answer = RedirectResponse(ENTER, status_code=303)
        if not _same_site(request):
            return answer
        self._sessions.leave(request.cookies.get(COOKIE))
        answer.delete_cookie(COOKIE, path="/console")
        return answer

    async def _refuse(self, request: Request, error: Unauthorized, said: str, route: str, *, tried: bool) -> Response:
        if tried:
            await run_in_threadpool(self._note, error, route)
        return self._page(_WAIT, 429) if self._too_many(request) else self._page(said, 401)

    def _note(self, error: Unauthorized, route: str) -> None:
        self._refused.note("console", error.rule, whose=error.private, route=route)

    def _too_many(self, request: Request) -> bool:
        """Count an attempt of this address: guessing is slow."""
        address = request.client.host if request.client else "unknown"
        try:
            self._limiter.take(f"enter:{address}", _TRIES_A_MINUTE)
        except TooManyRequests:
            return True
        return False

    def _secure(self, request: Request) -> bool:
        """Whether browsers reach this server by https, as far as it is known."""
        back = "" if self._provider is None else self._provider.settings.back or ""
        return request.url.scheme == "https" or back.startswith("https:")

    def _page(self, said: str, status: int = 200) -> Response:
        shown = f'<p class="problem" role="alert">{html.escape(said)}</p>' if said else ""
        other = ""
        if self._provider is not None:
            other = _OTHER.format(address=OPENID, label=html.escape(self._provider.settings.label))
        page = _PAGE.replace("/* style */", _STYLE).replace("<!-- said -->", shown).replace("<!-- other -->", other)
        return HTMLResponse(page, status, headers={"Content-Security-Policy": _POLICY})


def _signed_in(request: Request, id: str, *, secure: bool = False) -> Response:
    answer = RedirectResponse(_HOME, status_code=303)
    secure = secure or request.url.scheme == "https"
    answer.set_cookie(COOKIE, id, httponly=True, samesite="lax", secure=secure, path="/console")
    return answer


def _sentence(error: TacitaError) -> str:
    return f"{error.rule[0].upper()}{error.rule[1:]}."


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


def _back(request: Request) -> str:
    """The address that a provider sends people back to."""
    return f"{request.url.scheme}://{request.url.netloc}{OPENID}/back"


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
