"""Budgets: balance, history of charges, and raising them."""

from __future__ import annotations

import json
from contextlib import closing
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response

from tacita.errors import Conflict
from tacita.privacy.unit import Unit
from tacita.server.auth.auth import Services_, allow_on
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.answers import DocumentResponse
from tacita.server.releasing.kind import dataset_of
from tacita.server.routes.datasets import neighbours_of
from tacita.wire import Balance, ChargeInfo, ChargePage, RaiseBudget, ReplaceAccount

__all__ = ["router"]

router = APIRouter(tags=["budget"], responses=DOCUMENTED, route_class=TokenFirst)

Reader = Annotated[Token, Depends(allow_on("steward", "analyst", "reader"))]
Auditor = Annotated[Token, Depends(allow_on("steward", "reader"))]
Steward = Annotated[Token, Depends(allow_on("steward"))]
Board = Annotated[Token, Depends(allow_on("reader"))]
_ANSWERS = frozenset({"releases/1", "statistics/1", "model/1", "bounds/1", "numeric-network/1"})


@router.get("/v1/datasets/{name}/budget", summary="The balance of a dataset's account")
def get_budget(name: str, token: Reader, services: Services_) -> Balance:
    """In the currency of the budget, for all who ask together."""
    account = dataset_of(services, token, name).account.name
    return Balance.model_validate(services.ledger.balance(account).as_dict())


@router.post("/v1/datasets/{name}/budget", summary="Raise a dataset's budget")
def raise_budget(name: str, body: RaiseBudget, token: Steward, services: Services_) -> Balance:
    """Written into the history. A budget is never lowered."""
    account = dataset_of(services, token, name).account.name
    services.ledger.raise_budget(account, body.budget.budget(), principal=token.principal)
    return Balance.model_validate(services.ledger.balance(account).as_dict())


@router.put("/v1/datasets/{name}/budget", summary="Replace the account of a dataset")
def replace_account(name: str, body: ReplaceAccount, token: Steward, services: Services_) -> Balance:
    """Only while nothing was charged: from the first reservation on, terms are what answers were paid under."""
    old = dataset_of(services, token, name).account
    found = services.datasets.replace_account(
        name,
        unit=old.unit if body.unit is None else Unit.parse(body.unit),
        neighbours=old.neighbours if body.neighbours is None else neighbours_of(body.neighbours),
        budget=body.budget.budget(),
        principal=token.principal,
    )
    return Balance.model_validate(services.ledger.balance(found.account.name).as_dict())


@router.get("/v1/datasets/{name}/charges", summary="The history of a dataset's account")
def list_charges(
    name: str,
    token: Auditor,
    services: Services_,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0)] = 0,
) -> ChargePage:
    """Oldest first; without the answers, which are for those who paid, and for readers."""
    account = dataset_of(services, token, name).account.name
    with closing(services.ledger.history(account)) as history:  # type: ignore[type-var]
        found = list(islice(history, offset, offset + limit + 1))
    shown = [ChargeInfo.model_validate(charge.as_dict()) for charge in found[:limit]]
    return ChargePage(charges=shown, next_offset=offset + limit if len(found) > limit else None)


@router.get(
    "/v1/datasets/{name}/charges/{id}/answer",
    summary="The answer that a charge has paid for",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"application/json": {}}}},
)
def get_answer(name: str, id: str, token: Board, services: Services_) -> Response:
    """As it was given out, for readers and admins: tables and statistics. Rows and models are releases of their own."""
    text = services.ledger.answer(dataset_of(services, token, name).account.name, id)
    if text is None:
        raise Conflict("has no answer", field="charge", value=id)
    if json.loads(text).get("tacita") not in _ANSWERS:
        hint = "Fetch the release at /v1/releases/ID"
        raise Conflict("has its answer elsewhere", field="charge", value=id, hint=hint)
    services.events.record("answer-read", name, token.principal, charge=id)
    return DocumentResponse(text)
