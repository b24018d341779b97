"""The nearest rows of one table to each row of another, by the distance of mixed attributes.  [Gower 1971]

    distance = sum over attributes of |a - b| / width (ordered, at most 1), or 1 if they differ (others)

A value that is missing is 1 away from one that is not, and 0 from another that is missing.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.assess.frame import Frame
from tacita.compiled import compiled

__all__ = ["nearest"]

_BLOCK = 256
_APART = 1e4
"""Where missing values lie: further than any width, so that the distance is cut off at 1."""


def nearest(
    rows: Frame, among: Frame, names: Sequence[str] | None = None, *, count: int = 1
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each row, the `count` nearest rows of another table and their distances, nearest first; ties by place."""
    chosen = rows.names if names is None else tuple(names)
    ours, theirs = _scaled(rows, chosen), _scaled(among, chosen)
    count = min(count, len(among))
    places = np.empty((len(rows), count), np.int64)
    distances = np.empty((len(rows), count), np.float32)

    line, sets = theirs[0].T.copy(), theirs[1].T.copy()

    def block(start: int) -> None:
        part = slice(start, start + _BLOCK)
        _search(ours[0][part], ours[1][part], line, sets, places[part], distances[part])

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(block, range(0, len(rows), _BLOCK)))
    return places, distances


def _scaled(frame: Frame, names: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.uint16]]:
    """Ordered attributes in units of their width, and the codes of the others."""
    places = frame.places(names)
    line = [place for place in places if frame.ordered[place]]
    sets = [place for place in places if not frame.ordered[place]]
    scaled = frame.values[:, line] / frame.widths[line]
    return np.nan_to_num(scaled, nan=_APART).astype(np.float32), (frame.values[:, sets] + 1).astype(np.uint16)


@compiled
def _search(line: Any, sets: Any, their_line: Any, their_sets: Any, places: Any, distances: Any) -> None:
    """Columns of the other table lie behind each other, so that a column is one run through memory."""
    rows, among, count = len(line), their_sets.shape[1], places.shape[1]
    total, differ = np.empty(among, np.float32), np.empty(among, np.uint8)
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
        differ[other] += np.uint8(column[other] != code)
