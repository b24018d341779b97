"""The console on the server's app."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Awaitable, Callable
from inspect import isawaitable
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from nicegui import app as gui
from nicegui import core, ui
from starlette.datastructures import MutableHeaders
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacita._version import __version__
from tacita.console import pages
from tacita.console.door import ENTER, routes
from tacita.console.page import HOME, install
from tacita.console.sessions import COOKIE, Sessions
from tacita.errors import Unauthorized
from tacita.server.auth.openid import Provider
from tacita.server.http.errors import respond

__all__ = ["mount"]

_UPLOADS = "/_nicegui/client/"
_FOR_ALL = ("/_nicegui/", "/static/", "/favicon.ico")
_STATIC = Path(__file__).parent / "static"
# the framework's page holds its own scripts and styles; nothing is ever fetched from elsewhere
_POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)


def mount(app: FastAPI) -> Sessions:
    """Put the console on the app, once in a process, under /console; its sessions."""
    for module in pkgutil.iter_modules(pages.__path__):
        importlib.import_module(f"{pages.__name__}.{module.name}")
    sessions = Sessions(app.state.services.tokens)
    openid = app.state.services.settings.openid
    provider = None if openid is None else Provider(openid)
    home = [Route(path, lambda _: RedirectResponse(f"{HOME}/", status_code=307)) for path in ("/", HOME)]
    app.router.routes[:0] = [*home, *routes(app, sessions, provider)]  # before any path that takes a name
    gui.add_static_files("/static", _STATIC)
    for name in ("tokens", "parts"):
        ui.add_head_html(f'<link rel="stylesheet" href="{HOME}/static/{name}.css?{__version__}">', shared=True)
    ui.add_head_html(f'<script defer src="{HOME}/static/menu.js?{__version__}"></script>', shared=True)
    gui.colors(primary="#1f5f9e")
    install(app, sessions)
    logging.getLogger("nicegui").setLevel(logging.CRITICAL)  # it prints the messages of errors: see `page._show_error`
    ui.run_with(
        app,
        mount_path=HOME,
        title="Tacita",
        dark=None,
        language="en-US",
        tailwind=False,
        binding_refresh_interval=None,
        show_welcome_message=False,
        reconnect_timeout=10.0,
        gzip_middleware_factory=_compressed,
    )
    _guard_messages(sessions)
    gui.add_middleware(_Guard, sessions=sessions)
    gui.add_middleware(_Policy)
    return sessions


def _compressed(app: ASGIApp) -> GZipMiddleware:
    """Compress at a level that costs a first visit less time than it saves."""
    return GZipMiddleware(app, minimum_size=500, compresslevel=5)


def _guard_messages(sessions: Sessions) -> None:
    """Let a socket speak for pages of its own session alone: each of its messages names the page that it is about."""
    handlers = core.sio.handlers["/"]
    for event in ("handshake", "event", "javascript_response", "ack", "log"):
        core.sio.on(event, _guarded(handlers[event], sessions))


def _guarded(handler: Callable[[str, dict[str, Any]], Any], sessions: Sessions) -> Callable[..., Awaitable[Any]]:
    async def guarded(sid: str, message: dict[str, Any]) -> Any:
        scope = core.sio.get_environ(sid)["asgi.scope"]
        session = sessions.find(HTTPConnection(scope).cookies.get(COOKIE))
        page = message.get("client_id") if isinstance(message, dict) else None
        if session is None:  # signed out in another tab, or the token has ended: the page says so
            await core.sio.emit("open", {"path": ENTER.removeprefix(HOME), "new_tab": False}, room=sid)
            return False
        if not isinstance(page, str) or page not in session.pages:
            return False
        answer = handler(sid, message)
        return await answer if isawaitable(answer) else answer

    return guarded


class _Policy:
    """Content security policy: no content from other sites, and no framing by them."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Content-Security-Policy"] = _POLICY
            await send(message)

        await self._app(scope, receive, guarded if scope["type"] == "http" else send)


class _Guard:
    """Require that the socket and the uploads of a page come from the session that opened the page.

    The framework accepts anyone who knows a page's id, and the id is part of addresses, which proxies log.
    """

    def __init__(self, app: ASGIApp, *, sessions: Sessions) -> None:
        self._app, self._sessions = app, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or self._may(scope):
            await self._app(scope, receive, send)
        elif scope["type"] == "http" and scope["method"] == "GET" and not self._speaks(scope):
            await RedirectResponse(ENTER, status_code=303)(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            refused = Unauthorized("this page belongs to another session", field="session", hint="Sign in again")
            await respond(refused, scope)(scope, receive, send)

    def _speaks(self, scope: Scope) -> bool:
        """Whether it is about one page that is open."""
        return str(scope["path"]).removeprefix(HOME).startswith((_UPLOADS, "/_nicegui_ws/"))

    def _may(self, scope: Scope) -> bool:
        path = scope["path"].removeprefix(HOME)
        if path.startswith(_FOR_ALL) and not self._speaks(scope):
            return True
        connection = HTTPConnection(scope)
        session = self._sessions.find(connection.cookies.get(COOKIE))
        if session is None or not self._speaks(scope):
            return session is not None
        if path.startswith(_UPLOADS):
            return path.removeprefix(_UPLOADS).partition("/")[0] in session.pages
        # several values: the framework would take another one than we looked at
        named = connection.query_params.getlist("client_id")
        return len(named) == 1 and named[0] in session.pages
