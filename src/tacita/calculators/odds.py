"""Epsilon as odds: how certain an attacker can become."""

from __future__ import annotations

import math

from pydantic import Field

from tacita.calculators.kind import Calculator, Grid, Result
from tacita.privacy.risk.at_risk import belief_after
from tacita.wire.base import RequestModel

__all__ = ["ODDS", "OddsRequest"]


class OddsRequest(RequestModel):
    """An attacker's belief before a release."""

    epsilon: float = Field(gt=0, le=1000, description="Privacy loss of the release.")
    before: float = Field(default=0.5, gt=0, lt=1, description="Certainty of the attacker before the release.")


def _compute(request: OddsRequest) -> Result:
    after = belief_after(request.epsilon, request.before)
    least = 1 - belief_after(request.epsilon, 1 - request.before)
    places = [round(0.1 * step, 1) for step in range(0, 81)]
    return Result(
        values={"after_most": after, "after_least": least, "odds_factor": math.exp(request.epsilon)},
        facts=[
            ("belief before", f"{request.before:.4g}"),
            ("belief after, at most", f"{after:.4g}"),
            ("belief after, at least", f"{least:.4g}"),
            ("odds grow at most by the factor", f"{math.exp(request.epsilon):.4g}"),
        ],
        tables=[
            Grid(
                "Belief over epsilon",
                {"epsilon": places, "belief after, at most": [belief_after(each, request.before) for each in places]},
                curve=True,
            )
        ],
    )


ODDS = Calculator(
    name="odds",
    title="What does an epsilon mean?",
    summary="Compute how certain an attacker can become that a person is in the data",
    example="--epsilon 1 --before 0.5",
    request=OddsRequest,
    compute=_compute,
)
