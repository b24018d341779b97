"""GreedyBayes: attribute by attribute, the best parents among those placed already.  [Zhang et al. 2014, PrivBayes]

Privacy: none of its own; it looks at scores, which cost what the tables did that they were read off.
Utility: with at most one parent it is the best tree (Prim's algorithm); with more the best network is hard to find, and
greedy steps are usually good. d attributes and k parents need scores of up to d C(d, k) tables of k + 1 attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import prod

from tacita import check
from tacita.domain import Domain
from tacita.errors import UnknownName

__all__ = ["greedy_parents", "useful_cells"]

_TIE = 1e-12  # a larger parent set must be better by more than this


def greedy_parents(
    domain: Domain,
    score: Callable[[str, tuple[str, ...]], float],
    *,
    degree: int,
    root: str | None = None,
    most_cells: int | None = None,
) -> dict[str, tuple[str, ...]]:
    """Parents of each attribute, at most `degree` of them.

    Every set of up to `degree` placed attributes is a candidate; mutual information never falls when a parent is added,
    so that with a plain score the largest sets win, of size min(degree, number placed). With a penalised one smaller
    sets may, and no parents at all, which score 0.

    Args:
        domain: The attributes.
        score: Of a child and its parents. Minus infinity forbids the set.
        degree: Most parents of an attribute.
        root: Placed first; the first name if not given. A random one is the caller's draw.
        most_cells: Largest table over a child and its parents.
    """
    check.whole(degree, "degree", least=1)
    names = domain.check_countable(domain.names)
    if root is not None and root not in names:
        raise UnknownName(root, field="root", available=names)
    parents: dict[str, tuple[str, ...]] = {root or names[0]: ()}
    known: dict[tuple[str, tuple[str, ...]], float] = {}
    while len(parents) < len(names):
        best, above = 0.0, tuple[str, ...]()
        child = next(name for name in names if name not in parents)
        for name, candidate in _candidates(names, tuple(parents), degree):
            if most_cells is not None and prod(domain[each].size for each in (name, *candidate)) > most_cells:
                continue
            if (name, candidate) not in known:
                known[name, candidate] = score(name, candidate)
            if known[name, candidate] > best + _TIE:
                best, child, above = known[name, candidate], name, candidate
        parents[child] = above
    return {name: parents[name] for name in names}


def _candidates(names: Sequence[str], placed: Sequence[str], degree: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Children that are not placed with sets of those that are, smaller sets first; sets in the order of names."""
    ordered = [name for name in names if name in placed]
    for size in range(1, min(degree, len(ordered)) + 1):
        for name in names:
            if name not in placed:
                for candidate in combinations(ordered, size):
                    yield name, candidate


def useful_cells(std: Callable[[int], float], theta: float = 4.0, most: int = 1 << 20) -> int:
    """The most cells that a table may have so that a mean cell, 1 / cells, is at least `theta` standard errors.

    Args:
        std: Standard error of a cell of a table with so many cells; must not fall with their number.
        theta: How far signal must stand above noise: "theta-useful" in PrivBayes.
        most: Where to stop looking.
    """
    low, high = 1, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if theta * std(middle) * middle <= 1 else (low, middle)
    return low
