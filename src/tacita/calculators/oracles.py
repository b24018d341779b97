"""Frequency oracles side by side."""

from __future__ import annotations

from pydantic import Field

from tacita.calculators.kind import Calculator, Grid, Result
from tacita.collect.channels.oracles import choose_oracle
from tacita.wire.base import RequestModel

__all__ = ["ORACLES", "OraclesRequest"]


class OraclesRequest(RequestModel):
    """A question that respondents answer under local differential privacy."""

    levels: int = Field(ge=2, le=1 << 16, description="Number of levels of the question.")
    epsilon: float = Field(gt=0, le=20, description="Loss that each respondent accepts.")
    respondents: int = Field(ge=1, le=1_000_000_000, description="Expected number of respondents.")


def _compute(request: OraclesRequest) -> Result:
    choice = choose_oracle(request.levels, request.epsilon, request.respondents)
    rows = choice.candidates
    return Result(
        values={
            "best": choice.best.name,
            "why": choice.why,
            "candidates": {each.name: {"std": each.variance**0.5, "report_bits": each.report_bits} for each in rows},
        },
        facts=[("recommended", choice.best.name), ("reason", choice.why)],
        tables=[
            Grid(
                "Standard error of one share, and size of a report",
                {
                    "oracle": [each.name for each in rows],
                    "standard error": [each.variance**0.5 for each in rows],
                    "bits": [each.report_bits for each in rows],
                },
            )
        ],
    )


ORACLES = Calculator(
    name="oracles",
    title="Frequency oracles",
    summary="Compare the frequency oracles for a question: error, and size of a report",
    example="--levels 100 --epsilon 1 --respondents 10000",
    request=OraclesRequest,
    compute=_compute,
    seconds=lambda request: 0.2 + request.levels / 8192,
)
