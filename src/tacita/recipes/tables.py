"""Noisy tables of counts."""

from __future__ import annotations

from pydantic import Field

from tacita.domain import Domain
from tacita.plans import NoisyTables
from tacita.plans.additive import Family
from tacita.recipes.kind import RecipeKind
from tacita.tables.workload import Workload
from tacita.wire import PaidRequest, ReleasesModel

__all__ = ["TABLES", "TablesRequest", "workload_of"]


class TablesRequest(PaidRequest):
    """Tables to release with noise."""

    tables: list[list[str]] = Field(min_length=1, max_length=1000, description="Attributes of each table: age,sex.")
    weights: list[float] | None = Field(default=None, description="Weight of each table; equal if not given.")
    family: Family = Field(default="auto", description="Noise distribution.")


def workload_of(request: TablesRequest) -> Workload:
    """Return the tables and their weights."""
    return Workload(tuple(tuple(table) for table in request.tables), tuple(request.weights or ()))


def _recipe(_: Domain, request: TablesRequest) -> NoisyTables:
    return NoisyTables(workload_of(request), request.family)


def _cells(domain: Domain, request: TablesRequest) -> int:
    return sum(domain.project(key).size for key in workload_of(request).check(domain))


TABLES = RecipeKind(
    name="tables",
    summary="Release tables of counts with noise",
    example="--tables age,sex --tables region",
    request=TablesRequest,
    answer=ReleasesModel,
    recipe=_recipe,
    cells=_cells,
)
