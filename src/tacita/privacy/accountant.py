"""Composition of the events of one plan, in one of three currencies.

Loss distributions hold for events that are fixed beforehand; a ledger composes with `privacy/filter.py`.

    pure      sum of epsilons; only for events that are pure
    zcdp      sum of rhos; epsilon-DP counts as epsilon^2/2                       [Bun, Steinke 2016, prop. 1.4]
    approx    privacy loss distributions, composed numerically, rounded against us  [dp-accounting]

Combinations, with the neighbours that make them true:

    sequence  adds
    parallel  add-remove: the dearest part; replace-one: a group of two steps of the dearest part, since the unit
              leaves its part and joins one, perhaps the same
    group     a unit of k smaller ones: epsilon -> k epsilon, rho -> k^2 rho, (epsilon, delta) -> (k epsilon,
              delta (e^(k epsilon) - 1)/(e^epsilon - 1)); refused under replace-one, see `event.Group`
    gaussian  one trade-off curve whatever the neighbours: the distance that a change moves the vector is in the event
    sampled   add-remove only: no pair that is worst for replacing a unit is known to hold under composition, so
              replace-one is refused

An accountant bounds from above, or refuses, any event that it cannot express exactly in its currency; nothing is free.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from tacita.errors import InvalidInput
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import (
    Approximate,
    DiscreteGaussianNoise,
    DiscreteLaplaceNoise,
    Event,
    GaussianNoise,
    Group,
    NonPrivate,
    Nothing,
    Parallel,
    Pure,
    Repeated,
    SampledGaussian,
    Sequence,
    Zcdp,
)
from tacita.privacy.unit import Neighbours

__all__ = [
    "INFINITE",
    "check_sampled",
    "cost",
    "epsilon_at",
    "exact_sum",
    "leaves",
    "loss_distribution",
    "pure_epsilon",
    "zcdp_rho",
]

INFINITE = Fraction(10**30)
"""Represents an infinite loss where amounts are ratios; no budget reaches it."""

_GRID = 1e-4  # privacy losses are rounded up to multiples of this
_LARGE_EPSILON = 50  # such events only add up: their loss distribution would overflow, and gain nothing
_LARGE_SHIFT = 100  # so is a shift that the distribution's tails would not hold
_WIDE_SIGMA2 = 10**6  # wider noise is accounted by zCDP: its distribution has millions of points
_NARROW = 0.3  # training noise below this is accounted without what sampling gains: its losses go into the hundreds
_FINE_STEPS = 64  # a shift of Laplace noise is looked at in so many steps: twice as many would change the sixth digit


def _unsupported(event: Event, currency: str) -> InvalidInput:
    return InvalidInput(
        f"has no cost in the currency {currency!r}",
        field="event",
        value=event.kind,
        hint="Charge it to an account with a budget in epsilon and delta",
    )


def _combine(
    event: Event, neighbours: Neighbours, leaf: Callable[[Event, Neighbours], Fraction], two_steps: int
) -> Fraction:
    """Amounts that add up: shared by the pure and the zcdp currency, where a group of two costs `two_steps` as much."""
    match event:
        case Nothing():
            return Fraction(0)
        case NonPrivate():
            return INFINITE
        case Sequence(events=events):
            return sum((_combine(part, neighbours, leaf, two_steps) for part in events), Fraction(0))
        case Repeated(event=inner, count=count):
            return count * _combine(inner, neighbours, leaf, two_steps)
        case Parallel(events=events):
            dearest = max(_combine(part, Neighbours.ADD_REMOVE, leaf, two_steps) for part in events)
            return dearest * (1 if neighbours is Neighbours.ADD_REMOVE else two_steps)
        case _:
            return leaf(event, neighbours)


def pure_epsilon(event: Event, neighbours: Neighbours) -> Fraction:
    """Exact epsilon of an event whose parts are all pure."""

    def leaf(part: Event, notion: Neighbours) -> Fraction:
        match part:
            case Pure(epsilon=epsilon):
                return exact(epsilon)
            case DiscreteLaplaceNoise(scale=scale, sensitivity=sensitivity):
                return sensitivity / scale
            case Group(event=inner, size=size):
                _check_group(notion)
                return size * pure_epsilon(inner, notion)
        raise _unsupported(part, "pure")

    return _combine(event, neighbours, leaf, 2)


def zcdp_rho(event: Event, neighbours: Neighbours) -> Fraction:
    """A rho for which the event is rho-zCDP."""

    def leaf(part: Event, notion: Neighbours) -> Fraction:
        match part:
            case Zcdp(rho=rho):
                return exact(rho)
            case DiscreteGaussianNoise(sigma2=sigma2, sensitivity=sensitivity):
                return sensitivity**2 / (2 * sigma2)
            case Pure() | DiscreteLaplaceNoise():
                return pure_epsilon(part, notion) ** 2 / 2
            case SampledGaussian(noise_multiplier=noise):
                # as if no one were left out: a mixture is no easier to distinguish than its components
                check_sampled(notion)
                return 1 / (2 * exact(noise) ** 2)
            case GaussianNoise(noise_multiplier=noise):
                return 1 / (2 * exact(noise) ** 2)
            case Group(event=inner, size=size):
                _check_group(notion)
                return size**2 * zcdp_rho(inner, notion)
        raise _unsupported(part, "zcdp")

    return _combine(event, neighbours, leaf, 4)


def _check_group(neighbours: Neighbours) -> None:
    if neighbours is not Neighbours.ADD_REMOVE:
        raise InvalidInput("a group is a chain of additions and removals", field="event", value=str(neighbours))


def check_sampled(neighbours: Neighbours) -> None:
    """Refuse sampled steps under replace-one: see the module."""
    if neighbours is not Neighbours.ADD_REMOVE:
        raise InvalidInput(
            "private training is accounted for adding or removing a unit only",
            field="neighbours",
            value=str(neighbours),
            hint="Use an account under add-remove",
        )


def epsilon_at(event: Event, delta: float, neighbours: Neighbours) -> float:
    """Smallest epsilon that the accountant can show at this delta, for the whole event."""
    counts, slack, spent_delta, rho = leaves(event, neighbours)
    if spent_delta == math.inf or spent_delta >= delta:
        return math.inf
    left = delta - spent_delta
    # Zcdp parts have no loss distribution of their own; each half of what is left of delta pays for one of the two
    shares = [left] if not (rho and counts) else [left / 2, left / 2]
    total = slack
    if counts:
        total += _pld_epsilon(frozenset(counts.items()), shares[0])
    if rho:
        total += _zcdp_epsilon(rho, shares[-1])
    return min(total, _by_zcdp(event, delta, neighbours), _by_pure(event, neighbours))


def _by_zcdp(event: Event, delta: float, neighbours: Neighbours) -> float:
    """The same by zCDP alone: as valid, and better where the grid of loss distributions is too coarse."""
    try:
        rho = zcdp_rho(event, neighbours)
    except InvalidInput:
        return math.inf
    return _zcdp_epsilon(float(rho), delta) if 0 < rho < INFINITE else math.inf


def _by_pure(event: Event, neighbours: Neighbours) -> float:
    """The sum of epsilons: what the grid rounds up is never more than that."""
    try:
        return _float_up(pure_epsilon(event, neighbours))
    except InvalidInput:
        return math.inf


def leaves(event: Event, neighbours: Neighbours) -> tuple[Counter[Event], float, float, float]:
    """The event as a multiset of leaves with a loss distribution, plus what only adds: epsilon, delta, rho."""
    counts: Counter[Event] = Counter()
    slack = delta = rho = 0.0

    def visit(part: Event, times: int) -> None:
        nonlocal slack, delta, rho
        match part:
            case Nothing():
                return
            case NonPrivate():
                delta = math.inf
            case Sequence(events=events):
                for inner in events:
                    visit(inner, times)
            case Repeated(event=inner, count=count):
                visit(inner, times * count)
            case Parallel(events=events):
                visit(_dearest(events, neighbours), times)
            case Zcdp(rho=amount):
                rho += times * float(amount)
            case DiscreteGaussianNoise(sigma2=sigma2, sensitivity=sensitivity) if (
                sigma2 > _WIDE_SIGMA2 or sensitivity > _LARGE_SHIFT
            ):
                rho += times * float(zcdp_rho(part, neighbours))
            case SampledGaussian(noise_multiplier=noise):
                check_sampled(neighbours)
                if noise < _NARROW:
                    rho += times * float(zcdp_rho(part, neighbours))
                else:
                    counts[part] += times
            case GaussianNoise(noise_multiplier=noise) if noise < _NARROW or noise**2 > _WIDE_SIGMA2:
                rho += times * float(zcdp_rho(part, neighbours))
            case Approximate(epsilon=amount, delta=chance):
                slack, delta = slack + times * amount, delta + times * chance
            case Pure(epsilon=amount) if amount > _LARGE_EPSILON:
                slack += times * float(amount)
            case DiscreteLaplaceNoise(scale=scale, sensitivity=shift) if shift == 1 or shift > scale * _LARGE_EPSILON:
                # moved by 1, every outcome x has the loss (|x - 1| - |x|)/scale = +-1/scale: just the worst pure event
                visit(Pure(epsilon=shift / scale), times)
            case DiscreteLaplaceNoise():
                counts[_laplace_leaf(part)] += times
            case Group(event=inner, size=size):
                _check_group(neighbours)
                visit(_grouped(inner, size), times)
            case _:
                counts[part] += times

    visit(event, 1)
    return counts, slack, delta, rho


def _laplace_leaf(noise: DiscreteLaplaceNoise) -> Event:
    """The same noise on a grid of at most 64 steps, which costs no less: see docs/claims/composition.md.

    A shift of k steps is (k/scale)-DP, so no more than what one step of scale/k costs, step after step.
    """
    each = -(-noise.sensitivity // _FINE_STEPS)
    return DiscreteLaplaceNoise(scale=noise.scale / each, sensitivity=-(-noise.sensitivity // each))


def _dearest(events: tuple[Event, ...], neighbours: Neighbours) -> Event:
    """Return one event that costs at least as much as parallel parts: unlike distributions have no largest one."""
    if any(_is_infinite(part) for part in events):
        return NonPrivate(reason="a part has no guarantee")
    steps = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    if len(set(events)) == 1:
        return _grouped(events[0], steps)
    try:
        amount = max(pure_epsilon(part, Neighbours.ADD_REMOVE) for part in events)
        return Pure(epsilon=steps * amount) if amount else Nothing()
    except InvalidInput:
        amount = max(zcdp_rho(part, Neighbours.ADD_REMOVE) for part in events)
        return Zcdp(rho=steps**2 * amount) if amount else Nothing()


def _grouped(event: Event, size: int) -> Event:
    """Event of a chain of `size` additions and removals."""
    if size == 1:
        return event
    if _is_infinite(event):
        return NonPrivate(reason="a group of what has no guarantee")
    if isinstance(event, Approximate):
        # delta of the chain of `size` steps: delta * (1 + e^eps + ... + e^((size-1) eps))
        if size * event.epsilon > _LARGE_EPSILON:
            return NonPrivate(reason="a group this large has no guarantee left")
        grown = event.delta * math.expm1(size * event.epsilon) / math.expm1(event.epsilon)
        if grown >= 1:
            return NonPrivate(reason="a group this large has no guarantee left")
        return Approximate(epsilon=size * event.epsilon, delta=grown)
    try:
        amount = size * pure_epsilon(event, Neighbours.ADD_REMOVE)
        return Pure(epsilon=amount) if amount else Nothing()
    except InvalidInput:
        return Zcdp(rho=size**2 * zcdp_rho(event, Neighbours.ADD_REMOVE))


def _is_infinite(event: Event) -> bool:
    match event:
        case NonPrivate():
            return True
        case Sequence(events=events) | Parallel(events=events):
            return any(_is_infinite(part) for part in events)
        case Repeated(event=inner) | Group(event=inner):
            return _is_infinite(inner)
    return False


def _float_up(amount: Fraction) -> float:
    """A float that is not below the amount."""
    near = float(amount)
    return near if Fraction(near) >= amount else math.nextafter(near, math.inf)


@lru_cache(maxsize=512)
def _leaf_distribution(event: Event) -> Any:
    """The privacy loss distribution of one leaf: of the worst pair, for any vector that changes in one place."""
    from dp_accounting.pld import common as pld_common  # a second to load, and only this currency needs it
    from dp_accounting.pld import privacy_loss_distribution as pld

    match event:
        case Pure(epsilon=epsilon):
            parameters = pld_common.DifferentialPrivacyParameters(_float_up(exact(epsilon)), 0.0)
            return pld.from_privacy_parameters(parameters, value_discretization_interval=_GRID)
        case DiscreteLaplaceNoise(scale=scale, sensitivity=sensitivity):
            return pld.from_discrete_laplace_mechanism(
                _float_up(1 / scale), sensitivity=sensitivity, value_discretization_interval=_GRID
            )
        case DiscreteGaussianNoise(sigma2=sigma2, sensitivity=sensitivity):
            return pld.from_discrete_gaussian_mechanism(
                math.sqrt(sigma2), sensitivity=sensitivity, value_discretization_interval=_GRID
            )
        case SampledGaussian(noise_multiplier=noise, rate=rate):
            # both directions are kept, and the larger counts: adding and removing differ when a unit is sampled
            return pld.from_gaussian_mechanism(noise, sampling_prob=rate, value_discretization_interval=_GRID)
        case GaussianNoise(noise_multiplier=noise):
            return pld.from_gaussian_mechanism(noise, value_discretization_interval=_GRID)
    raise _unsupported(event, "approx")


def loss_distribution(counts: Iterable[tuple[Event, int]]) -> Any:
    """The loss distribution of leaves in sequence, for adding and for removing a unit, rounded against us."""
    total = None
    for event, count in sorted(counts, key=lambda item: item[0].to_json()):
        part = _leaf_distribution(event)
        part = part.self_compose(count) if count > 1 else part
        total = part if total is None else total.compose(part)
    assert total is not None
    return total


@lru_cache(maxsize=2048)
def _pld_epsilon(counts: frozenset[tuple[Event, int]], delta: float) -> float:
    return float(loss_distribution(counts).get_epsilon_for_delta(delta))


def _zcdp_epsilon(rho: float, delta: float) -> float:
    """Smallest epsilon of rho-zCDP at delta: minimise over the order a  [Canonne, Kamath, Steinke 2020, prop. 12].

    epsilon(a) = a rho + (ln(1/delta) + (a-1) ln(1 - 1/a) - ln(a)) / (a - 1), convex enough for a golden section.
    """

    def at(log_gap: float) -> float:
        a = 1 + math.exp(log_gap)
        return a * rho + (-math.log(delta) + (a - 1) * math.log1p(-1 / a) - math.log(a)) / (a - 1)

    low, high = -12.0, 20.0
    golden = (math.sqrt(5) - 1) / 2
    for _ in range(120):
        third, two_thirds = high - golden * (high - low), low + golden * (high - low)
        low, high = (low, two_thirds) if at(third) < at(two_thirds) else (third, high)
    return max(0.0, at((low + high) / 2))


def exact_sum(events: Iterable[tuple[Event, int]], neighbours: Neighbours) -> Fraction | None:
    """The sum of epsilons of a history, or None if an event in it is not pure."""
    try:
        return sum((count * pure_epsilon(event, neighbours) for event, count in events), Fraction(0))
    except InvalidInput:
        return None


def cost(events: Iterable[tuple[Event, int]], budget: Budget, neighbours: Neighbours) -> Fraction:
    """Compute the cost of one plan in the currency of a budget, never rounded down.

    The events must be fixed before the first answer. For a history whose events were chosen one after the other, see
    `filter.filter_cost`.

    Args:
        events: Each event with how often it happened.
        budget: Gives the currency, and for `approx` the delta.
        neighbours: Of the account.
    """
    history = Sequence(events=tuple(Repeated(event=event, count=count) for event, count in events))
    if budget.currency == "pure":
        return pure_epsilon(history, neighbours)
    if budget.currency == "zcdp":
        return zcdp_rho(history, neighbours)
    epsilon = epsilon_at(history, budget.delta, neighbours)
    return INFINITE if math.isinf(epsilon) else exact(epsilon)
