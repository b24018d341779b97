"""Tokens, and how the service is."""

from __future__ import annotations

import datetime as dt
from typing import Literal, Self

from pydantic import Field, model_validator

from tacita.common.roles import Role
from tacita.wire.base import Moment, Name, RequestModel, ResponseModel

__all__ = ["Health", "NewToken", "TokenInfo", "TokenIssued"]


class NewToken(RequestModel):
    """A token to make."""

    name: str
    role: Role
    datasets: list[Name] | None = Field(
        default=None, description="Datasets and campaigns; null for all, which must be stated for all roles but admin."
    )
    expires: Moment | None = None

    @model_validator(mode="after")
    def _check_scope(self) -> Self:
        if self.role != "admin" and "datasets" not in self.model_fields_set:
            raise ValueError("datasets must be given: names, or null for all")
        return self


class TokenInfo(ResponseModel):
    """A token without its secret."""

    id: str
    name: str
    role: Role
    datasets: list[str] | None
    created: dt.datetime
    expires: dt.datetime | None
    revoked: dt.datetime | None


class TokenIssued(TokenInfo):
    """A new token. The text is shown here and never again."""

    token: str


class Health(ResponseModel):
    """Whether the server is well."""

    status: Literal["ok"]
    version: str
