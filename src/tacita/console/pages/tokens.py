"""Who may do what."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import Any

from nicegui import ui

from tacita.console.page import Visit, page
from tacita.console.parts import kit, words

__all__ = ["tokens"]

_ROLES = {
    "analyst": "analyst: asks, within budgets and policies",
    "steward": "steward: looks after datasets and campaigns",
    "holder": "holder: sends reports, answers federated runs",
    "admin": "admin: everything, also tokens",
}
_DAYS = {1: "a day", 7: "a week", 90: "90 days", 365: "a year", 0: "for ever"}


@page("/tokens", "People and tokens", roles=("admin",), menu=("Server", "People and tokens"), form=True)
async def tokens(visit: Visit) -> None:
    """Tokens are how the server knows people and programs."""
    datasets = [dataset["name"] for dataset in await visit.api.get("/v1/datasets")]
    campaigns = [campaign["id"] for campaign in await visit.api.get("/v1/campaigns")]

    @ui.refreshable
    async def listed() -> None:
        rows = [
            [
                token["name"],
                token["role"],
                "all" if token["datasets"] is None else ", ".join(token["datasets"]),
                words.when(token["created"]),
                words.when(token["expires"]) or "never",
                partial(_standing, token),
                partial(_revoke, token),
            ]
            for token in await visit.api.get("/v1/tokens")
        ]
        columns = ["whose", "role", "good for", "made", "ends", "state", "end it"]
        kit.table(columns, rows, caption="Tokens")

    def _revoke(token: dict[str, Any]) -> None:
        async def revoke() -> None:
            said = f"Whoever uses the token of {token['name']} is shut out at once, and jobs it began end."
            if await kit.confirm("End this token for good?", said, "End it"):
                await visit.api.delete(f"/v1/tokens/{token['id']}")
                await listed.refresh()

        if token["revoked"] is None and token["id"] != visit.me["id"]:
            kit.button("End", revoke)

    async def make() -> None:
        days = int(ends.value)
        until = (dt.datetime.now(dt.UTC) + dt.timedelta(days=days)).isoformat() if days else None
        body = {"name": name.value, "role": role.value, "datasets": scope.value or None, "expires": until}
        made = await visit.api.post("/v1/tokens", body)
        kit.draft().forget()
        _show_once(made["token"])
        await listed.refresh()

    with kit.panel("Make a token", "Its text is shown once. The server keeps only a digest of it."), kit.row():
        name = kit.field("Whose it is")
        role = kit.choice("Role", _ROLES, "analyst")
        scope = kit.choice("Only for (nothing: all)", [*datasets, *campaigns], [], several=True)
        ends = kit.choice("Good for", _DAYS, 90)
        kit.button("Make it", make, main=True)
    with kit.panel("Tokens"):
        await listed()


def _standing(token: dict[str, Any]) -> None:
    over = token["expires"] and dt.datetime.fromisoformat(token["expires"]) <= dt.datetime.now(dt.UTC)
    kit.state("revoked" if token["revoked"] else "expired" if over else "good")


def _show_once(text: str) -> None:
    with ui.dialog(value=True) as dialog, ui.element("div").classes("panel dialog"):
        kit.heading("The token")
        kit.text("Copy it now and hand it over safely: it is shown this once.")
        kit.text(text, "token", tag="code")
        with kit.row():
            kit.button("Copy", lambda: ui.clipboard.write(text))
            kit.button("Done", dialog.close, main=True)
    kit.said(dialog.props("persistent"), **{"aria-label": "The token"})
    # what is shown once does not stay in the page
    dialog.on_value_change(lambda event: None if event.value else dialog.delete())
