"""The pairs of user and value that a time window holds, compiled: last time of each, and how many users a value has.

Pairs stand in slots, linked from the one that was seen longest ago to the latest. A table of slots by (user, value) and
one of counts by value are open-addressed; what leaves is filled by shifting back, so nothing is left behind.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled

__all__ = ["NOTHING", "Window", "new_window", "refill", "take"]

Ints = NDArray[np.int64]
Small = NDArray[np.int32]
NOTHING = -1
OLDEST, LATEST, FREE, PAIRS, VALUES, FORGOTTEN = range(6)  # of `Window.head`
TIME, USER, VALUE, BEFORE, AFTER = range(5)  # of `Window.pairs`


class Window(NamedTuple):
    """The state; arrays are replaced by larger ones when slots run out."""

    head: Ints  # oldest slot, latest slot, first free slot, pairs, values, pairs that were forgotten
    pairs: Ints  # for each slot last time, user, value, the slots before and after it: side by side in memory
    slots: Small  # by hash of user and value
    counted: Ints  # by hash of value: the value, and how many users it has
    counts: Small


@compiled
def new_window(slots: int) -> Window:
    """An empty window with room for some pairs, a power of two."""
    pairs = np.empty((slots, 5), np.int64)
    pairs[:, AFTER] = np.arange(1, slots + 1)
    pairs[slots - 1, AFTER] = NOTHING
    return Window(
        np.array([NOTHING, NOTHING, 0, 0, 0, 0], np.int64),
        pairs,
        np.full(2 * slots, NOTHING, np.int32),
        np.empty(2 * slots, np.int64),
        np.zeros(2 * slots, np.int32),
    )


@compiled
def _mix(number: np.uint64) -> np.uint64:
    """Spread a number over 64 bits [Steele, Lea, Flood 2014]."""
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))


@compiled
def _place(user: np.int64, value: np.int64, mask: np.int64) -> np.int64:
    mixed = _mix(np.uint64(user) * np.uint64(0x9E3779B97F4A7C15) + _mix(np.uint64(value)))
    return np.int64(mixed & np.uint64(mask))


@compiled
def _find_pair(window: Window, user: np.int64, value: np.int64) -> Any:
    """Find the index of a pair in the table, or the one it would have."""
    mask = len(window.slots) - 1
    at = _place(user, value, mask)
    while window.slots[at] != NOTHING:
        slot = window.slots[at]
        if window.pairs[slot, USER] == user and window.pairs[slot, VALUE] == value:
            break
        at = (at + 1) & mask
    return at


@compiled
def _find_value(window: Window, value: np.int64) -> Any:
    mask = len(window.counts) - 1
    at = np.int64(_mix(np.uint64(value)) & np.uint64(mask))
    while window.counts[at] != 0 and window.counted[at] != value:
        at = (at + 1) & mask
    return at


@compiled
def _drop_value(window: Window, at: np.int64) -> None:
    """Empty a place of the counts, and close the gap."""
    mask = len(window.counts) - 1
    window.counts[at] = 0
    window.head[VALUES] -= 1
    gap, near = at, (at + 1) & mask
    while window.counts[near] != 0:
        home = np.int64(_mix(np.uint64(window.counted[near])) & np.uint64(mask))
        if ((near - home) & mask) >= ((near - gap) & mask):
            window.counted[gap], window.counts[gap] = window.counted[near], window.counts[near]
            window.counts[near] = 0
            gap = near
        near = (near + 1) & mask


@compiled
def _unlink(window: Window, slot: np.int64) -> None:
    before, after = window.pairs[slot, BEFORE], window.pairs[slot, AFTER]
    if before == NOTHING:
        window.head[OLDEST] = after
    else:
        window.pairs[before, AFTER] = after
    if after == NOTHING:
        window.head[LATEST] = before
    else:
        window.pairs[after, BEFORE] = before


@compiled
def _append(window: Window, slot: np.int64) -> None:
    latest = window.head[LATEST]
    window.pairs[slot, BEFORE], window.pairs[slot, AFTER] = latest, NOTHING
    if latest == NOTHING:
        window.head[OLDEST] = slot
    else:
        window.pairs[latest, AFTER] = slot
    window.head[LATEST] = slot


@compiled
def _drop_oldest(window: Window) -> None:
    slot = window.head[OLDEST]
    user, value = window.pairs[slot, USER], window.pairs[slot, VALUE]
    mask = len(window.slots) - 1
    gap = _find_pair(window, user, value)
    window.slots[gap] = NOTHING
    near = (gap + 1) & mask
    while window.slots[near] != NOTHING:
        other = window.slots[near]
        home = _place(window.pairs[other, USER], window.pairs[other, VALUE], mask)
        if ((near - home) & mask) >= ((near - gap) & mask):
            window.slots[gap], window.slots[near] = other, NOTHING
            gap = near
        near = (near + 1) & mask
    at = _find_value(window, value)
    if window.counts[at] == 1:
        _drop_value(window, at)
    else:
        window.counts[at] -= 1
    _unlink(window, slot)
    window.pairs[slot, AFTER] = window.head[FREE]
    window.head[FREE] = slot
    window.head[PAIRS] -= 1


@compiled
def take(
    window: Window,
    times: Ints,
    users: Ints,
    values: Ints,
    first: int,
    z: int,
    span: int,
    capacity: int,
    published: NDArray[np.bool_],
) -> int:
    """Take in tuples in the order of time, from `first` on; says at which one slots ran out, or how many there are.

    A pair leaves the window when it was last seen `span` or longer ago, or when there are `capacity` others.
    """
    for i in range(first, len(times)):
        now, user, value = times[i], users[i], values[i]
        while window.head[OLDEST] != NOTHING and window.pairs[window.head[OLDEST], TIME] <= now - span:
            _drop_oldest(window)
        place = _find_pair(window, user, value)
        slot = window.slots[place]
        if slot != NOTHING:
            window.pairs[slot, TIME] = now
            if window.head[LATEST] != slot:
                _unlink(window, slot)
                _append(window, slot)
            at = _find_value(window, value)
        else:
            if window.head[PAIRS] >= capacity:
                _drop_oldest(window)
                window.head[FORGOTTEN] += 1
                place = _find_pair(window, user, value)
            elif window.head[FREE] == NOTHING:
                return i
            slot = window.head[FREE]
            window.head[FREE] = window.pairs[slot, AFTER]
            window.pairs[slot, TIME], window.pairs[slot, USER], window.pairs[slot, VALUE] = now, user, value
            window.slots[place] = slot
            _append(window, slot)
            window.head[PAIRS] += 1
            at = _find_value(window, value)
            if window.counts[at] == 0:
                window.counted[at] = value
                window.head[VALUES] += 1
            window.counts[at] += 1
        published[i] = window.counts[at] >= z
    return len(times)


@compiled
def refill(window: Window, slots: int) -> Any:
    """The same window with room for another number of pairs."""
    made = new_window(slots)
    made.head[FORGOTTEN] = window.head[FORGOTTEN]
    slot = window.head[OLDEST]
    while slot != NOTHING:
        user, value = window.pairs[slot, USER], window.pairs[slot, VALUE]
        new = made.head[FREE]
        made.head[FREE] = made.pairs[new, AFTER]
        made.pairs[new, TIME], made.pairs[new, USER], made.pairs[new, VALUE] = window.pairs[slot, TIME], user, value
        made.slots[_find_pair(made, user, value)] = new
        _append(made, new)
        made.head[PAIRS] += 1
        at = _find_value(made, value)
        if made.counts[at] == 0:
            made.counted[at] = value
            made.head[VALUES] += 1
        made.counts[at] += 1
        slot = window.pairs[slot, AFTER]
    return made
