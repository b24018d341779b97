"""Sampled sensitivity: what distances of sampled neighbours promise about a query without a known sensitivity."""

from __future__ import annotations

from typing import Any

from pydantic import Field, model_validator

from tacita.calculators.kind import Calculator, Grid, Result
from tacita.privacy.risk.sampled_sensitivity import (
    SampledSensitivity,
    dkw_coverage,
    dkw_tolerance,
    mixed_confidence,
    samples_for_tolerance,
)
from tacita.wire.base import RequestModel

__all__ = ["SAMPLED", "SampledRequest"]

_STEPS = 50


class SampledRequest(RequestModel):
    """Distances of answers on sampled pairs of neighbours; without them, how many pairs to sample."""

    distances: list[float] = Field(
        default=[],
        max_length=100_000,
        description="Distances of the answers to sampled pairs, from a public or reference population.",
    )
    coverage: float = Field(default=0.95, gt=0, lt=1, description="Share of pairs that must stay below the bound.")
    confidence: float = Field(default=0.95, gt=0, lt=1, description="Confidence of that share.")
    rho: float = Field(default=0.01, gt=0, lt=1, description="Accuracy of the empirical distribution (DKW).")
    epsilon: float | None = Field(default=None, gt=0, le=1000, description="Bound on the loss; needs `noise`.")
    noise: float | None = Field(
        default=None, gt=0, le=1000, description="Sampled sensitivity / scale of the Laplace noise; needs `epsilon`."
    )

    @model_validator(mode="after")
    def _both(self) -> SampledRequest:
        if (self.epsilon is None) != (self.noise is None):
            raise ValueError("give epsilon and noise together")
        return self


def _compute(request: SampledRequest) -> Result:
    needed = samples_for_tolerance(request.confidence, request.rho)
    values: dict[str, Any] = {"pairs_needed": needed}
    facts = [(f"pairs needed for accuracy {request.rho:g} at confidence {request.confidence:g}", str(needed))]
    if not request.distances:
        return Result(values=values, facts=facts)
    sampled = SampledSensitivity(distances=request.distances)  # type: ignore[arg-type]
    bound, place = sampled.at(request.coverage, confidence=request.confidence)
    sure = max(0.0, dkw_tolerance(sampled.pairs, request.rho))
    values |= {
        "pairs": sampled.pairs,
        "sensitivity": bound,
        "order_statistic": place,
        "dkw_confidence": sure,
        "dkw_coverage": dkw_coverage(request.coverage, sampled.pairs, request.rho),
    }
    facts += [
        ("sampled sensitivity", f"{bound:.6g} (number {place} of {sampled.pairs} in order)"),
        (f"confidence that the empirical distribution is within {request.rho:g}", f"{sure:.4g}"),
        ("coverage of the empirical quantile by that bound", f"{values['dkw_coverage']:.4g}"),
    ]
    if request.epsilon is not None and request.noise is not None and bound > 0:
        within = mixed_confidence(sampled, bound, request.epsilon, request.noise)
        values["confidence_of_loss"] = within
        facts.append((f"P(|loss| <= {request.epsilon:g}) over pairs and noise", f"{within:.4g}"))
    ordered = sampled.distances
    places = sorted({round(step * (sampled.pairs - 1) / _STEPS) for step in range(_STEPS + 1)})
    curve = {
        "distance": [float(ordered[at]) for at in places],
        "share of pairs": [(at + 1) / sampled.pairs for at in places],
    }
    return Result(
        values=values,
        facts=facts,
        tables=[Grid("Empirical distribution of the distances", curve, curve=True)],
        notes=[
            "Average-case: a person unlike anyone in the reference population may move the answer by more.",
            "Distances of pairs of private rows are private: nothing is charged here.",
        ],
    )


SAMPLED = Calculator(
    name="sampled-sensitivity",
    title="Sampled sensitivity",
    summary="Compute what sampled neighbours promise about a query whose sensitivity is not known",
    example="--coverage 0.95 --confidence 0.9 --rho 0.01",
    request=SampledRequest,
    compute=_compute,
    seconds=lambda request: 0.1 + 2e-5 * len(request.distances),
)
