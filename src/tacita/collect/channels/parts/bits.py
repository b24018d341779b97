"""Reports of packed bits: drawing many exact coins at once, counting them, placing random subsets.

A row of k bits is kept in lanes of 64: level v is bit v % 64 of lane v // 64. On the wire it is the same bits in bytes,
level v being bit v % 8 of byte v // 8.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled
from tacita.errors import InvalidInput

__all__ = ["check_packed", "count_bits", "fill_lanes", "lanes_of", "last_mask", "pack", "place_subsets", "set_truths"]

_ROWS = 255  # reports counted between two carries: a counter is one byte


def lanes_of(levels: int) -> int:
    """Lanes in a row."""
    return -(-levels // 64)


def last_mask(levels: int) -> np.uint64:
    """The bits of the last lane that are levels."""
    return np.uint64(2**64 - 1 >> (-levels % 64))


def pack(lanes: NDArray[np.uint64], levels: int) -> NDArray[np.uint8]:
    """Rows of bytes from rows of lanes."""
    return lanes.astype("<u8", copy=False).view(np.uint8)[:, : -(-levels // 8)]


def check_packed(reports: NDArray[np.uint8], levels: int) -> NDArray[np.uint8]:
    """Refuse what is not rows of packed bits, or has bits beyond the last level."""
    rows = np.asarray(reports)
    width = -(-levels // 8)
    if rows.ndim != 2 or rows.shape[1] != width or rows.dtype != np.uint8:
        rule = f"must be rows of {width} bytes, 8 levels in each"
        raise InvalidInput(rule, field="reports", value=f"{rows.dtype}, shape {rows.shape}")
    if levels % 8 and rows.size and int(rows[:, -1].max()) >> (levels % 8):
        raise InvalidInput("must have no bits beyond the last level", field="reports")
    return rows


@compiled
def fill_lanes(
    words: NDArray[np.uint64],
    threshold: np.int64,
    bits: np.int64,
    mask: np.uint64,
    per_row: np.int64,
    lanes: NDArray[np.uint64],
    done: int,
) -> int:
    """Fill lanes from `done` on with coins of probability threshold / 2**bits; returns how many are filled.

    Each of 64 positions compares a uniform number of `bits` bits with the threshold, highest bit first and all 64 at
    once: word j of the stream holds bit j of all 64 numbers. A position is decided at the first bit that differs, so
    that 64 exact coins take about 7 words, however fine the threshold is. A lane is only begun when there are words
    for its longest course: what is thrown away then never depends on what would have been drawn.
    """
    used = 0
    while done < lanes.size and used + bits <= words.size:
        open_ = mask if done % per_row == per_row - 1 else ~np.uint64(0)
        below = np.uint64(0)
        for j in range(bits - 1, -1, -1):
            word = words[used]
            used += 1
            if (threshold >> j) & 1:
                below |= open_ & ~word
                open_ &= word
            else:
                open_ &= ~word
            if open_ == 0:
                break
        lanes[done] = below
        done += 1
    return done


@compiled
def set_truths(lanes: NDArray[np.uint64], truths: NDArray[np.int64], coins: NDArray[np.uint64]) -> None:
    """Put the coin of each row (0 or 1) at the bit of its true level."""
    for i in range(truths.size):
        lane, shift = truths[i] >> 6, np.uint64(truths[i] & 63)
        lanes[i, lane] = (lanes[i, lane] & ~(np.uint64(1) << shift)) | (coins[i] << shift)


@compiled
def place_subsets(
    halves: NDArray[np.uint32],
    levels: np.int64,
    truths: NDArray[np.int64],
    sizes: NDArray[np.int64],
    lanes: NDArray[np.uint64],
    state: NDArray[np.int64],
) -> None:
    """Set, in each row, the bits of a uniform subset of sizes[i] levels among those that are not the truth.

    Floyd's way: for j from N - size to N - 1 draw t in 0 .. j and add t, or j if t is there already. t is the high half
    of a 32-bit word times j + 1; the words for which the low half is below 2**32 mod (j + 1) are passed over, and then
    every t has equally many words. `state` holds the row and its next step, so that words may run out anywhere and
    the work goes on with new ones: nothing that was drawn is drawn again.
    """
    used = 0
    while state[0] < truths.size:
        i = state[0]
        first = levels - 1 - sizes[i]
        while state[1] < sizes[i]:
            if used == halves.size:
                return
            j = first + state[1]
            bound = np.uint64(j + 1)
            scaled = np.uint64(halves[used]) * bound
            used += 1
            if (scaled & np.uint64(0xFFFFFFFF)) < np.uint64(1 << 32) % bound:
                continue
            for t in (np.int64(scaled >> np.uint64(32)), j):
                level = t + (t >= truths[i])  # the truth is not among the others
                bit = np.uint64(1) << np.uint64(level & 63)
                if not lanes[i, level >> 6] & bit:
                    lanes[i, level >> 6] |= bit
                    break
            state[1] += 1
        state[0] += 1
        state[1] = 0


@compiled
def _add_bytes(rows: NDArray[np.uint64], sums: NDArray[np.uint64]) -> None:
    # sums[j] collects bit j of every byte: eight counters of one byte side by side in a word
    ones = np.uint64(0x0101010101010101)
    for i in range(rows.shape[0]):
        for j in range(8):
            for lane in range(rows.shape[1]):
                sums[j, lane] += (rows[i, lane] >> np.uint64(j)) & ones


def count_bits(reports: NDArray[np.uint8], levels: int) -> NDArray[np.int64]:
    """Count the reports that support each level; the last entry is the number of reports."""
    rows = check_packed(reports, levels)
    counts = np.zeros((64 * lanes_of(levels) // 8, 8), dtype=np.int64)
    buffer = np.zeros((_ROWS, 8 * lanes_of(levels)), dtype=np.uint8)
    for start in range(0, len(rows), _ROWS):
        part = rows[start : start + _ROWS]
        buffer[: len(part), : rows.shape[1]] = part
        sums = np.zeros((8, lanes_of(levels)), dtype=np.uint64)
        _add_bytes(buffer[: len(part)].view("<u8"), sums)
        counts += sums.astype("<u8", copy=False).view(np.uint8).T
    return np.append(counts.reshape(-1)[:levels], np.int64(len(rows)))
