"""Statistics that are asked for in SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, model_validator

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.plans.additive import Family
from tacita.recipes.kind import RecipeKind
from tacita.wire import PaidRequest, StatisticsModel

if TYPE_CHECKING:
    from tacita.query.sql import SqlQuery

__all__ = ["STATISTICS", "StatisticsRequest"]


class StatisticsRequest(PaidRequest):
    """Statistics in SQL; the name after FROM is the name of the dataset."""

    sql: str = Field(min_length=1, max_length=10_000, description="SELECT agg(…) FROM dataset [WHERE …] [GROUP BY …]")
    dimensions: dict[str, list[dict[str, str | float | bool | None]]] = Field(
        default_factory=dict,
        max_length=20,
        description="Public tables that the query joins, by name, as rows.",
    )
    family: Family = Field(default="auto", description="Noise distribution.")
    level: float = Field(default=0.95, gt=0, lt=1, description="Confidence level of the intervals.")
    shrink: Literal["none", "overall", "additive"] = Field(
        default="none",
        description="Also statistics that are shrunk towards what the groups have in common; free.",
    )

    @model_validator(mode="after")
    def _check_table(self) -> Self:
        from tacita.query.sql import table_of

        if table_of(self.sql) != self.dataset:
            raise InvalidInput(f"the name after FROM must be {self.dataset}", field="sql", value=self.sql)
        return self


def _recipe(domain: Domain, request: StatisticsRequest) -> SqlQuery:
    from tacita.query.sql import Dimension, compile_sql  # the parser takes a while to load, and only SQL needs it

    public = [Dimension.of_records(name, rows) for name, rows in request.dimensions.items()]
    return compile_sql(
        request.sql, domain, family=request.family, level=request.level, dimensions=public, shrink=request.shrink
    )


def _cells(domain: Domain, request: StatisticsRequest) -> int:
    return _recipe(domain, request).cells(domain)


STATISTICS = RecipeKind(
    name="statistics",
    summary="Release statistics that are asked for in SQL",
    example="--sql 'SELECT sex, AVG(age) FROM census GROUP BY sex'",
    request=StatisticsRequest,
    answer=StatisticsModel,
    recipe=_recipe,
    cells=_cells,
)
