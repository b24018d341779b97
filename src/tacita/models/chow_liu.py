"""Chow-Liu tree: each attribute has at most one parent, with the largest sum of mutual information.  [Chow, Liu 1968]

Privacy: none of its own; it uses scores, which cost what the tables cost that they were computed from.
Utility: for exact scores the tree nearest to the joint distribution in relative entropy, because

    KL(P || tree) = sum_i H(A_i) - H(A) - sum of I(A_i; parent of A_i)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from tacita.errors import InvalidInput, UnknownName

__all__ = ["chow_liu"]


def chow_liu(
    names: Sequence[str],
    score: Callable[[str, str], float],
    *,
    root: str | None = None,
    least: float = 0.0,
) -> dict[str, tuple[str, ...]]:
    """Parents of each attribute in the maximum spanning forest.

    Args:
        names: The attributes.
        score: Of a pair, such as their mutual information less its bias. Minus infinity forbids the edge.
        root: Where the tree hangs; the first name if not given. Any root gives the same distribution.
        least: Edges must score above this. What is left apart is independent.
    """
    if not names or len(set(names)) != len(names):
        raise InvalidInput("must be distinct, at least one", field="names", value=list(names))
    if root is not None and root not in names:
        raise UnknownName(root, field="root", available=names)
    edges = sorted(((score(a, b), a, b) for a, b in combinations(names, 2)), key=lambda edge: -edge[0])
    piece = {name: name for name in names}  # Kruskal: an edge joins two pieces, or would close a circle
    near: dict[str, list[str]] = {name: [] for name in names}
    for value, a, b in edges:
        if value > least and piece[a] != piece[b]:
            near[a].append(b)
            near[b].append(a)
            gone = piece[b]
            piece = {name: piece[a] if at == gone else at for name, at in piece.items()}
    return _hung(names, near, root)


def _hung(names: Sequence[str], near: dict[str, list[str]], root: str | None) -> dict[str, tuple[str, ...]]:
    parents: dict[str, tuple[str, ...]] = {}
    for start in [root, *names] if root else names:
        ahead = [start] if start not in parents else []
        parents.setdefault(start, ())
        while ahead:
            name = ahead.pop()
            for other in near[name]:
                if other not in parents:
                    parents[other] = (name,)
                    ahead.append(other)
    return {name: parents[name] for name in names}
