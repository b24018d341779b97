"""Exchanges between the classes of a block, compiled: move one entry, or swap two, where the sum of losses falls.

Each class tries its nearest classes in turn. The boxes of a class without each of its entries are kept up to date, so
that an exchange costs one pass over the attributes, and most are refused after few of them. Entries that are lent
(`home`) may also go back, where they lose nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.kernels.boxes import (
    KIND,
    LINE,
    WORD_END,
    Bits,
    Codes,
    Floats,
    Ints,
    Shape,
    add_item,
    clear,
    copy_box,
    fill_parts,
    loss,
    widening,
)
from tacita.anonymize.kernels.holds import People, Rules, Stamps, fits, stamps
from tacita.anonymize.kernels.near import coordinate, fill_distances, smallest
from tacita.common.compiled import compiled

__all__ = ["exchange"]

_LEAST = 1e-9  # gains below it are none


class _Block(NamedTuple):
    """The classes of a block: entries, people, boxes and losses; and the box of its class without each entry."""

    members: Ints
    held: Ints
    size: Ints
    wide: Floats
    low: Codes
    high: Codes
    bits: Bits
    parts: Floats
    other_wide: Floats
    other_low: Codes
    other_high: Codes
    other_bits: Bits
    other_parts: Floats
    after_low: Codes  # room for the boxes of the last entries of a class
    after_high: Codes
    after_bits: Bits
    group: Ints  # room for the items of a class, and for their marks
    ones: NDArray[np.int8]


@compiled
def _block(meta: Ints, m: int, count: int, most: int) -> _Block:
    d = len(meta)
    words = meta[d - 1, WORD_END]
    return _Block(
        np.zeros((count, most), np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count),
        np.empty((count, d), np.int32),
        np.empty((count, d), np.int32),
        np.empty((count, words), np.uint64),
        np.zeros((count, d)),
        np.zeros(m),
        np.empty((m, d), np.int32),
        np.empty((m, d), np.int32),
        np.empty((m, words), np.uint64),
        np.zeros((m, d)),
        np.empty((most + 1, d), np.int32),
        np.empty((most + 1, d), np.int32),
        np.empty((most + 1, words), np.uint64),
        np.empty(most + 1, np.int64),
        np.ones(most + 1, np.int8),
    )


@compiled
def _refresh(meta: Ints, table: Floats, codes: Codes, weights: Ints, b: _Block, c: int) -> None:
    """The box of a class, and without each of its entries: those before it and those after it."""
    held = b.held[c]
    clear(b.after_low, b.after_high, b.after_bits, held)
    b.size[c] = 0
    for a in range(held - 1, -1, -1):
        copy_box(b.after_low, b.after_high, b.after_bits, a, a + 1)
        add_item(meta, codes, b.members[c, a], b.after_low, b.after_high, b.after_bits, a)
        b.size[c] += weights[b.members[c, a]]
    clear(b.low, b.high, b.bits, c)
    for a in range(held):
        i = b.members[c, a]
        for j in range(len(meta)):
            b.other_low[i, j] = min(b.low[c, j], b.after_low[a + 1, j])
            b.other_high[i, j] = max(b.high[c, j], b.after_high[a + 1, j])
        for word in range(b.bits.shape[1]):
            b.other_bits[i, word] = b.bits[c, word] | b.after_bits[a + 1, word]
        b.other_wide[i] = fill_parts(meta, table, b.other_low, b.other_high, b.other_bits, b.other_parts, i)
        add_item(meta, codes, i, b.low, b.high, b.bits, c)
    b.wide[c] = fill_parts(meta, table, b.low, b.high, b.bits, b.parts, c)


@compiled
def _may(b: _Block, c: int, out: int, into: int, items: Ints, people: People, rules: Rules, seen: Stamps) -> bool:
    """Whether a class may be one without its entry number `out` (or -1) and with the entry `into` (or -1)."""
    if not rules.checked:
        return True
    held = 0
    for a in range(b.held[c]):
        if a != out:
            b.group[held] = items[b.members[c, a]]
            held += 1
    if into >= 0:
        b.group[held] = items[into]
        held += 1
    return held > 0 and fits(b.group, b.ones, np.int64(1), np.int64(0), held, people, rules, seen)


@compiled
def _neighbours(meta: Ints, table: Floats, codes: Codes, b: _Block, count: int, most: int) -> Ints:
    """The classes whose common box with a class loses least, among those whose middles are nearest."""
    d, wider = len(meta), 3 * most
    points, distances = np.empty((d, count)), np.empty(count)
    near, values = np.empty(2 * wider, np.int64), np.empty(2 * wider)
    found = np.full((count, most), -1, np.int64)
    low, high, bits = b.after_low, b.after_high, b.after_bits
    for c in range(count):
        for j in range(d):
            if meta[j, KIND] == LINE:
                first, last = (coordinate(meta, table, j, b.low[c, j]), coordinate(meta, table, j, b.high[c, j]))
                points[j, c] = (first + last) / 2
            else:
                points[j, c] = float(codes[b.members[c, b.held[c] // 2], j])
    for c in range(count):
        fill_distances(meta, table, points, count, c, distances)
        distances[c] = np.inf
        held = smallest(distances, count, wider, near, values)
        for q in range(held):
            e = near[q]
            for j in range(d):
                low[0, j], high[0, j] = min(b.low[c, j], b.low[e, j]), max(b.high[c, j], b.high[e, j])
            for word in range(bits.shape[1]):
                bits[0, word] = b.bits[c, word] | b.bits[e, word]
            values[q] = np.inf if e == c else loss(meta, table, low, high, bits, np.int64(0)) - b.wide[e]
        rank = np.argsort(values[:held], kind="mergesort")
        for q in range(min(held, most)):
            found[c, q] = near[rank[q]] if near[rank[q]] != c else -1
    return found


@compiled
def _pair(
    meta: Ints,
    table: Floats,
    codes: Codes,
    weights: Ints,
    items: Ints,
    b: _Block,
    c: int,
    e: int,
    people: People,
    rules: Rules,
    seen: Stamps,
) -> bool:
    """Make the best exchange of two classes; returns whether there was one."""
    k, most = rules.k, b.members.shape[1]
    size, other = b.size[c], b.size[e]
    best = size * b.wide[c] + other * b.wide[e] - _LEAST
    out, back = -1, -1
    for a in range(b.held[c]):
        i = b.members[c, a]
        wi = weights[i]
        if size - wi >= k and b.held[e] < most:
            cost = (size - wi) * b.other_wide[i] + (other + wi) * b.wide[e]
            limit = (best - cost) / (other + wi)
            if limit > 0.0:
                more = widening(meta, table, codes, i, b.low, b.high, b.bits, b.parts, e, limit)
                if (
                    more < limit
                    and _may(b, c, a, -1, items, people, rules, seen)
                    and _may(b, e, -1, i, items, people, rules, seen)
                ):
                    best, out, back = cost + (other + wi) * more, a, -1
        for z in range(b.held[e]):
            j = b.members[e, z]
            wj = weights[j]
            first, second = size - wi + wj, other - wj + wi
            cost = first * b.other_wide[i] + second * b.other_wide[j]
            if cost >= best or first < k or second < k:
                continue
            limit = (best - cost) / first
            more = widening(meta, table, codes, j, b.other_low, b.other_high, b.other_bits, b.other_parts, i, limit)
            if more >= limit:
                continue
            cost += first * more
            limit = (best - cost) / second
            more = widening(meta, table, codes, i, b.other_low, b.other_high, b.other_bits, b.other_parts, j, limit)
            if more >= limit:
                continue
            if _may(b, c, a, j, items, people, rules, seen) and _may(b, e, z, i, items, people, rules, seen):
                best, out, back = cost + second * more, a, z
    if out < 0:
        return False
    i = b.members[c, out]
    if back >= 0:
        b.members[c, out], b.members[e, back] = b.members[e, back], i
    else:
        b.held[c] -= 1
        b.members[c, out] = b.members[c, b.held[c]]
        b.members[e, b.held[e]] = i
        b.held[e] += 1
    _refresh(meta, table, codes, weights, b, c)
    _refresh(meta, table, codes, weights, b, e)
    return True


@compiled
def _send_home(
    meta: Ints,
    table: Floats,
    codes: Codes,
    weights: Ints,
    lent: NDArray[np.bool_],
    b: _Block,
    c: int,
    k: int,
    classes: Ints,
) -> None:
    """Let entries that are lent go back while their class can spare them."""
    changed, a = False, 0
    while a < b.held[c]:
        i = b.members[c, a]
        if lent[i] and b.size[c] - weights[i] >= k:
            classes[i] = -1
            b.size[c] -= weights[i]
            b.held[c] -= 1
            b.members[c, a] = b.members[c, b.held[c]]
            changed = True
        else:
            a += 1
    if changed:
        _refresh(meta, table, codes, weights, b, c)


@compiled
def exchange(
    codes: Codes,
    weights: Ints,
    lent: NDArray[np.bool_],
    items: Ints,
    classes: Ints,
    count: int,
    shape: Shape,
    people: People,
    rules: Rules,
    near: int,
    rounds: int,
    largest: int,
) -> None:
    """Exchange entries between the classes of a block, in place.

    Args:
        codes: Codes of the entries.
        weights: People of the entries.
        lent: Entries that may go back to where they lose nothing.
        items: Item of each entry in `people`.
        classes: The class of each entry, -1 for none.
        count: Number of classes.
        shape: Tables of losses.
        people: People of each item.
        rules: Conditions.
        near: How many nearest classes each class tries.
        rounds: How often.
        largest: Classes of more entries are left as they are.
    """
    meta, table = shape.meta, shape.table
    sizes = np.zeros(count, np.int64)
    for i in range(len(codes)):
        if classes[i] >= 0:
            sizes[classes[i]] += 1
    new, names, some = np.full(count, -1, np.int64), np.empty(count, np.int64), 0
    for c in range(count):
        if 0 < sizes[c] <= largest:
            new[c], names[some] = some, c
            some += 1
    if some == 0:
        return
    b, seen = _block(meta, len(codes), some, largest + 8), stamps(people, rules)
    for i in range(len(codes)):
        if classes[i] >= 0 and new[classes[i]] >= 0:
            c = new[classes[i]]
            b.members[c, b.held[c]] = i
            b.held[c] += 1
    for c in range(some):
        _refresh(meta, table, codes, weights, b, c)
        _send_home(meta, table, codes, weights, lent, b, c, rules.k, classes)
    nearest = _neighbours(meta, table, codes, b, some, near)
    changed = np.ones(some, np.bool_)
    for _ in range(rounds):
        before = changed.copy()
        changed[:] = False
        for c in range(some):
            if b.wide[c] <= 0.0:
                continue
            for q in range(near):
                e = nearest[c, q]
                if e < 0 or not (before[c] or before[e] or changed[c] or changed[e]):
                    continue
                if _pair(meta, table, codes, weights, items, b, c, e, people, rules, seen):
                    changed[c] = changed[e] = True
        if not changed.any():
            break
    for c in range(some):
        _send_home(meta, table, codes, weights, lent, b, c, rules.k, classes)
        needed = False
        for a in range(b.held[c]):
            needed |= not lent[b.members[c, a]]
        for a in range(b.held[c]):
            classes[b.members[c, a]] = names[c] if needed else -1
