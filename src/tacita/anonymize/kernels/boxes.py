"""Boxes, compiled: what a group of items spans, and what that loses.

An item is a distinct combination of codes. The box of a group is the lowest and highest code of each attribute, and for
attributes without an order the set of its codes as bits. Its loss is the sum of its attributes' losses, each in [0, 1].
Boxes are rows of matrices, so that no small arrays are made in the loops.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled

__all__ = [
    "AT",
    "KIND",
    "LEVELS",
    "LINE",
    "NONE",
    "OFFSET",
    "SET",
    "SIZE",
    "TREE",
    "WORD",
    "WORD_END",
    "Shape",
    "add_box",
    "add_item",
    "clear",
    "copy_box",
    "fill_parts",
    "loss",
    "span",
    "total_loss",
    "widening",
]

LINE, SET, TREE = 0, 1, 2
KIND, SIZE, AT, WORD, WORD_END, OFFSET, LEVELS = range(7)  # columns of `Shape.meta`
NONE = np.int32(2**30)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Bits = NDArray[np.uint64]


class Shape(NamedTuple):
    """Tables from which the loss of a box is computed.

    Attributes:
        meta: For each attribute its kind, number of codes, start in `table`, first and last word of bits, start in
            `ancestors`, and number of levels of its hierarchy.
        table: Of a line, the position of each code, then its width; of a set its codes, then the highest, then the cost
            of each further value. Of a tree, the loss of the lowest node above 2**level + 1 neighbouring codes, level
            by level: that of any range is the larger of two of these.
        ancestors: Of a tree, the node of each code on each level, the root first.
    """

    meta: Ints
    table: Floats
    ancestors: Codes


@compiled
def _ones(word: np.uint64) -> np.int64:
    """Number of set bits."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def span(meta: Ints, table: Floats, j: int, a: int, b: int) -> Any:
    """The loss of an attribute between two different codes, as if it were ordered."""
    at = meta[j, AT]
    if meta[j, KIND] != TREE:
        return min((table[at + b] - table[at + a]) / table[at + meta[j, SIZE]], 1.0)
    step, level = 1, 0
    while 2 * step <= b - a:
        step, level = 2 * step, level + 1
    row = at + level * meta[j, SIZE]
    return max(table[row + a], table[row + b - step])


@compiled
def loss(meta: Ints, table: Floats, low: Codes, high: Codes, bits: Bits, box: int) -> float:
    """The loss of a box; an empty one has none."""
    total = 0.0
    for j in range(len(meta)):
        a, b = low[box, j], high[box, j]
        if a >= b:
            continue
        if meta[j, KIND] == SET:
            count = -1
            for word in range(meta[j, WORD], meta[j, WORD_END]):
                count += _ones(bits[box, word])
            total += count * table[meta[j, AT] + meta[j, SIZE] + 1]
        else:
            total += span(meta, table, j, a, b)
    return total


@compiled
def fill_parts(meta: Ints, table: Floats, low: Codes, high: Codes, bits: Bits, parts: Floats, box: int) -> float:
    """The loss of each attribute of a box, and their sum."""
    total = 0.0
    for j in range(len(meta)):
        parts[box, j] = 0.0
        if low[box, j] < high[box, j]:
            if meta[j, KIND] == SET:
                count = -1
                for word in range(meta[j, WORD], meta[j, WORD_END]):
                    count += _ones(bits[box, word])
                parts[box, j] = count * table[meta[j, AT] + meta[j, SIZE] + 1]
            else:
                parts[box, j] = span(meta, table, j, low[box, j], high[box, j])
        total += parts[box, j]
    return total


@compiled
def clear(low: Codes, high: Codes, bits: Bits, box: int) -> None:
    """Make a box empty."""
    for j in range(low.shape[1]):
        low[box, j] = NONE
        high[box, j] = -1
    for word in range(bits.shape[1]):
        bits[box, word] = 0


@compiled
def add_item(meta: Ints, codes: Codes, item: int, low: Codes, high: Codes, bits: Bits, box: int) -> None:
    """Widen a box by an item."""
    for j in range(codes.shape[1]):
        code = codes[item, j]
        low[box, j] = min(low[box, j], code)
        high[box, j] = max(high[box, j], code)
        if meta[j, KIND] == SET:
            bits[box, meta[j, WORD] + (code >> 6)] |= np.uint64(1) << np.uint64(code & 63)


@compiled
def add_box(low: Codes, high: Codes, bits: Bits, box: int, other: int) -> None:
    """Widen a box by another."""
    for j in range(low.shape[1]):
        low[box, j] = min(low[box, j], low[other, j])
        high[box, j] = max(high[box, j], high[other, j])
    for word in range(bits.shape[1]):
        bits[box, word] |= bits[other, word]


@compiled
def copy_box(low: Codes, high: Codes, bits: Bits, box: int, other: int) -> None:
    """Make a box the same as another."""
    for j in range(low.shape[1]):
        low[box, j] = low[other, j]
        high[box, j] = high[other, j]
    for word in range(bits.shape[1]):
        bits[box, word] = bits[other, word]


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
