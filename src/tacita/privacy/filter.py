"""Cost of a history when each question may depend on every earlier answer.

A filter is a rule that accepts or refuses the next plan. It is valid if no strategy of asking, however adaptive, makes
the accepted answers reveal more than the budget.

    pure, zcdp   amounts add up, and the sum may not exceed the budget: valid as it is  [Rogers et al. 2016; Feldman,
                 Zrnic 2021]
    approx       one plan alone          its exact loss distribution: it was chosen before anything was answered
                 several, all pure       the sum of their epsilons, without a delta
                 several                 Renyi divergences at several orders, mixed with fixed weights (`_adaptive`)

Claim: docs/claims/ledger.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacita.privacy.accountant import INFINITE, cost, exact_sum
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Event
from tacita.privacy.renyi import divergences
from tacita.privacy.unit import Neighbours

__all__ = ["filter_cost", "orders_of"]

_MULTIPLES = tuple(2 ** (step / 2) for step in range(-4, 5))
_WEIGHTS = np.array([1 / 2 if multiple == 1 else 1 / 16 for multiple in _MULTIPLES])
"""The orders, by their distance from 1 as multiples of the best one's, and the weight of each."""

_PLAIN = 1 / 16
"""Share of the weights for divergences of all outputs; the others are cut (`renyi.Divergences`)."""

_FAILING = 1 / 16
"""Share of delta for events that fail outright, such as those stated as (epsilon, delta)."""

_CUTS, _CUTTING = 1 / 16, 1 / 128
"""Share of delta for outputs that are cut, in all and of one plan. It is another share than that of failing events: a
history that goes on without its cuts has spent both."""

_ROUNDING = 1e-9
_GAPS = np.linspace(math.log(1e-3), math.log(1e9), 4001)
_WHOLE_FROM = 8  # orders from here on are whole numbers: sampled steps are summed exactly there


def filter_cost(
    events: Iterable[tuple[Event, int]], budget: Budget, neighbours: Neighbours, *, opened: float | None = None
) -> Fraction:
    """Smallest amount, in the currency of a budget, with which the filter would have accepted this history.

    Args:
        events: The plans that were charged, each with how often.
        budget: Gives the currency, and for `approx` the delta.
        neighbours: Of the account.
        opened: Epsilon with which the account was opened, if it was raised since: it fixes the orders for good.
    """
    history = [(event, count) for event, count in events if count and exact_sum([(event, 1)], neighbours) != 0]
    if budget.currency != "approx" or sum(count for _, count in history) <= 1:
        return cost(history, budget, neighbours)
    basic = exact_sum(history, neighbours)
    assert budget.epsilon is not None
    adaptive = _adaptive(history, budget.epsilon if opened is None else opened, budget.delta, neighbours)
    return adaptive if basic is None else min(basic, adaptive)


def _adaptive(history: list[tuple[Event, int]], opened: float, delta: float, neighbours: Neighbours) -> Fraction:
    """Epsilon of a history by the mixture of Renyi orders.

    Let L be the privacy loss of all answers and S_a the sum of the divergences at order a. For each order,
    exp((a-1)(L - S_a)) has an expectation of at most 1, whatever the strategy, and so has the mixture
    M = sum_a w_a exp((a-1)(L - S_a)) with fixed weights that add up to 1. If 1 - exp(epsilon - L) <= delta M for all L,
    then E[max(0, 1 - exp(epsilon - L))] <= delta: the answers are (epsilon, delta)-DP. The smallest such epsilon is

        max over L of  L + ln(1 - delta M(L)),

    a concave function of L. With one order it is the conversion of [Canonne, Kamath, Steinke 2020, prop. 12].
    """
    orders = orders_of(opened, delta)
    plain, cut, cutting, failing = np.zeros(len(orders)), np.zeros(len(orders)), 0.0, 0.0
    for event, count in history:
        found = divergences(event, neighbours, orders, _CUTTING * delta)
        plain += count * np.array(found.plain)
        cut += count * np.array(found.cut)
        cutting += count * found.cutting
        failing += count * found.failing
    if failing > _FAILING * delta:
        return INFINITE
    weights, sums = _PLAIN * _WEIGHTS, plain
    gaps = np.array(orders) - 1
    if cutting <= _CUTS * delta:  # otherwise the outputs that were cut are too many to be left out
        weights, sums, gaps = np.append(weights, (1 - _PLAIN) * _WEIGHTS), np.append(sums, cut), np.append(gaps, gaps)
    known = np.isfinite(sums)
    if not known.any():
        return INFINITE
    gaps, sums = gaps[known], sums[known]
    offsets = math.log((1 - _FAILING - _CUTS) * delta) + np.log(weights[known]) - gaps * sums

    from scipy.special import logsumexp  # only accounts with a delta come here

    def epsilon_from(loss: float) -> float:
        exponent = float(logsumexp(offsets + gaps * loss))
        return loss + math.log1p(-math.exp(exponent)) if exponent < 0 else -math.inf

    highest = float(np.min(-offsets / gaps))  # a single term reaches 1 there, and the mixture before it
    best = max(0.0, _maximum(epsilon_from, 0.0, highest))
    return exact(best * (1 + _ROUNDING) + _ROUNDING * min(1.0, highest))


def _maximum(function: Callable[[float], float], low: float, high: float) -> float:
    """The maximum of a concave function, by golden section."""
    golden = (math.sqrt(5) - 1) / 2
    left, right = high - golden * (high - low), low + golden * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(80):
        if -math.inf < at_right and at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + golden * (high - low)
            at_right = function(right)
        else:
            high, right, at_right = right, left, at_left
            left = high - golden * (high - low)
            at_left = function(left)
    return max(at_left, at_right)


@lru_cache(maxsize=256)
def orders_of(epsilon: float, delta: float) -> tuple[float, ...]:
    """The Renyi orders of an account: around the one at which most Gaussian noise fits.

    At order a, a budget bears rho = (epsilon - c(a)) / a, where c(a) is what converting costs; the best a has the most.
    """
    gaps = np.exp(_GAPS)
    converting = (-math.log(delta) - np.log1p(gaps)) / gaps + np.log(gaps) - np.log1p(gaps)
    best = float(gaps[np.argmax((epsilon - converting) / (1 + gaps))])
    return tuple(_order(best * multiple) for multiple in _MULTIPLES)


def _order(gap: float) -> float:
    return 1 + (gap if gap < _WHOLE_FROM else float(round(gap)))
