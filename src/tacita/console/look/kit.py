"""Widgets of pages: headings, panels, columns, facts, tables, fields, and errors.

Plain elements where they are enough: they are light, and browsers and screen readers know them. Fields carry their
label for both.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from nicegui import app, ui
from nicegui.elements.mixins.value_element import ValueElement

from tacita.console.drafts import Draft
from tacita.console.look.several import Several
from tacita.errors import NotPublic, TacitaError

__all__ = [
    "HOME",
    "Handler",
    "actions",
    "button",
    "cells",
    "checkbox",
    "choice",
    "columns",
    "confirm",
    "draft",
    "empty",
    "facts",
    "field",
    "heading",
    "hint_of",
    "icon",
    "lines",
    "link",
    "note",
    "number",
    "offer",
    "panel",
    "plain_hint",
    "problem",
    "problem_dialog",
    "reword",
    "row",
    "set_attributes",
    "skeleton",
    "slider",
    "soon",
    "state",
    "table",
    "text",
    "title",
    "upload",
    "use_draft",
]

E = TypeVar("E", bound=ui.element)
V = TypeVar("V", bound=ValueElement[Any])
Handler = Callable[..., Awaitable[None] | None]
HOME = "/console"
_COMMAND = re.compile(r"\btacita [a-z]|/v\d+/")


# -- words ------------------------------------------------------------------------------------------------------------


def text(words: str, classes: str = "", tag: str = "p") -> ui.html:
    """Words as a paragraph, or whatever the tag says."""
    return ui.html(html.escape(words), sanitize=False, tag=tag).classes(classes)


def reword(found: Any, words: str) -> None:
    """Other words in the place of those that `text` wrote."""
    found.set_content(html.escape(words))


def heading(words: str, level: int = 2) -> ui.html:
    """A heading."""
    return text(words, tag=f"h{level}")


def title(words: str) -> None:
    """A better title and heading than the page's own, once it is known what the page is about."""
    app.storage.client["heading"].set_content(html.escape(words))
    ui.page_title(f"{words} · Tacita")


def note(words: str) -> ui.html:
    """Words of less weight."""
    return text(words, "soft")


def icon(name: str) -> ui.icon:
    """An icon of the framework's font; decoration, which screen readers skip."""
    return ui.icon(name)


def link(words: str, path: str, classes: str = "", *, new: bool = False) -> ui.element:
    """A link to a page of the console, or to one of its files; without words, its content follows in its block."""
    target = f"{HOME}{path}" if path.startswith("/") else path
    found = set_attributes(ui.element("a").classes(classes), href=target)
    if new:
        found.props('target="_blank" rel="noopener"')
    if words:
        with found:
            text(words, tag="span")
    return found


def state(word: str) -> ui.html:
    """One word about how something is, as a badge."""
    return text(word, f"state state-{word}", tag="span")


def set_attributes(found: E, **attributes: str) -> E:
    """Give an element attributes whose words are not ours: they are no part of a line that is read as code."""
    for name, words in attributes.items():
        found.props[name] = words
    return found


# -- rooms ------------------------------------------------------------------------------------------------------------


@contextmanager
def panel(name: str = "", words: str = "", *, level: int = 2) -> Iterator[ui.element]:
    """A part of a page with a heading of its own."""
    with ui.element("section").classes("panel") as found:
        if name:
            heading(name, level)
        if words:
            note(words)
        yield found


@contextmanager
def row(classes: str = "") -> Iterator[ui.element]:
    """Things side by side, one under the other where there is no room."""
    with ui.element("div").classes(f"row-of {classes}") as found:
        yield found


@contextmanager
def cells() -> Iterator[ui.element]:
    """Panels in as many columns as there is room for."""
    with ui.element("div").classes("cells") as found:
        yield found


