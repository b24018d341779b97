"""Classes gathered around items within a block, compiled: greedy k-member clustering [Byun et al. 2007].

The item that is farthest from the middle of the block comes first. It gathers the items that widen its box least until
it may be a class, then the next one that is left does the same. What remains joins the classes that lose least by it.
People whom a class can lend (`lent`) need no class: they fill others up, and stay where they are otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.kernels.boxes import (
    AT,
    KIND,
    LINE,
    SET,
    SIZE,
    WORD_END,
    Bits,
    Codes,
    Floats,
    Ints,
    Shape,
    add_item,
    clear,
    fill_parts,
    widening,
)
from tacita.anonymize.kernels.holds import People, Rules, Stamps, fits, stamps
from tacita.anonymize.kernels.leftover import place_rest
from tacita.anonymize.kernels.near import coordinate, fill_distances, smallest
from tacita.common.compiled import compiled

__all__ = ["gather"]

_TIE = 1e-12
_BOX = np.int64(0)


class _Pool(NamedTuple):
    """Entries without a class, as points one after the other, and room for the class at hand."""

    points: Floats
    slot_of: Ints
    entry_at: Ints
    slots: Ints  # how many there are
    distances: Floats
    near: Ints
    values: Floats
    members: Ints
    items: Ints
    ones: NDArray[np.int8]
    tally: Ints  # sensitive values of the class at hand
    low: Codes
    high: Codes
    bits: Bits
    parts: Floats


@compiled
def _pool(meta: Ints, table: Floats, codes: Codes, values: int, most: int) -> _Pool:
    m, d = codes.shape
    points = np.empty((d, m))
    for i in range(m):
        for j in range(d):
            points[j, i] = coordinate(meta, table, j, codes[i, j])
    return _Pool(
        points,
        np.arange(m),
        np.arange(m),
        np.full(1, m),
        np.empty(m),
        np.empty(2 * most, np.int64),
        np.empty(2 * most),
        np.empty(m, np.int64),
        np.empty(m, np.int64),
        np.ones(m, np.int8),
        np.zeros(values, np.int64),
        np.empty((1, d), np.int32),
        np.empty((1, d), np.int32),
        np.empty((1, meta[d - 1, WORD_END]), np.uint64),
        np.zeros((1, d)),
    )


@compiled
def _remove(pool: _Pool, entry: int) -> None:
    """Take an entry out; the last one gets its slot."""
    pool.slots[0] -= 1
    slot, last = pool.slot_of[entry], pool.entry_at[pool.slots[0]]
    pool.entry_at[slot], pool.slot_of[last] = last, slot
    for j in range(len(pool.points)):
        pool.points[j, slot] = pool.points[j, pool.slots[0]]


@compiled
def _eccentricity(meta: Ints, table: Floats, codes: Codes, weights: Ints, people: int) -> Floats:
    """Distance of each item from the middle: from the mean of a line, from the values of the others of a set."""
    m = len(codes)
    found = np.zeros(m)
    for j in range(len(meta)):
        size = meta[j, SIZE]
        if meta[j, KIND] == LINE:
            mean = 0.0
            for i in range(m):
                mean += weights[i] * coordinate(meta, table, j, codes[i, j]) / people
            for i in range(m):
                found[i] += abs(coordinate(meta, table, j, codes[i, j]) - mean)
            continue
        counts = np.zeros(size)
        for i in range(m):
            counts[codes[i, j]] += weights[i]
        cost = table[meta[j, AT] + size + 1] if meta[j, KIND] == SET else 1.0
        for i in range(m):
            found[i] += cost * (1.0 - counts[codes[i, j]] / people)
    return found


@compiled
def _count_values(item: int, people: People, tally: Ints) -> None:
    """Add the sensitive values of an item; without those of people who have several items, which need not be exact."""
    for i in range(people.value_start[item], people.value_start[item + 1]):
        tally[people.value[i]] += people.value_count[i]


@compiled
def _surplus(item: int, people: People, rules: Rules, tally: Ints, size: int) -> float:
    """Number of people of an item whose values a class of `size` people would have more often than the table."""
    total, least = 0.0, max(size, rules.k)
    for i in range(people.value_start[item], people.value_start[item + 1]):
        value = people.value[i]
        total += max(0.0, tally[value] + people.value_count[i] - rules.shares[0, value] * least)
    return total


@compiled
def _grow(
    seed: int,
    codes: Codes,
    weights: Ints,
    lent: NDArray[np.bool_],
    items: Ints,
    shape: Shape,
    people: People,
    rules: Rules,
    seen: Stamps,
    balance: float,
    mean: float,
    pool: _Pool,
) -> Any:
    """Gather a class around an entry: number of its entries (`pool.members`) and people; none when it cannot be one."""
    meta, table, low, high, bits = shape.meta, shape.table, pool.low, pool.high, pool.bits
    fill_distances(meta, table, pool.points, pool.slots[0], pool.slot_of[seed], pool.distances)
    pool.distances[pool.slot_of[seed]] = np.inf
    count = smallest(pool.distances, pool.slots[0], len(pool.near) // 2, pool.near, pool.values)
    clear(low, high, bits, _BOX)
    pool.tally[:] = 0
    held, size, entry = 0, 0, np.int64(seed)
    while True:
        pool.members[held], pool.items[held] = entry, items[entry]
        held += 1
        size += weights[entry]
        add_item(meta, codes, entry, low, high, bits, _BOX)
        _count_values(items[entry], people, pool.tally)
        if size >= rules.k and (
            not rules.checked or fits(pool.items, pool.ones, np.int64(1), np.int64(0), held, people, rules, seen)
        ):
            return held, size
        if count == 0:
            return 0, 0
        wide = fill_parts(meta, table, low, high, bits, pool.parts, _BOX)
        least, chosen = np.inf, -1
        for c in range(count):
            entry = pool.entry_at[pool.near[c]]
            benefit = 0.0 if lent[entry] else mean * weights[entry]
            if rules.checked:
                benefit -= balance * mean * _surplus(items[entry], people, rules, pool.tally, size + weights[entry])
            then = max(size + weights[entry], rules.k)
            limit = (least + benefit) / then - wide
            if limit <= 0.0:
                continue
            more = widening(meta, table, codes, entry, low, high, bits, pool.parts, _BOX, limit)
            if more < limit - _TIE or chosen < 0:
                least, chosen = then * (wide + more) - benefit, c
        entry = pool.entry_at[pool.near[chosen]]
        count -= 1
        for c in range(chosen, count):
            pool.near[c] = pool.near[c + 1]


@compiled
def gather(
    codes: Codes,
    weights: Ints,
    lent: NDArray[np.bool_],
    items: Ints,
    shape: Shape,
    people: People,
    rules: Rules,
    spread: int,
    balance: float,
    classes: Ints,
) -> Any:
    """Write the class of each entry of a block, -1 for what was not borrowed; returns how many, or -1 if it failed.

    The next entry of a class is the one after which people times loss is least: less the mean loss of a person for each
    of its people who need a class, and more for those whose sensitive values the class has too often.

    Args:
        codes: Codes of the entries.
        weights: People of the entries.
        lent: Entries that need no class.
        items: Item of each entry in `people`.
        shape: Tables of losses.
        people: People of each item.
        rules: Conditions.
        spread: Candidates of a class, over k.
        balance: Cost of a person whose sensitive value the class has too often, in mean losses of a person.
        classes: Where the classes are written.
    """
    meta, table = shape.meta, shape.table
    seen = stamps(people, rules)
    pool = _pool(meta, table, codes, rules.shares.shape[1], max(spread * rules.k, 16))
    left = 0  # people who need a class
    for i in range(len(codes)):
        classes[i] = -1
        if not lent[i]:
            left += weights[i]
    order = np.argsort(-_eccentricity(meta, table, codes, weights, weights.sum()), kind="mergesort")
    found, mean, placed, borrow = 0, 0.0, 0, lent.any()
    for seed in order:
        if lent[seed] or classes[seed] >= 0:
            continue
        if left < 2 * rules.k and found > 0 and not borrow:
            break
        held, size = _grow(seed, codes, weights, lent, items, shape, people, rules, seen, balance, mean, pool)
        if held == 0:
            continue
        for a in range(held):
            entry = pool.members[a]
            classes[entry] = found
            left -= 0 if lent[entry] else weights[entry]
            _remove(pool, entry)
        wide = fill_parts(meta, table, pool.low, pool.high, pool.bits, pool.parts, _BOX)
        mean = (mean * placed + wide * size) / (placed + size)
        placed += size
        found += 1
    for i in range(len(codes)):
        if classes[i] < 0 and not lent[i]:  # also those who are no one's
            return place_rest(codes, weights, lent, items, shape, people, rules, classes, found)
    return found
