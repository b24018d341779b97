"""Questions and their answers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.wire.base import RequestModel, ResponseModel
from tacita.wire.budgets import AccountQuote, BudgetModel

__all__ = [
    "Plan",
    "QueryRequest",
    "ReleaseModel",
    "ReleasesModel",
    "SqlPlan",
    "SqlRequest",
    "StatisticsModel",
    "TableQuery",
]


class TableQuery(RequestModel):
    """Tables to release with noise, and what they may cost."""

    tables: list[list[str]] = Field(max_length=1000, description="One list of attributes for each table.")
    weights: list[float] | None = Field(default=None, description="How much each table matters; all the same.")
    family: Literal["auto", "laplace", "gaussian"] = "auto"
    budget: BudgetModel
    purpose: str = Field(default="query", min_length=1, max_length=200, description="Is stored in the history.")


class QueryRequest(TableQuery):
    """A query that is answered at once, or only planned."""

    dry_run: bool = Field(default=False, description="Only plan: charges nothing and does not touch the data.")


class Plan(AccountQuote):
    """Cost and predicted error of a query, before any data is read."""

    recipe: dict[str, Any]
    unit: str
    neighbours: str
    budget: dict[str, float]
    cost: float = Field(description="In the currency of the request's budget.")
    event: dict[str, Any]
    noise: list[dict[str, Any]]
    predictions: list[dict[str, Any]]


class ReleaseModel(ResponseModel):
    """Released numbers with their error, cost and provenance."""

    tacita: Literal["release/1"]
    domain: dict[str, Any]
    quantity: Literal["count", "share"]
    estimate: list[float]
    uncertainty: dict[str, Any]
    guarantee: str
    trust: Literal["central", "local"]
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    provenance: dict[str, Any]


class ReleasesModel(ResponseModel):
    """Releases that were made together."""

    tacita: Literal["releases/1"]
    releases: list[ReleaseModel]


class SqlRequest(RequestModel):
    """A question in SQL; the name after FROM is the dataset."""

    sql: str = Field(min_length=1, max_length=20_000, description="SELECT agg(…) FROM dataset [WHERE …] [GROUP BY …]")
    budget: BudgetModel
    family: Literal["auto", "laplace", "gaussian"] = "auto"
    level: float = Field(default=0.95, gt=0, lt=1, description="Of the intervals.")
    shrink: Literal["none", "overall", "additive"] = Field(
        default="none",
        description="Also statistics that are shrunk towards what the groups have in common; free.",
    )
    purpose: str = Field(default="query", min_length=1, max_length=200, description="Is stored in the history.")
    dimensions: dict[str, list[dict[str, str | float | bool | None]]] = Field(
        default_factory=dict,
        max_length=20,
        description="Public tables that the query joins, by name, as rows. The caller declares them public.",
    )
    fresh: bool = Field(default=False, description="Pay for new noise although it has been answered before.")
    dry_run: bool = Field(default=False, description="Only plan: charges nothing and does not touch the data.")


class StatisticsModel(ResponseModel):
    """Released statistics: one row for each group."""

    tacita: Literal["statistics/1"]
    by: list[str]
    groups: list[list[str]]
    columns: dict[str, dict[str, list[float | None]]]
    level: float
    headings: list[str] = Field(default_factory=list, description="All headings, in the order of SELECT.")
    intervals: dict[str, str] = Field(
        default_factory=dict,
        description="Origin of each interval: linear, ratio, own, bounds, average, public or none.",
    )
    measured: dict[str, Any] | None = Field(default=None, description="Noisy values that the answer is computed from.")
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    provenance: dict[str, Any]


class SqlPlan(AccountQuote):
    """Cost of a question, the split of its budget, and the expected error of the answer."""

    recipe: dict[str, Any]
    cost: float
    split: list[dict[str, Any]]
    expected: list[dict[str, Any]]
