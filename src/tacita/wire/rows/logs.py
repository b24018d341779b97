"""Anonymized logs: z-anonymous events and k^m-anonymous sets of items."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.wire.base import Name, RequestModel, ResponseModel

__all__ = ["EventsInfo", "EventsRequest", "LogPlan", "SetsInfo", "SetsRequest"]

_PURPOSE = "What the rows are for."
_MOST = 1_000_000_000_000


class EventsRequest(RequestModel):
    """Rows of a log whose values enough people have just shown (z-anonymity)."""

    dataset: Name
    time: str = Field(description="Attribute with the time of a row: a whole number or a date.")
    values: list[str] = Field(min_length=1, max_length=100, description="Attributes that a person shows.")
    z: int = Field(ge=1, le=_MOST, description="Least people who showed the same values.")
    window: int = Field(
        ge=1, le=_MOST, description="Time for which a showing counts, in the unit of the time; days for a date."
    )
    purpose: str = Field(default="release", min_length=1, max_length=200, description=_PURPOSE)


class SetsRequest(RequestModel):
    """Sets of items that people have: each combination of m items is shared by k people (k^m-anonymity)."""

    dataset: Name
    item: str = Field(description="Attribute with the item of a row.")
    k: int = Field(ge=1, le=_MOST, description="Least people who share a combination.")
    m: int = Field(default=2, ge=1, le=10, description="Most items that an attacker may know.")
    suppress: float | None = Field(
        default=None,
        ge=0,
        le=1,
        description="Most share of items that may be left out; without a hierarchy all by default, with one none.",
    )
    purpose: str = Field(default="release", min_length=1, max_length=200, description=_PURPOSE)


class LogPlan(ResponseModel):
    """Columns of an anonymized log, before any data is read."""

    recipe: dict[str, Any]
    attributes: list[str]
    guarantee: Literal["none"]


class _LogInfo(ResponseModel):
    guarantee: Literal["none"]
    rows: int
    columns: list[str]
    recipe: dict[str, Any]
    warnings: list[str] = Field(description="Earlier releases that this one could be joined with.")
    provenance: dict[str, Any]


class EventsInfo(_LogInfo):
    """Facts about z-anonymous events."""

    tacita: Literal["events/1"]
    suppressed: float = Field(description="Share of the rows that are not released.")


class SetsInfo(_LogInfo):
    """Facts about k^m-anonymous sets; the column `set` numbers them."""

    tacita: Literal["sets/1"]
    sets: int
    support: int | None = Field(description="People who share the rarest combination.")
    loss: float = Field(description="Mean loss of an item, from 0 to 1.")
    suppressed: float = Field(description="Share of items that were left out.")
    undeclared: float = Field(description="Share of rows without a person or with an undeclared item.")
