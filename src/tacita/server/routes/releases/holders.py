"""Holders of data elsewhere: who they are, and runs with several of them. For stewards: holders' budgets are spent."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from tacita.errors import Forbidden
from tacita.server.auth.auth import Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.federated import describe_all
from tacita.wire import HolderInfo

__all__ = ["router"]

router = APIRouter(tags=["releases"], responses=DOCUMENTED, route_class=TokenFirst)


def _unscoped(token: Annotated[Token, Depends(allow("steward"))]) -> Token:
    """Holders are no datasets of this server: a token for some of those is not good for them."""
    if token.datasets is not None:
        raise Forbidden("needs a token for all datasets", field="dataset")
    return token


Steward = Annotated[Token, Depends(_unscoped)]


@router.get("/v1/holders", summary="The holders that this server may ask")
def list_holders(token: Steward, services: Services_) -> list[HolderInfo]:
    """Each holder is asked for its schema, methods and remaining budget. Waits two seconds for one that is away."""
    return [HolderInfo.model_validate(found) for found in describe_all(services)]
