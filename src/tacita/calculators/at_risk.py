"""Privacy at risk: the confidence that a loss stays below epsilon."""

from __future__ import annotations

from pydantic import Field

from tacita.calculators.kind import Calculator, Grid, Result
from tacita.privacy.risk.at_risk import Calculus, Noise, Risk, Sides, at_risk, confidence_of
from tacita.wire.base import RequestModel

__all__ = ["AT_RISK", "AtRiskRequest"]

_STEPS = 40


class AtRiskRequest(RequestModel):
    """Two of epsilon, confidence and noise level; the third is computed."""

    epsilon: float | None = Field(default=None, gt=0, le=1000, description="Bound on the privacy loss.")
    confidence: float | None = Field(default=None, gt=0, le=1, description="Confidence of that bound: 0 to 1.")
    noise: float | None = Field(
        default=None,
        gt=0,
        le=1000,
        description="The noise level: sensitivity / scale of Laplace noise, sensitivity / sigma of Gaussian.",
    )
    kind: Noise = Field(default="laplace", description="Distribution of the noise.")
    sides: Sides = Field(default="two", description="Whether evidence for a person's absence counts as well.")
    calculus: Calculus = Field(default="exact", description="Exact, or the published heuristic, which is no guarantee.")
    dimensions: int = Field(default=1, ge=1, le=1000, description="Number of released values; for the heuristic.")


def _compute(request: AtRiskRequest) -> Result:
    found = at_risk(**request.model_dump())
    side = "loss" if found.sides == "one" else "|loss|"
    facts = [("noise level", f"{found.noise:.6g}"), ("epsilon", f"{found.epsilon:.6g}")]
    if found.calculus != "exact":
        facts.append((f"P({side} <= epsilon), {found.calculus}", f"{found.confidence:.6g}"))
    facts += [
        (f"P({side} <= epsilon), exact", f"{found.exact:.6g}"),
        ("delta at this epsilon", f"{found.delta:.6g}"),
    ]
    return Result(
        values=found.as_dict(),
        facts=facts,
        tables=[_curve(found)],
        notes=found.notes,
    )


def _curve(found: Risk) -> Grid:
    most = found.noise if found.kind == "laplace" else 3 * max(found.noise, found.noise**2)
    epsilons = [most * step / _STEPS for step in range(1, _STEPS + 1)]
    exact = [confidence_of(epsilon, found.noise, kind=found.kind, sides=found.sides) for epsilon in epsilons]
    return Grid("Exact confidence at this noise level", {"epsilon": epsilons, "confidence": exact}, curve=True)


AT_RISK = Calculator(
    name="at-risk",
    title="Privacy at risk",
    summary="Compute one of epsilon, confidence and noise level from the other two",
    example="--epsilon 0.4 --noise 1",
    request=AtRiskRequest,
    compute=_compute,
)
