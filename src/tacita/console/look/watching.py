"""A job while it runs: how far it is, a button to stop it, and then its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from tacita.console.look import kit
from tacita.console.page import Visit

__all__ = ["RUNS", "path_of", "watch"]

RUNS = ("queued", "running", "cancelling")
"""States of a job that has not ended."""
_SECONDS = 0.7
_SPENT = "Budget that it has spent is not refunded."


async def watch(
    visit: Visit,
    job: dict[str, Any],
    show: Callable[[dict[str, Any]], Awaitable[None]],
    *,
    ended: Callable[[dict[str, Any]], None] | None = None,
    stop: tuple[str, str, str] = ("Cancel this job?", _SPENT, "Cancel the job"),
    about: str = "",
) -> None:
    """Show the progress of a job until it ends; then its result, or why there is none.

    Args:
        visit: Who looks.
        job: As the interface returned it.
        show: Shows the result of a job that is done.
        ended: Shows why there is no result; by default the error of the job.
        stop: Question, warning and button when someone stops it.
        about: A note while it runs.
    """
    room = ui.element("div").props('aria-live="polite"')  # the timer is outside of it, and survives when it is cleared
    if job["state"] not in RUNS:
        with room:
            await _result(job, show, ended or _failed)
        return
    with room, kit.panel("Running", about):
        line = kit.text(_line(job))
        bar = kit.set_attributes(
            ui.element("progress").classes("progress").props("max=100"), **{"aria-label": "Progress"}
        )
        bar.props["value"] = _percent(job)
        kit.skeleton("", 3)

        async def cancel() -> None:
            if await kit.confirm(*stop):
                button.set_visibility(False)
                kit.reword(line, "cancelling")
                await visit.api.post(f"/v1/jobs/{job['id']}/cancel")

        button = kit.button("Cancel", cancel)

    async def look() -> None:
        if not ui.context.client.has_socket_connection:
            return
        found = await visit.api.get(f"/v1/jobs/{job['id']}")
        if found["state"] in RUNS:
            if found["progress"] != float(bar.props["value"]) / 100:
                bar.props["value"] = _percent(found)
                bar.update()
            button.set_visibility(found["state"] != "cancelling")
            kit.reword(line, _line(found))
            return
        timer.deactivate()
        room.clear()
        with room:
            await _result(found, show, ended or _failed)

    timer = ui.timer(_SECONDS, look)


async def _result(
    job: dict[str, Any], show: Callable[[dict[str, Any]], Awaitable[None]], ended: Callable[[dict[str, Any]], None]
) -> None:
    if job["state"] == "done":
        await show(job)
    else:
        ended(job)


def _line(job: dict[str, Any]) -> str:
    return f"{job['state']}: {job['note'] or 'waiting in the queue'} ({_percent(job)} %)"


def _percent(job: dict[str, Any]) -> str:
    return f"{100 * job['progress']:.0f}"


def _failed(job: dict[str, Any]) -> None:
    error = job["error"] or {}
    with kit.panel("The job failed" if job["state"] == "failed" else "The job was cancelled") as panel:
        panel.classes("problem")
        kit.text(str(error.get("detail") or error.get("rule") or "There is no result."))
        if hint := kit.plain_hint(error.get("hint")):
            kit.text(hint)


def path_of(job: dict[str, Any]) -> str:
    """Return the path of the page that shows the result of a job."""
    if job["kind"] == "compare":
        return f"/comparisons/{job['id']}"
    if job["kind"] == "disclosure":
        return f"/files/v1/disclosures/{job['id']}/page"
    return f"/releases/{job['release'] or job['id']}"
