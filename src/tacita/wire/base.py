"""Base classes of all bodies, and the one shape of errors."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema

from tacita.common.wellformed import fail_fast

__all__ = ["Moment", "Name", "Problem", "RequestModel", "ResponseModel"]


Name = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first.",
    ),
]


def _in_utc(time: dt.datetime) -> dt.datetime:
    try:
        return time.astimezone(dt.UTC)
    except OverflowError:  # the last hours of the year 9999, in a zone behind UTC
        raise ValueError("must lie in the years 1 to 9999 in UTC") from None


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc), Field(strict=False)]
"""A time with its zone, converted to UTC."""


class RequestModel(BaseModel):
    """A request body: unknown members are refused, and no value is converted to another type."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate lists up to their first fault."""
        return fail_fast(handler(source))


class ResponseModel(BaseModel):
    """A response body: written by the service itself, so unknown members are ignored."""

    model_config = ConfigDict(extra="ignore")


class Problem(BaseModel):
    """Every error, on every route (RFC 9457). Some codes add members, such as `remaining`."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="A URN that names the kind of problem: urn:tacita:problem:CODE.")
    title: str
    status: int
    detail: str = Field(description="The whole of it as one sentence.")
    instance: str = Field(description="The path that was asked, without its query.")
    code: str = Field(description="The kind of problem as a word for programs.")
    field: str | None = Field(default=None, description="The input that the rule is about.")
    rule: str | None = Field(default=None, description="What must hold.")
    value: str | None = Field(default=None, description="What was given instead.")
    hint: str | None = Field(default=None, description="The way out.")
    request_id: str
