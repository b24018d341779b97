"""Bounds of the exact counts of a table that hold at a level, whatever the data are, from noisy tables.

A cell is the set of rows that have its levels and meet the conditions. For a set U of attributes, n(U) is the number of
rows that have the cell's levels of U, and n() = N is the number of all rows.

    box       intervals of n(U) for some U, and of N, from the laws of noise; all of them hold together at the level
    upper     n(cell) <= n(U) for every U
    lower     n(cell) >= n(S) + n(T) - n(S and T) where S and T together are all attributes;
              of more than two sets n(S1) + n(S2) + ... - n(overlaps), each with those before it     [Hunter 1976]
    three attributes of two levels, all pairs known: n(cell) <= N - n(a) - n(b) - n(c) + n(ab) + n(ac) + n(bc)

The box holds by a union bound, so its level is split over its intervals before any noise is looked at. Where tables of
later rounds depend on earlier noise, every set that a later round *might* measure has its part, measured or not. An
interval of n(U) is that of the best linear estimate from the tables of one round, see `pooled`.

Privacy: post-processing of released tables.   Claim: docs/claims/model-intervals.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tacita.noise.sums import half_width_of_sum
from tacita.synthesize.intervals.measured import LATER_WIDTH, MeasuredTable, MeasuredTables
from tacita.synthesize.intervals.pooled import Question, pooled

__all__ = ["Bounds", "count_bounds", "interval_from"]

Array = NDArray[np.float64]
Names = frozenset[str]
Range = tuple[Array, Array]
"""Lower and upper ends."""

_TOTAL = 0.05  # share of the level's misses for the number of rows
_EARLY = 0.2  # and for tables of one attribute, where later rounds have larger ones
_MOST_CHAINS = 6
_ROUNDING = 1e-6  # of sums of floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Bounds:
    """Bounds of the counts of a table, and of the number of rows, that all hold together.

    Attributes:
        low, high: One for each cell.
        total: Ends for the number of rows.
        sets: The sets of attributes that the bounds come from.
        measured: Whether some table holds all attributes.
    """

    low: Array
    high: Array
    total: tuple[float, float]
    sets: tuple[tuple[str, ...], ...]
    measured: bool


def count_bounds(tables: MeasuredTables, question: Question, miss: float) -> Bounds:
    """Bounds of the counts of a table; each cell's holds with a probability of at least 1 - `miss`."""
    scope = question.scope
    total = interval_from(tables.rounds[0], question, frozenset(), _TOTAL * miss)
    assert total is not None  # every table has a total
    box: dict[Names, Range] = {}
    for over, rounds, part in _allotted(tables, question, (1 - _TOTAL) * miss):
        first = next((each for each in rounds if any(over <= set(table.attributes) for table in each)), ())
        found = interval_from(first, question, over, part)
        if found is not None:
            low, high = box.get(over, found)
            box[over] = np.maximum(low, found[0]), np.minimum(high, found[1])
    shape = [question.domain[name].size for name in question.names]
    low, high = (np.broadcast_to(each, shape).copy() for each in _combined(box, scope, total, question))
    for axis, name in enumerate(question.names):
        if name in question.masks:  # no row of such a level meets the conditions
            none = [slice(None)] * len(shape)
            none[axis] = ~question.masks[name]  # type: ignore[call-overload]
            low[tuple(none)] = high[tuple(none)] = 0
    low, high = np.clip(low, 0, None), np.clip(high, 0, None)
    in_order = question.domain.names
    return Bounds(
        low=np.minimum(low, high),  # they contradict each other only where one of them misses
        high=np.maximum(low, high),
        total=(max(float(total[0].item()), 0.0), max(float(total[1].item()), 0.0)),
        sets=tuple(tuple(name for name in in_order if name in each) for each in _largest(box)),
        measured=scope in box,
    )


def interval_from(
    tables: Iterable[MeasuredTable], question: Question, over: Names, miss: float
) -> tuple[Array, Array] | None:
    """The interval of n(over) from the tables of one round; None if none of them holds these attributes."""
    found = pooled(tables, question, over)
    if found is None:
        return None
    values, parts = found
    half = half_width_of_sum(parts, 1 - miss)
    return np.ceil(values - half - _ROUNDING), np.floor(values + half + _ROUNDING)  # exact counts are whole numbers


