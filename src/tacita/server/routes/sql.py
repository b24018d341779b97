"""Questions in SQL: compiled to the same recipes, paid from the same account."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from fastapi.responses import JSONResponse
from starlette.responses import Response

from tacita.errors import InvalidInput
from tacita.query.sql import table_of
from tacita.server.auth.auth import Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.answers import StatisticsResponse
from tacita.server.releasing.kind import dataset_of, quote_plan
from tacita.server.releasing.queries import answer, make_sql_plan
from tacita.server.routes.query import Key
from tacita.wire import SqlPlan, SqlRequest, StatisticsModel

__all__ = ["router"]

router = APIRouter(tags=["query"], responses=DOCUMENTED, route_class=TokenFirst)

Asker = Annotated[Token, Depends(allow("steward", "analyst"))]


@router.post(
    "/v1/query",
    summary="Ask in SQL, or plan it",
    response_model=None,
    responses={200: {"model": StatisticsModel | SqlPlan, "description": "Statistics; a plan, when it is a dry run."}},
)
def query_sql(body: SqlRequest, token: Asker, services: Services_, key: Key = None) -> Response:
    """A question that was answered before, with the same noise and on the same data, gets that answer again, free."""
    name = table_of(body.sql)
    dataset = dataset_of(services, token, name)
    plan = make_sql_plan(services, dataset, body)
    if body.dry_run:
        expected = {"expected": [each.as_dict() for each in plan.expect()]}
        shown = SqlPlan.model_validate(quote_plan(services, dataset, plan) | expected)
        return JSONResponse(shown.model_dump(mode="json"))
    if key is not None and body.fresh:
        raise InvalidInput("a key stands for one answer; fresh asks for another", field="fresh")
    # the token's id is part of the key: no one finds another's answer by guessing
    scoped = None if key is None else f"token:{token.id}:{key}"
    repeat = body.fresh or scoped is not None
    found = answer(services, dataset, plan, principal=token.principal, purpose=body.purpose, key=scoped, repeat=repeat)
    return StatisticsResponse(found)
