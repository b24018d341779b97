"""Price of a privacy loss, and the epsilon at which it is least."""

from __future__ import annotations

from pydantic import Field, model_validator

from tacita.calculators.kind import Calculator, Grid, Result
from tacita.common.number_text import number
from tacita.privacy.risk.cost import CostModel
from tacita.wire.base import RequestModel

__all__ = ["PRICE", "PriceRequest"]


class PriceRequest(RequestModel):
    """People, their compensation, and the noise level or the error that it follows from."""

    compensation: float = Field(gt=0, description="Compensation of one person, with no guarantee at all.")
    people: int = Field(ge=1, description="Number of people who would be compensated.")
    noise: float | None = Field(default=None, gt=0, le=1000, description="The noise level of one release.")
    error: float | None = Field(
        default=None, gt=0, description="The mean absolute error that users accept, instead of the noise level."
    )
    sensitivity: float = Field(default=1.0, gt=0, description="Sensitivity of the answer; goes with the error.")
    releases: int = Field(default=1, ge=1, le=200, description="Number of releases about the same people.")
    steepness: float = Field(default=1.0, gt=0, description="Growth of the compensation with epsilon.")
    least: float = Field(default=0.0, ge=0, description="Compensation under a perfect guarantee.")
    money: float | None = Field(
        default=None, gt=0, description="Available money; shows the epsilons that it suffices for."
    )

    @model_validator(mode="after")
    def _one_of_both(self) -> PriceRequest:
        if (self.noise is None) == (self.error is None):
            raise ValueError("give the noise level or the error, one of them")
        return self


def _compute(request: PriceRequest) -> Result:
    level = request.noise if request.noise is not None else request.sensitivity / (request.error or 1.0)
    model = CostModel(
        compensation=request.compensation, people=request.people, steepness=request.steepness, least=request.least
    )
    found = model.price(level, releases=request.releases)
    facts = [("noise level", f"{level:.6g}"), (f"{request.releases} release(s), plainly", number(found.plain))]
    for best in found.optima:
        text = f"epsilon {best.epsilon:.4g} at confidence {best.confidence:.4g}, saves {number(best.saving)}"
        facts.append((f"best by {best.calculus}", f"{number(best.budget)}: {text}. {best.note}".strip()))
    limits = None
    if request.money is not None:
        accepted = request.error if request.error is not None else request.sensitivity / level
        within = model.feasible(
            level, money=request.money, error=accepted, sensitivity=request.sensitivity, releases=request.releases
        )
        limits = {"low": within.epsilon_low, "high": within.epsilon_high}
        span = f"{within.epsilon_low:.4g} to {within.epsilon_high:.4g}" if within.feasible else "none"
        facts.append(("epsilons within the money", span))
    varied = model.sensitivity_to_inputs(level)
    return Result(
        values=found.as_dict() | {"within_money": limits, "ten_percent": varied},
        facts=facts,
        tables=[
            Grid(
                "If an input is 10 % lower or higher (exact, one release)",
                {
                    "input": list(varied),
                    "lower": [low for low, _ in varied.values()],
                    "higher": [high for _, high in varied.values()],
                },
            )
        ],
    )


PRICE = Calculator(
    name="price",
    title="Price",
    summary="Compute the cost of a loss, plainly and at the best epsilon of each calculus",
    example="--compensation 5500 --people 100 --error 2",
    request=PriceRequest,
    compute=_compute,
    seconds=lambda request: 0.2 + 0.02 * request.releases,
)
