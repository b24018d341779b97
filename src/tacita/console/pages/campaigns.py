"""List of campaigns."""

from __future__ import annotations

from functools import partial
from typing import Any

from tacita.console.look import kit
from tacita.console.page import Visit, page

__all__ = ["campaigns"]


@page("/campaigns", "Campaigns", roles=("steward", "analyst", "reader"), menu=("Collect", "Campaigns"))
async def campaigns(visit: Visit) -> None:
    """All campaigns, the newest first."""
    found = await visit.api.get("/v1/campaigns")
    kit.note(
        "A campaign is a survey under local differential privacy. The device of each respondent randomises the answer "
        "before it sends it, so the server never has a true answer."
    )
    may_open = visit.may("steward") and visit.me["datasets"] is None
    if not found:
        if may_open:
            kit.empty("There is no campaign yet.", "New campaign", "/campaigns/new", sign="campaign")
        else:
            kit.empty("There is no campaign yet. A steward of all datasets can open one.")
        return
    if may_open:
        with kit.actions():
            kit.link("New campaign", "/campaigns/new", "main-button")
    with kit.panel("All campaigns"):
        kit.table(
            ["title", "wave", "state", ">reports", ">epsilon at most", "created"],
            [_line(each) for each in reversed(found)],
            caption="All campaigns",
        )


def _line(found: dict[str, Any]) -> list[object]:
    return [
        partial(kit.link, found["title"], f"/campaigns/{found['id']}"),
        "" if found["series"] is None else f"{found['series']['wave']} of {found['series']['waves']}",
        partial(kit.state, found["state"]),
        f"{found['received']:,}",
        f"{found['epsilon']:.4g}",
        found["created"][:10],
    ]
