"""Top-down cuts, compiled: a group of items is cut in two while both sides may be classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.kernels.boxes import (
    AT,
    KIND,
    LEVELS,
    OFFSET,
    SET,
    SIZE,
    TREE,
    WORD,
    WORD_END,
    Bits,
    Codes,
    Floats,
    Ints,
    Shape,
    add_box,
    add_item,
    clear,
    copy_box,
    fill_parts,
    loss,
    span,
)
from tacita.anonymize.kernels.holds import People, Rules, Stamps, fits, stamps
from tacita.common.compiled import compiled

__all__ = ["Choice", "partition", "partition_tree"]

# Boxes of a group that may be cut. Numba compiles a function again for each literal argument, and all that it calls:
# typed numbers, here and in calls below, halve the seconds that the first use takes.
_GROUP, _INSIDE, _OUTSIDE = np.int64(0), np.int64(1), np.int64(2)
_WHOLE, _CUT, _DROP = 0, 1, 2  # what becomes of a group: a class, two groups, or one without what is dropped
_TIE = 1e-12  # losses that differ by less are the same, so that rounding decides nothing


class Choice(NamedTuple):
    """Options for choosing cuts."""

    by_span: bool  # the widest attribute at its median, instead of where the loss becomes least
    gather: int  # groups of at most so many items are also cut by gathering the nearest around some of them
    seeds: int  # around how many
    slack: float  # how many times the loss of the best cut a gathered class may cost: it leaves classes nearer to k
    power: float = 0.0  # of people over k times the classes that they can be: prefers sides that divide without rest


class _Desk(NamedTuple):
    """All that is needed while a group is looked at: the items, and room to write.

    Boxes are rows of `low`, `high` and `bits`: first those of the group and of both sides of the cut at hand, then
    `most` of each value along the attribute at hand, of all up to it, of all from it on, and of the sides it may be
    cut into.
    """

    codes: Codes
    weights: Ints
    items: Ints
    bucket: Codes  # which value along the attribute at hand each item has, numbered from the lowest
    code_of: Codes  # the code of each such value
    mark: NDArray[np.int8]  # the cut at hand
    side: NDArray[np.int8]  # the best one so far
    low: Codes
    high: Codes
    bits: Bits
    parts: Floats  # losses of the first boxes, by attribute
    weight: Ints  # people in each box
    start: Codes  # first and last value of each side that the attribute may be cut into
    end: Codes
    most: int


@compiled
def _desk(codes: Codes, weights: Ints, shape: Shape) -> _Desk:
    m, d = codes.shape
    words, largest = shape.meta[d - 1, WORD_END], shape.meta[:, SIZE].max()
    most = min(largest, m) + 1
    return _Desk(
        codes.copy(),
        weights.copy(),
        np.arange(m),
        np.empty(m, np.int32),
        np.empty(4 * m + 64 + largest, np.int32),
        np.zeros(m, np.int8),
        np.zeros(m, np.int8),
        np.empty((3 + 4 * most, d), np.int32),
        np.empty((3 + 4 * most, d), np.int32),
        np.empty((3 + 4 * most, words), np.uint64),
        np.zeros((3, d)),
        np.empty(3 + 4 * most, np.int64),
        np.empty(most, np.int32),
        np.empty(most, np.int32),
        most,
    )


# -- along one attribute -----------------------------------------------------------------------------------------------


@compiled
def _number_values(
    codes: Codes, j: int, first: int, last: int, low: int, high: int, bucket: Codes, code_of: Codes
) -> int:
    """Number the codes of an attribute that occur in a group, from the lowest; returns how many there are."""
    count, width = 0, high - low + 1
    if width <= 4 * (last - first) + 64:
        for code in range(width):
            code_of[code] = 0
        for i in range(first, last):
            code_of[codes[i, j] - low] = 1
        for code in range(width):
            if code_of[code]:
                code_of[code] = count
                count += 1
        for i in range(first, last):
            bucket[i] = code_of[codes[i, j] - low]
    else:
        order = np.argsort(codes[first:last, j])
        for at in range(len(order)):
            if at == 0 or codes[first + order[at], j] != codes[first + order[at - 1], j]:
                count += 1
            bucket[first + order[at]] = count - 1
    for i in range(first, last):
        code_of[bucket[i]] = codes[i, j]
    return count


@compiled
def _fill_values(
    meta: Ints,
    codes: Codes,
    weights: Ints,
    bucket: Codes,
    first: int,
    last: int,
    low: Codes,
    high: Codes,
    bits: Bits,
    weight: Ints,
) -> None:
    """Put the items of a group into the boxes of their values."""
    for item in range(first, last):
        box = 3 + bucket[item]
        weight[box] += weights[item]
        for j in range(codes.shape[1]):
            code = codes[item, j]
            low[box, j] = min(low[box, j], code)
            high[box, j] = max(high[box, j], code)
            if meta[j, KIND] == SET:
                bits[box, meta[j, WORD] + (code >> 6)] |= np.uint64(1) << np.uint64(code & 63)


@compiled
def _fill_sums(low: Codes, high: Codes, bits: Bits, weight: Ints, most: int, count: int) -> None:
    """The boxes of all values up to each, and of all from each on."""
    value, up, down = 3, 3 + most, 3 + 2 * most
    clear(low, high, bits, down + count)
    for b in range(count - 1, -1, -1):
        copy_box(low, high, bits, down + b, down + b + 1)
        add_box(low, high, bits, down + b, value + b)
    for b in range(count):
        copy_box(low, high, bits, up + b, value + b)
        weight[up + b] = weight[value + b]
        if b > 0:
            add_box(low, high, bits, up + b, up + b - 1)
            weight[up + b] += weight[up + b - 1]


@compiled
def _fill_sides(
    ancestors: Codes,
    at: int,
    code_of: Codes,
    turn: int,
    tree: bool,
    count: int,
    low: Codes,
    high: Codes,
    bits: Bits,
    weight: Ints,
    start: Codes,
    end: Codes,
    most: int,
) -> int:
    """The sides that an attribute may be cut into: first and last value, people and box of each; returns how many.

    Turn 0 cuts above a value. Of a set, turn 1 takes out one value; of a tree, turn n all below a node of level n.
    """
    side, source, sides, b = 3 + 3 * most, (3 + most if turn == 0 else 3), 0, 0
    while b < count:
        begin, last = (0 if turn == 0 else b), b
        copy_box(low, high, bits, side + sides, source + b)
        weight[side + sides] = weight[source + b]
        while tree and turn > 0 and last + 1 < count:
            if ancestors[at + code_of[last + 1], turn] != ancestors[at + code_of[b], turn]:
                break
            last += 1
            weight[side + sides] += weight[3 + last]
            add_box(low, high, bits, side + sides, 3 + last)
        if last - begin + 1 < count:
            start[sides], end[sides] = begin, last
            sides += 1
        b = last + 1
    return sides


@compiled
def _cut_along(
    j: int,
    first: int,
    last: int,
    total: int,
    best: float,
    dropping: bool,
    budget: int,
    shape: Shape,
    people: People,
    rules: Rules,
    choice: Choice,
    desk: _Desk,
    seen: Stamps,
) -> float:
    """The loss of the best cut along an attribute if it is below `best`, which then lies on the desk; else `best`."""
    meta, table, low, high, bits = shape.meta, shape.table, desk.low, desk.high, desk.bits
    most, bucket, code_of, weight = desk.most, desk.bucket, desk.code_of, desk.weight
    count = _number_values(desk.codes, j, first, last, low[_GROUP, j], high[_GROUP, j], bucket, code_of)
    for b in range(count):
        weight[3 + b] = 0
        clear(low, high, bits, 3 + b)
    _fill_values(meta, desk.codes, desk.weights, bucket, first, last, low, high, bits, weight)
    _fill_sums(low, high, bits, weight, most, count)
    median = 0
    while 2 * weight[3 + most + median] < total:
        median += 1
    tree, turns = meta[j, KIND] == TREE, 1
    if not choice.by_span and meta[j, KIND] == SET:
        turns = 2
    elif not choice.by_span and tree:
        turns = meta[j, LEVELS]
    for turn in range(turns):
        sides = _fill_sides(
            shape.ancestors,
            meta[j, OFFSET],
            code_of,
            turn,
            tree,
            count,
            low,
            high,
            bits,
            weight,
            desk.start,
            desk.end,
            most,
        )
        for side in range(sides):
            start, end, inside = desk.start[side], desk.end[side], weight[3 + 3 * most + side]
            outside = total - inside
            small, large = min(inside, outside), max(inside, outside)
            if choice.by_span and not median - 1 <= end <= median:
                continue
            if (small < rules.k) != dropping or large < rules.k:
                continue
            copy_box(low, high, bits, _OUTSIDE, 3 + 2 * most + end + 1)
            if start > 0:
                add_box(low, high, bits, _OUTSIDE, 3 + most + start - 1)
            drop = np.int64(-1)  # the side that is lost altogether
            if dropping:
                drop = np.int64(1 if inside < outside else 0)
            lost_in = lost_out = float(len(meta))
            if drop != 1:
                lost_in = loss(meta, table, low, high, bits, 3 + 3 * most + side)
            if drop != 0:
                lost_out = loss(meta, table, low, high, bits, _OUTSIDE)
            cost = _expected(inside, lost_in, rules.k, choice.power) + _expected(
                outside, lost_out, rules.k, choice.power
            )
            if choice.by_span and not dropping:
                cost = -np.float64(end)  # the cut above the median first, then the one below
            if cost >= best - _TIE:
                continue
            gone = 0
            for i in range(first, last):
                desk.mark[i] = 1 if start <= desk.bucket[i] <= end else 0
                if desk.mark[i] == drop:
                    gone += people.rows[desk.items[i]]
            if gone > budget or not _both_fit(first, last, drop, people, rules, desk, seen):
                continue
            best = cost
            for i in range(first, last):
                desk.side[i] = desk.mark[i] if drop < 0 else (1 if desk.mark[i] == drop else 0)
    return best


@compiled
def _expected(people: int, lost: float, k: int, power: float) -> Any:
    """The loss of a side, more where its classes will have more than k people: widths grow with a root of people."""
    if power == 0.0 or people < k:
        return people * lost
    return people * lost * (people / (k * (people // k))) ** power


@compiled
def _both_fit(first: int, last: int, drop: int, people: People, rules: Rules, desk: _Desk, seen: Stamps) -> bool:
    """Whether both sides that were marked may be classes; a side that is dropped need not."""
    if not rules.checked:
        return True
    if drop != 1 and not fits(desk.items, desk.mark, np.int64(1), first, last, people, rules, seen):
        return False
    return drop == 0 or fits(desk.items, desk.mark, np.int64(0), first, last, people, rules, seen)


# -- around some items -------------------------------------------------------------------------------------------------


@compiled
def _nearest(
    meta: Ints,
    table: Floats,
    codes: Codes,
    mark: NDArray[np.int8],
    low: Codes,
    high: Codes,
    bits: Bits,
    parts: Floats,
    first: int,
    last: int,
) -> int:
    """The unmarked item whose box with the inside loses least."""
    least, chosen = np.inf, -1
    for item in range(first, last):
        if mark[item] != 0:
            continue
        total = 0.0
        for j in range(len(meta)):
            code = codes[item, j]
            if meta[j, KIND] == SET:
                if not (bits[_INSIDE, meta[j, WORD] + (code >> 6)] >> np.uint64(code & 63)) & np.uint64(1):
                    total += table[meta[j, AT] + meta[j, SIZE] + 1]
            elif not low[_INSIDE, j] <= code <= high[_INSIDE, j]:
                a, b = min(low[_INSIDE, j], code), max(high[_INSIDE, j], code)
                total += span(meta, table, j, a, b) - parts[_INSIDE, j]
            if total >= least:
                break
        if total < least - _TIE:
            least, chosen = total, item
    return chosen


@compiled
def _gather(
    first: int,
    last: int,
    total: int,
    best: float,
    shape: Shape,
    people: People,
    rules: Rules,
    choice: Choice,
    desk: _Desk,
    seen: Stamps,
) -> float:
    """The loss of the best class gathered around an item if it is below `best`, which then lies on the desk."""
    meta, table = shape.meta, shape.table
    low, high, bits, mark = desk.low, desk.high, desk.bits, desk.mark
    step = max(1, (last - first) // choice.seeds)
    for seed in range(first, last, step):
        for i in range(first, last):
            mark[i] = 0
        mark[seed] = 1
        inside = desk.weights[seed]
        clear(low, high, bits, _INSIDE)
        add_item(meta, desk.codes, seed, low, high, bits, _INSIDE)
        while inside < rules.k:
            fill_parts(meta, table, low, high, bits, desk.parts, _INSIDE)
            chosen = _nearest(meta, table, desk.codes, mark, low, high, bits, desk.parts, first, last)
            mark[chosen] = 1
            inside += desk.weights[chosen]
            add_item(meta, desk.codes, chosen, low, high, bits, _INSIDE)
        if total - inside < rules.k:
            continue
        clear(low, high, bits, _OUTSIDE)
        for i in range(first, last):
            if mark[i] == 0:
                add_item(meta, desk.codes, i, low, high, bits, _OUTSIDE)
        cost = _expected(inside, loss(meta, table, low, high, bits, _INSIDE), rules.k, choice.power)
        cost += _expected(total - inside, loss(meta, table, low, high, bits, _OUTSIDE), rules.k, choice.power)
        if cost < best - _TIE and _both_fit(first, last, np.int64(-1), people, rules, desk, seen):
            best = cost
            for i in range(first, last):
                desk.side[i] = mark[i]
    return best


# -- the whole ---------------------------------------------------------------------------------------------------------


@compiled
def _look(
    first: int,
    last: int,
    budget: int,
    shape: Shape,
    people: People,
    rules: Rules,
    choice: Choice,
    desk: _Desk,
    seen: Stamps,
) -> int:
    """Decide about a group; its cut is stored on the desk as `side`."""
    meta, table, low, high, bits = shape.meta, shape.table, desk.low, desk.high, desk.bits
    clear(low, high, bits, _GROUP)
    total = np.int64(0)
    for i in range(first, last):
        total += desk.weights[i]
        add_item(meta, desk.codes, i, low, high, bits, _GROUP)
    whole = total * loss(meta, table, low, high, bits, _GROUP)
    if whole <= 0.0:
        return _WHOLE
    if total >= 2 * rules.k:
        best, left = np.inf, np.zeros(len(meta))
        for j in range(len(meta)):
            if low[_GROUP, j] < high[_GROUP, j]:
                left[j] = max(span(meta, table, j, low[_GROUP, j], high[_GROUP, j]), 1e-300)
        while left.max() > 0.0 and not (choice.by_span and best < np.inf):
            widest = np.argmax(left)
            left[widest] = 0.0
            best = _cut_along(
                widest, first, last, total, best, np.bool_(False), budget, shape, people, rules, choice, desk, seen
            )
        found = best < np.inf
        if 2 < last - first <= choice.gather:
            limit = best * choice.slack
            found |= _gather(first, last, total, limit, shape, people, rules, choice, desk, seen) < limit
        if found:
            return _CUT
    if budget > 0:
        best = whole
        for j in range(len(meta)):
            if low[_GROUP, j] < high[_GROUP, j]:
                best = _cut_along(
                    j, first, last, total, best, np.bool_(True), budget, shape, people, rules, choice, desk, seen
                )
        if best < whole:
            return _DROP
    return _WHOLE


@compiled
def _split(desk: _Desk, first: int, last: int) -> int:
    """Bring the marked side of a group to its front; returns where the other begins."""
    order = np.empty(last - first, np.int64)
    front = 0
    for which in (1, 0):
        for i in range(first, last):
            if desk.side[i] == which:
                order[front] = i
                front += 1
        if which == 1:
            middle = first + front
    codes, weights, items = desk.codes[order], desk.weights[order], desk.items[order]
    for i in range(last - first):  # not by slices, which take seconds to compile
        desk.weights[first + i], desk.items[first + i] = weights[i], items[i]
        for j in range(codes.shape[1]):
            desk.codes[first + i, j] = codes[i, j]
    return middle


@compiled
def partition_tree(
    codes: Codes, weights: Ints, shape: Shape, people: People, rules: Rules, choice: Choice, budget: int
) -> tuple[Ints, Ints]:
    """The classes of `partition`, and how many cuts made each: classes are numbered as a walk meets them in the tree of
    cuts, so these numbers are the whole tree."""
    desk, seen = _desk(codes, weights, shape), stamps(people, rules)
    classes = np.full(len(codes), -1, np.int64)
    depths = np.empty(len(codes), np.int64)
    stack, found = [(0, len(codes), 0)], 0
    while len(stack) > 0:
        first, last, depth = stack.pop()
        fate = _look(first, last, budget, shape, people, rules, choice, desk, seen)
        if fate == _WHOLE:
            for i in range(first, last):
                classes[desk.items[i]] = found
            depths[found] = depth
            found += 1
            continue
        middle = _split(desk, first, last)
        if fate == _CUT:
            depth += 1
            stack.append((first, middle, depth))
        else:
            for i in range(first, middle):
                budget -= people.rows[desk.items[i]]
        stack.append((middle, last, depth))
    return classes, depths[:found]


def partition(
    codes: Codes, weights: Ints, shape: Shape, people: People, rules: Rules, choice: Choice, budget: int
) -> Ints:
    """The class of each item; -1 for those that are suppressed, which are at most `budget` rows."""
    classes: Ints = partition_tree(codes, weights, shape, people, rules, choice, budget)[0]
    return classes
