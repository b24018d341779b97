"""Who did what, and when: read off what the server keeps anyway."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from tacita.console import kit, words
from tacita.console.page import Visit, page

__all__ = ["audit"]

_SHOWN = 200


@page("/audit", "Audit log", roles=("steward",), menu=("Server", "Audit log"))
async def audit(visit: Visit) -> None:
    """Charges, rows that left, campaigns, jobs and tokens in one list, newest first."""
    entries = sorted(await _entries(visit), reverse=True)
    kinds = sorted({kind for _, kind, *_ in entries})

    @ui.refreshable
    def shown() -> None:
        wanted = [entry for entry in entries if which.value in ("all", entry[1])]
        if not wanted:
            kit.empty("Nothing has happened yet.")
            return
        rows = [[words.when(at), kind, about, who, what] for at, kind, about, who, what in wanted[:_SHOWN]]
        kit.table(["when", "what", "about", "who", "details"], rows, caption="Audit log")
        if len(wanted) > _SHOWN:
            kit.note(f"The latest {_SHOWN} of {len(wanted)}.")

    with kit.panel("", "Nothing here can be changed or removed. The ledger of each dataset is its own proof."):
        which = kit.choice("Show", ["all", *kinds], "all", change=shown.refresh)
        shown()


async def _entries(visit: Visit) -> list[tuple[str, str, str, str, str]]:
    found: list[tuple[str, str, str, str, str]] = []
    api = visit.api
    names: dict[str, str] = {}
    if visit.role == "admin":
        for token in await api.get("/v1/tokens"):
            names[token["id"]] = token["name"]
            found.append((token["created"], "token made", token["role"], token["name"], token["id"]))
            if token["revoked"]:
                found.append((token["revoked"], "token ended", token["role"], token["name"], token["id"]))
    for dataset in await api.get("/v1/datasets"):
        name = dataset["name"]
        found.append((dataset["created"], "dataset registered", name, "", words.budget(dataset["budget"])))
        charges = (await api.get(f"/v1/datasets/{name}/charges", limit=1000))["charges"]
        found += [(c["created"], "charge", name, c["principal"], f"{c['purpose']} ({c['state']})") for c in charges]
        left = await api.get(f"/v1/datasets/{name}/releases")
        found += [(r["at"], "rows left", name, r["recipient"], ", ".join(r["attributes"])) for r in left]
    for campaign in await api.get("/v1/campaigns"):
        found.append((campaign["created"], "campaign made", campaign["title"], "", campaign["id"]))
        if campaign["closed"]:
            found.append((campaign["closed"], "campaign closed", campaign["title"], "", campaign["reason"]))
    for job in await api.get("/v1/jobs", limit=1000):
        found.append((job["created"], "job", job["dataset"] or "", _owner(job, names), f"{_kind(job)}: {job['state']}"))
    return found


def _kind(job: dict[str, Any]) -> str:
    return words.KINDS.get(job["kind"], str(job["kind"]))


def _owner(job: dict[str, Any], names: dict[str, str]) -> str:
    return names.get(job["owner"], str(job["owner"]))
