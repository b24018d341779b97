"""Public tables on the page of a campaign: upload, publish with them, see what that changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from nicegui import events, ui

from tacita.console.look import charts, kit
from tacita.console.look.plots import interval_bars
from tacita.console.page import Visit
from tacita.console.parts.convergence import MOST_BARS, bars
from tacita.errors import Conflict, InvalidInput
from tacita.tables.release import Release, Releases

__all__ = ["plain_item", "show_priors", "trust"]

_OTHER = ("duchi", "piecewise", "hybrid", "fourier")
"""Channels of means and of margins, which are published without a prior."""


def plain_item(name: str, content: bytes) -> dict[str, Any]:
    """An uploaded file as one item of a prior: a table as CSV, or releases as JSON."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidInput("must be UTF-8 text", field="file", value=name, hint="Save it as UTF-8") from None
    if not name.lower().endswith(".json"):
        return {"csv": text}
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InvalidInput("must be a release as JSON", field="file", value=name)
    return {"releases": found}


def trust(release: Release) -> str:
    """Support of the reports for the public tables, in words."""
    trusted = float(release.provenance.recipe.get("prior", {"trust": 0.0})["trust"])
    if trusted < 0.15:
        return f"The reports contradict the public tables, which were trusted to {trusted:.0%}."
    agrees = "support" if trusted > 0.5 else "partly support"
    return f"The reports {agrees} the public tables, which were trusted to {trusted:.0%}."


def show_priors(visit: Visit, id: str, questions: Sequence[Mapping[str, Any]]) -> None:
    """Show the upload of public tables, and the tables that are published with them."""
    tables = list(dict.fromkeys(tuple(each["attributes"]) for each in questions if each["channel"] not in _OTHER))
    if not tables:
        return
    items: dict[str, dict[str, Any]] = {}

    def list_files() -> None:
        kit.reword(files, f"Public tables: {', '.join(items)}" if items else "No public table yet.")
        button.set_enabled(bool(items))

    async def brought(event: events.UploadEventArguments) -> None:
        items[event.file.name] = plain_item(event.file.name, await event.file.read())
        list_files()

    def forget() -> None:
        items.clear()
        room.clear()
        list_files()

    async def publish() -> None:
        room.clear()
        body = {"prior": list(items.values())}
        try:
            plain = await visit.api.post(f"/v1/campaigns/{quote(id, safe='')}/releases", body)
        except Conflict as error:
            with room:
                kit.note(f"The campaign {error.rule}: {error.value}.")
            return
        release = Releases.from_dict(plain).project(tuple(table.value))
        with room:
            kit.text(trust(release))
            name = " x ".join(release.attributes)
            charts.show(
                interval_bars(bars(release), title=f"Shares of {name} with public tables", what=name, share=True)
            )
            kit.note(
                "Bars use the public tables. Lines are 95 % confidence intervals of the unbiased shares, which do not."
                + (f" First {MOST_BARS} of {release.values.size:,} cells." * (release.values.size > MOST_BARS))
            )
            content = json.dumps(plain, ensure_ascii=False).encode()
            kit.button("Download all tables (JSON)", lambda: ui.download(content, f"{id}-with-prior.json"))

    with ui.element("div").classes("finding"):
        kit.heading("Use public tables", 3)
        kit.note(
            "Tables of some attributes that are public already, such as a census or last year's results, can improve "
            "the estimates. The reports decide how far they are trusted. Do not use private tables: results may show "
            "them."
        )
        with kit.row():
            kit.upload("Upload a public table", brought, accept=".csv,.json")
            kit.button("Remove all", forget)
        kit.note("CSV: a column for each attribute and a column count or share. JSON: a release.")
        files = kit.note("").props("aria-live=polite")
        table = kit.choice("Table to show with them", {each: " x ".join(each) for each in tables}, tables[0])
        button = kit.button("Publish with public tables", publish)
        room = ui.element("div").props("aria-live=polite")
    list_files()
