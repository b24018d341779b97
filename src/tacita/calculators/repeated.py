"""Loss of a person who is asked repeatedly, with fresh answers and with one answer that the device keeps."""

from __future__ import annotations

from pydantic import Field

from tacita.calculators.kind import Calculator, Grid, Result
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.repeated import repeated_loss
from tacita.wire.base import RequestModel

__all__ = ["REPEATED", "RepeatedRequest"]


class RepeatedRequest(RequestModel):
    """One question that the same person is asked many times."""

    epsilon: float = Field(gt=0, le=20, description="Loss of one report.")
    reports: int = Field(ge=1, le=10_000, description="Number of reports of one person.")
    delta: float = Field(default=1e-6, gt=0, lt=1, description="Probability that the bound may fail.")


def _compute(request: RepeatedRequest) -> Result:
    channel = RandomizedResponse.k_ary(levels=2, epsilon=request.epsilon)
    counts = sorted({1, *(max(1, request.reports * step // 8) for step in range(1, 8)), request.reports})
    losses = [repeated_loss(channel, count, request.delta) for count in counts]
    last = losses[-1]
    return Result(
        values={"epsilon": last.epsilon, "delta": last.delta, "added_up": last.added_up, "memoised": last.memoised},
        facts=[
            (f"{request.reports} fresh reports, at delta {request.delta:g}", f"epsilon {last.epsilon:.4g}"),
            (f"{request.reports} fresh reports, added up (delta 0)", f"epsilon {last.added_up:.4g}"),
            ("one report that the device keeps and sends again", f"epsilon {last.memoised:.4g}"),
        ],
        tables=[
            Grid(
                "Loss by number of reports",
                {
                    "reports": counts,
                    "fresh": [each.epsilon for each in losses],
                    "kept": [each.memoised for each in losses],
                },
                curve=True,
            )
        ],
        notes=["Composition hardly protects a person who is asked daily. Devices of Tacita keep their report."],
    )


REPEATED = Calculator(
    name="repeated",
    title="Asked repeatedly",
    summary="Compute the loss of a respondent who is asked the same question many times",
    example="--epsilon 1 --reports 30",
    request=RepeatedRequest,
    compute=_compute,
    seconds=lambda _: 4.0,
)
