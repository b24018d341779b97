"""The server's audit log: events with their time and their principal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from tacita.console.look import kit, words
from tacita.console.page import Visit, page

__all__ = ["KINDS", "audit", "details"]

_SHOWN = 100
_ALL = "everything"
_PROMISE = (
    "Tacita never changes or removes an entry of this log. A person with access to the database could. "
    "The ledger of a dataset lists the cost of each charge."
)

KINDS = {
    "account-closed": "account closed, unused",
    "account-reopened": "account reopened after a restore",
    "account-replaced": "account replaced, unused",
    "answer-read": "answer of a question read",
    "budget-raised": "budget raised",
    "block-adopted": "block adopted",
    "campaign-closed": "campaign closed",
    "campaign-made": "campaign created",
    "campaign-opened": "campaign opened",
    "charge": "charge",
    "dataset-registered": "dataset registered",
    "dataset-removed": "dataset removed, unused",
    "file-anonymized": "file anonymized",
    "data-again": "another account for the same data",
    "invitations-made": "invitations created",
    "job-asked": "job requested",
    "job-cancelled": "job cancelled",
    "ledger-fenced": "accounts closed by a restore",
    "ledger-reopened": "new accounts allowed after a restore",
    "log-begun": "log started",
    "model-deleted": "model deleted",
    "model-exported": "model exported",
    "model-loaded": "model loaded",
    "policy-set": "policy set",
    "release-deleted": "rows deleted",
    "rows-fetched": "rows fetched",
    "rows-left": "anonymized rows released",
    "schema-drafted": "schema drafted",
    "signed-in": "signed in",
    "signed-out": "signed out",
    "source-brought": "file uploaded",
    "source-removed": "file removed",
    "state-copied": "state backed up",
    "tally-merged": "tally merged",
    "tally-taken": "tally exported",
    "token-ended": "token revoked",
    "token-made": "token created",
    "token-refused": "token refused",
}
"""Names of the kinds of events."""


@page("/audit", "Audit log", roles=("steward", "reader"), menu=("Server", "Audit log"))
async def audit(visit: Visit) -> None:
    """Show the log in parts, newest events first."""
    before: list[int] = []  # where this page and those that were left for older ones begin

    @ui.refreshable
    async def shown() -> None:
        asked = {} if which.value == _ALL else {"kind": which.value}
        if before:
            asked["before"] = before[-1]
        found = await visit.api.get("/v1/audit", limit=_SHOWN, **asked)
        if not found["events"]:
            kit.empty("No event of this kind yet.")
            return
        rows = [_row(line) for line in found["events"]]
        kit.table(["when", "what", "about", "who", "details"], rows, caption="Audit log")
        with kit.row():
            if before:
                kit.button("Newer", newer)
            if found["next_before"] is not None:
                kit.button("Older", _to(found["next_before"]))

    def _to(id: int) -> Callable[[], Any]:
        async def older() -> None:
            before.append(id)
            await shown.refresh()

        return older

    async def newer() -> None:
        before.pop()
        await shown.refresh()

    async def choose() -> None:
        before.clear()
        await shown.refresh()

    with kit.panel("", _PROMISE):
        which = kit.choice("Show", {_ALL: _ALL} | KINDS, _ALL, change=choose)
        await shown()


def _row(line: Mapping[str, Any]) -> list[object]:
    about = line["detail"].get("title") or line["detail"].get("name") or line["subject"]
    if line["kind"] in ("signed-in", "signed-out"):
        about = ""  # the token of the principal, who is listed beside it
    kind = KINDS.get(line["kind"], line["kind"])
    return [words.when(line["at"]), kind, about, line["principal"], details(line["subject"], line["detail"])]


def details(subject: str, known: Mapping[str, Any]) -> str:
    """Describe the further details of an event.

    >>> details("people", {"asked": "synthesize", "budget": {"epsilon": 1.0}, "purpose": "release", "job": "job_1"})
    'synthetic rows; ε 1; for release; job_1'
    >>> details("people", {"old": {"epsilon": 1.0}, "new": {"epsilon": 2.0}})
    'from ε 1 to ε 2'
    """
    parts: list[str] = []
    if "asked" in known:
        parts.append(words.KINDS.get(known["asked"], str(known["asked"])))
    if "budget" in known:
        parts.append(words.budget(known["budget"]))
    if "old" in known:
        parts.append(f"from {words.budget(known['old'])} to {words.budget(known['new'])}")
    if "purpose" in known:
        parts.append(f"for {known['purpose']}")
    shown = {"asked", "budget", "old", "new", "purpose", "title", "name"}
    parts += [_said(name, value) for name, value in known.items() if name not in shown and value not in ([], "", False)]
    if known.get("title") or known.get("name"):
        parts.append(subject)
    return "; ".join(part for part in parts if part)


def _said(name: str, value: Any) -> str:
    if name in ("charge", "job", "model", "release", "reason"):  # they say themselves what they are
        return str(value)
    shown = ", ".join(map(str, value)) if isinstance(value, list) else words.amount(value) if _is(value) else str(value)
    return f"{name} {shown}"


def _is(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
