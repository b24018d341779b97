"""Generalisation hierarchies: built from a dataset's schema, previewed, stored in its policy."""

from __future__ import annotations

from pydantic import Field

from tacita.anonymize.hierarchies.building import HierarchyKind
from tacita.anonymize.hierarchies.rules import Period
from tacita.wire.base import RequestModel, ResponseModel

__all__ = ["HierarchyInfo", "HierarchyRequest", "LevelInfo"]

_MOST = 1_000_000


class HierarchyRequest(RequestModel):
    """The hierarchy of an attribute: a kind with its options, or lines of one's own to check and preview."""

    attribute: str
    kind: HierarchyKind = Field(
        default="auto", description="How values are grouped; auto goes by the kind of the attribute."
    )
    widths: list[float] | None = Field(
        default=None, max_length=20, description="Widths of intervals. Round numbers are proposed if not given."
    )
    origin: float | None = Field(default=None, description="Where an interval begins; 0 by default.")
    by: list[Period] | None = Field(default=None, max_length=5, description="Periods of dates, the shortest first.")
    mask: list[int] | None = Field(
        default=None, max_length=100, description="Characters that each level hides, from the right."
    )
    keep: list[int] | None = Field(
        default=None, max_length=100, description="Characters that each level shows, from the left."
    )
    merge: int | None = Field(
        default=None, ge=2, le=_MOST, description="Neighbours of an order that become one on each level."
    )
    codes: list[list[str]] | None = Field(
        default=None, description="A code list, its header first: code,parent or code,level1,level2 or code,label."
    )
    labels: bool = Field(default=False, description="Whether groups of a code list are called `code label`.")
    rows: list[list[str]] | None = Field(
        default=None, description="A hierarchy of your own, leaf first, instead of a kind."
    )
    store: bool = Field(default=False, description="Whether to put it into the release policy of the dataset.")


class LevelInfo(ResponseModel):
    """One level of a hierarchy, over all leaves alike; no rows are read."""

    level: int
    labels: int
    example: str
    loss: float = Field(description="Mean normalised certainty penalty, from 0 to 1.")
    entropy: float = Field(description="Share of the information about the value that the label does not carry.")


class HierarchyInfo(ResponseModel):
    """A hierarchy and what each level loses."""

    attribute: str
    rows: list[list[str]] = Field(description="Levels of each leaf, leaf first.")
    sha256: str = Field(description="Digest of its lines, which releases name.")
    levels: list[LevelInfo]
    stored: bool
