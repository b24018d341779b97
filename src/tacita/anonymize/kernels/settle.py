"""Moving items between finished classes, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacita.anonymize.kernels.boxes import (
    AT,
    KIND,
    NONE,
    SET,
    SIZE,
    WORD,
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
    span,
)
from tacita.common.compiled import compiled

__all__ = ["settle"]


@compiled
def _best_move(
    meta: Ints,
    table: Floats,
    low: Codes,
    high: Codes,
    bits: Bits,
    parts: Floats,
    codes: Codes,
    item: int,
    weight: int,
    size: Ints,
    cost: Floats,
    own: int,
    first: int,
    last: int,
    gain: float,
) -> int:
    """The class from `first` to `last` that loses least by taking an item in, and less than its own gains; or -1."""
    best, to = 1e-9, -1
    for near in range(first, last):
        joint = size[near] + weight
        more = weight * cost[near] / size[near]
        limit = (gain - best - more) / joint
        if near == own or limit <= 0.0:
            continue
        total = 0.0
        for j in range(len(meta)):
            code = codes[item, j]
            if meta[j, KIND] == SET:
                if not (bits[near, meta[j, WORD] + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1):
                    total += table[meta[j, AT] + meta[j, SIZE] + 1]
            elif not low[near, j] <= code <= high[near, j]:
                total += span(meta, table, j, min(low[near, j], code), max(high[near, j], code)) - parts[near, j]
            if total >= limit:
                break
        if total < limit:
            best, to = gain - more - joint * total, near
    return to


class _Classes(NamedTuple):
    """The classes as they are: people, items (as linked lists), boxes and losses."""

    size: Ints
    members: Ints
    head: Ints
    following: Ints
    low: Codes  # the box after the last is that of a class without one of its items
    high: Codes
    bits: Bits
    parts: Floats
    cost: Floats


@compiled
def _classes(meta: Ints, table: Floats, codes: Codes, weights: Ints, classes: Ints, count: int) -> _Classes:
    m, d = codes.shape
    made = _Classes(
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.full(count, -1, np.int64),
        np.full(m, -1, np.int64),
        np.full((count + 1, d), NONE, np.int32),
        np.full((count + 1, d), -1, np.int32),
        np.zeros((count + 1, meta[d - 1, WORD_END]), np.uint64),
        np.zeros((count + 1, d)),
        np.zeros(count),
    )
    for i in range(m - 1, -1, -1):
        c = classes[i]
        if c >= 0:
            made.size[c] += weights[i]
            made.members[c] += 1
            made.following[i], made.head[c] = made.head[c], i
            add_item(meta, codes, i, made.low, made.high, made.bits, c)
    for c in range(count):
        made.cost[c] = made.size[c] * fill_parts(meta, table, made.low, made.high, made.bits, made.parts, c)
    return made


@compiled
def _without(
    meta: Ints, codes: Codes, following: Ints, head: int, item: int, low: Codes, high: Codes, bits: Bits, box: int
) -> None:
    """The box of a class without one of its items."""
    clear(low, high, bits, box)
    other = head
    while other >= 0:
        if other != item:
            for j in range(codes.shape[1]):
                code = codes[other, j]
                low[box, j] = min(low[box, j], code)
                high[box, j] = max(high[box, j], code)
                if meta[j, KIND] == SET:
                    bits[box, meta[j, WORD] + (code >> 6)] |= np.uint64(1) << np.uint64(code & 63)
        other = following[other]


@compiled
def _settle_class(
    meta: Ints, table: Floats, codes: Codes, weights: Ints, classes: Ints, made: _Classes, c: int, k: int, window: int
) -> int:
    """Move items out of one class; returns how many went."""
    moved, before, item, count = 0, -1, made.head[c], len(made.size)
    while item >= 0:
        after, to, rest = made.following[item], -1, 0.0
        if made.size[c] - weights[item] >= k and made.cost[c] > 0.0:
            low, high, bits = made.low, made.high, made.bits
            _without(meta, codes, made.following, made.head[c], item, low, high, bits, count)
            rest = (made.size[c] - weights[item]) * loss(meta, table, low, high, bits, count)
            to = _best_move(
                meta,
                table,
                made.low,
                made.high,
                made.bits,
                made.parts,
                codes,
                item,
                weights[item],
                made.size,
                made.cost,
                c,
                max(0, c - window),
                min(count, c + window + 1),
                made.cost[c] - rest,
            )
        if to < 0:
            before, item = item, after
            continue
        copy_box(made.low, made.high, made.bits, c, count)
        fill_parts(meta, table, made.low, made.high, made.bits, made.parts, c)
        add_item(meta, codes, item, made.low, made.high, made.bits, to)
        made.size[c] -= weights[item]
        made.size[to] += weights[item]
        made.members[c] -= 1
        made.members[to] += 1
        made.cost[c] = rest
        made.cost[to] = made.size[to] * fill_parts(meta, table, made.low, made.high, made.bits, made.parts, to)
        if before < 0:
            made.head[c] = after
        else:
            made.following[before] = after
        made.following[item], made.head[to] = made.head[to], item
        classes[item] = to
        moved += 1
        item = after
    return moved


@compiled
def settle(
    codes: Codes, weights: Ints, classes: Ints, count: int, k: int, shape: Shape, window: int, most: int, rounds: int
) -> None:
    """Move items that their class can spare to a class near by (in the order of cuts) where the sum of losses falls.

    Classes of more than `most` items are left as they are: there is little to gain at a high cost.
    """
    meta, table = shape.meta, shape.table
    made = _classes(meta, table, codes, weights, classes, count)
    for _ in range(rounds):
        moved = 0
        for c in range(count):
            if made.members[c] <= most:
                moved += _settle_class(meta, table, codes, weights, classes, made, c, k, window)
        if moved == 0:
            break
