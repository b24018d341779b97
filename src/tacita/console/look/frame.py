"""The frame of a page: header, menu and the room for its content. On phones and tablets the menu is a drawer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nicegui import app, ui

from tacita.console.look import kit

if TYPE_CHECKING:
    from tacita.console.page import Page, Visit

__all__ = ["frame"]

_ICONS = {
    "/": "home",
    "/datasets": "storage",
    "/holders": "hub",
    "/campaigns": "campaign",
    "/releases/new": "add_circle",
    "/releases": "outbox",
    "/jobs": "pending_actions",
    "/comparisons": "balance",
    "/network": "schema",
    "/calculators": "calculate",
    "/audit": "receipt_long",
    "/tokens": "key",
}
"""Icons of the menu, by the path of the page."""


@contextmanager
def frame(name: str, path: str, visit: Visit, pages: Sequence[Page]) -> Iterator[None]:
    """The header, the menu, the heading and the room for a page."""
    dark = ui.dark_mode(visit.session.dark)

    def turn() -> None:
        visit.session.dark = not visit.session.dark
        dark.set_value(visit.session.dark)

    with ui.element("div").classes("shell"):
        ui.html('<a class="skip" href="#room">Skip to the content</a>', sanitize=False)
        with ui.element("header").classes("top"):
            _toggle()
            with kit.link("", "/", "brand"):
                kit.icon("shield_moon")
                kit.text("Tacita", tag="span")
            _leave(visit, turn)
        with ui.element("div").classes("middle"):
            _menu(path, visit, pages)
            ui.element("div").classes("menu-shade")
            with ui.element("div").classes("room").props("id=room tabindex=-1"):
                with ui.element("div").classes("page-head"):
                    app.storage.client["heading"] = kit.heading(name, 1)
                    app.storage.client["actions"] = ui.element("div").classes("row-of")
                yield


def _toggle() -> None:
    """The button of the drawer. It works in the browser alone (`static/menu.js`)."""
    button = ui.element("button").classes("menu-toggle").props("type=button aria-expanded=false")
    kit.set_attributes(button, **{"aria-label": "Menu"})
    with button:
        kit.icon("menu")


def _menu(path: str, visit: Visit, pages: Sequence[Page]) -> None:
    groups: dict[str, list[Page]] = {}
    for known in pages:
        if known.menu is not None and known.allows(visit.role):
            groups.setdefault(known.menu[0], []).append(known)
    with ui.element("nav").classes("menu").props('aria-label="Pages"'):
        for group, members in groups.items():
            if group:
                kit.text(group, "menu-group")
            for known in members:
                with kit.link("", known.path, "menu-link") as found:
                    kit.icon(_ICONS.get(known.path, "chevron_right"))
                    kit.text(str(known.menu and known.menu[1]), tag="span")
                if known.path == path:
                    found.props('aria-current="page"')


def _leave(visit: Visit, turn: Callable[[], None]) -> None:
    with ui.element("div").classes("top-right"):
        kit.text(f"{visit.me['name']} · {visit.role}", "soft who")
        ui.button(on_click=turn, icon="contrast", color=None).props('flat round dense aria-label="Light or dark"')
        ui.html(
            f'<form method="post" action="{kit.HOME}/leave"><button class="plain-button">Sign out</button></form>',
            sanitize=False,
        )
