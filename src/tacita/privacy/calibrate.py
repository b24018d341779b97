"""How much noise a budget buys: the narrowest noise whose cost, as the accountant reads it, fits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from tacita.errors import InvalidInput
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Event
from tacita.privacy.unit import Neighbours

__all__ = ["narrowest", "smallest"]

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
) -> Fraction:
    """Smallest noise parameter x, within one part in a million, for which `event_of(x)` costs at most the budget.

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
    while high - low > high / 10**6:
        middle = ((low + high) / 2).limit_denominator(10**9)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
