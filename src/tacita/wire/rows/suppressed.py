"""Tables with suppressed cells."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.anonymize.cells.exact import NODES, PROGRAMS
from tacita.anonymize.cells.registry import rule_parameters
from tacita.anonymize.parameters import Parameter
from tacita.wire.base import Name, RequestModel, ResponseModel
from tacita.wire.releases import with_members

__all__ = ["SuppressedInfo", "SuppressedPlan", "SuppressedRequest", "SuppressionFigures"]


def _member(each: Parameter) -> tuple[str, Any, Any]:
    # a pair comes as a list once a stored request is read again, which strict models refuse
    limits: dict[str, Any] = {**each.bounds} | ({"strict": False} if each.parse is not None else {})
    return each.name, each.optional, Field(default=each.default, description=each.help, **limits)


@with_members(_member(each) for each in rule_parameters())
class SuppressedRequest(RequestModel):
    """Tables of counts or sums in which sensitive cells, and enough others, are suppressed."""

    dataset: Name
    by: list[list[str]] = Field(
        min_length=1, max_length=10, description="Attributes of each table; several tables are protected together."
    )
    sum: str | None = Field(default=None, description="Attribute to sum; counts of rows if null.")
    weight: str | None = Field(default=None, description="Attribute with sample weights.")
    zeros: Literal["public", "sensitive"] = Field(
        default="public", description="Empty cells: published as 0, or sensitive like those below the minimum."
    )
    margins: bool = Field(default=True, description="Whether margins may be suppressed to protect other cells.")
    cost: Literal["value", "cells", "log"] = Field(default="value", description="Cost of a suppressed cell.")
    programs: int = Field(default=PROGRAMS, ge=1, le=200_000, description="Work of the search: linear programs.")
    nodes: int = Field(default=NODES, ge=0, le=5_000, description="Work of the search: nodes of branch and bound.")
    purpose: str = Field(default="release", min_length=1, max_length=200, description="What the tables are for.")


class SuppressedPlan(ResponseModel):
    """Cells of tables, before any data is read."""

    recipe: dict[str, Any]
    attributes: list[str]
    cells: int
    guarantee: Literal["none"]


class SuppressionFigures(ResponseModel):
    """Exact figures about the choice of cells: for the owner, because they narrow intervals."""

    primary: int = Field(description="Sensitive cells.")
    secondary: int = Field(description="Cells that are suppressed to protect them.")
    audited: int = Field(description="Sensitive cells that were attacked; all of them are protected.")
    cost: float
    bound: float = Field(description="Cost that no valid choice of cells is below.")
    how: Literal["optimal", "heuristic"]
    work: dict[str, int]
    left_out: float = Field(description="Share of the rows with a missing or undeclared value.")


class SuppressedInfo(ResponseModel):
    """Facts about tables with suppressed cells. All but `owner` may be published."""

    tacita: Literal["suppressed/1"]
    guarantee: Literal["none"]
    statement: str = Field(description="What an attacker can compute.")
    rows: int = Field(description="Number of cells.")
    columns: list[str]
    suppressed: int
    whole_numbers: str = Field(description="Whether the intervals include whole-number reasoning.")
    recipe: dict[str, Any]
    owner: SuppressionFigures
    warnings: list[str] = Field(description="Earlier releases that this one could be joined with.")
    provenance: dict[str, Any]
