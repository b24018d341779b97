"""Compiled loops: counting cells, summing tables into smaller ones, counting in a hash table.

Codes come as planes: one row of bytes for each attribute of up to 255 levels, two or four for larger ones
(see `layout`). The cell of a data row is then a weighted sum of bytes, whatever the attributes are, so that
one kernel serves all.

Design: a counter update costs about one store a cycle, and no memory is read faster than that, so the rest
must cost less: rows are processed in blocks that stay in the first-level cache while their cells are
computed (vectorised), counters are 16 bits wide so that thousands of them stay there too, and two sets of
counters are used in turn, because adding to a counter that was just written waits for that write. After at
most 65,535 rows the counters are added to 32-bit totals, before they can overflow.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled

__all__ = ["FLUSH_ROWS", "NARROW_CELLS", "count", "insert", "pack", "project"]

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]

BLOCK_ROWS = 8192
FLUSH_ROWS = 65_535  # a 16-bit counter holds no more
NARROW_CELLS = 65_536  # tables whose cells have 16-bit numbers


@compiled
def _weigh(column: Bytes, weight: Any, cells: NDArray[Any]) -> None:
    for i in range(len(column)):
        cells[i] = column[i] * weight


@compiled
def _weigh_more(column: Bytes, weight: Any, cells: NDArray[Any]) -> None:
    for i in range(len(column)):
        cells[i] += column[i] * weight


@compiled
def _tally(cells: NDArray[np.uint16], even: NDArray[np.uint16], odd: NDArray[np.uint16]) -> None:
    for i in range(len(cells) // 2):
        even[cells[2 * i]] += 1
        odd[cells[2 * i + 1]] += 1
    if len(cells) % 2:
        even[cells[len(cells) - 1]] += 1


@compiled
def count(
    planes: Bytes,
    ends: Ints,
    used: Ints,
    weights: Ints,
    sizes: Ints,
    starts: Ints,
    totals: NDArray[np.uint32],
) -> None:
    """Add the rows of a block to the totals of several tables.

    Args:
        planes: The codes, one byte row for each plane.
        ends: Where each table's entries in `used` and `weights` begin; one more for the end.
        used: Planes of each table.
        weights: Weight of each plane in the number of the cell.
        sizes: Cells of each table.
        starts: Where each table's cells begin in `totals`.
        totals: All counts so far; the caller keeps the rows below 2**32.
    """
    short = np.empty(BLOCK_ROWS, np.uint16)
    long = np.empty(BLOCK_ROWS, np.uint32)
    most = 0
    for size in sizes:
        if size <= NARROW_CELLS:
            most = max(most, size)
    counters = np.empty(2 * most, np.uint16)
    rows = planes.shape[1]
    # equal shares: a flush costs the same for two rows as for many
    flushes = max((rows + FLUSH_ROWS - 1) // FLUSH_ROWS, 1)
    for flush in range(flushes):
        low, high = rows * flush // flushes, rows * (flush + 1) // flushes
        for table in range(len(sizes)):
            size = sizes[table]
            mine = totals[starts[table] : starts[table] + size]
            first, last = ends[table], ends[table + 1]
            if size > NARROW_CELLS:
                for start in range(low, high, BLOCK_ROWS):
                    stop = min(start + BLOCK_ROWS, high)
                    _weigh(planes[used[first], start:stop], np.uint32(weights[first]), long)
                    for k in range(first + 1, last):
                        _weigh_more(planes[used[k], start:stop], np.uint32(weights[k]), long)
                    for i in range(stop - start):
                        mine[long[i]] += 1
                continue
            even, odd = counters[:size], counters[size : 2 * size]
            even[:] = 0
            odd[:] = 0
            for start in range(low, high, BLOCK_ROWS):
                stop = min(start + BLOCK_ROWS, high)
                if first == last:
                    short[:] = 0
                else:
                    _weigh(planes[used[first], start:stop], np.uint16(weights[first]), short)
                for k in range(first + 1, last):
                    _weigh_more(planes[used[k], start:stop], np.uint16(weights[k]), short)
                _tally(short[: stop - start], even, odd)
            for i in range(size):
                mine[i] += np.uint32(even[i]) + np.uint32(odd[i])


@compiled
def project(
    totals: NDArray[Any],
    froms: Ints,
    ends: Ints,
    dims: Ints,
    limits: Ints,
    strides: Ints,
    tos: Ints,
    out: Ints,
) -> None:
    """Add counted tables into the requested tables.

    Args:
        totals: Cells of the counted tables.
        froms: For each requested table, where its counted table begins in `totals`.
        ends: Where each requested table's entries in the next three begin; one more for the end.
        dims: Codes along each axis of the counted table.
        limits: Codes that are taken: all of a summed axis, those inside the domain of a kept one.
        strides: Stride of the axis in the requested table; 0 for a summed axis.
        tos: Where each requested table begins in `out`.
        out: Cells of the requested tables.
    """
    at = np.zeros(64, np.int64)
    for table in range(len(froms)):
        first, last = ends[table], ends[table + 1]
        if first == last:
            out[tos[table]] += totals[froms[table]]
            continue
        inner_limit, inner_dim, inner_stride = limits[last - 1], dims[last - 1], strides[last - 1]
        at[:] = 0
        source, target = froms[table], tos[table]
        while True:
            cells = totals[source : source + inner_limit]
            if inner_stride == 0:
                total = np.int64(0)
                for i in range(len(cells)):
                    total += np.int64(cells[i])
                out[target] += total
            elif inner_stride == 1:
                into = out[target : target + inner_limit]
                for i in range(len(cells)):
                    into[i] += np.int64(cells[i])
            else:
                for i in range(len(cells)):
                    out[target + i * inner_stride] += np.int64(cells[i])
            # an odometer over the other axes
            axis = last - 2
            step = inner_dim
            while axis >= first:
                at[axis - first] += 1
                source += step
                target += strides[axis]
                if at[axis - first] < limits[axis]:
                    break
                source -= step * limits[axis]
                target -= strides[axis] * limits[axis]
                at[axis - first] = 0
                step *= dims[axis]
                axis -= 1
            if axis < first:
                break


@compiled
def pack(planes: Bytes, used: Ints, weights: NDArray[np.uint64], words: NDArray[np.uint64]) -> None:
    """Compute the weighted sum of some planes, 64 bits wide."""
    words[:] = 0
    for k in range(len(used)):
        column, weight = planes[used[k]], weights[k]
        for i in range(len(column)):
            words[i] += np.uint64(column[i]) * weight


@compiled
def insert(
    words: NDArray[np.uint64], counts: Ints, row: int, keys: NDArray[np.uint64], slots: Ints, filled: int
) -> tuple[int, int]:
    """Count keys in an open hash table until it is half full.

    Args:
        words: The keys to count, one row of words each.
        counts: How often each of them counts.
        row: The first one that is not counted yet.
        keys: Keys in the hash table; its length is a power of two.
        slots: Their counts; 0 marks a free slot.
        filled: Slots taken.

    Returns:
        The first key that was not counted, and the slots now taken.
    """
    width, mask = words.shape[1], np.uint64(len(slots) - 1)
    while row < len(words):
        if 2 * filled >= len(slots):
            break
        mixed = np.uint64(0)
        for k in range(width):
            mixed = (mixed ^ words[row, k]) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(32)
        place = mixed & mask
        while slots[place] != 0:
            same = True
            for k in range(width):
                if keys[place, k] != words[row, k]:
                    same = False
                    break
            if same:
                break
            place = (place + np.uint64(1)) & mask
        if slots[place] == 0:
            filled += 1
            for k in range(width):
                keys[place, k] = words[row, k]
        slots[place] += counts[row]
        row += 1
    return row, filled
