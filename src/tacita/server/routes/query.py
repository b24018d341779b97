"""Queries: tables with noise. A dry run plans; a real one reserves, runs and settles."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header
from fastapi.responses import JSONResponse
from starlette.responses import Response

from tacita.server.auth.auth import Services_, allow_on
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.answers import ReleaseResponse
from tacita.server.releasing.kind import dataset_of, quote_plan
from tacita.server.releasing.queries import answer, make_plan
from tacita.wire import Plan, QueryRequest, ReleasesModel

__all__ = ["Key", "router"]

router = APIRouter(tags=["query"], responses=DOCUMENTED, route_class=TokenFirst)

Asker = Annotated[Token, Depends(allow_on("steward", "analyst"))]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=120,
        pattern=r"^[\x21-\x7e]+$",
        description="The same key again gives the same answer, and nothing is charged.",
    ),
]


@router.post(
    "/v1/datasets/{name}/query",
    summary="Plan a query, or ask it",
    response_model=None,
    responses={200: {"model": ReleasesModel | Plan, "description": "Releases; a plan, when it is a dry run."}},
)
def query(name: str, body: QueryRequest, token: Asker, services: Services_, key: Key = None) -> Response:
    """With `dry_run` nothing is charged and the data is not touched. Otherwise it is charged first."""
    dataset = dataset_of(services, token, name)
    plan = make_plan(services, dataset, body)
    if body.dry_run:
        return JSONResponse(Plan.model_validate(quote_plan(services, dataset, plan)).model_dump(mode="json"))
    # the token's id is part of the key: no one finds another's answer by guessing
    scoped = None if key is None else f"token:{token.id}:{key}"
    return ReleaseResponse(answer(services, dataset, plan, principal=token.principal, purpose=body.purpose, key=scoped))
