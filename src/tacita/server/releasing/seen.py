"""Sight of releases: their owner, admins, and readers as far as their scope goes.

A reader sees what was released, and how: facts, statements and answers of every finished release of anyone, rows and
models of synthetic rows, where an account has paid for them. Of other releases, which hold cells and figures of real
people, it sees that they were made, for whom, with which columns and criteria.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from tacita.errors import Forbidden
from tacita.server.auth.tokens import Token
from tacita.server.jobs.jobs import Job, Jobs
from tacita.server.releasing.kind import ReleaseKind
from tacita.server.releasing.registry import KINDS

__all__ = ["check_rows", "facts_for", "may_see", "seen"]

_OF_UNPAID = ("tacita", "id", "guarantee", "columns", "asked", "attributes")
"""Facts about a release without a paid guarantee that hold no figure of the rows."""

_SHOWN = frozenset({"query", *(kind.job for kind in KINDS.values())})
_PAGE = 1000


def may_see(token: Token, job: Job) -> bool:
    """Whether a job may be seen with a token."""
    if token.role == "admin" or job.owner == token.id:
        return True
    return token.role == "reader" and job.kind in _SHOWN and job.state == "done" and _covers(token, job)


def check_rows(token: Token, job: Job, kind: ReleaseKind[Any]) -> None:
    """Refuse rows without a paid guarantee, and what their statement says of them, to a reader.

    Raises:
        Forbidden: The token is a reader's, and no account has paid for the rows.
    """
    if token.role == "reader" and not kind.paid:
        raise Forbidden(
            "readers see this only where an account has paid for the release",
            field="release",
            value=job.id,
            hint="The facts about the release say what was asked",
        )


def facts_for(token: Token, kind: ReleaseKind[Any], facts: dict[str, Any]) -> dict[str, Any]:
    """Facts about a release that may be seen with a token: figures of real rows are for those who made it."""
    if token.role != "reader" or kind.paid:
        return facts
    return {name: facts[name] for name in _OF_UNPAID if name in facts}


def seen(jobs: Jobs, token: Token, *, limit: int, offset: int) -> list[Job]:
    """Jobs that may be seen, newest first."""
    if token.role != "reader":
        return jobs.list(None if token.role == "admin" else token.id, limit=limit, offset=offset)
    if token.datasets is None:
        return jobs.list(kinds=_SHOWN, state="done", limit=limit, offset=offset)
    found: list[Job] = []
    start = 0
    while len(found) < offset + limit:  # the scope is in the request, which the database does not read
        page = jobs.list(kinds=_SHOWN, state="done", limit=_PAGE, offset=start)
        found += [job for job in page if _covers(token, job)]
        start += _PAGE
        if len(page) < _PAGE:
            break
    return list(islice(found, offset, offset + limit))


def _covers(token: Token, job: Job) -> bool:
    """Whether the dataset of a job is in scope; a run with holders has none, and needs a token for everything."""
    dataset = job.request.get("dataset")
    return token.datasets is None or (isinstance(dataset, str) and token.covers(dataset))
