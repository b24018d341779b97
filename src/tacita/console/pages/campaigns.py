"""The campaigns: what is being asked, and how many have answered."""

from __future__ import annotations

from functools import partial
from typing import Any

from tacita.console.page import Visit, page
from tacita.console.parts import kit

__all__ = ["campaigns"]


@page("/campaigns", "Campaigns", roles=("steward", "analyst"), menu=("Collect", "Campaigns"))
async def campaigns(visit: Visit) -> None:
    """All campaigns, the newest first."""
    found = await visit.api.get("/v1/campaigns")
    kit.note(
        "A campaign asks many people, each on their own device. What they send is randomised before it leaves them, so "
        "nobody has to be trusted with their answers."
    )
    may_open = visit.may("steward") and visit.me["datasets"] is None
    if not found:
        if may_open:
            kit.empty("Nobody is asked anything yet.", "Plan a campaign", "/campaigns/new")
        else:
            kit.empty("Nobody is asked anything yet. A steward of all datasets can open a campaign.")
        return
    if may_open:
        with kit.row():
            kit.link("Plan a campaign", "/campaigns/new", "main-button")
    with kit.panel("All campaigns"):
        kit.table(
            ["title", "state", ">reports", ">epsilon at most", "since"],
            [_line(each) for each in reversed(found)],
            caption="All campaigns",
        )


def _line(found: dict[str, Any]) -> list[object]:
    return [
        partial(kit.link, found["title"], f"/campaigns/{found['id']}"),
        partial(kit.state, found["state"]),
        f"{found['received']:,}",
        f"{found['epsilon']:.4g}",
        found["created"][:10],
    ]
