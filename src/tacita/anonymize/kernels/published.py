"""The relaxed and the legacy mode of Mondrian, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.kernels.boxes import NONE, SIZE, Codes, Ints, Shape, span
from tacita.common.compiled import compiled

__all__ = ["legacy_partition", "relaxed"]


@compiled
def relaxed(codes: Codes, items: Ints, k: int, shape: Shape) -> Ints:
    """The class of each row when rows with the median value may go to both sides.

    Args:
        codes: The items.
        items: The item of each row, in canonical order; sorted on the way.
    """
    n, d = len(items), codes.shape[1]
    classes = np.full(n, -1, np.int64)
    stack = [(0, n)]
    found = 0
    low, high = np.empty(d, np.int32), np.empty(d, np.int32)
    while len(stack) > 0:
        first, last = stack.pop()
        low[:], high[:] = NONE, -1
        for i in range(first, last):
            for j in range(d):
                low[j] = min(low[j], codes[items[i], j])
                high[j] = max(high[j], codes[items[i], j])
        widest, chosen = 0.0, -1
        for j in range(d):
            if low[j] < high[j]:
                wide = span(shape.meta, shape.table, j, low[j], high[j])
                if wide > widest:
                    widest, chosen = wide, j
        if last - first < 2 * k or chosen < 0:
            classes[first:last] = found
            found += 1
            continue
        column = np.empty(last - first, np.int32)
        for i in range(first, last):
            column[i - first] = codes[items[i], chosen]
        items[first:last] = items[first:last][np.argsort(column, kind="mergesort")]
        middle = first + (last - first) // 2
        stack.append((middle, last))
        stack.append((first, middle))
    return classes


@compiled
def _legacy_cut(
    codes: Codes, weights: Ints, j: int, first: int, last: int, low: int, high: int, k: int, counts: Ints
) -> tuple[int, int]:
    """The last code below the median cut and the first above it; -1 when that cut is not allowed."""
    total = weights[first:last].sum()
    if total // 2 < k or low == high:
        return -1, -1
    counts[low : high + 1] = 0
    for i in range(first, last):
        counts[codes[i, j]] += weights[i]
    left, cut = 0, low - 1
    while left < total // 2:
        cut += 1
        left += counts[cut]
    if cut == high or left < k or total - left < k:
        return -1, -1
    above = cut + 1
    while counts[above] == 0:
        above += 1
    return cut, above


@compiled
def _legacy_widest(shape: Shape, allowed: NDArray[np.bool_], low: Codes, high: Codes) -> int:
    widest, j = -1.0, -1
    for a in range(len(allowed)):
        wide = span(shape.meta, shape.table, a, low[a], high[a]) if allowed[a] else -1.0
        if wide > widest:
            widest, j = wide, a
    return j


@compiled
def legacy_partition(codes: Codes, weights: Ints, k: int, shape: Shape) -> Ints:
    """The class of each item as the published code makes them: stale ranges, and one cut only.

    A child takes over the box of its parent for attributes that were not looked at, so the "widest" attribute is chosen
    on outdated widths; and when the cut above the median is not allowed the one below it is not tried.
    """
    m, d = codes.shape
    codes, weights, items = codes.copy(), weights.copy(), np.arange(m)
    classes = np.full(m, -1, np.int64)
    sizes = shape.meta[:, SIZE]
    counts = np.empty(sizes.max() + 1, np.int64)
    stack, found = [(0, m, np.zeros(d, np.int32), (sizes - 1).astype(np.int32))], 0
    while len(stack) > 0:
        first, last, low, high = stack.pop()
        allowed = np.ones(d, np.bool_)
        cut = -1
        while cut < 0 and allowed.any():
            j = _legacy_widest(shape, allowed, low, high)
            low[j], high[j] = codes[first:last, j].min(), codes[first:last, j].max()
            cut, above = _legacy_cut(codes, weights, j, first, last, low[j], high[j], k, counts)
            allowed[j] = False
        if cut < 0:
            for i in range(first, last):
                classes[items[i]] = found
            found += 1
            continue
        order = first + np.argsort(codes[first:last, j] > cut, kind="mergesort")
        middle = first + (codes[first:last, j] <= cut).sum()
        codes[first:last], weights[first:last], items[first:last] = codes[order], weights[order], items[order]
        left_high, right_low = high.copy(), low.copy()
        left_high[j], right_low[j] = cut, above
        stack.append((first, middle, low, left_high))
        stack.append((middle, last, right_low, high))
    return classes
