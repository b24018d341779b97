"""Probability that z-anonymous events make a user k-anonymous."""

from __future__ import annotations

from pydantic import Field

from tacita.anonymize.streams.stream_chance import chance_of_k
from tacita.calculators.kind import Calculator, Grid, Result
from tacita.wire.base import RequestModel

__all__ = ["Z_CHANCE", "ZChanceRequest"]


class ZChanceRequest(RequestModel):
    """A population of users, and how often they show each value in a window."""

    shown: list[float] = Field(
        min_length=1, max_length=500, description="For each value, the probability that a user shows it in a window."
    )
    users: int = Field(ge=1, le=100_000_000, description="Number of users.")
    z: int = Field(ge=1, le=1_000_000, description="Users who must have shown a value before it is released.")
    k: int = Field(ge=1, le=1_000_000, description="Users who must have the same released set.")


def _compute(request: ZChanceRequest) -> Result:
    low, high = chance_of_k(request.shown, users=request.users, z=request.z, k=request.k)
    zs = sorted({max(1, round(request.z * factor)) for factor in (0.25, 0.5, 1, 2, 4)})
    ends = [chance_of_k(request.shown, users=request.users, z=z, k=request.k) for z in zs]
    return Result(
        values={"low": low, "high": high},
        facts=[(f"probability of {request.k}-anonymity", f"{low:.4g} to {high:.4g}")],
        tables=[Grid("By z", {"z": zs, "at least": [end[0] for end in ends], "at most": [end[1] for end in ends]})],
        notes=["Under a model: users and values are independent."],
    )


Z_CHANCE = Calculator(
    name="z-anonymity",
    title="From z-anonymity to k-anonymity",
    summary="Compute the probability that z-anonymous events make a user k-anonymous",
    example="--shown 0.5,0.2,0.05 --users 1000 --z 20 --k 5",
    request=ZChanceRequest,
    compute=_compute,
    seconds=lambda request: 0.05 + 0.02 * len(request.shown),
)
