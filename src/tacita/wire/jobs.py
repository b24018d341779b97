"""Jobs."""

from __future__ import annotations

import datetime as dt
from typing import Any, Literal

from pydantic import Field

from tacita.wire.base import Name, ResponseModel
from tacita.wire.queries import TableQuery

__all__ = ["JobInfo", "QueryJob"]


class QueryJob(TableQuery):
    """A query that runs in the background, and is charged when it does."""

    kind: Literal["query"]
    dataset: Name


class JobInfo(ResponseModel):
    """A job and how far it is."""

    id: str
    kind: str
    owner: str
    state: Literal["queued", "running", "cancelling", "done", "failed", "cancelled"]
    progress: float
    note: str
    attempts: int
    dataset: str | None = Field(description="Whose data it is about, where it is about one.")
    release: str | None = Field(description="Which release it is about, where it is about one.")
    error: dict[str, Any] | None
    created: dt.datetime
    finished: dt.datetime | None
