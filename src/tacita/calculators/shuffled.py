"""Amplification by a trusted shuffler."""

from __future__ import annotations

from pydantic import Field

from tacita.calculators.kind import Calculator, Grid, Result
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.shuffle import amplified
from tacita.wire.base import RequestModel

__all__ = ["SHUFFLED", "ShuffledRequest"]


class ShuffledRequest(RequestModel):
    """Reports that a trusted shuffler mixes before anyone reads them."""

    epsilon: float = Field(gt=0, le=10, description="Local loss of one report, by randomized response.")
    reports: int = Field(ge=1, le=10_000_000, description="Number of honest reports that are shuffled together.")
    levels: int = Field(default=2, ge=2, le=1_000_000, description="Number of levels of the question.")
    delta: float = Field(default=1e-8, gt=0, lt=1, description="Probability that the bound may fail.")


def _compute(request: ShuffledRequest) -> Result:
    channel = RandomizedResponse.k_ary(levels=request.levels, epsilon=request.epsilon)
    counts = sorted({max(1, request.reports // ten) for ten in (1000, 100, 10)} | {request.reports})
    found = [amplified(channel, count, request.delta) for count in counts]
    last = found[-1]
    return Result(
        values={"epsilon": last.epsilon, "delta": last.delta, "local_epsilon": last.local_epsilon},
        facts=[
            ("against a reader of the shuffled reports", f"epsilon {last.epsilon:.4g} at delta {last.delta:g}"),
            ("against everyone, the shuffler included", f"epsilon {last.local_epsilon:.4g}"),
        ],
        tables=[
            Grid("Central loss by number of reports", {"reports": counts, "epsilon": [each.epsilon for each in found]})
        ],
        notes=["Holds only if the shuffler is trusted; reports that an attacker sent or knows do not count."],
    )


SHUFFLED = Calculator(
    name="shuffled",
    title="Behind a shuffler",
    summary="Compute the central loss of reports whose order and senders a trusted shuffler removes",
    example="--epsilon 1 --reports 10000",
    request=ShuffledRequest,
    compute=_compute,
    seconds=lambda request: 0.5 + 6e-6 * request.reports,
)
