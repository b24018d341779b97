"""Bayardo and Agrawal's search [2005]: the best of all ways to put values into intervals, proved best by bounds.

A way is a set of splits, over all attributes together. Without a hierarchy a split is the place where an interval
begins (the first value of an attribute always begins one); with a hierarchy it is a node that is opened into the nodes
below it, after the node above it was. No split puts all values of each attribute together. Sets of splits are visited
as a tree whose children have one split more. Below a place of that tree every row loses at least what it loses under
all splits that may still come, or what a suppressed row loses if its group is no class already. So places that cannot
win are left out without losing the best (docs/claims/full-domain.md).

Many values make far too many sets. After `most` of them the search is given up, or with `early="best"` the best so far
is taken. A search by single steps goes before, so that there is something good to compare with.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.methods.grouping import Grouping, Groups, Labels, impossible, words_of
from tacita.anonymize.methods.lattice import Lattice
from tacita.anonymize.methods.node_loss import cost_of
from tacita.anonymize.methods.ola import holding_nodes
from tacita.anonymize.parameters import described
from tacita.anonymize.quasi import DistinctRows
from tacita.errors import InvalidInput
from tacita.tables.recoding import Recoding

__all__ = ["Bayardo", "Search", "SplitSearch", "Splits"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Chosen = frozenset[int]
_MOST_LATTICE = 20_000  # nodes of lattices whose best is where a search by single steps begins
_MOST_PAIRS = 64  # moves of two splits at once are tried up to so many splits


@dataclass(frozen=True, kw_only=True)
class Split:
    """One split: where an interval of an attribute begins, or which of its nodes is opened.

    Attributes:
        attribute: Its place.
        starts: The codes at which a part begins once it is made.
        parent: The split that must have been made before, or -1.
        level: The highest level of the lattice at which it is made.
    """

    attribute: int
    starts: tuple[int, ...]
    parent: int
    level: int


@dataclass(frozen=True, kw_only=True)
class SplitSearch:
    """Result of a search.

    Attributes:
        chosen: The splits.
        cost: Their loss.
        looked: Sets that were counted.
        proved: Whether no other set loses less.
    """

    chosen: Chosen
    cost: float
    looked: int
    proved: bool


@dataclass(frozen=True, kw_only=True)
class Search:
    """End of a search. It is limited by a count, never by a clock: the same rows end the same way everywhere.

    Attributes:
        loss: Measure that was minimised.
        looked: Sets of splits that were counted.
        most: Limit of that count.
        proved: Whether the search was exhausted, so that no other set loses less.
    """

    loss: str
    looked: int
    most: int
    proved: bool

    @property
    def words(self) -> str:
        """End of the search, as a sentence."""
        if self.proved:
            return f"Proved best: no other intervals lose less ({self.loss}); {self.looked:,} sets of splits counted."
        return (
            f"Not proved best: stopped after {self.looked:,} sets of splits (at most {self.most:,}); others may lose "
            f"less ({self.loss}). Allow more, or give hierarchies."
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"loss": self.loss, "looked": self.looked, "most": self.most, "proved": self.proved}


@dataclass(frozen=True, kw_only=True, eq=False)
class Splits:
    """All splits of some rows, and the effect of a set of them."""

    grouping: Grouping
    loss: Literal["discernibility", "gcp"]

    @cached_property
    def every(self) -> tuple[Split, ...]:
        """All splits, each after its parent."""
        found: list[Split] = []
        for j, (axis, tree) in enumerate(zip(self.grouping.distinct.axes, self.grouping.distinct.trees, strict=True)):
            if tree is None:
                found += [Split(attribute=j, starts=(code,), parent=-1, level=0) for code in range(1, len(axis))]
                continue
            made: dict[int, int] = {}  # the split that begins a part at this code, by the code of its first value
            for level in range(1, tree.levels):
                starts = np.flatnonzero(np.diff(tree.ancestors[:, level], prepend=-1)).tolist()
                above = np.flatnonzero(np.diff(tree.ancestors[:, level - 1], prepend=-1)).tolist()
                for first, last in zip(above, [*above[1:], len(axis)], strict=True):
                    inner = tuple(code for code in starts if first < code < last)
                    if inner:
                        parent = made.get(first, -1)
                        rise = tree.levels - 1 - level
                        found.append(Split(attribute=j, starts=inner, parent=parent, level=rise))
                        made |= dict.fromkeys((first, *inner), len(found) - 1)
        return tuple(found)

    def starts(self) -> Iterator[Chosen]:
        """Yield the starts of a search by single steps: no split, and the best full-domain recoding."""
        yield frozenset()
        lattice = Lattice(grouping=self.grouping, loss=self.loss)
        if np.prod(lattice.shape, dtype=np.float64) <= _MOST_LATTICE:
            allowed = holding_nodes(lattice) if self.grouping.rolls_up else np.ones(lattice.shape, np.bool_)
            best = lattice.cheapest(allowed)
            if best is not None:
                chosen = (place for place, split in enumerate(self.every) if split.level >= best[split.attribute])
                yield frozenset(chosen)

    def becomes(self, chosen: Chosen) -> list[Ints]:
        """The interval that each code of each attribute lies in."""
        marks = [np.zeros(len(axis), np.int64) for axis in self.grouping.distinct.axes]
        for split in chosen:
            marks[self.every[split].attribute][list(self.every[split].starts)] = 1
        return [np.cumsum(mark) for mark in marks]

    def cells(self, becomes: list[Ints]) -> list[Floats] | None:
        """Loss of a cell of each code; None for discernibility."""
        if self.loss == "discernibility":
            return None
        distinct, found = self.grouping.distinct, []
        scale = max(int(self.grouping.rows.sum()), 1) * len(distinct.axes)
        for axis, tree, parts in zip(distinct.axes, distinct.trees, becomes, strict=True):
            first = np.searchsorted(parts, parts)
            last = np.searchsorted(parts, parts, side="right") - 1
            if tree is not None:
                lost = tree.loss(tree.common(first, last))
            elif axis.kind == "set":
                lost = (last - first) / max(len(axis) - 1, 1)
            else:
                lost = np.minimum((axis.line[last] - axis.line[first]) / (axis.width or 1.0), 1.0)
            found.append(np.asarray(lost / scale, np.float64))
        return found

    @cached_property
    def _gone(self) -> list[Floats]:
        distinct = self.grouping.distinct
        scale = max(int(self.grouping.rows.sum()), 1) * len(distinct.axes)
        return [np.full(len(axis), 1 / scale) for axis in distinct.axes]

    def look(self, chosen: Chosen) -> tuple[float, Groups]:
        """Compute the loss of a set of splits, and its groups."""
        becomes = self.becomes(chosen)
        groups = self.grouping.groups(becomes)
        cost, _ = cost_of(self.grouping, groups, self.cells(becomes), self._gone)
        return cost, groups

    def bound(self, general: Groups, finest: Chosen) -> float:
        """The least that a set with the general groups and some of the finest splits can lose."""
        becomes = self.becomes(finest)
        groups = self.grouping.groups(becomes)
        distinct, rows = self.grouping.distinct, self.grouping.rows
        lost = ~general.good[general.of] if self.grouping.nested else np.zeros(len(rows), np.bool_)
        if self.loss == "discernibility":
            least = np.maximum(groups.rows[groups.of], self.grouping.conditions.k)  # k people have k rows or more
            return float((rows * np.where(lost, rows.sum(), least)).sum())
        cells = self.cells(becomes)
        assert cells is not None
        each = sum(cell[distinct.codes[:, j]] for j, cell in enumerate(cells))
        return float((rows * np.where(lost, 1 / max(int(rows.sum()), 1), each)).sum())

    def texts(self, becomes: list[Ints]) -> list[list[str]]:
        """Labels of each interval."""
        words = []
        for axis, tree, parts in zip(self.grouping.distinct.axes, self.grouping.distinct.trees, becomes, strict=True):
            if tree is None:
                words.append(words_of(axis, parts))
                continue
            first = np.flatnonzero(np.diff(parts, prepend=-1))
            nodes = tree.common(first, np.append(first[1:], len(axis)) - 1)
            words.append([tree.labels[node] for node in nodes])
        return words


@dataclass(frozen=True, kw_only=True)
class Bayardo:
    """Least loss over all sets of splits.

    Attributes:
        loss: `discernibility`, or `gcp`, the mean loss of a cell.
        most: Sets that are counted at most.
        early: When there are more: `refuse`, or take the `best` so far, which need not be the best of all.
        labels: `level` writes the whole interval or node; `tight` the narrowest label that is true of a class.
    """

    method: ClassVar[str] = "bayardo"
    summary: ClassVar[str] = "least loss over all intervals; for few values"

    loss: Literal["discernibility", "gcp"] = field(default="discernibility", metadata=described("Loss to minimise."))
    most: int = field(
        default=100_000, metadata=described("Sets of intervals that are counted at most.", ge=1, le=1_000_000)
    )
    early: Literal["refuse", "best"] = field(
        default="refuse", metadata=described("Refuse after so many sets, or take the best so far.")
    )
    labels: Labels = field(default="level", metadata=described("Write one level for a whole column, or tight labels."))

    def __post_init__(self) -> None:
        if self.loss not in ("discernibility", "gcp"):
            raise InvalidInput("must be discernibility or gcp", field="loss", value=self.loss)
        if self.early not in ("refuse", "best"):
            raise InvalidInput("must be refuse or best", field="early", value=self.early)
        if self.labels not in ("level", "tight"):
            raise InvalidInput("must be level or tight", field="labels", value=self.labels)
        if self.most < 1:
            raise InvalidInput("must be 1 or more", field="most", value=self.most)

    @property
    def by_appearance(self) -> bool:
        """Values are never numbered as they appear."""
        return False

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.method,
            "loss": self.loss,
            "most": self.most,
            "early": self.early,
            "labels": self.labels,
        }

    def recode(self, distinct: DistinctRows, conditions: Conditions, *, budget: int = 0) -> Recoding:
        """Classes that hold the conditions, with at most `budget` rows suppressed."""
        return self.recode_reporting(distinct, conditions, budget=budget)[0]

    def recode_reporting(
        self, distinct: DistinctRows, conditions: Conditions, *, budget: int = 0
    ) -> tuple[Recoding, Search]:
        """The same, with how the search ended."""
        splits = Splits(grouping=Grouping(distinct=distinct, conditions=conditions, budget=budget), loss=self.loss)
        found = self.search(splits)
        if not found.proved and self.early == "refuse":
            raise InvalidInput(
                "there are too many ways to prove one the best",
                field="most",
                value=self.most,
                hint="Allow more, give hierarchies, or say early='best'",
            )
        becomes = splits.becomes(found.chosen)
        groups = splits.grouping.groups(becomes)
        recoding = splits.grouping.recoding(groups, becomes, splits.texts(becomes), self.labels)
        return recoding, Search(loss=self.loss, looked=found.looked, most=self.most, proved=found.proved)

    def search(self, splits: Splits) -> SplitSearch:
        """The set of splits that loses least."""
        state = _State(splits=splits, most=self.most)
        for start in splits.starts():
            state.climb(start)
        state.visit(frozenset(), range(len(splits.every)))
        if state.best is None:
            if state.stopped:
                raise InvalidInput("nothing that holds was found", field="most", value=self.most, hint="Allow more")
            raise impossible(splits.grouping.conditions)
        cost, chosen = state.best
        return SplitSearch(chosen=frozenset(chosen), cost=cost, looked=state.looked, proved=not state.stopped)


@dataclass(kw_only=True, eq=False)
class _State:
    """A search under way."""

    splits: Splits
    most: int
    best: tuple[float, tuple[int, ...]] | None = None
    looked: int = 0
    stopped: bool = False

    def take(self, chosen: Chosen) -> tuple[float, Groups]:
        """Look at a set, and keep it if it is the best so far."""
        self.looked += 1
        cost, groups = self.splits.look(chosen)
        found = (cost, tuple(sorted(chosen)))
        if groups.suppressed <= self.splits.grouping.budget and (self.best is None or found < self.best):
            self.best = found
        return cost, groups

    # -- by single steps, to have something good to compare with ---------------------------------------------------

    def climb(self, start: Chosen) -> None:
        """From some set on, make or unmake a split, or two at once, as long as that loses less."""
        budget = self.splits.grouping.budget
        here = (self.take(start)[0], tuple(sorted(start)))
        for moves in (_single, _double):
            moved = True
            while moved:
                near = here
                for chosen in moves(self.splits, frozenset(here[1])):
                    if self.looked >= self.most:
                        return
                    cost, groups = self.take(chosen)
                    if groups.suppressed <= budget:
                        near = min(near, (cost, tuple(sorted(chosen))))
                moved, here = near < here, near

    # -- all sets -------------------------------------------------------------------------------------------------

    def visit(self, made: Chosen, tail: Any) -> None:
        """All sets that have the splits made and some of the tail."""
        if self.looked >= self.most:
            self.stopped = True
            return
        grouping = self.splits.grouping
        _, groups = self.take(made)
        if grouping.rolls_up and groups.suppressed > grouping.budget:
            return
        useful = [split for split in tail if self._useful(made, split)] if grouping.rolls_up else list(tail)
        reach = _reachable(self.splits, made, useful)
        if not reach:
            return
        self.looked += 1
        if self.best is not None and self.splits.bound(groups, made | set(reach)) >= self.best[0] * (1 - 1e-12):
            return
        for place, split in enumerate(reach):
            parent = self.splits.every[split].parent
            if parent < 0 or parent in made:
                self.visit(made | {split}, reach[place + 1 :])

    def _useful(self, made: Chosen, split: int) -> bool:
        """Whether the split, if it can be made now, leaves no more than the budget to suppress."""
        parent = self.splits.every[split].parent
        if parent >= 0 and parent not in made:
            return True
        self.looked += 1
        becomes = self.splits.becomes(made | {split})
        return self.splits.grouping.groups(becomes).suppressed <= self.splits.grouping.budget


def _reachable(splits: Splits, made: Chosen, tail: list[int]) -> list[int]:
    """The splits of a tail whose parents are made or can be."""
    there = set(made)
    found = []
    for split in tail:
        parent = splits.every[split].parent
        if parent < 0 or parent in there:
            there.add(split)
            found.append(split)
    return found


def _steps(splits: Splits, chosen: Chosen) -> Iterator[Callable[[Chosen], Chosen]]:
    """Yield the moves from a set: add a possible split, or remove one with all below it."""
    for place, split in enumerate(splits.every):
        if place in chosen:
            yield lambda now, gone=place: _without(splits, now, gone)  # type: ignore[misc]
        elif split.parent < 0 or split.parent in chosen:
            yield lambda now, new=place: now | {new}  # type: ignore[misc]


def _without(splits: Splits, chosen: Chosen, gone: int) -> Chosen:
    left: set[int] = set()
    for place in sorted(chosen - {gone}):
        parent = splits.every[place].parent
        if parent < 0 or parent in left:
            left.add(place)
    return frozenset(left)


def _single(splits: Splits, chosen: Chosen) -> Iterator[Chosen]:
    for step in _steps(splits, chosen):
        yield step(chosen)


def _double(splits: Splits, chosen: Chosen) -> Iterator[Chosen]:
    if len(splits.every) <= _MOST_PAIRS:
        for first in _steps(splits, chosen):
            for second in _steps(splits, first(chosen)):
                yield second(first(chosen))
