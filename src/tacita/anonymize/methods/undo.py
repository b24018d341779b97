"""Undo cuts until every class meets every criterion.

Mondrian makes its cuts in compiled code, which knows some criteria only. A class that breaks one of the others joins
the other side of the cut that made it, and so on upwards: the whole table meets them all, so this always ends.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.methods.judge import Judge

__all__ = ["undo_cuts"]

Ints = NDArray[np.int64]


def undo_cuts(classes: Ints, depths: Ints, judge: Judge) -> Ints:
    """The class of each item once every class meets every criterion; -1 for those that are suppressed.

    Args:
        classes: The class of each item as `partition_tree` numbers them.
        depths: Number of cuts that made each class.
        judge: The people of these items, and the criteria. All items together must meet them.
    """
    inside = np.flatnonzero(classes >= 0)
    members = [inside[part] for part in np.split(*_sorted(classes[inside], len(depths)))]
    fine = judge.only(inside).groups(classes[inside], len(depths))
    # a node of the tree of cuts: its depth, the classes below it, and whether all of these may be classes
    stack: list[tuple[int, list[Ints], bool]] = []
    for depth, items, good in zip(depths.tolist(), members, fine.tolist(), strict=True):
        node = (depth, [items], good)
        while stack and stack[-1][0] == node[0]:
            _, parts, other = stack.pop()
            parts = [*parts, *node[1]]
            if not (other and node[2]):
                parts = [np.concatenate(parts)]
            node = (node[0] - 1, parts, (other and node[2]) or judge.together(parts[0]))
        stack.append(node)
    found = np.full(len(classes), -1, np.int64)
    if not all(good for _, _, good in stack):
        found[:] = 0  # what was suppressed is needed: one class of all
        return found
    for number, items in enumerate(items for _, parts, _ in stack for items in parts):
        found[items] = number
    return found


def _sorted(classes: Ints, count: int) -> tuple[Ints, Ints]:
    """The indexes of items, class by class, and where each class but the first begins."""
    order = np.argsort(classes, kind="stable")
    return order, np.searchsorted(classes[order], np.arange(1, count))
