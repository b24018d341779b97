"""Entries that no class was gathered for, compiled: they join classes, or take in whole ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.kernels.boxes import (
    WORD_END,
    Codes,
    Ints,
    Shape,
    add_box,
    add_item,
    clear,
    copy_box,
    fill_parts,
    loss,
    widening,
)
from tacita.anonymize.kernels.holds import People, Rules, fits, stamps
from tacita.common.compiled import compiled

__all__ = ["place_rest"]

_TIE = 1e-12


@compiled
def _absorb(
    codes: Codes, weights: Ints, items: Ints, shape: Shape, people: People, rules: Rules, classes: Ints, last: int
) -> Any:
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


@compiled
def place_rest(
    codes: Codes,
    weights: Ints,
    lent: NDArray[np.bool_],
    items: Ints,
    shape: Shape,
    people: People,
    rules: Rules,
    classes: Ints,
    found: int,
) -> Any:
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
