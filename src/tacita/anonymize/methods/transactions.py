"""k^m-anonymity for sets [Terrovitis, Mamoulis, Kalnis 2008]: m known items of a set match k people or no one.

A transaction is a set of items: what a person bought, read or visited. Every combination of at most m items that occurs
in a release is shared by at least k people. Two ways to get there, item by item and the same for all transactions:

    generalise   an item is written as a node of a hierarchy, and with it all items below that node
    suppress     an item is left out everywhere, as long as the budget of item occurrences lasts

Combinations of one item are repaired first, then of two, up to m; each by the step that loses least. Repairing large
combinations does not break small ones, and the release is counted again. It gives no protection against an attacker who
knows more than m items, and it is no differential privacy. docs/claims/k-m-anonymity.md.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.errors import InternalError, InvalidInput

__all__ = ["AnonymizedSets", "KmAnonymity", "least_support"]

Item = str
Set = tuple[Item, ...]
_MOST_WORK = 20_000_000  # combinations that are counted in one pass


@dataclass(frozen=True, kw_only=True, eq=False)
class AnonymizedSets:
    """Released sets, with their support and loss.

    Attributes:
        sets: Released sets: items sorted, sets sorted, so that the order reveals nothing.
        support: People who share the rarest combination; None when nothing occurs.
        loss: Mean loss of an item occurrence: (leaves below its node - 1)/(leaves - 1), 1 when it is left out.
        suppressed: Share of item occurrences that were left out.
        written: Node that each item is written as, None when it is left out: for the owner only.
    """

    sets: tuple[Set, ...]
    support: int | None
    loss: float
    suppressed: float
    written: Mapping[Item, Item | None] = field(repr=False)

    @property
    def guarantee(self) -> str:
        """In the sense of differential privacy: none."""
        return "none"


@dataclass(frozen=True, kw_only=True)
class KmAnonymity:
    """Condition on sets, and the allowed changes.

    Attributes:
        k: Least people who share a combination.
        m: Most items that an attacker may know.
        hierarchy: Of the items; without it items can only be left out.
        suppress: Most share of item occurrences that may be left out; all of them by default when there is no
            hierarchy, none when there is one.
    """

    k: int
    m: int
    hierarchy: Hierarchy | None = None
    suppress: float | None = None

    def __post_init__(self) -> None:
        for name, number in (("k", self.k), ("m", self.m)):
            if type(number) is not int or number < 1:
                raise InvalidInput("must be a whole number of 1 or more", field=name, value=number)
        if self.suppress is not None and not 0 <= self.suppress <= 1:
            raise InvalidInput("must lie between 0 and 1", field="suppress", value=self.suppress)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": "k^m",
            "k": self.k,
            "m": self.m,
            "hierarchy": None if self.hierarchy is None else self.hierarchy.name,
            "suppress": self._share,
        }

    @property
    def _share(self) -> float:
        if self.suppress is not None:
            return self.suppress
        return 1.0 if self.hierarchy is None else 0.0

    def run(self, sets: Iterable[Iterable[Item]], people: Sequence[Hashable] | None = None) -> AnonymizedSets:
        """Return sets that meet the condition.

        Args:
            sets: The items of each transaction; an item that is there twice counts once.
            people: Person of each transaction; by default each has a person of its own.
        """
        raw = [_items(one) for one in sets]
        if people is not None and len(people) != len(raw):
            raise InvalidInput("must say whose each transaction is", field="people", value=len(people))
        if people is not None and any(person is None for person in people):
            raise InvalidInput("must not be missing", field="people")
        state = _Cut(self, raw, people)
        for size in range(1, self.m + 1):
            while state.mend(size):
                pass
        left = [state.image(one) for one in raw]
        support = least_support(left, self.m, people)
        if support is not None and support < self.k:
            raise InternalError("the sets do not meet the condition and are not released", field="k")
        return AnonymizedSets(
            sets=tuple(sorted(left)),
            support=support,
            loss=state.loss,
            suppressed=state.suppressed / max(state.total, 1),
            written=dict(state.written),
        )


def _items(one: Iterable[Item]) -> Set:
    if isinstance(one, str):
        raise InvalidInput("must be sets of items, not a text", field="sets")
    items = list(one)
    if not all(isinstance(item, str) for item in items):
        raise InvalidInput("items must be texts", field="sets")
    return tuple(sorted(set(items)))


def least_support(sets: Iterable[Iterable[Item]], m: int, people: Sequence[Hashable] | None = None) -> int | None:
    """People who share the rarest combination of at most m items that occurs; None when there is none.

    >>> least_support([["bread", "milk"], ["bread"], ["bread", "milk"]], 2)
    2
    """
    known = [tuple(sorted(set(one))) for one in sets]
    least: int | None = None
    for size in range(1, m + 1):
        counts = _support(known, size, people)
        if not counts:
            break
        least = min(counts.values()) if least is None else min(least, *counts.values())
    return least


def _support(sets: Sequence[Set], size: int, people: Sequence[Hashable] | None) -> Counter[Set]:
    """Count the people with each combination of this size."""
    counts: Counter[Set] = Counter()
    if people is None:
        for one, times in Counter(sets).items():
            for combination in itertools.combinations(one, size):
                counts[combination] += times
        return counts
    of: dict[Hashable, set[Set]] = {}
    for person, one in zip(people, sets, strict=True):
        of.setdefault(person, set()).update(itertools.combinations(one, size))
    for combinations in of.values():
        counts.update(combinations)
    return counts


class _Cut:
    """Node that each item is written as, while it is being found."""

    def __init__(self, asked: KmAnonymity, sets: list[Set], people: Sequence[Hashable] | None) -> None:
        self.asked, self.sets, self.people = asked, sets, people
        self.times = Counter(item for one in sets for item in one)
        self.total = sum(self.times.values())
        self.budget = int(asked._share * self.total)
        self.suppressed = 0
        self.written: dict[Item, Item | None] = {item: item for item in self.times}
        # the way of each item to the root, each node once
        self.paths = {item: (item,) for item in self.times} if asked.hierarchy is None else _ways(asked, self.times)
        leaves = Counter(node for way in self._all_ways() for node in way)
        self.every = max(leaves.values(), default=1)
        self.leaves = leaves

    def _all_ways(self) -> Iterable[Set]:
        if self.asked.hierarchy is None:
            return self.paths.values()
        return [tuple(dict.fromkeys(reversed(path))) for path in self.asked.hierarchy.paths]

    def cost(self, node: Item) -> float:
        """Loss of an occurrence that is written as this node."""
        return (self.leaves[node] - 1) / max(self.every - 1, 1) if self.asked.hierarchy is not None else 0.0

    def image(self, one: Set) -> Set:
        return tuple(sorted({node for item in one if (node := self.written[item]) is not None}))

    @property
    def loss(self) -> float:
        lost = sum(n * (1.0 if (w := self.written[i]) is None else self.cost(w)) for i, n in self.times.items())
        return lost / max(self.total, 1)

    def mend(self, size: int) -> bool:
        """Change what the rare combinations of this size are written as; says whether there were any."""
        images = [self.image(one) for one in self.sets]
        work = Counter(len(one) for one in images)
        if sum(times * _choose(length, size) for length, times in work.items()) > _MOST_WORK:
            raise InvalidInput(
                f"there are more than {_MOST_WORK:,} combinations to count",
                field="m",
                value=self.asked.m,
                hint="Ask for a smaller m, or cut the sets to fewer items",
            )
        counts = _support(images, size, self.people)
        rare = sorted((times, combination) for combination, times in counts.items() if times < self.asked.k)
        changed: set[Item] = set()
        for _, combination in rare:
            if changed.isdisjoint(combination):
                changed |= self._step(combination)
        return bool(rare)

    def _step(self, combination: Set) -> set[Item]:
        """The cheapest change to a combination; returns the nodes that are no longer written."""
        ways: list[tuple[float, int, Item]] = []
        for node in combination:
            below = self._below(node)
            occurs = sum(self.times[item] for item in below)
            if self.suppressed + occurs <= self.budget:
                ways.append((occurs * (1 - self.cost(node)), 1, node))
            parent = self._parent(node)
            if parent is not None:
                more = sum(self.times[i] * (self.cost(parent) - self.cost(w)) for i, w in self._under(parent))
                ways.append((more, 0, node))
        if not ways:
            raise InvalidInput(
                "cannot be reached with the items that occur",
                field="k",
                value=self.asked.k,
                hint="Ask for less, or allow more item occurrences to be left out",
            )
        _, leave_out, node = min(ways)
        if leave_out:
            gone = self._below(node)
            self.suppressed += sum(self.times[item] for item in gone)
            for item in gone:
                self.written[item] = None
            return {node}
        parent = self._parent(node)
        assert parent is not None
        moved = self._under(parent)
        for item, _ in moved:
            self.written[item] = parent
        return {old for _, old in moved}

    def _below(self, node: Item) -> list[Item]:
        """The items that are written as a node."""
        return [item for item, written in self.written.items() if written == node]

    def _parent(self, node: Item) -> Item | None:
        item = self._below(node)[0]
        way = self.paths[item]
        place = way.index(node) + 1
        return way[place] if place < len(way) else None

    def _under(self, parent: Item) -> list[tuple[Item, Item]]:
        """The items below a node that are not left out, and what they are written as."""
        return [(i, w) for i, w in self.written.items() if w is not None and parent in self.paths[i]]


def _ways(asked: KmAnonymity, items: Iterable[Item]) -> dict[Item, Set]:
    assert asked.hierarchy is not None
    ways = {path[-1]: tuple(dict.fromkeys(reversed(path))) for path in asked.hierarchy.paths}
    absent = sum(item not in ways for item in items)
    if absent:
        raise InvalidInput(
            f"the hierarchy {asked.hierarchy.name!r} does not cover {absent} of the items",
            field="hierarchy",
            hint="Add a leaf for each item that occurs",
        )
    return {item: ways[item] for item in items}


def _choose(n: int, r: int) -> int:
    found = 1
    for step in range(r):
        found = found * (n - step) // (step + 1)
    return max(found, 0)
