"""Calibration: the narrowest noise whose cost, as the accountant computes it, fits a budget."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tacita.errors import InvalidInput
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Event, Repeated, SampledGaussian, Sequence
from tacita.privacy.unit import Neighbours

__all__ = ["narrowest", "noise_multiplier", "smallest"]

_STEPS = 40


def smallest(event_of: Callable[[Fraction], Event], budget: Budget, neighbours: Neighbours) -> Fraction:
    """Smallest noise parameter whose event fits, for noise whose epsilon falls as 1/x where the budget is pure."""
    if budget.currency == "pure":
        return cost([(event_of(Fraction(1)), 1)], budget, neighbours) / exact(budget.amount)
    return narrowest(event_of, budget, neighbours, start=Fraction(8))


def narrowest(
    event_of: Callable[[Fraction], Event],
    budget: Budget,
    neighbours: Neighbours,
    *,
    start: Fraction = Fraction(1),
    within: int = 10**6,
) -> Fraction:
    """Smallest noise parameter x, to one part in `within`, for which `event_of(x)` costs at most the budget.

    The cost must fall as x grows. It is the accountant's own cost that is compared, so what is calibrated here is
    what will be charged later.
    """
    limit = exact(budget.amount)

    def fits(x: Fraction) -> bool:
        return cost([(event_of(x), 1)], budget, neighbours) <= limit

    low = high = start
    for _ in range(_STEPS):
        if fits(high):
            break
        low, high = high, high * 4
    else:
        raise InvalidInput("no noise is wide enough for this budget", field="budget", value=str(budget))
    while low == high or fits(low):
        if low < Fraction(1, 10**9):
            break
        low, high = low / 4, low
    while high - low > high / within:
        middle = ((low + high) / 2).limit_denominator(10**9)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def noise_multiplier(budget: Budget, *, rate: float, steps: int, beside: tuple[Event, ...] = ()) -> float:
    """Least noise for a number of sampled steps, to one part in ten thousand, in units of the clipping norm.

    Args:
        budget: Epsilon at a delta: amplification by sampling is expressed in no other currency. Neighbours are
            add-remove.
        rate: Probability that a unit is in a step.
        steps: All steps that read data, also repeats and warm-ups.
        beside: What else the budget pays for.
    """
    if budget.currency != "approx":
        raise InvalidInput(
            "private training needs epsilon at a delta", field="budget", value=str(budget), hint="Give a delta"
        )

    def event(noise: Fraction) -> Event:
        step = SampledGaussian(noise_multiplier=float(noise), rate=rate)
        return Sequence(events=(*beside, Repeated(event=step, count=steps)))

    return float(narrowest(event, budget, Neighbours.ADD_REMOVE, within=10**4))
