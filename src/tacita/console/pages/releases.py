"""List of releases."""

from __future__ import annotations

from functools import partial

from tacita.console.page import Visit, page
from tacita.console.parts import kit, words

__all__ = ["releases"]


@page("/releases", "Releases", roles=("steward", "analyst"), menu=("Releases", "Releases"))
async def releases(visit: Visit) -> None:
    """List the releases, newest first."""
    made = {"query", *(kind["job"] for kind in await visit.api.get("/v1/releases/kinds"))}
    found = [job for job in await visit.api.get("/v1/jobs", limit=1000) if job["kind"] in made]
    with kit.row():
        kit.link("Make a release", "/releases/new", "main-button")
    if not found:
        kit.empty("There is no release yet. A release is a public output: rows, tables, or a model.")
        return
    assessed = {job["release"] for job in await visit.api.get("/v1/jobs", limit=1000) if job["kind"] == "assess"}
    rows = [
        [
            partial(kit.link, words.KINDS.get(job["kind"], job["kind"]), f"/releases/{job['id']}"),
            job["dataset"] or "",
            partial(kit.state, job["state"]),
            "yes" if job["id"] in assessed else "no",
            words.when(job["created"]),
        ]
        for job in found
    ]
    kit.table(["release", "dataset", "state", "assessed", "started"], rows, caption="Releases")
