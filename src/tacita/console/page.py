"""Pages of the console: registration, access by role, the frame, and errors.

    @page("/datasets/{name}", "Dataset", roles=("steward", "analyst"))
    async def dataset(visit: Visit, name: str) -> None:
        found = await visit.api.get(f"/v1/datasets/{name}")
        kit.facts({"Source": found["source"]})

Handlers of buttons may raise: every `TacitaError` is shown with its rule and its hint.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from nicegui import ui
from nicegui.client import Client
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tacita.common.roles import Role
from tacita.console.api import Api
from tacita.console.door import ENTER
from tacita.console.drafts import draft_of
from tacita.console.look import kit
from tacita.console.look.frame import frame
from tacita.console.sessions import COOKIE, ConsoleSession, Sessions
from tacita.errors import Forbidden, TacitaError, Unauthorized
from tacita.server.http import logs

__all__ = ["HOME", "PAGES", "Page", "Visit", "install", "page"]

HOME = "/console"
_MENU = (
    "/",
    "/datasets",
    "/holders",
    "/campaigns",
    "/releases/new",
    "/releases",
    "/comparisons",
    "/network",
    "/jobs",
    "/calculators",
    "/audit",
    "/tokens",
)
"""The order of the menu; what is not named comes last."""
_BUILD_SECONDS = 20.0

Build = Callable[..., Awaitable[None]]


@dataclass(frozen=True, kw_only=True)
class Visit:
    """One person looking at one page.

    Attributes:
        api: The REST interface, as this person may use it.
        me: Their token without its secret: id, name, role, datasets.
        query: Query parameters of the address.
    """

    api: Api
    me: dict[str, Any]
    session: ConsoleSession
    query: dict[str, str] = field(default_factory=dict)

    @property
    def role(self) -> Role:
        """Return the role of their token."""
        found: Role = self.me["role"]
        return found

    def may(self, *roles: Role) -> bool:
        """Whether they have one of these roles, or are an admin."""
        return self.role == "admin" or self.role in roles


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page of the console.

    Attributes:
        roles: Roles that may see it, besides admins; empty means all who are signed in.
        menu: Its name in the menu, and its group there; pages without are reached from others.
        form: Whether people type something into it that must survive a lost connection.
    """

    path: str
    title: str
    roles: tuple[Role, ...]
    build: Build
    menu: tuple[str, str] | None
    form: bool = False

    def allows(self, role: Role) -> bool:
        """Whether this role may see it."""
        return role == "admin" or not self.roles or role in self.roles


PAGES: list[Page] = []


def page(
    path: str,
    title: str,
    *,
    roles: tuple[Role, ...] = (),
    menu: tuple[str, str] | None = None,
    form: bool = False,
) -> Callable[[Build], Build]:
    """Make a function a page of the console.

    Args:
        path: Below /console; parts in braces become arguments.
        title: What the browser and the heading say.
        roles: Roles that may see it, besides admins; by default all who are signed in.
        menu: (group, name) in the menu.
        form: Whether its fields survive a lost connection and a page that is loaded again: see `drafts`.
    """

    def decorator(build: Build) -> Build:
        PAGES.append(Page(path=path, title=title, roles=roles, build=build, menu=menu, form=form))
        return build

    return decorator


def install(app: Any, sessions: Sessions) -> None:
    """Give every page its route."""
    for known in sorted(PAGES, key=lambda page: "{" in page.path):  # a word goes before a name that could be it
        ui.page(known.path, title=f"{known.title} · Tacita", response_timeout=_BUILD_SECONDS)(
            _shown(known, app, sessions)
        )


def _shown(known: Page, app: Any, sessions: Sessions) -> Callable[..., Awaitable[Response | None]]:
    async def shown(request: Request) -> Response | None:
        id = request.cookies.get(COOKIE)
        session = sessions.find(id)
        if session is None:
            return RedirectResponse(ENTER, status_code=303)

        def token() -> str | None:
            found = sessions.find(id)
            return None if found is None else found.token

        api = Api(app, token)
        try:
            me = await api.get("/v1/tokens/mine")
        except Unauthorized:  # it was revoked, or has ended, while a person was signed in with it
            sessions.leave(id)
            return RedirectResponse(ENTER, status_code=303)
        session.pages.add(ui.context.client.id)
        visit = Visit(api=api, me=me, session=session, query=dict(request.query_params))
        ui.on_exception(_show_error)
        with frame(known.title, known.path, visit, sorted(PAGES, key=_place)):
            address = f"{request.url.path}?{request.url.query}"
            with kit.use_draft(draft_of(session.drafts, address) if known.form else None):
                await _fill(known, visit, request.path_params)
        return None

    # the framework reads parameters off the signature; path parts are taken from the request instead
    shown.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Request)]
    )
    shown.__name__ = known.build.__name__
    return shown


def _place(known: Page) -> int:
    return _MENU.index(known.path) if known.path in _MENU else len(_MENU)


async def _fill(known: Page, visit: Visit, parts: dict[str, Any]) -> None:
    try:
        if not known.allows(visit.role):
            wanted = " or ".join(known.roles or ("admin",))
            hint = f"Ask an admin for a token with the role {wanted}"
            raise Forbidden("may not see this page", field="role", value=visit.role, hint=hint)
        await known.build(visit, **parts)
    except TacitaError as error:
        kit.problem(error)
    except Exception as error:  # nothing of it may reach the page or the log
        logs.fault(error)
        kit.problem(None)


def _show_error(error: Exception) -> None:
    """Show the error of a handler, with its hint."""
    client: Client = ui.context.client
    with client:
        if isinstance(error, Unauthorized):  # signed out in another tab, or the token has ended
            ui.navigate.to(ENTER.removeprefix(HOME))
            return
        if not isinstance(error, TacitaError):
            logs.fault(error)
        kit.problem_dialog(error if isinstance(error, TacitaError) else None)
