"""Hill climbing: from a structure, the best of all single changes of an edge, until none makes it better.

Privacy: none of its own; it uses scores, which cost what the tables cost that they were computed from.
Utility: ends in a structure that no added, removed or turned edge improves; another start may end higher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from tacita.errors import InvalidInput

__all__ = ["hill_climb"]

Key = tuple[str, ...]
_TIE = 1e-12


def hill_climb(
    names: Sequence[str],
    score: Callable[[str, Key], float],
    *,
    degree: int,
    start: Mapping[str, Key] | None = None,
    rounds: int = 10_000,
) -> dict[str, Key]:
    """Parents of each attribute.

    Args:
        names: The attributes.
        score: Of a child and its parents, which stand in the order of names; the sum over children is maximised. It
            should be penalised, or parents are added up to the degree. Minus infinity forbids the set.
        degree: Most parents of an attribute.
        start: Where to begin; without edges if not given.
        rounds: Most changes.
    """
    if type(degree) is not int or degree < 0:
        raise InvalidInput("must be a whole number of 0 or more", field="degree", value=degree)
    place = {name: at for at, name in enumerate(names)}
    parents = {name: set((start or {}).get(name, ())) for name in names}
    known: dict[tuple[str, Key], float] = {}

    def worth(name: str, above: set[str]) -> float:
        key = (name, tuple(sorted(above, key=place.__getitem__)))
        if key not in known:
            known[key] = score(*key)
        return known[key]

    for _ in range(rounds):
        best, change = _TIE, dict[str, set[str]]()
        for candidate in _changes(names, parents, degree):
            gain = sum(worth(name, above) - worth(name, parents[name]) for name, above in candidate.items())
            if gain > best:
                best, change = gain, candidate
        if not change:
            break
        parents |= change
    return {name: tuple(sorted(parents[name], key=place.__getitem__)) for name in names}


def _changes(names: Sequence[str], parents: Mapping[str, set[str]], degree: int) -> Iterator[dict[str, set[str]]]:
    """Yield all single changes of an edge that make no cycle, each as the new parents of the attributes it changes."""
    for child in names:
        for other in names:
            if other == child:
                continue
            if other in parents[child]:
                less = parents[child] - {other}
                yield {child: less}
                turned = {**parents, child: less}
                if len(parents[other]) < degree and not _leads(turned, other, child):
                    yield {child: less, other: parents[other] | {child}}
            elif len(parents[child]) < degree and not _leads(parents, child, other):
                yield {child: parents[child] | {other}}


def _leads(parents: Mapping[str, set[str]], above: str, below: str) -> bool:
    """Whether `above` is an ancestor of `below`: then an edge back to it would close a cycle."""
    ahead, seen = [below], set[str]()
    while ahead:
        name = ahead.pop()
        if name == above:
            return True
        if name not in seen:
            seen.add(name)
            ahead += parents[name]
    return False
