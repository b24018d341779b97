"""Calibrate the Gaussian noise of a function, in units of its sensitivity.

    analytic      the least whose exact trade-off fits the budget, as the accountant reads it   [Balle, Wang 2018]
    classical     sqrt(2 ln(2 / delta)) / epsilon, refused where that is not enough           [Hall et al. 2013]

Privacy:  one function with noise multiplier u is one Gaussian vector that a unit moves by at most 1/u standard
          deviations; several parts with multipliers u_i are one with 1/u^2 = sum 1/u_i^2. The event is that Gaussian,
          under add-remove and under replace-one alike: the notion of neighbours enters through the sensitivity
          (`sensitivity.py`).
          `SLACK` standard deviations are kept back for arithmetic, see docs/claims/functional-perturbation.md.
"""

from __future__ import annotations

import math

from tacita.errors import InvalidInput
from tacita.learn.functions.kinds import Calibration
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.calibrate import narrowest
from tacita.privacy.event import Event, GaussianNoise
from tacita.privacy.unit import Neighbours

__all__ = ["SLACK", "Calibration", "classical_constant", "gaussian_event", "noise_multiplier", "sigma_of"]


SLACK = 2.0**-17
"""Standard deviations that rounding answers to their grid may add to how far a unit moves them, all points together."""


def classical_constant(delta: float) -> float:
    """sqrt(2 ln(2 / delta)).

    >>> round(classical_constant(1e-3), 7)
    3.8989492
    """
    return math.sqrt(2 * math.log(2 / delta))


def gaussian_event(multiplier: float) -> Event:
    """Cost of a Gaussian vector that a unit moves by at most 1/multiplier standard deviations."""
    return GaussianNoise(noise_multiplier=multiplier)


def noise_multiplier(budget: Budget, neighbours: Neighbours, how: Calibration = "analytic") -> float:
    """Least noise that the budget allows, or the classical amount of it."""
    if budget.currency == "pure":
        raise InvalidInput(
            "Gaussian noise has no pure epsilon", field="budget", value=str(budget), hint="Give a delta, or rho"
        )
    if how == "analytic":
        return float(narrowest(lambda x: gaussian_event(float(x)), budget, neighbours, within=10**4))
    if how != "classical":
        raise InvalidInput("must be analytic or classical", field="calibration", value=how)
    if budget.currency != "approx":
        raise InvalidInput("the classical constant needs epsilon and delta", field="budget", value=str(budget))
    multiplier = classical_constant(budget.delta) / budget.amount
    if cost([(gaussian_event(multiplier), 1)], budget, neighbours) > exact(budget.amount):
        raise InvalidInput(
            "the classical constant is not enough noise for an epsilon this large",
            field="calibration",
            value=str(budget),
            hint="Use analytic",
        )
    return multiplier


def sigma_of(sensitivity: float, multiplier: float) -> float:
    """Standard deviation of the noise, with room for arithmetic."""
    left = 1 / multiplier - SLACK
    if left < 0.5 / multiplier:
        raise InvalidInput("is too small for noise in floating point", field="budget", hint="Give more")
    return sensitivity / left
