"""Centres of k-means."""

from __future__ import annotations

from pydantic import Field

from tacita.domain import Domain
from tacita.plans.additive import Family
from tacita.query.models.kmeans import KMeans
from tacita.recipes.kind import RecipeKind
from tacita.wire import ModelInfo, PaidRequest

__all__ = ["CLUSTERS", "ClustersRequest"]


class ClustersRequest(PaidRequest):
    """Centres of clusters of the rows, by private k-means."""

    columns: list[str] = Field(min_length=1, max_length=100, description="Columns with public bounds.")
    clusters: int = Field(ge=1, le=200, description="Number of clusters.")
    rounds: int = Field(default=3, ge=1, le=50, description="Rounds of k-means; each costs a part of the budget.")
    seed: int = Field(default=0, ge=0, description="Public seed of the search for starting points.")
    family: Family = Field(default="auto", description="Noise distribution.")


def _recipe(_: Domain, request: ClustersRequest) -> KMeans:
    return KMeans(
        columns=tuple(request.columns),
        clusters=request.clusters,
        rounds=request.rounds,
        seed=request.seed,
        family=request.family,
    )


CLUSTERS = RecipeKind(
    name="clusters",
    summary="Release the centres of clusters, by private k-means",
    example="--columns age,income --clusters 4",
    request=ClustersRequest,
    answer=ModelInfo,
    recipe=_recipe,
)
