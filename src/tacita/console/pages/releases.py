"""List of releases."""

from __future__ import annotations

from tacita.console.look import kit
from tacita.console.look.cards import release_cards
from tacita.console.page import Visit, page

__all__ = ["releases"]


@page("/releases", "Releases", roles=("steward", "analyst", "reader"), menu=("Releases", "Releases"))
async def releases(visit: Visit) -> None:
    """List the releases, newest first."""
    made = {"query", *(kind["job"] for kind in await visit.api.get("/v1/releases/kinds"))}
    found = [job for job in await visit.api.get("/v1/jobs", limit=1000) if job["kind"] in made]
    may_make = visit.may("steward", "analyst")
    if may_make:
        with kit.actions():
            kit.link("Make a release", "/releases/new", "main-button")
    if not found:
        make = ("Make a release", "/releases/new") if may_make else ()
        said = "There is no release yet. A release is a public output: rows, tables, or a model."
        kit.empty(said, *make, sign="outbox")
        return
    assessed = [job["release"] for job in await visit.api.get("/v1/jobs", limit=1000) if job["kind"] == "assess"]
    release_cards(found, assessed=assessed)
