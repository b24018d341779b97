"""Tokens: make, list and revoke them, for admins; show the own one, for all callers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends

from tacita.server.auth.auth import Has, Services_, allow
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.wire import NewToken, TokenInfo, TokenIssued

__all__ = ["router"]

router = APIRouter(tags=["tokens"], responses=DOCUMENTED, route_class=TokenFirst)

Admin = Annotated[Token, Depends(allow())]


@router.post("/v1/tokens", status_code=201, summary="Make a token")
def create_token(body: NewToken, token: Admin, services: Services_) -> TokenIssued:
    """Its text is in this answer and never again anywhere."""
    issued = services.tokens.issue(
        name=body.name, role=body.role, datasets=body.datasets, expires=body.expires, principal=token.principal
    )
    return TokenIssued.model_validate(issued.token.as_dict() | {"token": issued.text})


@router.get("/v1/tokens", summary="List tokens")
def list_tokens(token: Admin, services: Services_) -> list[TokenInfo]:
    """All of them, also those that have ended; without their secrets."""
    return [TokenInfo.model_validate(known.as_dict()) for known in services.tokens.list()]


@router.get("/v1/tokens/mine", summary="Which token this is")
def get_mine(token: Has) -> TokenInfo:
    """The one that the request carries: whose it is, and what it may do."""
    return TokenInfo.model_validate(token.as_dict())


@router.delete("/v1/tokens/{id}", summary="Revoke a token")
def revoke_token(id: str, token: Admin, services: Services_) -> TokenInfo:
    """It ends at once and for good."""
    return TokenInfo.model_validate(services.tokens.revoke(id, principal=token.principal).as_dict())
