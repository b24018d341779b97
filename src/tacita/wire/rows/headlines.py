"""Requests and answers about synthetic headlines."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.wire.base import RequestModel, ResponseModel
from tacita.wire.releases import PaidPlan, PaidRequest

__all__ = ["HeadlinesInfo", "HeadlinesPlanInfo", "HeadlinesRequest", "VocabularyModel"]


class VocabularyModel(RequestModel):
    """Public words and topics: listed without a look at private headlines."""

    words: list[str] = Field(min_length=1, max_length=50_000, description="Lower-case words; others become `unknown`.")
    topics: list[str] = Field(min_length=1, max_length=1000, description="Topics.")


class HeadlinesRequest(PaidRequest):
    """A generator of headlines, trained by DP-SGD, and headlines drawn from it; one headline is protected."""

    vocabulary: VocabularyModel
    kind: Literal["baseline", "clstm", "cgru", "sclstm", "scgru"] = Field(
        default="sclstm", description="baseline: words. clstm, cgru: words and topic. sclstm, scgru: also tags."
    )
    text_column: str = Field(default="text", min_length=1, max_length=200, description="Column of the texts.")
    topic_column: str = Field(default="topic", min_length=1, max_length=200, description="Column of the topics.")
    hidden: int = Field(default=64, ge=1, le=512, description="Width of the state.")
    steps: int = Field(default=200, ge=1, le=5000, description="Number of private steps.")
    sample: int = Field(default=256, ge=1, le=4096, description="Headlines of a step on average.")
    people: int = Field(default=4000, ge=2, description="About how many headlines there are, publicly.")
    count: int = Field(default=100, ge=0, le=10_000, description="Headlines that are drawn of each topic.")


class HeadlinesPlanInfo(PaidPlan):
    """Cost of a generator of headlines, and its private steps."""

    recipe: dict[str, Any]
    unit: str
    training: dict[str, Any]


class HeadlinesInfo(ResponseModel):
    """Facts about a generator of headlines and the headlines drawn from it."""

    tacita: Literal["headline-generator/1"]
    guarantee: str
    statement: str
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    kind: str
    rows: int
    columns: list[str]
    provenance: dict[str, Any]
