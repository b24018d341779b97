"""Effects of interventions in a linear Gaussian network, with intervals.

Setting X from outside cuts the links into X. If the network is right, its parents block every back-door path, so

    effect of X on Y  =  coefficient of X in the regression of Y on X and the parents of X      [Pearl 2009]

with the usual standard error: s^2 of the regression / (n times the variance of X given its parents), t quantiles. From
released moments the noise adds its own variance: see `noisy_moments`. A parent of X cannot be changed by X: its effect
is 0 without an error.

Privacy: none of its own; effects cost what the moments cost.
Utility: intervals cover the effect if the parents of X are right; a structure that was chosen on the same rows may be
wrong, and its intervals say nothing about that.   Claim: docs/claims/effects.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from scipy.stats import t as student

from tacita import check
from tacita.errors import InvalidInput, UnknownName
from tacita.models.continuous.moments import Moments

__all__ = ["Effect", "effect", "effects_on"]


class Noisy(Protocol):
    """Moments with noise: their values, and the noise of a coefficient."""

    @property
    def moments(self) -> Moments: ...
    def coefficient_std(self, cause: str, outcome: str, given: Sequence[str]) -> float: ...


@dataclass(frozen=True, kw_only=True)
class Effect:
    """Change of the mean of an outcome when a cause is set one unit higher.

    Attributes:
        adjusted: Parents of the cause, which are held fixed in the regression.
        std: Standard error, of sampling and of noise together.
        leads: Whether the network has a path from the cause to the outcome; without one it implies 0.
    """

    cause: str
    outcome: str
    adjusted: tuple[str, ...]
    value: float
    std: float
    low: float
    high: float
    level: float
    leads: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "cause": self.cause,
            "outcome": self.outcome,
            "adjusted": list(self.adjusted),
            "value": self.value,
            "std": self.std,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "leads": self.leads,
        }


def effect(
    moments: Moments | Noisy,
    parents: Mapping[str, Sequence[str]],
    cause: str,
    outcome: str,
    *,
    level: float = 0.95,
) -> Effect:
    """Return the total effect of a cause on an outcome in a network.

    Args:
        moments: Of the rows; exact, or released with noise.
        parents: Of each attribute.
        cause: Attribute that is set.
        outcome: Attribute whose mean is asked for.
        level: Of the interval.
    """
    check.inside(level, "level", 0, 1)
    for name in (cause, outcome):
        if name not in parents:
            raise UnknownName(name, field="attribute", available=parents)
    if cause == outcome:
        raise InvalidInput("must differ from the cause", field="outcome", value=outcome)
    adjusted = tuple(parents[cause])
    leads = _leads(parents, cause, outcome)
    if outcome in adjusted:
        value = std = freedom = 0.0
    else:
        exact = moments if isinstance(moments, Moments) else moments.moments
        freedom = exact.count - len(adjusted) - 2
        if freedom < 1:
            raise InvalidInput("must have more rows than coefficients", field="rows")
        value = float(exact.weights(outcome, (cause, *adjusted))[0])
        residual = exact.residual_variance(outcome, (cause, *adjusted)) * exact.count / freedom
        variance = residual / (exact.count * exact.residual_variance(cause, adjusted))
        noise = 0.0 if isinstance(moments, Moments) else moments.coefficient_std(cause, outcome, adjusted)
        std = math.hypot(math.sqrt(variance), noise)
    half = std * float(student.ppf((1 + level) / 2, freedom)) if std > 0 else 0.0
    return Effect(
        cause=cause,
        outcome=outcome,
        adjusted=adjusted,
        value=value,
        std=std,
        low=value - half,
        high=value + half,
        level=level,
        leads=leads,
    )


def effects_on(
    moments: Moments | Noisy, parents: Mapping[str, Sequence[str]], outcome: str, *, level: float = 0.95
) -> list[Effect]:
    """Return the total effect of every other attribute on an outcome."""
    return [effect(moments, parents, cause, outcome, level=level) for cause in parents if cause != outcome]


def _leads(parents: Mapping[str, Sequence[str]], cause: str, outcome: str) -> bool:
    ahead, seen = [outcome], set[str]()
    while ahead:
        name = ahead.pop()
        if name == cause:
            return True
        if name not in seen:
            seen.add(name)
            ahead += parents[name]
    return False
