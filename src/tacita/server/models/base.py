"""What all bodies share, and the one shape of errors."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Name", "Problem", "Sent", "Told"]


Name = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first.",
    ),
]


class Sent(BaseModel):
    """What a caller sends: nothing unknown, nothing converted behind their back."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Told(BaseModel):
    """What the service answers: made by its own code, so more members do no harm."""

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
