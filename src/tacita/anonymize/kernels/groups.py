"""Groups of combinations, compiled: which combinations become the same, and whether each group may be a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.kernels.holds import People, Rules, fits, stamps
from tacita.common.compiled import compiled

__all__ = ["judge", "number_groups"]

Ints = NDArray[np.int64]


@compiled
def number_groups(codes: NDArray[np.int32], parts: Ints, at: Ints) -> Any:
    """The group of each combination, numbered as they first appear, and how many there are.

    Args:
        codes: The combinations.
        parts: Summand of each code of each attribute in the key of a group; equal sums are equal groups.
        at: Where the codes of each attribute begin in `parts`.
    """
    m, d = codes.shape
    size, shift = 16, np.uint64(60)
    while size < 2 * m:
        size, shift = 2 * size, shift - np.uint64(1)
    slots = np.full(size, -1, np.int64)
    keys = np.empty(m, np.int64)
    groups = np.empty(m, np.int64)
    count = 0
    for i in range(m):
        key = np.int64(0)
        for j in range(d):
            key += parts[at[j] + codes[i, j]]
        place = np.int64((np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> shift)
        while slots[place] >= 0 and keys[slots[place]] != key:
            place = (place + 1) & (size - 1)
        if slots[place] < 0:
            slots[place], keys[count] = count, key
            count += 1
        groups[i] = slots[place]
    return groups, count


@compiled
def judge(order: Ints, starts: Ints, people: People, rules: Rules) -> NDArray[np.bool_]:
    """Whether each group may be a class; `order` lists the combinations group by group."""
    seen = stamps(people, rules)
    mark = np.ones(len(order), np.int8)
    found = np.empty(len(starts) - 1, np.bool_)
    for group in range(len(found)):
        found[group] = fits(order, mark, np.int64(1), starts[group], starts[group + 1], people, rules, seen)
    return found
