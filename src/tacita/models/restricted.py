"""Restricted maximisation: tests of independence find the pairs that may have a link, then a score chooses among them.

    markov_blankets     IAMB: grow by the most dependent attribute, shrink by those that are independent given the rest;
                        an attribute is in another's blanket if each is in the other's  [Tsamardinos et al. 2003]
    skeleton            two attributes of one another's blankets are neighbours if no subset of the smaller blanket
                        makes them independent  [Margaritis, Thrun 1999: grow-shrink]
    restricted_maximum  hill climbing over links of the skeleton  [RSMAX2: Scutari et al. 2014]

A v-structure is an unshielded triple: X1 -> X3 <- X2 without a link between X1 and X2. Spouses X1 and X2 are in one
another's blankets, and some subset without X3 separates them, so they are not neighbours.

Privacy: none of its own; p-values and scores cost what they were computed from.
Utility: finds the skeleton if every test is right; links that a test missed cannot be chosen.
Cost: up to 2^b tests for a pair with blankets of b attributes; `most` bounds the subsets' size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from math import inf
from typing import Any

from tacita import check
from tacita.models.hill_climb import hill_climb

__all__ = ["markov_blankets", "restricted_maximum", "skeleton"]

Key = tuple[str, ...]
Test = Callable[[str, str, Key], float]


def markov_blankets(names: Sequence[str], test: Test, *, level: float = 0.05) -> dict[str, frozenset[str]]:
    """Find the Markov blanket of each attribute: parents, children and other parents of the children.

    Args:
        names: The attributes.
        test: P-value of independence of two attributes given others, which come in the order of names.
        level: Attributes with a p-value above it are independent.
    """
    check.inside(level, "level", 0, 1)
    found = {name: _blanket(name, names, test, level) for name in names}
    return {name: frozenset(other for other in found[name] if name in found[other]) for name in names}


def _blanket(name: str, names: Sequence[str], test: Test, level: float) -> set[str]:
    blanket = set[str]()
    seen = set[frozenset[str]]()
    while frozenset(blanket) not in seen:  # a blanket that returns would return for ever
        seen.add(frozenset(blanket))
        outside = [other for other in names if other != name and other not in blanket]
        values = {other: test(name, other, _ordered(names, blanket)) for other in outside}
        nearest = min(outside, key=lambda other: values[other], default=None)
        if nearest is not None and values[nearest] <= level:
            blanket.add(nearest)
        for other in [other for other in names if other in blanket]:
            if test(name, other, _ordered(names, blanket - {other})) > level:
                blanket.discard(other)
    return blanket


def _ordered(names: Sequence[str], some: set[str] | frozenset[str]) -> Key:
    return tuple(name for name in names if name in some)


def skeleton(
    names: Sequence[str], test: Test, *, level: float = 0.05, most: int | None = None
) -> frozenset[frozenset[str]]:
    """Find the pairs of neighbours.

    Args:
        names: The attributes.
        test: As in `markov_blankets`.
        level: As in `markov_blankets`.
        most: Largest subset to test with; any if None.
    """
    blankets = markov_blankets(names, test, level=level)
    found = set()
    for one, other in combinations(names, 2):
        if other in blankets[one] and not _separated(one, other, names, blankets, test, level, most):
            found.add(frozenset((one, other)))
    return frozenset(found)


def _separated(
    one: str,
    other: str,
    names: Sequence[str],
    blankets: Mapping[str, frozenset[str]],
    test: Test,
    level: float,
    most: int | None,
) -> bool:
    smaller = min(blankets[one] - {other}, blankets[other] - {one}, key=len)
    given = _ordered(names, smaller)
    sizes = range(min(len(given), len(given) if most is None else most) + 1)
    return any(test(one, other, chosen) > level for size in sizes for chosen in combinations(given, size))


def restricted_maximum(
    names: Sequence[str],
    score: Callable[[str, Key], float],
    test: Test,
    *,
    level: float = 0.05,
    start: Mapping[str, Key] | None = None,
    **climb: Any,
) -> dict[str, Key]:
    """Parents of each attribute: hill climbing over links of the skeleton, and over those of the start.

    Args:
        names: The attributes.
        score: As in `hill_climb`.
        test: As in `markov_blankets`.
        level: As in `markov_blankets`.
        start: Where to begin, such as the required links; they may be outside the skeleton.
        **climb: Other arguments of `hill_climb`.
    """
    begin = dict(start or {})
    allowed = skeleton(names, test, level=level) | {
        frozenset((above, name)) for name, parents in begin.items() for above in parents
    }

    def within(child: str, parents: Key) -> float:
        outside = any(frozenset((above, child)) not in allowed for above in parents)
        return -inf if outside else score(child, parents)

    return hill_climb(names, within, start=begin, **climb)
