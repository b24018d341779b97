"""Arrows of a network that data can decide: those that all networks with the same independences share.

    compelled_arrows    arrows of the completed graph of a structure: its v-structures, and what follows from them

Two structures with the same links and the same v-structures X -> Z <- Y (X and Y not linked) have the same
independences, and penalised likelihood cannot distinguish them [Verma, Pearl 1990]. Orientation beyond that is a
convention of the search. The rules are those of [Meek 1995].

Privacy: none of its own; a structure is as sensitive as the tables that it was learnt from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

__all__ = ["compelled_arrows"]

Arrow = tuple[str, str]


def compelled_arrows(parents: Mapping[str, Sequence[str]]) -> frozenset[Arrow]:
    """Arrows (parent, child) that every equivalent structure has.

    >>> sorted(compelled_arrows({"a": [], "b": [], "c": ["a", "b"], "d": ["c"]}))
    [('a', 'c'), ('b', 'c'), ('c', 'd')]
    >>> sorted(compelled_arrows({"a": [], "b": ["a"], "c": ["b"]}))
    []
    """
    links = {frozenset((parent, child)) for child, above in parents.items() for parent in above}
    fixed = {
        (parent, child)
        for child, above in parents.items()
        for pair in combinations(above, 2)
        if frozenset(pair) not in links
        for parent in pair
    }
    arrows = [(parent, child) for child, above in parents.items() for parent in above]
    grown = True
    while grown:
        grown = False
        for a, b in arrows:
            if (a, b) not in fixed and _follows(a, b, parents, links, fixed):
                fixed.add((a, b))
                grown = True
    return frozenset(fixed)


def _follows(
    a: str, b: str, parents: Mapping[str, Sequence[str]], links: set[frozenset[str]], fixed: set[Arrow]
) -> bool:
    """Whether a -> b follows: otherwise there would be a new v-structure, or a cycle."""

    def linked(one: str, other: str) -> bool:
        return frozenset((one, other)) in links

    def open_link(one: str, other: str) -> bool:
        return linked(one, other) and (one, other) not in fixed and (other, one) not in fixed

    if any((c, a) in fixed and c != b and not linked(c, b) for c in parents):
        return True
    if any((a, c) in fixed and (c, b) in fixed for c in parents):
        return True
    through = [c for c in parents if c not in (a, b) and open_link(a, c) and (c, b) in fixed]
    return any(not linked(c, d) for c, d in combinations(through, 2))
