"""Classes gathered around items within a block, compiled: greedy k-member clustering [Byun et al. 2007].

The item that is farthest from the middle of the block comes first. It gathers the items that widen its box least until
it may be a class, then the next one that is left does the same. What remains joins the classes that lose least by it.
People whom a class can lend (`lent`) need no class: they fill others up, and stay where they are otherwise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.kernels.boxes import (
    AT,
    KIND,
    LINE,
    SET,
    SIZE,
    WORD,
    WORD_END,
    Bits,
    Codes,
    Floats,
    Ints,
    Shape,
    add_box,
    add_item,
    clear,
    copy_box,
    fill_parts,
    loss,
    span,
)
from tacita.anonymize.kernels.holds import People, Rules, fits, stamps
from tacita.anonymize.kernels.near import coordinate, fill_distances, smallest
from tacita.common.compiled import compiled

__all__ = ["gather", "total_loss", "widening"]

_TIE = 1e-12
_BOX = np.int64(0)


@compiled
def widening(
    meta: Ints,
    table: Floats,
    codes: Codes,
    item: int,
    low: Codes,
    high: Codes,
    bits: Bits,
    parts: Floats,
    box: int,
    limit: float,
) -> float:
    """The loss that a box gains by an item; a number of at least `limit` as soon as it is that large."""
    total = 0.0
    for j in range(len(meta)):
        code = codes[item, j]
        if meta[j, KIND] == SET:
            if not (bits[box, meta[j, WORD] + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1):
                total += table[meta[j, AT] + meta[j, SIZE] + 1]
        elif code < low[box, j]:
            total += span(meta, table, j, code, high[box, j]) - parts[box, j]
        elif code > high[box, j]:
            total += span(meta, table, j, low[box, j], code) - parts[box, j]
        if total >= limit:
            break
    return total


@compiled
def total_loss(codes: Codes, weights: Ints, classes: Ints, count: int, shape: Shape) -> float:
    """The sum over classes of people * loss; entries without a class lose nothing."""
    meta, table = shape.meta, shape.table
    d = codes.shape[1]
    low, high = np.empty((count, d), np.int32), np.empty((count, d), np.int32)
    bits, parts, people = np.empty((count, meta[d - 1, WORD_END]), np.uint64), np.zeros((count, d)), np.zeros(count)
    for c in range(count):
        clear(low, high, bits, c)
    for i in range(len(codes)):
        if classes[i] >= 0:
            people[classes[i]] += weights[i]
            add_item(meta, codes, i, low, high, bits, classes[i])
    total = 0.0
    for c in range(count):
        total += people[c] * fill_parts(meta, table, low, high, bits, parts, c)
    return total


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
    """How many people of an item have values that a class of `size` people would have more often than the table."""
    total, least = 0.0, max(size, rules.k)
    for i in range(people.value_start[item], people.value_start[item + 1]):
        value = people.value[i]
        total += max(0.0, tally[value] + people.value_count[i] - rules.shares[0, value] * least)
    return total


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
) -> int:
    """Write the class of each entry of a block, -1 for what was not borrowed; returns how many, or -1 if it failed.

    Args:
        codes: Codes of the entries.
        weights: People of the entries.
        lent: Entries that need no class.
        items: Item of each entry in `people`.
        shape: Tables of losses.
        people: People of each item.
        rules: Conditions.
        spread: Candidates of a class, over k.
        balance: How much a person whose sensitive value the class has too often costs, in mean losses of a person.
        classes: Where the classes are written.
    """
    meta, table = shape.meta, shape.table
    m, d = codes.shape
    seen, ones = stamps(people, rules), np.ones(m, np.int8)
    low, high = np.empty((1, d), np.int32), np.empty((1, d), np.int32)
    bits, parts = np.empty((1, meta[d - 1, WORD_END]), np.uint64), np.zeros((1, d))
    left = 0  # people who need a class
    for i in range(m):
        classes[i] = -1
        if not lent[i]:
            left += weights[i]
    order = np.argsort(-_eccentricity(meta, table, codes, weights, weights.sum()), kind="mergesort")
    points = np.empty((d, m))
    slot_of, entry_at = np.empty(m, np.int64), np.empty(m, np.int64)
    for i in range(m):
        slot_of[i], entry_at[i] = i, i
        for j in range(d):
            points[j, i] = coordinate(meta, table, j, codes[i, j])
    slots, most = m, max(spread * rules.k, 16)
    distances, near, values = np.empty(m), np.empty(2 * most, np.int64), np.empty(2 * most)
    members, taken_items = np.empty(m, np.int64), np.empty(m, np.int64)
    tally = np.zeros(rules.shares.shape[1], np.int64)
    found, mean, placed = 0, 0.0, 0
    borrow = lent.any()
    for seed in order:
        if lent[seed] or classes[seed] >= 0:
            continue
        if left < 2 * rules.k and found > 0 and not borrow:
            break
        clear(low, high, bits, _BOX)
        fill_distances(meta, table, points, slots, slot_of[seed], distances)
        distances[slot_of[seed]] = np.inf
        count = smallest(distances, slots, most, near, values)
        size, held, wide = weights[seed], 1, 0.0
        members[0], taken_items[0] = seed, items[seed]
        tally[:] = 0
        _count_values(items[seed], people, tally)
        add_item(meta, codes, seed, low, high, bits, _BOX)
        good = size >= rules.k and (
            not rules.checked or fits(taken_items, ones, np.int64(1), np.int64(0), held, people, rules, seen)
        )
        while not good and count > 0:
            wide = fill_parts(meta, table, low, high, bits, parts, _BOX)
            least, chosen = np.inf, -1
            for c in range(count):
                entry = entry_at[near[c]]
                benefit = 0.0 if lent[entry] else mean * weights[entry]
                if rules.checked:
                    benefit -= balance * mean * _surplus(items[entry], people, rules, tally, size + weights[entry])
                people_then = max(size + weights[entry], rules.k)
                limit = (least + benefit) / people_then - wide
                if limit <= 0.0:
                    continue
                more = widening(meta, table, codes, entry, low, high, bits, parts, _BOX, limit)
                if more < limit - _TIE or chosen < 0:
                    least, chosen = people_then * (wide + more) - benefit, c
            entry = entry_at[near[chosen]]
            members[held], taken_items[held] = entry, items[entry]
            held += 1
            size += weights[entry]
            _count_values(items[entry], people, tally)
            add_item(meta, codes, entry, low, high, bits, _BOX)
            count -= 1
            for c in range(chosen, count):
                near[c] = near[c + 1]
            good = size >= rules.k and (
                not rules.checked or fits(taken_items, ones, np.int64(1), np.int64(0), held, people, rules, seen)
            )
        if not good:
            continue
        wide = fill_parts(meta, table, low, high, bits, parts, _BOX)
        for a in range(held):
            entry = members[a]
            classes[entry] = found
            if not lent[entry]:
                left -= weights[entry]
            slots -= 1
            slot, last = slot_of[entry], entry_at[slots]
            entry_at[slot], slot_of[last] = last, slot
            for j in range(d):
                points[j, slot] = points[j, slots]
        mean = (mean * placed + wide * size) / (placed + size)
        placed += size
        found += 1
    for i in range(m):
        if classes[i] < 0 and not lent[i]:  # also those who are no one's
            return _place_rest(codes, weights, lent, items, shape, people, rules, classes, found)
    return found


@compiled
def _place_rest(
    codes: Codes,
    weights: Ints,
    lent: NDArray[np.bool_],
    items: Ints,
    shape: Shape,
    people: People,
    rules: Rules,
    classes: Ints,
    found: int,
) -> int:
    """Put what has no class yet into the classes that lose least by it; what none can take takes in whole ones.

    Where people alone are counted, enough of them are a class of their own at once.
    """
    meta, table = shape.meta, shape.table
    m, d = codes.shape
    seen, ones, group = stamps(people, rules), np.ones(m, np.int8), np.empty(m, np.int64)
    low, high = np.empty((found, d), np.int32), np.empty((found, d), np.int32)
    bits, parts = np.empty((found, meta[d - 1, WORD_END]), np.uint64), np.zeros((found, d))
    sizes, wide = np.zeros(found, np.int64), np.zeros(found)
    head, following = np.full(found, -1, np.int64), np.full(m, -1, np.int64)
    left = 0
    for c in range(found):
        clear(low, high, bits, c)
    for i in range(m):
        c = classes[i]
        if c >= 0:
            sizes[c] += weights[i]
            following[i], head[c] = head[c], i
            add_item(meta, codes, i, low, high, bits, c)
        elif not lent[i]:
            left += weights[i]
    for c in range(found):
        wide[c] = fill_parts(meta, table, low, high, bits, parts, c)
    for i in range(m):
        if classes[i] >= 0 or lent[i] or (left >= rules.k and not rules.checked):
            continue
        least, to = np.inf, -1
        for c in range(found):
            cost = weights[i] * wide[c]
            limit = (least - cost) / (sizes[c] + weights[i])
            if limit <= 0.0:
                continue
            more = widening(meta, table, codes, i, low, high, bits, parts, c, limit)
            if more >= limit:
                continue
            if rules.checked:
                group[0], held, other = items[i], 1, head[c]
                while other >= 0:
                    group[held] = items[other]
                    held, other = held + 1, following[other]
                if not fits(group, ones, np.int64(1), np.int64(0), held, people, rules, seen):
                    continue
            least, to = cost + (sizes[c] + weights[i]) * more, c
        if to >= 0:
            classes[i] = to
            sizes[to] += weights[i]
            following[i], head[to] = head[to], i
            add_item(meta, codes, i, low, high, bits, to)
            wide[to] = fill_parts(meta, table, low, high, bits, parts, to)
    done = True
    for i in range(m):
        if classes[i] < 0 and not lent[i]:
            classes[i], done = found, False
    if done:
        return found
    return _absorb(codes, weights, items, shape, people, rules, classes, found)


@compiled
def _absorb(
    codes: Codes, weights: Ints, items: Ints, shape: Shape, people: People, rules: Rules, classes: Ints, last: int
) -> int:
    """Let the last class take in whole classes, those nearest first, until it may be one; returns how many are left.

    Returns -1 when all together may not.
    """
    meta, table = shape.meta, shape.table
    m, d = codes.shape
    seen, ones, group = stamps(people, rules), np.ones(m, np.int8), np.empty(m, np.int64)
    low, high = np.empty((last + 2, d), np.int32), np.empty((last + 2, d), np.int32)
    bits = np.empty((last + 2, meta[d - 1, WORD_END]), np.uint64)
    alive = np.ones(last, np.bool_)
    for c in range(last + 1):
        clear(low, high, bits, c)
    for i in range(m):
        if classes[i] >= 0:
            add_item(meta, codes, i, low, high, bits, classes[i])
    while True:
        held, size = 0, 0
        for i in range(m):
            if classes[i] == last:
                group[held] = items[i]
                held, size = held + 1, size + weights[i]
        good = size >= rules.k
        if good and rules.checked:
            good = fits(group, ones, np.int64(1), np.int64(0), held, people, rules, seen)
        if good:
            break
        least, chosen = np.inf, -1
        for c in range(last):
            if alive[c]:
                copy_box(low, high, bits, last + 1, last)
                add_box(low, high, bits, last + 1, c)
                more = loss(meta, table, low, high, bits, last + 1)
                if more < least - _TIE:
                    least, chosen = more, c
        if chosen < 0:
            return -1
        alive[chosen] = False
        add_box(low, high, bits, last, chosen)
        for i in range(m):
            if classes[i] == chosen:
                classes[i] = last
    new = np.cumsum(alive) - 1
    count = alive.sum()
    for i in range(m):
        if classes[i] >= 0:
            classes[i] = new[classes[i]] if classes[i] < last else count
    return count + 1
