"""Principal components."""

from __future__ import annotations

from pydantic import Field

from tacita.domain import Domain
from tacita.plans.additive import Family
from tacita.query.models.pca import PCA
from tacita.recipes.kind import RecipeKind
from tacita.wire import ModelInfo, PaidRequest

__all__ = ["COMPONENTS", "ComponentsRequest"]


class ComponentsRequest(PaidRequest):
    """Mean, covariance and principal components of some columns."""

    columns: list[str] = Field(min_length=1, max_length=100, description="Columns with public bounds.")
    norm: float | None = Field(
        default=None, gt=0, description="Largest length of a row, scaled to -1 to 1; longer rows are shortened."
    )
    family: Family = Field(default="auto", description="Noise distribution.")


def _recipe(_: Domain, request: ComponentsRequest) -> PCA:
    return PCA(columns=tuple(request.columns), norm=request.norm, family=request.family)


COMPONENTS = RecipeKind(
    name="components",
    summary="Release principal components, with mean and covariance",
    example="--columns age,income,height",
    request=ComponentsRequest,
    answer=ModelInfo,
    recipe=_recipe,
)
