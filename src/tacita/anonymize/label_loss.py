"""The loss of cells as their labels are written, also where a label says less than it could.

A class of a full-domain recoding may hold one value only and still be labelled `Europe`. A reader loses what
the label leaves open: all values with that label anywhere, and below a hierarchy all leaves of the node with that
name. For labels that are the narrowest ones of their classes this is the loss of the class (`tacita.anonymize.loss`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.hierarchy import Tree
from tacita.anonymize.quasi import DistinctRows, sorted_distinct
from tacita.tables.recoding import SUPPRESSED, Axis, Recoding

__all__ = ["as_written"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def as_written(distinct: DistinctRows, recoding: Recoding) -> Floats:
    """The loss of each attribute in each class, from 0 to 1."""
    kept = recoding.classes != SUPPRESSED
    columns = []
    for j, (axis, tree) in enumerate(zip(distinct.axes, distinct.trees, strict=True)):
        label = recoding.labels[recoding.classes[kept], j].astype(np.int64)
        each = np.zeros(len(recoding.texts[j]))
        for number, codes in _codes_of(label, recoding.codes[kept, j], max(len(axis), 1)):
            each[number] = _loss(axis, tree, codes, recoding.texts[j][number])
        columns.append(each[recoding.labels[:, j]])
    return np.stack(columns, axis=1)


def _codes_of(label: Ints, codes: NDArray[np.int32], size: int) -> list[tuple[int, Ints]]:
    """The codes that are written as each label."""
    pairs = sorted_distinct(label * size + codes)
    numbers, starts = np.unique(pairs // size, return_index=True)
    return list(zip(numbers.tolist(), np.split(pairs % size, starts[1:]), strict=True))


def _loss(axis: Axis, tree: Tree | None, codes: Ints, text: str) -> float:
    if tree is not None:
        return float(tree.loss(np.array([_node(tree, int(codes[0]), int(codes[-1]), text)], np.int32))[0])
    if len(codes) < 2:
        return 0.0
    if axis.kind == "set":
        return (len(codes) - 1) / (len(axis) - 1)
    return min(float(np.ptp(axis.line[codes])) / axis.width, 1.0)


def _node(tree: Tree, low: int, high: int, text: str) -> int:
    """The lowest node above two codes that has this name; the lowest at all when none has."""
    way = [int(node) for node in tree.ancestors[low][tree.ancestors[low] == tree.ancestors[high]]]
    named = [node for node in way if tree.labels[node] == text]
    return named[-1] if named else way[-1]