@contextmanager
def columns(classes: str = "") -> Iterator[tuple[ui.element, ui.element]]:
    """The main column of a page and, on wide screens, one beside it; elsewhere one is under the other.

    Args:
        classes: "halves" for columns of about the same width, "side-first" where the second matters more on a phone.
    """
    with ui.element("div").classes(f"columns {classes}"):
        main = ui.element("div").classes("page-main")
        side = ui.element("div").classes("page-side")
    yield main, side


@contextmanager
def actions() -> Iterator[ui.element]:
    """Buttons and links beside the heading of the page."""
    with app.storage.client["actions"] as found:
        yield found


def skeleton(words: str, lines: int = 4) -> ui.element:
    """Placeholder of a result that is being computed: grey lines for eyes, words for ears."""
    with ui.element("div") as found:
        text(words, "unseen")
        with ui.element("div").classes("skeleton").props("aria-hidden=true"):
            for _ in range(lines):
                ui.element("i")
    return found


def empty(words: str, action: str = "", path: str = "", *, sign: str = "inbox") -> None:
    """Show a text, and what to do next, where a list is empty."""
    with ui.element("div").classes("empty"):
        icon(sign)
        text(words)
        if action:
            link(action, path, "main-button")


def facts(pairs: Mapping[str, object]) -> ui.html:
    """Names and what they are."""
    rows = "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(str(value))}</dd>" for name, value in pairs.items())
    return ui.html(rows, sanitize=False, tag="dl").classes("facts")


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, caption: str) -> ui.element:
    """A plain table; a column whose name begins with > holds numbers. A cell that is an element's maker is called."""
    room = set_attributes(ui.element("div").classes("wide").props("tabindex=0 role=region"), **{"aria-label": caption})
    styles = ["num" if column.startswith(">") else "" for column in columns]
    with room, ui.element("table") as found:
        text(caption, "unseen", tag="caption")
        with ui.element("thead"), ui.element("tr"):
            for column, style in zip(columns, styles, strict=True):
                text(column.removeprefix(">"), style, tag="th").props("scope=col")
        with ui.element("tbody"):
            for each in rows:
                with ui.element("tr"):
                    for value, style in zip(each, styles, strict=True):
                        _cell(value, style)
    return found


def _cell(value: object, style: str) -> None:
    with ui.element("td").classes(style):
        if callable(value):
            value()
        else:
            text(str(value), tag="span")


# -- fields -----------------------------------------------------------------------------------------------------------


@contextmanager
def use_draft(found: Draft | None) -> Iterator[None]:
    """While the block builds a page, its fields take from this draft what they held before; then say that they did."""
    kept = found or Draft()
    app.storage.client["draft"] = kept
    room = ui.element("div").props('aria-live="polite"')
    kept.begin()
    yield
    kept.settle()
    if kept.restored and found is not None:
        client = ui.context.client

        def afresh() -> None:
            kept.forget()
            client.run_javascript("window.location.reload()")

        with room, panel():
            text("Your earlier input was restored. It was not sent yet.")
            button("Discard it", afresh)


def draft() -> Draft:
    """Return the draft of this page; call `forget` on it once the form was sent."""
    found: Draft = app.storage.client.get("draft") or Draft()
    return found


def _named(found: E, name: str, words: str) -> E:
    """A label above a field, for eyes and for ears."""
    found.props("outlined dense hide-bottom-space")
    return set_attributes(found, **{"aria-label": name} | ({"hint": words} if words else {}))


def _noted(found: V, key: str) -> V:
    """Write into the draft of the page what the field holds, from now on."""
    kept = draft()
    found.on_value_change(lambda event: kept.note(key, event.value))
    return found


def field(
    name: str, value: str = "", *, words: str = "", secret: bool = False, change: Handler | None = None
) -> ui.input:
    """A line of text."""
    if not secret:
        value = draft().take(name, value)
    made = ui.input(name, value=value, password=secret, on_change=change).classes("field")
    return _named(made if secret else _noted(made, name), name, words)


