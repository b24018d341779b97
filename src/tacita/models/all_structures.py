"""Every acyclic structure of few attributes, and the best of them: a brute force that checks the exact search.

A structure gives each pair of attributes one of three states: no link, a link one way, a link the other way. This
enumerates all 3^(d (d-1) / 2) of them and leaves out those with a cycle. The published algorithm enumerates presence
patterns and then orientations, but keeps reversed arcs between orientations, and skips structures with at most one
link; this one starts each orientation from the pattern and skips none.

Privacy: none of its own; it uses scores, which cost what their tables cost.
Cost: 3^(d (d-1) / 2) structures, so at most `MOST` attributes: 59,049 of five, of which 29,281 are acyclic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product

from tacita import check
from tacita.errors import InvalidInput

__all__ = ["MOST", "all_structures", "best_of_all"]

MOST = 5
Key = tuple[str, ...]


def all_structures(count: int) -> Iterator[tuple[int, ...]]:
    """Yield every acyclic structure of so many attributes, as the bits of the parents of each.

    >>> [sum(1 for _ in all_structures(count)) for count in range(5)]
    [1, 1, 3, 25, 543]
    """
    check.whole(count, "names", least=0, most=MOST, hint="Use best_parents or hill_climb")
    pairs = list(combinations(range(count), 2))
    for states in product((0, 1, 2), repeat=len(pairs)):
        above = [0] * count
        for (first, second), state in zip(pairs, states, strict=True):
            if state == 1:
                above[second] |= 1 << first
            elif state == 2:
                above[first] |= 1 << second
        if _acyclic(above):
            yield tuple(above)


def _acyclic(above: Sequence[int]) -> bool:
    """Whether attributes can be removed one by one, each when none of its parents is left."""
    left = (1 << len(above)) - 1
    while left:
        roots = sum(1 << at for at, bits in enumerate(above) if left >> at & 1 and not bits & left)
        if not roots:
            return False
        left &= ~roots
    return True


def best_of_all(names: Sequence[str], score: Callable[[str, Key], float], *, degree: int) -> dict[str, Key]:
    """Parents of each attribute in the structure with the largest sum of scores; the first of several.

    Args:
        names: The attributes, at most `MOST`.
        score: Of a child and its parents, which come in the order of names. Minus infinity forbids the set.
        degree: Most parents of an attribute.
    """
    if not names:
        raise InvalidInput("must be at least one", field="names")
    check.whole(degree, "degree", least=0)

    def chosen(bits: int) -> Key:
        return tuple(name for at, name in enumerate(names) if bits >> at & 1)

    known = [
        {
            bits: score(name, chosen(bits))
            for bits in range(1 << len(names))
            if not bits >> at & 1 and bits.bit_count() <= degree
        }
        for at, name in enumerate(names[: MOST + 1])
    ]
    best, found = -math.inf, (0,) * len(names)
    for above in all_structures(len(names)):
        value = math.fsum(scores.get(bits, -math.inf) for scores, bits in zip(known, above, strict=True))
        if value > best:
            best, found = value, above
    return {name: chosen(bits) for name, bits in zip(names, found, strict=True)}
