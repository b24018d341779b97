"""Planning a decision: how many people, how much epsilon, or how large a statistic it takes to survive the noise.

    effect_table       shares with given margins and a given effect, Cohen's w
    people_needed      fewest people for a flip probability below a target, and for all more people too
    epsilon_needed     least epsilon for that, and for all larger ones
    statistic_needed   statistic of a released table from which on the decision is stable

    p_ij = a_i b_j (1 + w f_i g_j),    f and g scores with mean 0 and variance 1 under their margins

so that sum (p_ij - a_i b_j)^2 / (a_i b_j) = w^2 exactly. In a stratum-wise hypothesis every stratum has that table.

Privacy: reads public or assumed numbers only.
Cost: some 30 Monte Carlo estimates; each draws as many tables as are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita import check
from tacita.assess.decisions.flip import Decide, Flip, design_flip
from tacita.assess.decisions.mechanisms import Mechanism
from tacita.assess.decisions.rule import Rule
from tacita.errors import InvalidInput

__all__ = ["Needed", "effect_table", "epsilon_needed", "largest_effect", "people_needed", "statistic_needed"]

Array = NDArray[np.float64]
_STEP = 2.0
_FINE = 1.02


def _scores(margin: Array) -> Array:
    """Equally spaced scores, standardised under the margin."""
    places = np.arange(margin.size, dtype=np.float64)
    centred = places - margin @ places
    return np.asarray(centred / math.sqrt(margin @ centred**2))


def _margin(margin: int | Sequence[float], field: str) -> Array:
    if isinstance(margin, int):
        check.whole(margin, field, least=2, most=1000)
        return np.full(margin, 1 / margin)
    found = np.asarray(margin, dtype=np.float64)
    if found.ndim != 1 or found.size < 2 or not np.isfinite(found).all() or (found <= 0).any():
        raise InvalidInput("must be at least two positive shares", field=field, value=str(list(margin)))
    return np.asarray(found / found.sum())


def effect_table(
    rows: int | Sequence[float], columns: int | Sequence[float], effect: float, *, strata: int = 1
) -> tuple[Array, tuple[int, int, int]]:
    """Shares of a table with an effect, flat, and its layout (strata, rows, columns).

    Args:
        rows, columns: Margins, or numbers of equally frequent levels.
        effect: Cohen's w, for two by two the correlation phi; 0 is independence. About .1 is small, .3 medium, .5
            large.
        strata: Number of equally frequent strata, each with this table.

    >>> effect_table(2, 2, 0.2)[0].round(3).tolist()
    [0.3, 0.2, 0.2, 0.3]
    """
    a, b = _margin(rows, "rows"), _margin(columns, "columns")
    check.whole(strata, "strata", least=1, most=1000)
    table = np.outer(a, b) * (1 + effect * np.outer(_scores(a), _scores(b)))
    if not math.isfinite(effect) or effect < 0 or (table < -1e-12).any():
        rule = f"must be from 0 to {largest_effect(rows, columns):.4g} with these margins"
        raise InvalidInput(rule, field="effect", value=effect)
    whole = np.tile(np.maximum(table, 0.0).reshape(-1) / strata, strata)
    return np.asarray(whole / whole.sum()), (strata, a.size, b.size)


def largest_effect(rows: int | Sequence[float], columns: int | Sequence[float]) -> float:
    """The effect at which a cell becomes empty."""
    a, b = _margin(rows, "rows"), _margin(columns, "columns")
    lowest = float(np.outer(_scores(a), _scores(b)).min())
    return -1 / lowest


@dataclass(frozen=True, kw_only=True)
class Needed:
    """The least value that is enough, and what was tried.

    Attributes:
        value: The value, or None where none in the range is enough.
        flip: The flip probability there; at the end of the range where none is enough.
        curve: Each value that was tried with the probability and its interval, in order.
    """

    value: float | None
    flip: Flip
    curve: tuple[tuple[float, float, float, float], ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"value": self.value, "flip": self.flip.as_dict(), "curve": [list(point) for point in self.curve]}


def people_needed(
    shares: Array,
    shape: Sequence[int],
    mechanism: Mechanism,
    *,
    target: float = 0.05,
    least: int = 10,
    most: int = 100_000_000,
    rule: Rule | None = None,
    decide: Decide = "private",
    draws: int = 4000,
    rng: np.random.Generator,
) -> Needed:
    """The fewest people from whom on the decision flips with at most the target probability.

    With decisions that take the release for exact, a flip is rare under enormous noise too; so the default is the test
    that knows the noise. A flip is rare with very few people as well, where neither table is ever called dependent; so
    the search comes from above and stops at the first number that is not enough.

    Args:
        shares: Of the population, flat in the layout. shape: The layout. mechanism: That makes the release.
        target: Largest probability; the upper end of its interval is held to it.
        least, most: Range of the search. rule, decide: The decisions, as in `design_flip`.
        draws: For each number of people. rng: Of the draws.
    """

    def tried(people: float) -> Flip:
        return design_flip(
            shares, shape, mechanism, people=round(people), rule=rule, decide=decide, draws=draws, rng=rng
        )

    return _search(tried, float(least), float(most), target, whole=True)


def epsilon_needed(
    shares: Array,
    shape: Sequence[int],
    make: Callable[[float], Mechanism],
    *,
    people: int,
    target: float = 0.05,
    least: float = 1e-3,
    most: float = 10.0,
    rule: Rule | None = None,
    decide: Decide = "private",
    draws: int = 4000,
    rng: np.random.Generator,
) -> Needed:
    """The least epsilon from which on the decision flips with at most the target probability.

    Args:
        shares: Of the population, flat in the layout. shape: The layout. make: The mechanism of an epsilon.
        people: Their number. target: As in `people_needed`.
        least, most: Range of the search. rule, decide: The decisions. draws: For each epsilon. rng: Of the draws.
    """

    def tried(epsilon: float) -> Flip:
        return design_flip(shares, shape, make(epsilon), people=people, rule=rule, decide=decide, draws=draws, rng=rng)

    return _search(tried, least, most, target, whole=False)


def _search(tried: Callable[[float], Flip], least: float, most: float, target: float, *, whole: bool) -> Needed:
    """From the top downwards by factors of two, then between the last that was enough and the first that was not."""
    check.inside(target, "target", 0, 1)
    found: dict[float, Flip] = {}

    def enough(value: float) -> bool:
        found[value] = tried(value)
        return found[value].high <= target

    good, bad = most, 0.0
    if not enough(most):
        return Needed(value=None, flip=found[most], curve=_curve(found))
    value = most
    while value > least:
        value = max(value / _STEP, least)
        value = float(round(value)) if whole else value
        if not enough(value):
            bad = value
            break
        good = value
    while bad and good / bad > _FINE and (not whole or good - bad > 1):
        middle = math.sqrt(good * bad)
        middle = float(round(middle)) if whole else middle
        if middle in (good, bad):
            break
        good, bad = (middle, bad) if enough(middle) else (good, middle)
    return Needed(value=good, flip=found[good], curve=_curve(found))


def _curve(found: dict[float, Flip]) -> tuple[tuple[float, float, float, float], ...]:
    return tuple((value, each.probability, each.low, each.high) for value, each in sorted(found.items()))


def statistic_needed(
    stable: Callable[[Array], float],
    rows: int | Sequence[float],
    columns: int | Sequence[float],
    *,
    people: int,
    target: float,
    rule: Rule | None = None,
    tolerance: float = 0.02,
) -> float | None:
    """Statistic of a released table from which on a decision for dependence is stable, along tables of growing effect.

    Args:
        stable: Probability that the true table is called dependent too, of a released table of counts, flat.
        rows, columns: Margins of the released table. people: Its total. target: The stability wanted.
        rule: The decision. tolerance: Of the search, as a share of the statistic.

    Returns:
        The statistic, or None where even the largest effect is not stable enough.
    """
    rule = rule or Rule()
    low, high = 0.0, largest_effect(rows, columns)

    def table(effect: float) -> Array:
        return people * effect_table(rows, columns, effect)[0]

    shape = effect_table(rows, columns, 0.0)[1]

    def statistic(effect: float) -> float:
        return float(rule.statistics(table(effect), shape))

    def enough(effect: float) -> bool:
        return statistic(effect) >= rule.critical(shape) and stable(table(effect)) >= target

    if not enough(high):
        return None
    while statistic(high) - statistic(low) > tolerance * statistic(high):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return statistic(high)