def lines(name: str, value: str = "", *, words: str = "", change: Handler | None = None) -> ui.textarea:
    """Several lines of text."""
    made = ui.textarea(name, value=draft().take(name, value), on_change=change)
    return _named(_noted(made.classes("field wide-field").props("autogrow"), name), name, words)


def number(
    name: str,
    value: float | None,
    *,
    low: float | None = None,
    high: float | None = None,
    step: float | None = None,
    words: str = "",
    change: Handler | None = None,
) -> ui.number:
    """A number."""
    value = draft().take(name, value)
    made = ui.number(name, value=value, min=low, max=high, step=step, on_change=change).classes("field")
    return _named(_noted(made, name), name, words)


def choice(
    name: str,
    options: Mapping[Any, str] | Sequence[str],
    value: Any = None,
    *,
    several: bool = False,
    words: str = "",
    change: Handler | None = None,
) -> ui.select:
    """One of some options, or several; where there are none yet, `offer` gives them later."""
    given = dict(options) if isinstance(options, Mapping) else list(options)
    if given:
        value = draft().take(name, value, fits=_fits(given, several))
    kind = Several if several else ui.select
    made = kind(given, label=name, value=value, multiple=several, on_change=change).classes("field")
    if several:
        made.props("use-chips")
    return _named(_noted(made, name), name, words)


def offer(found: ui.select, options: Mapping[Any, str] | Sequence[str], value: Any) -> None:
    """Give a choice other options, and the value that the page gives it."""
    given = dict(options) if isinstance(options, Mapping) else list(options)
    kept, name = draft(), found.props["aria-label"]
    value = kept.take(name, value, fits=_fits(given, found.multiple))
    typed = name in kept.values
    found.set_options(given, value=value)
    if not typed:  # the page has changed it, and no one has typed anything
        kept.values.pop(name, None)


def _fits(options: Collection[Any], several: bool) -> Callable[[Any], bool]:
    return lambda before: all(each in options for each in (before if several else [before]))


def checkbox(name: str, value: bool = False, *, key: str | None = None, change: Handler | None = None) -> ui.checkbox:
    """Yes or no; with a key where a page has several of that name."""
    key = key or name
    return _noted(ui.checkbox(name, value=draft().take(key, value), on_change=change), key)


def slider(
    name: str,
    options: Sequence[float],
    value: float,
    *,
    shown: Callable[[float], str] = lambda value: f"{value:g}",
    words: str = "",
    change: Handler | None = None,
) -> Callable[[], float]:
    """Show a slider over some values, with the chosen one beside its name and a note below it; return its reader.

    It is the browser's own: keys, touch and screen readers work, and the server never moves it.
    """
    places = list(options)
    texts = [shown(place) for place in places]
    kept = draft()
    chosen = kept.take(
        name,
        min(range(len(places)), key=lambda place: abs(places[place] - value)),
        fits=lambda before: before < len(places),
    )

    def say() -> None:
        label.set_content(f"{html.escape(name)}: <b>{html.escape(texts[chosen])}</b>")

    async def moved(event: Any) -> None:
        nonlocal chosen
        place = int(event.args)
        if 0 <= place < len(places):  # a browser may send any value
            chosen = place
            kept.note(name, place)
            say()
            if change is not None:
                done = change()
                if done is not None:
                    await done

    with ui.element("div").classes("field slider"):
        label = ui.html("", sanitize=False, tag="div")
        bar = set_attributes(ui.element("input"), type="range", min="0", max=str(len(places) - 1), step="1")
        # as an attribute (^): the framework puts a property back to where it was whenever it draws the page
        set_attributes(bar, **{"^value": str(chosen), "aria-label": name, "aria-valuetext": texts[chosen]})
        label_js = f"event.target.setAttribute('aria-valuetext', {json.dumps(texts)}[event.target.value])"
        bar.on("input", moved, js_handler=f"(event) => {{ {label_js}; emit(event.target.value) }}", throttle=0.1)
        if words:
            note(words)
    say()
    return lambda: places[chosen]


