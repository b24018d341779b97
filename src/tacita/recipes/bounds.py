"""Bounds of a number whose range is unknown."""

from __future__ import annotations

from pydantic import Field

from tacita.domain import Domain
from tacita.query.bounds import FindBounds
from tacita.recipes.kind import RecipeKind
from tacita.wire import BoundsInfo, PaidRequest

__all__ = ["BOUNDS", "BoundsRequest"]


class BoundsRequest(PaidRequest):
    """Private bounds of a number, by a histogram over powers of two."""

    column: str = Field(description="A number; its bounds in the schema are not used.")
    share: float = Field(default=0.99, gt=0, le=1, description="Share of the rows that must lie inside.")
    level: float = Field(
        default=0.95, gt=0, lt=1, description="Probability that no empty bin is taken for an occupied one."
    )
    powers: int = Field(default=40, ge=1, le=60, description="Largest size that is looked for, as a power of two.")


def _recipe(_: Domain, request: BoundsRequest) -> FindBounds:
    return FindBounds(column=request.column, share=request.share, level=request.level, powers=request.powers)


BOUNDS = RecipeKind(
    name="bounds",
    summary="Find the bounds of a number privately",
    example="--column income",
    request=BoundsRequest,
    answer=BoundsInfo,
    recipe=_recipe,
)
