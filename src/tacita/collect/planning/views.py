"""Views: sets of disjoint combinations of attributes, so that no one is asked about one attribute twice.

A view is the set of questions that one respondent may answer in full. All pairs fall into views without waste (a
1-factorisation of the complete graph, by the circle method): d - 1 views of d/2 pairs, or d views when d is
odd, one attribute idle in each. For larger combinations such a design need not exist; a greedy cover states which
combinations it leaves out.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacita.errors import InvalidInput

__all__ = ["Views", "covering_views", "packed_views", "pair_views"]

Combination = tuple[str, ...]
View = tuple[Combination, ...]


@dataclass(frozen=True)
class Views:
    """Views over some attributes, all of combinations of one size."""

    attributes: tuple[str, ...]
    size: int
    views: tuple[View, ...]

    def __post_init__(self) -> None:
        for view in self.views:
            names = [name for combination in view for name in combination]
            if len(set(names)) != len(names):
                raise InvalidInput("a view must not ask about an attribute twice", field="views", value=view)
            if any(len(combination) != self.size for combination in view) or not set(names) <= set(self.attributes):
                raise InvalidInput(f"must hold combinations of {self.size} attributes", field="views", value=view)

    @cached_property
    def combinations(self) -> tuple[Combination, ...]:
        """All combinations that occur, each once, in the order of the attributes."""
        found = {_sorted(combination, self.attributes) for view in self.views for combination in view}
        return tuple(sorted(found, key=lambda c: tuple(self.attributes.index(name) for name in c)))

    @property
    def missing(self) -> tuple[Combination, ...]:
        """Combinations of this size that no view holds."""
        held = set(self.combinations)
        return tuple(c for c in itertools.combinations(self.attributes, self.size) if c not in held)

    @property
    def coverage(self) -> float:
        """Share of all combinations of this size that some view holds."""
        return len(self.combinations) / (len(self.combinations) + len(self.missing))


def _sorted(combination: Combination, attributes: tuple[str, ...]) -> Combination:
    return tuple(sorted(combination, key=attributes.index))


def _check(attributes: Sequence[str], size: int) -> tuple[str, ...]:
    names = tuple(attributes)
    if len(set(names)) != len(names):
        raise InvalidInput("must be distinct", field="attributes", value=list(names))
    if not 1 <= size <= len(names):
        raise InvalidInput(f"must be 1 to {len(names)}", field="size", value=size)
    return names


def pair_views(attributes: Sequence[str]) -> Views:
    """All pairs, each in exactly one view.

    >>> pair_views("abcd").views
    ((('a', 'd'), ('b', 'c')), (('a', 'c'), ('d', 'b')), (('a', 'b'), ('c', 'd')))
    """
    names = _check(attributes, 2)
    # one attribute stays, the others turn around it; with an odd number, one attribute in turn has no partner
    wheel: list[str | None] = [*names[1:], None] if len(names) % 2 else list(names[1:])
    views = []
    for _ in range(len(wheel)):
        seats = [names[0], *wheel]
        half = len(seats) // 2
        pairs = zip(seats[:half], reversed(seats[half:]), strict=True)
        views.append(tuple((a, b) for a, b in pairs if a is not None and b is not None))
        wheel = wheel[-1:] + wheel[:-1]
    return Views(names, 2, tuple(views))


def covering_views(attributes: Sequence[str], size: int, *, most: int = 10_000, seed: int = 0) -> Views:
    """Greedy views that hold every combination of a size at least once, up to a number of views.

    Each view is filled with combinations that no view holds yet, then with any. `Views.coverage` states the share that
    is covered.
    """
    names = _check(attributes, size)
    if size == 2:
        return pair_views(names)
    rng = np.random.default_rng(seed)
    every = [tuple(c) for c in itertools.combinations(names, size)]
    left = {every[i]: None for i in rng.permutation(len(every))}  # ordered, with removal
    views: list[View] = []
    while left and len(views) < most:
        view: list[Combination] = []
        free = set(names)
        for combination in list(left):
            if free >= set(combination):
                view.append(combination)
                free -= set(combination)
                del left[combination]
            if len(free) < size:
                break
        views.append(tuple(view))
    return Views(names, size, tuple(views))


def packed_views(combinations: Sequence[Combination]) -> tuple[View, ...]:
    """Given combinations, of any sizes, packed into views: each in one view, as many in a view as find room.

    All pairs of some attributes fall into the views of `pair_views`; anything else is packed first come, first served.

    >>> packed_views([("a", "b"), ("a", "c"), ("c", "d"), ("d",)])
    ((('a', 'b'), ('c', 'd')), (('a', 'c'), ('d',)))
    """
    names = tuple(dict.fromkeys(name for combination in combinations for name in combination))
    wanted = {frozenset(combination): combination for combination in combinations}
    if len(names) > 1 and set(wanted) == {frozenset(pair) for pair in itertools.combinations(names, 2)}:
        return tuple(tuple(wanted[frozenset(pair)] for pair in view) for view in pair_views(names).views)
    views: list[list[Combination]] = []
    for combination in combinations:
        for view in views:
            if not set(combination) & {name for other in view for name in other}:
                view.append(combination)
                break
        else:
            views.append([combination])
    return tuple(tuple(view) for view in views)
