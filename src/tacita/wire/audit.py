"""The audit log."""

from __future__ import annotations

import datetime as dt
from typing import Any

from pydantic import Field

from tacita.wire.base import ResponseModel

__all__ = ["AuditPage", "EventInfo"]


class EventInfo(ResponseModel):
    """One line of the audit log."""

    id: int
    at: dt.datetime
    kind: str
    subject: str = Field(description="The dataset, campaign, source or token that it was done to; may be empty.")
    principal: str = Field(description="Who did it, as in the ledger.")
    detail: dict[str, Any] = Field(description="What else is public about it.")


class AuditPage(ResponseModel):
    """A part of the audit log, newest first."""

    events: list[EventInfo]
    next_before: int | None = Field(description="What `before` must be for the next page; null at the end.")