def soon(work: Handler) -> None:
    """Run work once the page is shown, so that the page opens without waiting for it."""
    ui.timer(0.01, work, once=True)


def button(words: str, click: Handler, *, main: bool = False, danger: bool = False) -> ui.button:
    """A button; disabled while its handler runs."""
    made = ui.button(words, color=None)  # the framework's colours would win over ours
    made.props("no-caps unelevated" if main or danger else "no-caps outline")
    made.classes("main-button" if main else "danger-button" if danger else "quiet-button")

    async def clicked() -> None:
        made.disable()
        try:
            done = click()
            if done is not None:
                await done
        finally:
            if not made.is_deleted:
                made.enable()

    made.on_click(clicked)
    return made


def upload(words: str, brought: Handler, *, accept: str) -> None:
    """A button that uploads a file. The framework's own field for files has no name for screen readers."""
    hidden = ui.upload(
        auto_upload=True,
        on_upload=brought,
        on_rejected=lambda: ui.notify(f"The file must be {accept.replace(',', ' or ')}."),
    )
    set_attributes(hidden.style("display: none"), accept=accept)
    made = ui.button(words, color=None).props("no-caps outline").classes("quiet-button")
    # picked in the browser itself, because a browser opens its files only for a click
    made.on("click", js_handler=f"() => runMethod({hidden.id}, 'pickFiles', [])")


async def confirm(question: str, words: str, yes: str) -> bool:
    """Ask before something that cannot be undone."""
    with ui.dialog() as dialog, ui.element("div").classes("panel dialog").props('role="document"'):
        heading(question)
        text(words)
        with row():
            ui.button(yes, on_click=lambda: dialog.submit(True), color=None).props("no-caps unelevated").classes(
                "main-button"
            )
            ui.button("Not now", on_click=lambda: dialog.submit(False), color=None).props("no-caps outline").classes(
                "quiet-button"
            )
    set_attributes(dialog, **{"aria-label": question})
    answer = await dialog
    dialog.delete()
    return bool(answer)


# -- what went wrong --------------------------------------------------------------------------------------------------


def plain_hint(hint: str | None) -> str:
    """Return a hint, or nothing if it names a shell command or a route."""
    return "" if hint is None or _COMMAND.search(hint) else hint


def hint_of(error: TacitaError) -> str:
    """Return the hint of an error for a page: without shell commands and routes, which a page does not have.

    >>> hint_of(TacitaError("is private", hint="Run `tacita schema confirm`"))
    ''
    """
    if isinstance(error, NotPublic):
        return "Check the schema, and confirm each attribute that is public."
    return plain_hint(error.hint)


def _words(error: TacitaError | None) -> tuple[str, str, str]:
    if error is None:
        return "An error in Tacita", "The server has logged the error.", "Try again."
    about = f"{error.field}: " if error.field else ""
    given = f" (it is {error.value})" if error.value is not None else ""
    return type(error).title, f"{about}{error.rule}{given}.", hint_of(error)


def problem(error: TacitaError | None) -> None:
    """Show an error in place of a page, with its hint."""
    name, rule, hint = _words(error)
    with ui.element("section").classes("panel problem").props('role="alert"'):
        heading(name)
        text(rule)
        if hint:
            text(hint)
        link("Start page", "/")


def problem_dialog(error: TacitaError | None) -> None:
    """Show an error in a dialog; the page stays as it is."""
    name, rule, hint = _words(error)
    with ui.dialog(value=True) as dialog, ui.element("div").classes("panel problem dialog").props('role="alert"'):
        heading(name)
        text(rule)
        if hint:
            text(hint)
        ui.button("Close", on_click=dialog.close, color=None).props("no-caps outline").classes("quiet-button")
    set_attributes(dialog, **{"aria-label": name})
