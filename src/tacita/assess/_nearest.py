"""The nearest rows of one table to each row of another, by the distance of mixed attributes.  [Gower 1971]

    distance = sum over attributes of |a - b| / width (ordered, at most 1), or 1 if they differ (others)

The distance of a missing value is 1 to a known value, and 0 to another missing value.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.assess.frame import Frame
from tacita.common.compiled import compiled

__all__ = ["nearest"]

_BLOCK = 256
_FAR, _APART = 1e3, 1e4
"""Values are clipped at this many widths from the schema's bounds; missing ones lie beyond, so their distance is 1."""


def nearest(
    rows: Frame, among: Frame, names: Sequence[str] | None = None, *, count: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Find the `count` nearest rows of another table for each row, with distances, nearest first; ties by index."""
    chosen = rows.names if names is None else tuple(names)
    ours, theirs = _scaled(rows, chosen), _scaled(among, chosen)
    count = min(count, len(among))
    places = np.empty((len(rows), count), np.int64)
    distances = np.empty((len(rows), count), np.float32)

    line, sets = theirs[0].T.copy(), theirs[1].T.copy()
    # narrow numbers are several times as fast, and nearly always wide enough
    counter = np.uint8 if len(sets) < 2**8 else np.uint16

    def block(start: int) -> None:
        part = slice(start, start + _BLOCK)
        differ = np.empty(len(among), counter)
        _search(ours[0][part], ours[1][part], line, sets, differ, places[part], distances[part])

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(block, range(0, len(rows), _BLOCK)))
    return places, distances


def _scaled(frame: Frame, names: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[Any]]:
    """Ordered attributes in units of their width from the lower bound, and the codes of the others."""
    places = frame.places(names)
    line = [place for place in places if frame.ordered[place]]
    sets = [place for place in places if not frame.ordered[place]]
    # from the bound: a float32 of a time stamp would lose the minutes
    scaled = np.clip((frame.values[:, line] - frame.lows[line]) / frame.widths[line], -_FAR, _FAR)
    most = max((frame.domain.attributes[place].size for place in sets), default=0)
    codes = (frame.values[:, sets] + 1).astype(np.uint16 if most < 2**16 - 1 else np.uint32)
    return np.nan_to_num(scaled, nan=_APART).astype(np.float32), codes


@compiled
def _search(line: Any, sets: Any, their_line: Any, their_sets: Any, differ: Any, places: Any, distances: Any) -> None:
    """Search by brute force; the other table is stored column by column, so that a column is contiguous in memory."""
    rows, among, count = len(line), their_sets.shape[1], places.shape[1]
    total = np.empty(among, np.float32)
    one = np.float32(1)
    for i in range(rows):
        differ[:] = 0
        for j in range(sets.shape[1]):
            _differing(their_sets[j], sets[i, j], differ)
        for other in range(among):
            total[other] = differ[other]
        for j in range(line.shape[1]):
            at, column = line[i, j], their_line[j]
            for other in range(among):
                total[other] += min(abs(column[other] - at), one)
        found, farthest = 0, np.float32(np.inf)
        for other in range(among):
            far = total[other]
            if far >= farthest:
                continue
            place = min(found, count - 1)
            while place > 0 and distances[i, place - 1] > far:
                distances[i, place] = distances[i, place - 1]
                places[i, place] = places[i, place - 1]
                place -= 1
            distances[i, place] = far
            places[i, place] = other
            found = min(found + 1, count)
            if found == count:
                farthest = distances[i, count - 1]


@compiled
def _differing(column: Any, code: Any, differ: Any) -> None:
    for other in range(column.size):
        differ[other] += differ.dtype.type(column[other] != code)
