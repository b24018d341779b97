"""Mondrian [LeFevre, DeWitt, Ramakrishnan 2006]: cut people in two, again and again, while both sides may be classes.

Three modes. `strict` keeps people with the same values together. It works on distinct combinations with counts of
people and, by default, cuts where the loss becomes least: combinations that may be a class by themselves are one; the
rest is cut along any attribute, at any value, around any value of an attribute without an order or below any node of a
hierarchy; small groups are also cut by gathering the nearest people around some of them; and at the end people whom
their class can spare move to a class near by when that loses less. With `choose="span"` it is the textbook's: the
attribute with the widest true span, both cuts around the median. `relaxed` deals out people with the median value, so
that no class is larger than 2k - 1 unless all in it are the same. `legacy` is the published code with its quirks, to
compare with its figures.

Every condition is tested before a cut is made, by people and not by rows. When a group can be cut no further, the
people who cost least to lose are suppressed, within the budget. The release is counted again by the caller:
docs/claims/k-anonymity.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.hierarchies.hierarchy import Tree
from tacita.anonymize.kernels.boxes import LINE, SET, TREE, Shape
from tacita.anonymize.kernels.cuts import Choice, partition_tree
from tacita.anonymize.kernels.published import legacy_partition, relaxed
from tacita.anonymize.kernels.settle import settle
from tacita.anonymize.labels import Style, recoding_of
from tacita.anonymize.methods.judge import Judge
from tacita.anonymize.methods.undo import undo_cuts
from tacita.anonymize.parameters import described
from tacita.anonymize.quasi import DistinctRows
from tacita.errors import InvalidInput
from tacita.tables.recoding import SUPPRESSED, Axis, Recoding

__all__ = ["Mondrian", "alone_combinations", "impossible", "shape_of"]

Ints = NDArray[np.int64]
Mode = Literal["strict", "relaxed", "legacy"]

_MOST_SET = 1024  # values of an attribute without an order that are followed one by one; more are cut by rank
# chosen on Adult: more of each loses less and takes longer
_GATHER, _SEEDS, _SLACK = 64, 6, 1.2
_WINDOW, _ROUNDS = 10, 3


@dataclass(frozen=True, kw_only=True)
class Mondrian:
    """Options of Mondrian.

    Attributes:
        mode: See the top of this file.
        choose: Cut where the loss becomes least, or the attribute with the widest span; strict mode only.
    """

    method: ClassVar[str] = "mondrian"
    summary: ClassVar[str] = "cut top-down where the loss becomes least"

    mode: Mode = field(default="strict", metadata=described("How classes are cut."))
    choose: Literal["loss", "span"] = field(default="loss", metadata=described("Which cut is made, in strict mode."))

    def __post_init__(self) -> None:
        if self.mode not in ("strict", "relaxed", "legacy"):
            raise InvalidInput("must be strict, relaxed or legacy", field="mode", value=self.mode)
        if self.choose not in ("loss", "span"):
            raise InvalidInput("must be loss or span", field="choose", value=self.choose)

    @property
    def by_appearance(self) -> bool:
        """Whether values without an order are numbered as they first appear."""
        return self.mode == "legacy"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"method": self.method, "mode": self.mode} | ({"choose": self.choose} if self.mode == "strict" else {})

    def recode(self, distinct: DistinctRows, conditions: Conditions, *, budget: int = 0) -> Recoding:
        """Classes that hold the conditions.

        Args:
            distinct: The rows, each combination once.
            conditions: Conditions on every class.
            budget: Rows that may be suppressed.
        """
        if self.mode != "strict":
            return self._other_mode(distinct, conditions, budget)
        shape, judge = shape_of(distinct), Judge.of(distinct, conditions)
        everyone = np.arange(len(distinct.codes))
        if not judge.together(everyone):
            raise impossible(conditions)
        by_span = self.choose == "span"
        alone = np.zeros(len(everyone), np.bool_) if by_span else alone_combinations(distinct, judge)
        rest = np.flatnonzero(~alone)
        classes = np.full(len(everyone), SUPPRESSED, np.int64)
        choice = Choice(by_span, 0 if by_span else _GATHER, _SEEDS, _SLACK)
        others, codes, weights = judge.only(rest), distinct.codes[rest], distinct.weights[rest]
        inner, depths = partition_tree(codes, weights, shape, others.people, judge.rules, choice, budget)
        if judge.slow:
            inner = undo_cuts(inner, depths, others)
        count = int(inner.max(initial=-1)) + 1
        if not by_span and not judge.rules.checked:
            settle(codes, weights, inner, count, judge.rules.k, shape, _WINDOW, _GATHER, _ROUNDS)
        classes[rest] = inner
        classes[alone] = count + np.arange(alone.sum())
        return recoding_of(distinct, classes, Style.TIGHT)

    def _other_mode(self, distinct: DistinctRows, conditions: Conditions, budget: int) -> Recoding:
        if len(conditions.asked) > 1 or budget:
            raise InvalidInput(
                "holds no condition but k and suppresses nothing", field="mode", value=self.mode, hint="Use strict"
            )
        if distinct.people != int(distinct.rows.sum()):
            raise InvalidInput("needs one row for each person", field="mode", value=self.mode, hint="Use strict")
        if self.mode == "legacy":
            if any(tree is not None for tree in distinct.trees):
                raise InvalidInput("knows no hierarchies", field="mode", value=self.mode, hint="Use strict")
            shape = shape_of(distinct, plain=True)
            classes = legacy_partition(distinct.codes, distinct.weights, conditions.k, shape)
            return recoding_of(distinct, classes, Style.RANGE)
        items = np.repeat(np.arange(len(distinct.codes)), distinct.weights)
        classes = relaxed(distinct.codes, items, conditions.k, shape_of(distinct))
        count = int(classes.max(initial=-1)) + 1
        pairs, shares = np.unique(items * max(count, 1) + classes, return_counts=True)
        return recoding_of(distinct, pairs % max(count, 1), Style.TIGHT, items=pairs // max(count, 1), shares=shares)


def impossible(conditions: Conditions) -> InvalidInput:
    """The error when no recoding meets the conditions."""
    return InvalidInput(
        "not even one class of all people meets the conditions",
        field="conditions",
        value=conditions.as_dict(),
        hint="Ask for less, or generalise the sensitive attributes first",
    )


def alone_combinations(distinct: DistinctRows, judge: Judge) -> NDArray[np.bool_]:
    """Combinations that may be a class by themselves, if the remaining people may be one too."""
    many = np.flatnonzero(distinct.weights >= judge.rules.k)
    alone = np.zeros(len(distinct.codes), np.bool_)
    alone[many[judge.each(many)]] = True
    rest = np.flatnonzero(~alone)
    if len(rest) and not judge.together(rest):
        alone[:] = False
    return alone


# -- what the kernels need ---------------------------------------------------------------------------------------------


def shape_of(distinct: DistinctRows, *, plain: bool = False) -> Shape:
    """Tables of losses; `plain` takes the codes of values without an order for positions on a line."""
    meta, tables, levels = [], [], max((tree.levels for tree in distinct.trees if tree is not None), default=1)
    ancestors = np.zeros((sum(len(axis) for axis in distinct.axes), levels), np.int32)
    at = word = offset = 0
    for axis, tree in zip(distinct.axes, distinct.trees, strict=True):
        kind, size, deep = _kind(axis, tree, plain), len(axis), 1
        if kind == TREE and tree is not None:
            table, deep = _ranges(tree), tree.levels
            ancestors[offset : offset + size, :deep] = tree.ancestors
        else:
            line, width = (np.arange(size), size - 1) if axis.kind == "set" else (axis.line, axis.width)
            table = np.array([*line, width or 1, 1 / (width or 1)], np.float64)
        words = (size + 63) // 64 if kind == SET else 0
        meta.append((kind, size, at, word, word + words, offset, deep))
        tables.append(table)
        at, word, offset = at + len(table), word + words, offset + size
    return Shape(meta=np.array(meta, np.int64), table=np.concatenate(tables), ancestors=ancestors)


def _ranges(tree: Tree) -> NDArray[np.float64]:
    """The loss of the lowest node above 2**level + 1 neighbouring codes: all codes of a level, level by level."""
    size = len(tree.ancestors)
    each = np.arange(size)
    found, step = [tree.loss(tree.common(each, np.minimum(each + 1, size - 1)))], 1
    while 2 * step < size:
        found.append(np.maximum(found[-1], found[-1][np.minimum(each + step, size - 1)]))
        step *= 2
    return np.concatenate(found)


def _kind(axis: Axis, tree: Tree | None, plain: bool) -> int:
    if tree is not None and not plain:
        return TREE
    return SET if axis.kind == "set" and len(axis) <= _MOST_SET and not plain else LINE
