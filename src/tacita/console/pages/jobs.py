"""List of jobs."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from tacita.console.look import kit, words
from tacita.console.look.watching import RUNS, path_of
from tacita.console.page import Visit, page

__all__ = ["jobs"]

_SECONDS = 2.0


@page("/jobs", "Jobs", roles=("steward", "analyst"), menu=("Releases", "Jobs"))
async def jobs(visit: Visit) -> None:
    """List the jobs; refreshed every two seconds while one runs."""

    @ui.refreshable
    async def shown() -> None:
        found = await visit.api.get("/v1/jobs", limit=100)
        if not found:
            kit.empty("There is no job yet. Releases and assessments run as jobs.", "Make a release", "/releases/new")
            return
        rows = [
            [
                partial(kit.link, words.KINDS.get(job["kind"], job["kind"]), path_of(job)),
                job["dataset"] or "",
                partial(kit.state, job["state"]),
                f"{100 * job['progress']:.0f} %",
                job["note"] or _fault(job),
                words.when(job["created"]),
                partial(_cancel, job),
            ]
            for job in found
        ]
        columns = ["job", "dataset", "state", ">progress", "note", "started", "cancel"]
        kit.table(columns, rows, caption="Jobs")
        timer.active = any(job["state"] in RUNS for job in found)

    def _cancel(job: dict[str, Any]) -> None:
        async def stop() -> None:
            words_ = "Budget that it has spent is not refunded."
            if await kit.confirm("Cancel this job?", words_, "Cancel the job"):
                await visit.api.post(f"/v1/jobs/{job['id']}/cancel")
                await shown.refresh()

        if job["state"] in ("queued", "running"):
            kit.button("Cancel", stop)

    timer = ui.timer(_SECONDS, shown.refresh, active=False)
    await shown()


def _fault(job: dict[str, Any]) -> str:
    error = job["error"] or {}
    return str(error.get("rule") or error.get("detail") or "")
