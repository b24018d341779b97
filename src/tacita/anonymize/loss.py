"""Information loss of a recoding, in the measures of the literature, each under its name.

NCP of an attribute in a class lies in [0, 1]; GCP is its mean over all cells of the table, suppressed cells counting 1.
The NCP of an attribute without numbers depends on its reading:

    published     what the label says: a set (values - 1)/(domain - 1), a node (leaves below - 1)/(leaves - 1),
                  an order (places between)/(domain - 1)
    hierarchy     leaves below the node / all leaves, 0 for a leaf [Ghinita et al. 2007]
    code range    (highest code - lowest code)/(domain - 1), as the published Mondrian code computes it
    flat          1 as soon as two values are in the class
    value share   values in the class / domain, 0 for a single one

Numbers and dates are always (highest - lowest)/(highest - lowest of the table). Figures of different readings, or of
different tables, cannot be compared.

`as_written` is the loss of cells as their labels are written. A class of a full-domain recoding may hold one value only
and still be labelled `Europe`. A reader loses what the label leaves open: all values with that label anywhere, and
below a hierarchy all leaves of the node with that name. For labels that are the narrowest ones of their classes this is
the loss of the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.hierarchies.hierarchy import Tree
from tacita.anonymize.quasi import DistinctRows, sorted_distinct
from tacita.errors import InvalidInput
from tacita.tables.recoding import SUPPRESSED, Axis, Recoding

__all__ = ["Loss", "Reading", "as_written", "discernibility", "gcp", "loss_of", "ncp", "non_uniform_entropy"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Reading = Literal["published", "hierarchy", "code range", "flat", "value share"]


@dataclass(frozen=True, kw_only=True)
class Loss:
    """Information loss of a recoding.

    Attributes:
        gcp: Mean loss of a cell, from 0 to 1.
        reading: Reading of NCP for attributes without numbers.
        by_attribute: The same for each quasi-identifier.
        discernibility: Sum over rows of the rows that each cannot be distinguished from; a suppressed one from none.
        average_class: Mean rows of a class, over k.
        entropy: Non-uniform entropy as a share of what suppressing all would lose.
        suppressed: Rows that were not released.
    """

    gcp: float
    reading: Reading
    by_attribute: dict[str, float]
    discernibility: int
    average_class: float
    entropy: float
    suppressed: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def loss_of(
    distinct: DistinctRows, recoding: Recoding, *, k: int, reading: Reading = "published", written: bool = False
) -> Loss:
    """All measures at once.

    Args:
        distinct: The rows, each combination once.
        recoding: Where they go.
        k: Requested k.
        reading: Reading of the loss of a generalised cell.
        written: Whether labels may say less than the narrowest true of their class, so that they count as they stand.
            The entropy is that of the narrowest labels all the same.
    """
    rows = entry_rows(distinct, recoding)
    gone = recoding.classes == SUPPRESSED
    sizes = np.bincount(recoding.classes[~gone], weights=rows[~gone], minlength=len(recoding.labels)).astype(np.int64)
    boxes = _boxes_of(distinct, recoding)
    cells = _cells(distinct, boxes, reading)
    if written and reading == "published":
        cells = np.maximum(cells, as_written(distinct, recoding))
    total = max(int(rows.sum()), 1)
    suppressed = int(rows[gone].sum())
    means = ((cells * sizes[:, None]).sum(axis=0) + suppressed) / total
    return Loss(
        gcp=float(means.mean()),
        reading=reading,
        by_attribute=dict(zip(recoding.names, means.tolist(), strict=True)),
        discernibility=discernibility(sizes, suppressed),
        average_class=float(sizes[sizes > 0].mean() / k) if sizes.any() else 0.0,
        entropy=_entropy(distinct, recoding, boxes),
        suppressed=suppressed,
    )


def entry_rows(distinct: DistinctRows, recoding: Recoding) -> Ints:
    """Number of releasable rows of each entry of a recoding."""
    if recoding.shares is not None:
        return recoding.shares
    return distinct.leaving


def gcp(distinct: DistinctRows, recoding: Recoding, reading: Reading = "published") -> float:
    """Mean loss of a cell: sum over classes of rows * NCP, over rows * attributes; a suppressed cell counts 1."""
    return loss_of(distinct, recoding, k=1, reading=reading).gcp


def ncp(distinct: DistinctRows, recoding: Recoding, reading: Reading = "published") -> Floats:
    """The loss of each attribute in each class."""
    return _cells(distinct, _boxes_of(distinct, recoding), reading)


def _cells(distinct: DistinctRows, boxes: Sequence[_Boxes], reading: Reading) -> Floats:
    parts = zip(distinct.axes, distinct.trees, boxes, strict=True)
    return np.stack([_ncp(axis, tree, box, reading) for axis, tree, box in parts], axis=1)


def _ncp(axis: Axis, tree: Tree | None, boxes: _Boxes, reading: Reading) -> Floats:
    code, starts, low, high, distinct = boxes
    size, count = len(axis), len(low)
    if size < 2 or not count:
        return np.zeros(count)
    several = distinct > 1
    if reading == "hierarchy" and axis.kind in ("set", "order"):
        if tree is None:
            raise InvalidInput("needs a hierarchy for this reading", field=axis.name, value=reading)
        leaves = tree.leaves[tree.common(low, high)]
        return np.where(leaves > 1, leaves / tree.leaves.max(), 0.0)
    if tree is not None and reading in ("published", "hierarchy"):
        return tree.loss(tree.common(low, high))
    if axis.kind in ("number", "date"):  # which a hierarchy may have put in another order
        line = axis.line[code]
        return np.minimum((np.maximum.reduceat(line, starts) - np.minimum.reduceat(line, starts)) / axis.width, 1.0)
    if reading == "flat":
        return several.astype(float)
    if reading == "value share":
        return np.where(several, distinct / size, 0.0)
    if reading == "published" and axis.kind == "order":
        return np.minimum((axis.line[high] - axis.line[low]) / axis.width, 1.0)
    if reading == "published":
        return np.asarray((distinct - 1) / (size - 1))
    if reading == "code range":
        return np.asarray((high - low) / (size - 1))
    raise InvalidInput("must be published, hierarchy, code range, flat or value share", field="reading", value=reading)


class _Boxes(NamedTuple):
    """Codes of each class: the codes one class after the other, the start of each class, and its ends."""

    code: Ints
    starts: Ints
    low: Ints
    high: Ints
    distinct: Ints


def _boxes_of(distinct: DistinctRows, recoding: Recoding) -> list[_Boxes]:
    """For each attribute."""
    kept = recoding.classes != SUPPRESSED
    classes, every = recoding.classes[kept], np.arange(len(recoding.labels))
    found = []
    for j, axis in enumerate(distinct.axes):
        size = max(len(axis), 1)
        pairs = sorted_distinct(classes * size + recoding.codes[kept, j])
        place, code = pairs // size, pairs % size
        starts, ends = np.searchsorted(place, every), np.searchsorted(place, every, side="right")
        found.append(_Boxes(code, starts, code[starts], code[ends - 1], ends - starts))
    return found


def discernibility(sizes: Ints, suppressed: int) -> int:
    """Sum of squared class sizes, plus the whole table for each suppressed row [Bayardo, Agrawal 2005].

    >>> discernibility(np.array([3, 2]), 1)
    19
    """
    return int((sizes**2).sum()) + suppressed * (int(sizes.sum()) + suppressed)


def non_uniform_entropy(distinct: DistinctRows, recoding: Recoding) -> float:
    """Bits that the labels leave open, over those that suppressing everything would [Gionis, Tassa 2009].

    A cell with value v under a label that covers the values S leaves log(n(S) / n(v)) open; n counts the table's rows.
    """
    return _entropy(distinct, recoding, _boxes_of(distinct, recoding))


def _entropy(distinct: DistinctRows, recoding: Recoding, boxes: Sequence[_Boxes]) -> float:
    rows = entry_rows(distinct, recoding)
    kept, there = recoding.classes != SUPPRESSED, rows > 0
    total, most, lost = max(int(rows.sum()), 1), 0.0, 0.0
    for j, (axis, tree) in enumerate(zip(distinct.axes, distinct.trees, strict=True)):
        codes = recoding.codes[:, j]
        counts = np.bincount(codes, weights=rows, minlength=len(axis)).astype(np.float64)
        covered = np.full(len(codes), float(total))
        covered[kept] = _covered(axis, tree, boxes[j], counts)[recoding.classes[kept]]
        own = counts[codes[there]]
        lost += float((rows[there] * np.log(covered[there] / own)).sum())
        most += float((rows[there] * np.log(total / own)).sum())
    return lost / most if most > 0 else 0.0


def _covered(axis: Axis, tree: Tree | None, boxes: _Boxes, counts: Floats) -> Floats:
    """Rows of the table that each class's label covers."""
    if tree is not None:
        below = np.zeros(len(tree.leaves))
        for level in range(tree.levels):
            below += np.bincount(tree.ancestors[:, level], weights=counts, minlength=len(below))
        return np.asarray(below[tree.common(boxes.low, boxes.high)])
    if axis.kind == "set":
        return np.add.reduceat(counts[boxes.code], boxes.starts) if len(boxes.low) else np.zeros(0)
    sums = np.concatenate([[0.0], np.cumsum(counts)])
    return np.asarray(sums[boxes.high + 1] - sums[boxes.low])


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
