"""Local recoding: cut into blocks, gather or cut classes in each, then exchange people between near classes.

    blocks      top-down cuts as Mondrian makes them, down to some thousand combinations
    classes     of each block, in the way that loses less on a few blocks:
                gather   the outermost combination takes those that widen its box least until it may be a class, then
                         the next one [Byun et al. 2007]
                cut      Mondrian's cuts, which prefer sides that can be divided into classes of k
    exchange    one combination moves, or two are swapped, between near classes while the sum of losses falls

Classes are no disjoint boxes: the labels of two classes may overlap. Combinations stay together, except that one with
more than k people may lend some of them to a class that lacks people; those who are left keep their values. This is
done where k is the only condition and each row is a person, because it does not matter then which of them go.

Privacy: k and all other conditions on every class (docs/claims/k-anonymity.md); no differential privacy. Utility: less
loss than `Mondrian`, most for small k. Cost: for each combination a scan of its block over k, and some pairs of near
classes; linear in combinations, because blocks are bounded. Suppressed people are those whom Mondrian's cuts drop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.kernels.boxes import Shape, total_loss
from tacita.anonymize.kernels.cuts import Choice, partition_tree
from tacita.anonymize.kernels.exchange import exchange
from tacita.anonymize.kernels.gather import gather
from tacita.anonymize.labels import Style, recoding_of
from tacita.anonymize.methods.judge import Judge
from tacita.anonymize.methods.mondrian import alone_combinations, impossible, shape_of
from tacita.anonymize.methods.undo import undo_cuts
from tacita.anonymize.quasi import DistinctRows
from tacita.tables.recoding import SUPPRESSED, Recoding

__all__ = ["LocalRecoding"]

Ints = NDArray[np.int64]

# chosen on generated tables (bench/local_recoding.py): more of each loses less and takes longer
_BLOCK = 4096  # combinations of a block, about
_SAMPLES = 3  # blocks on which both ways are tried
_MOST_GATHERED = 20  # classes of more people are gathered only where people are lent: cuts lose less
_SPREAD = 3  # candidates of a gathered class, over k
_BALANCE = 1.0  # cost of a person whose sensitive value a class has too often
_GROUP, _SEEDS, _POWER = 4, 6, 0.4  # cuts: groups of this many k are also cut by gathering
_NEAR, _ROUNDS, _PAIRS = 10, 2, 160  # exchanges: classes near by (fewer for large k, whose pairs cost more), rounds
_LARGEST = 64  # entries of a class that takes part in exchanges, or 3 k


class _Entries(NamedTuple):
    """Entries to be put into classes: combinations, then people who are lent."""

    codes: NDArray[np.int32]
    weights: Ints
    lent: NDArray[np.bool_]
    items: Ints

    def only(self, chosen: Ints) -> _Entries:
        """Some of them."""
        return _Entries(self.codes[chosen], self.weights[chosen], self.lent[chosen], self.items[chosen])


@dataclass(frozen=True, kw_only=True)
class LocalRecoding:
    """Local recoding, see the top of this file. It has no options."""

    method: ClassVar[str] = "local"
    summary: ClassVar[str] = "cut, gather and exchange, so that classes may overlap and lose less"

    @property
    def by_appearance(self) -> bool:
        """Whether values without an order are numbered as they first appear: no."""
        return False

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"method": self.method}

    def recode(self, distinct: DistinctRows, conditions: Conditions, *, budget: int = 0) -> Recoding:
        """Classes that hold the conditions.

        Args:
            distinct: The rows, each combination once.
            conditions: Conditions on every class.
            budget: Rows that may be suppressed.
        """
        shape, judge = shape_of(distinct), Judge.of(distinct, conditions)
        if not judge.together(np.arange(len(distinct.codes))):
            raise impossible(conditions)
        k, weights = judge.rules.k, distinct.weights
        alone, lender, chunk = alone_combinations(distinct, judge), np.zeros(0, np.int64), np.zeros(0, np.int64)
        if not judge.rules.checked and distinct.persons is None and not budget:
            lender, chunk = _lend(weights, np.flatnonzero(weights >= k), k)
            enough = int(weights[weights < k].sum() + chunk.sum()) >= k
            if enough and (weights < k).any():
                alone = weights >= k
            else:
                lender, chunk = lender[:0], chunk[:0]
        rest, single = np.flatnonzero(~alone), np.flatnonzero(alone)
        others = judge.only(rest)
        entries = _Entries(
            codes=np.concatenate([distinct.codes[rest], distinct.codes[lender]]),
            weights=np.concatenate([weights[rest], chunk]).astype(np.int64),
            lent=np.arange(len(rest) + len(lender)) >= len(rest),
            items=np.concatenate([np.arange(len(rest)), np.zeros(len(lender), np.int64)]),
        )
        classes, count = _numbered(_classes(entries, shape, others, budget))
        homes = count + np.arange(len(single))
        used = np.flatnonzero(classes[len(rest) :] != SUPPRESSED)
        if not len(used):
            every = np.full(len(alone), SUPPRESSED, np.int64)
            every[rest], every[single] = classes[: len(rest)], homes
            return recoding_of(distinct, every, Style.TIGHT)
        borrowed, people = lender[used], chunk[used]
        stay = weights[single] - np.bincount(np.searchsorted(single, borrowed), people, len(single))
        item = np.concatenate([rest, single, borrowed])
        into = np.concatenate([classes[: len(rest)], homes, classes[len(rest) :][used]])
        pairs, which = np.unique(item * (count + len(single)) + into, return_inverse=True)
        shares = np.bincount(which, np.concatenate([weights[rest], stay, people])).astype(np.int64)
        place = count + len(single)
        return recoding_of(distinct, pairs % place, Style.TIGHT, items=pairs // place, shares=shares)


def _numbered(classes: Ints) -> tuple[Ints, int]:
    """The classes, numbered without gaps, and how many there are."""
    kept = classes != SUPPRESSED
    names, numbers = np.unique(classes[kept], return_inverse=True)
    found = np.full(len(classes), SUPPRESSED, np.int64)
    found[kept] = numbers.reshape(-1)
    return found, len(names)


def _lend(weights: Ints, single: Ints, k: int) -> tuple[Ints, Ints]:
    """Combinations that lend people, and how many at once: 1, 1, 2, 4, ... of those above k, at most 2 k of one."""
    spare = np.minimum(weights[single] - k, 2 * k)
    lender, chunk, size = [single[:0]], [single[:0]], 1
    first = True
    while (spare > 0).any():
        some = spare > 0
        lender.append(single[some])
        chunk.append(np.minimum(spare[some], size))
        spare = spare - np.minimum(spare, size)
        size = 1 if first else 2 * size
        first = False
    return np.concatenate(lender), np.concatenate(chunk)


def _classes(entries: _Entries, shape: Shape, judge: Judge, budget: int) -> Ints:
    """The class of each entry; without one are the suppressed, and people who are not lent in the end."""
    k, m = judge.rules.k, len(entries.codes)
    classes, count = np.full(m, SUPPRESSED, np.int64), 0
    if judge.slow or budget or not m:
        return _cut_all(entries, shape, judge, budget)
    crowd = int(entries.weights.sum()) / m  # people of an entry
    coarse = judge.rules._replace(k=max(int(_BLOCK / 2 * crowd), 4 * k))
    blocks, _ = partition_tree(entries.codes, entries.weights, shape, judge.people, coarse, Choice(False, 0, 1, 1.0), 0)
    order = np.argsort(blocks, kind="stable")
    parts = np.split(order, np.searchsorted(blocks[order], np.arange(1, int(blocks.max(initial=0)) + 1)))
    samples = min(_SAMPLES, (len(parts) + 1) // 2)
    tried: dict[int, list[_Found]] = {}
    for at in range(samples if k <= _MOST_GATHERED or entries.lent.any() else 0):
        place = len(parts) * (2 * at + 1) // (2 * samples)
        tried[place] = [way(entries.only(parts[place]), shape, judge) for way in _WAYS]
    sums = np.sum([[found.lost for found in each] for each in tried.values()], axis=0) if tried else [1.0, 0.0]
    better = int(np.argmin(sums))
    for place, chosen in enumerate(parts):
        part = entries.only(chosen)
        ways = tried[place] if place in tried else [_WAYS[better](part, shape, judge)]
        best = min(ways, key=lambda found: found.lost)
        if not np.isfinite(best.lost) and place not in tried:
            best = _WAYS[1 - better](part, shape, judge)
        if not np.isfinite(best.lost):
            return _cut_all(entries, shape, judge, budget)
        _exchange(part, best.classes, best.number, shape, judge)
        classes[chosen] = np.where(best.classes >= 0, best.classes + count, SUPPRESSED)
        count += best.number
    return classes


class _Found(NamedTuple):
    """Classes of a block, how many, and their loss; infinite when there are none."""

    classes: Ints
    number: int
    lost: float


def _gathered(part: _Entries, shape: Shape, judge: Judge) -> _Found:
    found = np.empty(len(part.codes), np.int64)
    count = gather(
        part.codes, part.weights, part.lent, part.items, shape, judge.people, judge.rules, _SPREAD, _BALANCE, found
    )
    lost = total_loss(part.codes, part.weights, found, count, shape) if count >= 0 else np.inf
    return _Found(found, count, lost)


def _cut(part: _Entries, shape: Shape, judge: Judge) -> _Found:
    real = np.flatnonzero(~part.lent)
    found = np.full(len(part.codes), SUPPRESSED, np.int64)
    if part.weights[real].sum() < judge.rules.k:
        return _Found(found, 0, np.inf)
    choice = Choice(False, _GROUP * judge.rules.k, _SEEDS, 1.0, _POWER)
    people = judge.only(part.items[real]).people if judge.rules.checked else judge.people
    found[real], _ = partition_tree(part.codes[real], part.weights[real], shape, people, judge.rules, choice, 0)
    count = int(found.max(initial=-1)) + 1
    return _Found(found, count, total_loss(part.codes, part.weights, found, count, shape))


_WAYS = (_gathered, _cut)


def _cut_all(entries: _Entries, shape: Shape, judge: Judge, budget: int) -> Ints:
    """Cut all combinations at once, which may suppress some, and exchange within blocks of neighbouring classes."""
    real = np.flatnonzero(~entries.lent)
    classes = np.full(len(entries.codes), SUPPRESSED, np.int64)
    choice = Choice(False, _GROUP * judge.rules.k, _SEEDS, 1.0, _POWER)
    codes, weights = entries.codes[real], entries.weights[real]
    found, depths = partition_tree(codes, weights, shape, judge.people, judge.rules, choice, budget)
    if judge.slow:
        found = undo_cuts(found, depths, judge)
    count = int(found.max(initial=-1)) + 1
    classes[real] = found
    if not judge.slow:
        inside = real[np.argsort(found, kind="stable")]
        inside = inside[classes[inside] >= 0]
        starts = np.searchsorted(classes[inside], np.arange(count + 1))
        first = 0
        while first < count:
            last = max(first + 1, int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1)
            chosen = inside[starts[first] : starts[last]]
            part, inner = entries.only(chosen), classes[chosen] - first
            _exchange(part, inner, last - first, shape, judge)
            classes[chosen] = inner + first
            first = last
    return classes


def _exchange(part: _Entries, inner: Ints, count: int, shape: Shape, judge: Judge) -> None:
    largest, near = max(_LARGEST, 3 * judge.rules.k), min(_NEAR, max(3, _PAIRS // judge.rules.k))
    exchange(
        part.codes,
        part.weights,
        part.lent,
        part.items,
        inner,
        count,
        shape,
        judge.people,
        judge.rules,
        near,
        _ROUNDS,
        largest,
    )
