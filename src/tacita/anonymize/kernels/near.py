"""Nearest neighbours within a block, compiled: distances from a point to many, and the smallest of them.

A block is a matrix of coordinates, an attribute in each row, so that a distance is a few passes over rows of numbers.
The distance of two items is the loss of their common box: of a line their difference over the width, of a set the cost
of one more value, of a tree the loss of the lowest common node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacita.anonymize.kernels.boxes import AT, KIND, LINE, SET, SIZE, Floats, Ints, span
from tacita.common.compiled import compiled

__all__ = ["coordinate", "fill_distances", "smallest"]


@compiled
def coordinate(meta: Ints, table: Floats, j: int, code: int) -> Any:
    """The coordinate of a code: of a line its position over the width, otherwise the code itself."""
    if meta[j, KIND] == LINE:
        return table[meta[j, AT] + code] / table[meta[j, AT] + meta[j, SIZE]]
    return float(code)


@compiled
def fill_distances(meta: Ints, table: Floats, points: Floats, count: int, at: int, found: Floats) -> None:
    """Distances from the point number `at` to the first `count` points."""
    for i in range(count):
        found[i] = 0.0
    for j in range(len(meta)):
        row = points[j]
        here = row[at]
        if meta[j, KIND] == LINE:
            for i in range(count):
                found[i] += abs(row[i] - here)
        elif meta[j, KIND] == SET:
            cost = table[meta[j, AT] + meta[j, SIZE] + 1]
            for i in range(count):
                found[i] += 0.0 if row[i] == here else cost
        else:
            for i in range(count):
                if row[i] != here:
                    low, high = min(row[i], here), max(row[i], here)
                    found[i] += span(meta, table, j, np.int64(low), np.int64(high))


@compiled
def smallest(distances: Floats, count: int, most: int, chosen: Ints, values: Floats) -> int:
    """Put the indexes of the `most` smallest distances into `chosen`, in rising order of index; returns how many.

    Equal distances at the border go to the lower index. `chosen` and `values` have room for 2 * most entries.
    """
    limit, held = np.inf, 0
    for i in range(count):
        if distances[i] < limit:
            chosen[held], values[held] = i, distances[i]
            held += 1
            if held == 2 * most:
                held, limit = _keep(chosen, values, held, most)
    if held > most:
        held, limit = _keep(chosen, values, held, most)
    return held


@compiled
def _keep(chosen: Ints, values: Floats, held: int, most: int) -> tuple[int, float]:
    """Keep the `most` smallest of the held ones; returns their number and the largest of them."""
    limit = np.partition(values[:held], most - 1)[most - 1]
    ties = most
    for i in range(held):
        if values[i] < limit:
            ties -= 1
    kept = 0
    for i in range(held):
        if values[i] < limit or (values[i] == limit and ties > 0):
            if values[i] == limit:
                ties -= 1
            chosen[kept], values[kept] = chosen[i], values[i]
            kept += 1
    return kept, limit
