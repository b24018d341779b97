"""Hill climbing: from a structure, the best of all single changes of an edge, until none makes it better.

    tabu       goes on below a summit, by the best change that leads to none of the last structures, for as many steps
               as the list is long; a new summit starts the count again  [Glover 1986; Scutari 2010, bnlearn]
    restarts   climbs again from copies of the best structure with some random changes

Privacy: none of its own; it uses scores, which cost what the tables cost that they were computed from.
Utility: ends in a structure that no added, removed or turned edge improves; another start may end higher.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from tacita import check
from tacita.errors import InvalidInput

__all__ = ["hill_climb"]

Key = tuple[str, ...]
_Parents = dict[str, set[str]]
_TIE = 1e-12


def hill_climb(
    names: Sequence[str],
    score: Callable[[str, Key], float],
    *,
    degree: int,
    start: Mapping[str, Key] | None = None,
    rounds: int = 10_000,
    restarts: int = 0,
    tabu: int = 0,
    rng: np.random.Generator | None = None,
) -> dict[str, Key]:
    """Parents of each attribute.

    Args:
        names: The attributes.
        score: Of a child and its parents, which stand in the order of names; the sum over children is maximised. It
            should be penalised, or parents are added up to the degree. Minus infinity forbids the set.
        degree: Most parents of an attribute.
        start: Where to begin; without edges if not given.
        rounds: Most changes of one climb.
        restarts: Times to climb again from a changed copy of the best structure.
        tabu: Structures that are remembered and not visited again; 0 stops at the first summit.
        rng: Chooses the changes before a restart.
    """
    if type(degree) is not int or degree < 0:
        raise InvalidInput("must be a whole number of 0 or more", field="degree", value=degree)
    check.whole(restarts, "restarts", least=0)
    check.whole(tabu, "tabu", least=0)
    if restarts and rng is None:
        raise InvalidInput("restarts need a generator", field="rng")
    climber = _Climber(names, score, degree, rounds, tabu)
    best = climber.climb({name: set((start or {}).get(name, ())) for name in names})
    for _ in range(restarts):
        assert rng is not None
        found = climber.climb(climber.changed(best, max(1, len(names) // 2), rng))
        if climber.total(found) > climber.total(best) + _TIE:
            best = found
    return {name: climber.ordered(best[name]) for name in names}


class _Climber:
    """Scores that are known, and climbs over them."""

    def __init__(
        self, names: Sequence[str], score: Callable[[str, Key], float], degree: int, rounds: int, tabu: int
    ) -> None:
        self.names, self.score, self.degree, self.rounds, self.tabu = names, score, degree, rounds, tabu
        self.place = {name: at for at, name in enumerate(names)}
        self.known: dict[tuple[str, Key], float] = {}

    def ordered(self, above: set[str]) -> Key:
        return tuple(sorted(above, key=self.place.__getitem__))

    def worth(self, name: str, above: set[str]) -> float:
        key = (name, self.ordered(above))
        if key not in self.known:
            self.known[key] = self.score(*key)
        return self.known[key]

    def total(self, parents: Mapping[str, set[str]]) -> float:
        return math.fsum(self.worth(name, above) for name, above in parents.items())

    def gain(self, parents: _Parents, change: Mapping[str, set[str]]) -> float:
        return sum(self.worth(name, above) - self.worth(name, parents[name]) for name, above in change.items())

    def climb(self, start: _Parents) -> _Parents:
        """Return the best structure on the way up, and on the way over passes where there is a tabu list."""
        parents, best = start, start
        height = top = 0.0  # above the start
        visited: deque[frozenset[tuple[str, Key]]] = deque([self._mark(start)], maxlen=max(self.tabu, 1))
        since = 0
        for _ in range(self.rounds):
            most, change = (-math.inf if self.tabu else _TIE), dict[str, set[str]]()
            for candidate in _changes(self.names, parents, self.degree):
                gain = self.gain(parents, candidate)
                if gain > most and not (self.tabu and self._mark(parents | candidate) in visited):
                    most, change = gain, candidate
            if not change:
                break
            parents, height = parents | change, height + most
            visited.append(self._mark(parents))
            if height > top + _TIE:
                best, top, since = parents, height, 0
            else:
                since += 1
                if since > self.tabu:
                    break
        return best

    def _mark(self, parents: Mapping[str, set[str]]) -> frozenset[tuple[str, Key]]:
        return frozenset((name, self.ordered(above)) for name, above in parents.items())

    def changed(self, parents: _Parents, times: int, rng: np.random.Generator) -> _Parents:
        """Return a copy after some random changes, none of which is forbidden."""
        for _ in range(times):
            options = [
                change
                for change in _changes(self.names, parents, self.degree)
                if all(self.worth(name, above) > -math.inf for name, above in change.items())
            ]
            if options:
                parents = parents | options[int(rng.integers(len(options)))]
        return parents


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
