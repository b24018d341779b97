"""The audit log: who did what, and when. For stewards and readers, as far as their scope goes."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Query

from tacita.server.auth.auth import Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.store.events import EventKind
from tacita.wire import AuditPage, EventInfo

__all__ = ["router"]

router = APIRouter(tags=["audit"], responses=DOCUMENTED, route_class=TokenFirst)

Reader = Annotated[Token, Depends(allow("steward", "reader"))]


@router.get("/v1/audit", summary="Who did what, and when")
def list_events(
    token: Reader,
    services: Services_,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    before: Annotated[int | None, Query(ge=1, lt=1 << 63, description="Only lines with a smaller id.")] = None,
    kind: Annotated[EventKind | None, Query(description="Only lines of one kind.")] = None,
) -> AuditPage:
    """Newest first. A token with a scope sees only what was done to what is in it."""
    services.refused_tokens.flush()
    found = services.events.list(limit=limit + 1, before=before, kind=kind, subjects=token.datasets)
    shown = [EventInfo.model_validate(line.as_dict()) for line in found[:limit]]
    return AuditPage(events=shown, next_before=shown[-1].id if len(found) > limit else None)
