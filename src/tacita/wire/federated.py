"""Holders of data elsewhere, and federated runs with them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from tacita.domain import Decode
from tacita.synthesize.federated.kinds import Fit, Overlap, Sharing
from tacita.wire.base import RequestModel, ResponseModel
from tacita.wire.budgets import BudgetModel

__all__ = ["FederatedPlan", "FederatedRequest", "HolderInfo"]


class HolderInfo(ResponseModel):
    """A holder, and what it says of itself; nothing about its data."""

    name: str
    reached: bool
    problem: str | None = Field(description="Why it was not reached, or what it refused.")
    about: dict[str, Any] | None


class FederatedRequest(RequestModel):
    """One model of the data of several holders; each pays from its own account."""

    domain: dict[str, Any] = Field(alias="schema", description="The public schema that all of them share.")
    holders: list[str] = Field(min_length=1, max_length=1000, description="Names in the settings.")
    method: Sharing = Field(default="SL1", description="SL1 shares tables, SL2 votes and tables, SL3 models.")
    budget: BudgetModel = Field(description="What the run may cost each holder.")
    attributes: list[str] | None = Field(default=None, min_length=1)
    unit: str = "row"
    neighbours: str = "add-remove"
    quorum: int | None = Field(default=None, ge=1, description="How many must answer a step; all by default.")
    overlap: Overlap = Field(default="none", description="Whether one person may be at several holders.")
    degree: int = Field(default=1, ge=1, le=3, description="Most parents of an attribute.")
    people: int | None = Field(default=None, ge=2, description="Rows of all together, where that is public.")
    fit: Fit = "auto"
    rows: int | None = Field(default=None, ge=0, le=100_000_000)
    decode: Decode = "label"
    deadline: float = Field(default=60.0, gt=0, le=600, description="Seconds that holders have for each step.")


class FederatedPlan(ResponseModel):
    """Cost and noise of a run; no holder is asked."""

    method: str
    cost_of_a_holder: float
    cost_of_a_person: float
    steps: int
    std_of_a_holder: float
    std: float = Field(description="Standard error of a cell of all holders together.")
    central_std: float = Field(
        description="Of one curator who has all data and uses the same method with the budget of one holder."
    )
