"""Sources of data."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tacita.wire.base import ResponseModel

__all__ = ["SourceInfo"]


class SourceInfo(ResponseModel):
    """A source by name; never its address."""

    name: str
    kind: Literal["file", "database"]
    brought: bool = Field(description="Whether it is a file that was sent here, and can be removed.")
    dataset: str | None = Field(description="The dataset that is registered over it.")
