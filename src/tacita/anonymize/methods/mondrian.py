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

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.criteria import Conditions, Edges, edges_of
from tacita.anonymize.hierarchy import Tree
from tacita.anonymize.kernels.boxes import LINE, SET, TREE, Shape
from tacita.anonymize.kernels.cuts import Choice, partition
from tacita.anonymize.kernels.holds import People, Rules, fits_all, fits_each
from tacita.anonymize.kernels.published import legacy_partition, relaxed
from tacita.anonymize.kernels.settle import settle
from tacita.anonymize.labels import Style, recoding_of
from tacita.anonymize.quasi import DistinctRows, distinct_pairs
from tacita.errors import InvalidInput
from tacita.tables.recoding import SUPPRESSED, Axis, Recoding

__all__ = ["Mondrian", "distance_of"]

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

    mode: Mode = "strict"
    choose: Literal["loss", "span"] = "loss"

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
        return {"method": "mondrian", "mode": self.mode} | ({"choose": self.choose} if self.mode == "strict" else {})

    def recode(self, crowd: DistinctRows, conditions: Conditions, *, budget: int = 0) -> Recoding:
        """Classes that hold the conditions.

        Args:
            crowd: The people.
            conditions: Conditions on every class.
            budget: Rows that may be suppressed.
        """
        if self.mode != "strict":
            return self._other_mode(crowd, conditions, budget)
        shape, people = shape_of(crowd), people_of(crowd, values=conditions.about_values)
        rules = rules_of(crowd, conditions)
        everyone = np.arange(len(crowd.codes))
        if not fits_all(people, rules, everyone):
            raise _impossible(conditions)
        by_span = self.choose == "span"
        alone = np.zeros(len(everyone), np.bool_) if by_span else _alone(crowd, people, rules)
        rest = np.flatnonzero(~alone)
        classes = np.full(len(everyone), SUPPRESSED, np.int64)
        choice = Choice(by_span, 0 if by_span else _GATHER, _SEEDS, _SLACK)
        inner = partition(crowd.codes[rest], crowd.weights[rest], shape, _some(people, rest), rules, choice, budget)
        count = int(inner.max(initial=-1)) + 1
        if not by_span and not rules.checked:
            settle(crowd.codes[rest], crowd.weights[rest], inner, count, rules.k, shape, _WINDOW, _GATHER, _ROUNDS)
        classes[rest] = inner
        classes[alone] = count + np.arange(alone.sum())
        return recoding_of(crowd, classes, Style.TIGHT)

    def _other_mode(self, crowd: DistinctRows, conditions: Conditions, budget: int) -> Recoding:
        if conditions.about_values or conditions.presence is not None or budget:
            raise InvalidInput(
                "holds no condition but k and suppresses nothing", field="mode", value=self.mode, hint="Use strict"
            )
        if crowd.people != len(crowd.of_row):
            raise InvalidInput("needs one row for each person", field="mode", value=self.mode, hint="Use strict")
        if self.mode == "legacy":
            if any(tree is not None for tree in crowd.trees):
                raise InvalidInput("knows no hierarchies", field="mode", value=self.mode, hint="Use strict")
            shape = shape_of(crowd, plain=True)
            classes = legacy_partition(crowd.codes, crowd.weights, conditions.k, shape)
            return recoding_of(crowd, classes, Style.RANGE)
        items = np.repeat(np.arange(len(crowd.codes)), crowd.weights)
        classes = relaxed(crowd.codes, items, conditions.k, shape_of(crowd))
        count = int(classes.max(initial=-1)) + 1
        pairs, shares = np.unique(items * max(count, 1) + classes, return_counts=True)
        return recoding_of(crowd, pairs % max(count, 1), Style.TIGHT, items=pairs // max(count, 1), shares=shares)


def _impossible(conditions: Conditions) -> InvalidInput:
    return InvalidInput(
        "not even one class of all people meets the conditions",
        field="conditions",
        value=conditions.as_dict(),
        hint="Ask for less, or generalise the sensitive attributes first",
    )


def _alone(crowd: DistinctRows, people: People, rules: Rules) -> NDArray[np.bool_]:
    """Combinations that may be a class by themselves, if the remaining people may be one too."""
    many = np.flatnonzero(crowd.weights >= rules.k)
    alone = np.zeros(len(crowd.codes), np.bool_)
    alone[many[fits_each(people, rules, many)]] = True
    rest = np.flatnonzero(~alone)
    if len(rest) and not fits_all(people, rules, rest):
        alone[:] = False
    return alone


# -- what the kernels need ---------------------------------------------------------------------------------------------


def shape_of(crowd: DistinctRows, *, plain: bool = False) -> Shape:
    """Tables of losses; `plain` takes the codes of values without an order for positions on a line."""
    meta, tables, levels = [], [], max((tree.levels for tree in crowd.trees if tree is not None), default=1)
    ancestors = np.zeros((sum(len(axis) for axis in crowd.axes), levels), np.int32)
    at = word = offset = 0
    for axis, tree in zip(crowd.axes, crowd.trees, strict=True):
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


def people_of(crowd: DistinctRows, *, values: bool) -> People:
    """People of each item; with their sensitive values if there is a condition on them."""
    m = len(crowd.codes)
    offsets = np.cumsum([0, *(len(axis) for axis in crowd.sensitive)])
    rows = np.arange(len(crowd.of_row))
    part = rows if crowd.part is None else rows[crowd.part]
    empty = np.zeros(0, np.int64)
    single, start, person, many = crowd.weights, np.zeros(m + 1, np.int64), empty, None
    if crowd.persons is not None:
        place, who = crowd.membership
        many = np.bincount(who, minlength=int(who.max(initial=-1)) + 1) > 1
        shared = many[who] if len(who) else np.zeros(0, np.bool_)
        single = np.bincount(place[~shared], minlength=m).astype(np.int64)
        start, person = _lists(place[shared], m), who[shared]
    value_start, value, value_count = np.zeros(m + 1, np.int64), empty, empty
    pair_start, pair, pair_value = np.zeros(m + 1, np.int64), empty, empty
    if values:
        # one entry for each item, person and value; without a person's key each row is a person of its own
        who = rows if crowd.persons is None else crowd.persons
        span = max(int(offsets[-1]), 1)
        keyed = [distinct_pairs(crowd.of_row[part] * span + codes[part] + offset, who[part])
                 for codes, offset in zip(crowd.values, offsets, strict=False)]  # fmt: skip
        place = np.concatenate([keys for keys, _ in keyed]) if keyed else empty
        who = np.concatenate([persons for _, persons in keyed]) if keyed else empty
        alone = ~many[who] if many is not None and len(who) else np.ones(len(who), np.bool_)
        cells, counts = np.unique(place[alone], return_counts=True)
        value_start, value, value_count = _lists(cells // span, m), cells % span, counts.astype(np.int64)
        order = np.argsort(place[~alone] // span, kind="stable")
        place, who = place[~alone][order], who[~alone][order]
        _, pair = np.unique(who * span + place % span, return_inverse=True)
        pair_start, pair, pair_value = _lists(place // span, m), pair.astype(np.int64), place % span
    return People(
        single=np.asarray(single, np.int64),
        start=start,
        person=np.asarray(person, np.int64),
        value_start=value_start,
        value=value,
        value_count=value_count,
        pair_start=pair_start,
        pair=pair,
        pair_value=pair_value,
        persons=int(person.max(initial=-1)) + 1,
        pairs=int(pair.max(initial=-1)) + 1,
        rows=np.bincount(crowd.of_row[part], minlength=m).astype(np.int64),
        population=crowd.rows,
    )


def _lists(sorted_places: Ints, count: int) -> Ints:
    """Start of the entries of each index."""
    return np.searchsorted(sorted_places, np.arange(count + 1)).astype(np.int64)


def _some(people: People, items: Ints) -> People:
    """The people of some items, which get new numbers."""

    def lists(start: Ints, *contents: Ints) -> tuple[Ints, ...]:
        lengths = start[items + 1] - start[items]
        new = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        where = np.repeat(start[items] - new[:-1], lengths) + np.arange(int(new[-1]))
        return new, *(content[where] for content in contents)

    start, person = lists(people.start, people.person)
    value_start, value, value_count = lists(people.value_start, people.value, people.value_count)
    pair_start, pair, pair_value = lists(people.pair_start, people.pair, people.pair_value)
    return people._replace(
        single=people.single[items],
        start=start,
        person=person,
        value_start=value_start,
        value=value,
        value_count=value_count,
        pair_start=pair_start,
        pair=pair,
        pair_value=pair_value,
        rows=people.rows[items],
        population=people.population[items],
    )


def distance_of(crowd: DistinctRows, place: int, conditions: Conditions) -> Edges:
    """The metric of a sensitive attribute: the one that was asked for, or what its kind suggests."""
    axis, tree = crowd.sensitive[place], crowd.sensitive_trees[place]
    natural: Any = "hierarchical" if tree is not None else "equal" if axis.kind == "set" else "ordered"
    return edges_of(len(axis), conditions.t_distance or natural, tree)


def rules_of(crowd: DistinctRows, conditions: Conditions) -> Rules:
    """The conditions as numbers."""
    about = conditions.about_values
    edges = [distance_of(crowd, place, conditions) for place in range(len(crowd.sensitive))] if about else []
    segments = np.cumsum([0, *(len(axis) for axis in crowd.sensitive)]) if about else np.zeros(1)
    whole = [crowd.value_counts(place) for place in range(len(crowd.sensitive))] if about else []
    shares = [counts / max(int(counts.sum()), 1) for counts in whole]
    shared = crowd.persons is not None and crowd.people != int(crowd.weights.sum())
    low, high = conditions.presence or (0.0, 1.0)
    return Rules(
        k=conditions.k,
        checked=bool(about or shared or conditions.presence is not None),
        segments=segments.astype(np.int64),
        diversity=float(conditions.l),
        diversity_kind=("distinct", "entropy", "recursive").index(conditions.l_kind),
        constant=float(conditions.c),
        closeness=1.0 if conditions.t is None else float(conditions.t),
        edge_start=np.cumsum([0, *(len(part.first) for part in edges)]).astype(np.int64),
        edge_first=np.concatenate([np.zeros(0, np.int64), *(part.first for part in edges)]).astype(np.int64),
        edge_last=np.concatenate([np.zeros(0, np.int64), *(part.last for part in edges)]).astype(np.int64),
        edge_length=np.concatenate([np.zeros(0), *(part.length for part in edges)]),
        whole=np.concatenate([np.zeros(0), *shares]),
        missing=np.array([int(axis.has_missing) for axis in crowd.sensitive if about], np.int64),
        alpha=1.0 if conditions.alpha is None else float(conditions.alpha),
        presence_low=float(low),
        presence_high=float(high),
    )