# -- the split of the level -------------------------------------------------------------------------------------------

_Round = Sequence[MeasuredTable]


def _allotted(tables: MeasuredTables, question: Question, miss: float) -> list[tuple[Names, Sequence[_Round], float]]:
    """List each U of the box, the rounds of which the first that holds U gives n(U), and its part of the misses.

    It may depend on which tables the first round has, and on whether there are later ones, but not on what those hold
    nor on how many there are.
    """
    scope, first, later = question.scope, tables.rounds[:1], tables.rounds[1:]
    covered = {frozenset(table.attributes) & scope for table in tables.rounds[0]} - {frozenset()}
    if not later:
        wanted = _wanted(covered, scope)
        return [(over, first, miss / len(wanted)) for over in wanted]
    ones = [over for over in _sorted(covered) if len(over) == 1]
    pairs = [frozenset(key) for width in range(2, LATER_WIDTH + 1) for key in combinations(sorted(scope), width)]
    groups = [(ones, first, _EARLY), (ones, later, _EARLY), (pairs, later, 1 - 2 * _EARLY)]
    groups = [(sets, rounds, part) for sets, rounds, part in groups if sets]
    whole = sum(part for _, _, part in groups)
    return [(over, rounds, miss * part / whole / len(sets)) for sets, rounds, part in groups for over in sets]


def _wanted(covered: Iterable[Names], scope: Names) -> list[Names]:
    """The sets that bounds use where all tables were chosen beforehand: the largest ones, and their overlaps."""
    if scope in covered:
        return [scope]
    largest = _largest(covered)
    overlaps = {overlap for _, below in _chains(largest, scope) for overlap in below}
    return [*largest, *_sorted(overlaps - {frozenset()} - set(largest))]


def _sorted(sets: Iterable[Names]) -> list[Names]:
    return sorted(sets, key=lambda each: (-len(each), sorted(each)))


def _largest(sets: Iterable[Names]) -> list[Names]:
    """Those that are in no other one."""
    found = list(sets)
    return _sorted(each for each in found if not any(each < other for other in found))


def _chains(largest: Sequence[Names], scope: Names) -> list[tuple[list[Names], list[Names]]]:
    """Sets that together are the scope, and the overlap of each but the first with those before it."""
    two = [([one, other], [one & other]) for one, other in combinations(largest, 2) if one | other == scope]
    if two:
        return two[:_MOST_CHAINS]
    left = list(largest)
    if not left or frozenset().union(*left) != scope:
        return []
    chain, overlaps, joined = [left[0]], [], left[0]
    while joined != scope:
        best = max((each for each in left if not each <= joined), key=lambda each: len(each & joined))
        chain.append(best)
        overlaps.append(best & joined)
        joined |= best
    return [(chain, overlaps)]


# -- bounds -----------------------------------------------------------------------------------------------------------


def _combined(box: Mapping[Names, Range], scope: Names, total: Range, question: Question) -> Range:
    """Bounds of n(scope) that follow from a box."""
    whole = {frozenset[str](): total, **box}
    high = np.asarray(total[1])
    for _, upper in box.values():
        high = np.minimum(high, upper)
    low = box[scope][0] if scope in box else np.zeros(())
    for chain, overlaps in _chains(_largest(box), scope):
        if all(overlap in whole for overlap in overlaps):
            some = sum(whole[each][0] for each in chain) - sum(whole[overlap][1] for overlap in overlaps)
            low = np.maximum(low, some)
    if len(scope) == 3 and all(question.domain[name].size == 2 for name in scope):
        ones = [frozenset([name]) for name in scope]
        pairs = [scope - one for one in ones]
        if all(each in box for each in (*ones, *pairs)):
            rest = total[1] - sum(box[one][0] for one in ones) + sum(box[pair][1] for pair in pairs)
            high = np.minimum(high, rest)
    return low, high
