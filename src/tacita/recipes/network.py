"""A Bayesian network of numbers."""

from __future__ import annotations

from pydantic import Field

from tacita.domain import Domain
from tacita.plans.additive import Family
from tacita.query.models.network import NetworkSearch, NumericNetwork
from tacita.recipes.kind import RecipeKind
from tacita.wire import NumericNetworkInfo, PaidRequest

__all__ = ["NETWORK", "NetworkRequest"]


class NetworkRequest(PaidRequest):
    """Structure and regressions of a Bayesian network over columns of numbers."""

    columns: list[str] = Field(min_length=1, max_length=60, description="Columns with public bounds.")
    search: NetworkSearch = Field(
        default="auto", description="Structure search; auto is exact for up to 16 columns, hill climbing for more."
    )
    degree: int | None = Field(default=None, ge=0, le=60, description="Largest number of parents of a column.")
    forbid: list[str] = Field(
        default=[], max_length=1000, description="Links that the network must not have: PARENT:CHILD, * for any column."
    )
    require: list[str] = Field(
        default=[], max_length=1000, description="Links that the network must have: PARENT:CHILD."
    )
    narrow: float = Field(
        default=0.2, ge=0, le=0.9, description="Share of the budget that first finds narrower bounds; 0 for none."
    )
    reach: float | None = Field(
        default=None, ge=1, le=100, description="Distance of narrowed bounds from the mean, in standard deviations."
    )
    norm: float | None = Field(
        default=None, gt=0, description="Largest length of a row, scaled to -1 to 1; longer rows are shortened."
    )
    family: Family = Field(default="auto", description="Noise distribution.")


def _recipe(_: Domain, request: NetworkRequest) -> NumericNetwork:
    return NumericNetwork(
        columns=tuple(request.columns),
        search=request.search,
        degree=request.degree,
        forbid=tuple(request.forbid),
        require=tuple(request.require),
        narrow=request.narrow,
        reach=request.reach,
        norm=request.norm,
        family=request.family,
    )


NETWORK = RecipeKind(
    name="network",
    summary="Release a Bayesian network of numbers: links, coefficients, moments",
    example="--columns age,income,height",
    request=NetworkRequest,
    answer=NumericNetworkInfo,
    recipe=_recipe,
)
