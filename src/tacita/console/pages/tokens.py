"""Tokens: access of people and programs, by role."""

from __future__ import annotations

import datetime as dt
from functools import partial
from typing import Any

from nicegui import ui

from tacita.console.look import kit, words
from tacita.console.page import Visit, page
from tacita.errors import InvalidInput

__all__ = ["tokens"]

_ROLES = {
    "analyst": "analyst: makes releases within budgets and policies",
    "steward": "steward: manages datasets and campaigns",
    "reader": "reader: sees all releases and the audit log, changes nothing",
    "holder": "holder: sends reports, takes part in federated runs",
    "admin": "admin: all rights, including tokens",
}
_CHOSEN, _ALL = "only these datasets and campaigns", "all, also later ones"
_DAYS = {1: "a day", 7: "a week", 90: "90 days", 365: "a year", 0: "without end"}


@page("/tokens", "People and tokens", roles=("admin",), menu=("Server", "People and tokens"), form=True)
async def tokens(visit: Visit) -> None:
    """List the tokens, with a form for a new one."""
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
                partial(_state, token),
                partial(_revoke, token),
            ]
            for token in await visit.api.get("/v1/tokens")
        ]
        columns = ["name", "role", "datasets", "created", "expires", "state", "revoke"]
        kit.table(columns, rows, caption="Tokens")

    def _revoke(token: dict[str, Any]) -> None:
        async def revoke() -> None:
            warning = f"The token of {token['name']} stops working at once, and its jobs end. This cannot be undone."
            if await kit.confirm("Revoke this token?", warning, "Revoke the token"):
                await visit.api.delete(f"/v1/tokens/{token['id']}")
                await listed.refresh()

        if token["revoked"] is None and token["id"] != visit.me["id"]:
            kit.button("Revoke", revoke)

    async def make() -> None:
        days = int(ends.value)
        until = (dt.datetime.now(dt.UTC) + dt.timedelta(days=days)).isoformat() if days else None
        whole = everything.value == _ALL or role.value == "admin"
        if not whole and not scope.value:
            raise InvalidInput("choose at least one dataset or campaign, or all of them", field="scope")
        body = {"name": name.value, "role": role.value, "datasets": None if whole else scope.value, "expires": until}
        made = await visit.api.post("/v1/tokens", body)
        kit.draft().forget()
        _show_once(made["token"])
        await listed.refresh()

    with kit.panel("New token", "The token is shown once. The server stores only its digest."), kit.row():
        name = kit.field("Name of the person or program")
        role = kit.choice("Role", _ROLES, "analyst")
        everything = kit.choice("Scope", [_CHOSEN, _ALL], _CHOSEN)
        scope = kit.choice("Datasets and campaigns", [*datasets, *campaigns], [], several=True)
        ends = kit.choice("Valid for", _DAYS, 90)
        kit.button("Create the token", make, main=True)
    with kit.panel("Tokens"):
        await listed()


def _state(token: dict[str, Any]) -> None:
    over = token["expires"] and dt.datetime.fromisoformat(token["expires"]) <= dt.datetime.now(dt.UTC)
    kit.state("revoked" if token["revoked"] else "expired" if over else "good")


def _show_once(text: str) -> None:
    with ui.dialog(value=True) as dialog, ui.element("div").classes("panel dialog"):
        kit.heading("The token")
        kit.text("Copy it now and pass it on safely: it is not shown again.")
        kit.text(text, "token", tag="code")
        with kit.row():
            kit.button("Copy", lambda: ui.clipboard.write(text))
            kit.button("Done", dialog.close, main=True)
    kit.set_attributes(dialog.props("persistent"), **{"aria-label": "The token"})
    # a token that is shown once must not stay in the page
    dialog.on_value_change(lambda event: None if event.value else dialog.delete())
