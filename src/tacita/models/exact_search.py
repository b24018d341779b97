"""The best network of all, for few attributes: dynamic programming over subsets.  [Silander, Myllymaki 2006]

    best(S) = max over the last x in S of  best(S - x) + the best score of x with parents from S - x

Privacy: none of its own; it looks at scores, which cost what the tables did that they were read off.
Cost: d 2^(d-1) best parent sets, so at most `MOST` attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from tacita.errors import InvalidInput

__all__ = ["MOST", "best_parents"]

MOST = 16
Key = tuple[str, ...]


def best_parents(names: Sequence[str], score: Callable[[str, Key], float], *, degree: int) -> dict[str, Key]:
    """Parents of each attribute, so that the sum of scores over all children is the largest there is.

    Args:
        names: The attributes, at most `MOST`.
        score: Of a child and its parents, which stand in the order of names. Minus infinity forbids the set.
        degree: Most parents of an attribute.
    """
    if not 1 <= len(names) <= MOST:
        hint = "Take hill_climb or greedy_parents"
        raise InvalidInput(f"must be 1 to {MOST}", field="names", value=len(names), hint=hint)
    if type(degree) is not int or degree < 0:
        raise InvalidInput("must be a whole number of 0 or more", field="degree", value=degree)
    count = len(names)
    from_set = [_best_from(at, names, score, degree) for at in range(count)]
    best, last = [0.0] * (1 << count), [0] * (1 << count)
    for held in range(1, 1 << count):
        options = [at for at in range(count) if held >> at & 1]
        values = [best[held ^ 1 << at] + from_set[at][held ^ 1 << at][0] for at in options]
        best[held] = max(values)
        last[held] = options[values.index(best[held])]
    parents, held = dict[str, Key](), (1 << count) - 1
    while held:
        at = last[held]
        held ^= 1 << at
        parents[names[at]] = tuple(names[other] for other in range(count) if from_set[at][held][1] >> other & 1)
    return {name: parents[name] for name in names}


def _best_from(
    child: int, names: Sequence[str], score: Callable[[str, Key], float], degree: int
) -> dict[int, tuple[float, int]]:
    """The best score of a child, and its parents as bits, for each set that they may come from."""
    others = [at for at in range(len(names)) if at != child]
    own = {}
    for size in range(min(degree, len(others)) + 1):
        for chosen in combinations(others, size):
            own[sum(1 << at for at in chosen)] = score(names[child], tuple(names[at] for at in chosen))
    found: dict[int, tuple[float, int]] = {}
    for held in range(1 << len(names)):
        if held >> child & 1:
            continue
        here = [(own[held], held)] if held in own else []
        found[held] = max(here + [found[held ^ 1 << at] for at in others if held >> at & 1], key=lambda pair: pair[0])
    return found
