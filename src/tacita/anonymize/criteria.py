"""Criteria on the classes of a table, as functions of the table: k, l, t, alpha, presence, uniqueness.

Each takes counts of people, a row for each class and a column for each sensitive value, and says what holds for all
classes. `Conditions` are requested; `Achieved` was measured on values that are about to be released.

t-closeness uses one distance for all three of its kinds: the earth mover's distance on a tree,

    EMD(p, q) = sum over edges of length(edge) * |p(below edge) - q(below edge)|

with a path of m values and edges 1/(m-1) long for ordered values, a star with edges 1/2 for unordered ones, and the
hierarchy with edges 1/(2 * height) otherwise (then two leaves lie (height of their common ancestor)/height apart).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.hierarchy import Tree
from tacita.errors import InvalidInput

__all__ = [
    "Achieved",
    "Conditions",
    "Edges",
    "alpha_of",
    "closeness_of",
    "diversity_of",
    "edges_of",
    "uniqueness_of",
]

Counts = NDArray[np.int64]
Diversity = Literal["distinct", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]
TOLERANCE = 1e-9
"""Tolerance for sums of floats; counts are exact."""


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Conditions on every class.

    Attributes:
        k: Least people in a class.
        l: Least diversity of each sensitive attribute; 1 asks for none. A missing value counts towards none.
        l_kind: `distinct` values, `entropy` of at least log l, or `recursive`: r1 < c (rl + ... + rm).
        c: The constant of recursive diversity.
        t: Most distance of a sensitive attribute's shares in a class from those in the whole table.
        t_distance: `ordered` for numbers, dates and levels, `hierarchical` where there is a hierarchy and `equal`
            otherwise when it is None; or one of them for all.
        alpha: Most share of a single sensitive value in a class.
        presence: Least and most share of a class's people who are in the released part of the table.
    """

    k: int
    l: float = 1  # noqa: E741
    l_kind: Diversity = "distinct"
    c: float = 1.0
    t: float | None = None
    t_distance: Distance | None = None
    alpha: float | None = None
    presence: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if type(self.k) is not int or self.k < 1:
            raise InvalidInput("must be a whole number of 1 or more", field="k", value=self.k)
        if not 1 <= self.l < math.inf:
            raise InvalidInput("must be 1 or more", field="l", value=self.l)
        if self.l_kind not in ("distinct", "entropy", "recursive"):
            raise InvalidInput("must be distinct, entropy or recursive", field="l_kind", value=self.l_kind)
        if self.l_kind != "entropy" and not float(self.l).is_integer():
            raise InvalidInput("must be a whole number, except for entropy", field="l", value=self.l)
        if not 0 < self.c < math.inf:
            raise InvalidInput("must be positive and finite", field="c", value=self.c)
        if self.t is not None and not 0 <= self.t <= 1:
            raise InvalidInput("must lie between 0 and 1", field="t", value=self.t)
        if self.alpha is not None and not 0 < self.alpha <= 1:
            raise InvalidInput("must lie above 0 and not above 1", field="alpha", value=self.alpha)
        if self.presence is not None and not 0 <= self.presence[0] <= self.presence[1] <= 1:
            raise InvalidInput("must rise between 0 and 1", field="presence", value=self.presence)

    @property
    def about_values(self) -> bool:
        """Whether anything is asked of sensitive values."""
        return self.l > 1 or self.t is not None or self.alpha is not None

    def concerns(self, sensitive: Iterable[str], achieved: Achieved | None = None) -> tuple[str, ...]:
        """Sentences on sensitive attributes without a condition on their values.

        Args:
            sensitive: Names of the sensitive attributes that are released.
            achieved: Criteria measured on the rows, once there are any.
        """
        if self.about_values:
            return ()
        found = {} if achieved is None else achieved.l
        return tuple(
            f"{name} is sensitive and l is 1: k-anonymity alone does not protect it"
            + (f"; the least diverse class has {found[name]:.4g} distinct values" if name in found else "")
            + ". Ask for l of 2 or more, or for t"
            for name in sensitive
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain data, without what is not asked for."""
        asked: dict[str, Any] = {"k": self.k}
        if self.l > 1:
            asked |= {"l": self.l, "l_kind": self.l_kind}
            asked |= {"c": self.c} if self.l_kind == "recursive" else {}
        named = {"t": self.t, "t_distance": self.t_distance, "alpha": self.alpha, "presence": self.presence}
        return asked | {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class Achieved:
    """Criteria measured on the released values.

    Attributes:
        k: People in the smallest class; 0 when nothing is released.
        people: People in all.
        classes: Number of classes.
        unique: Classes of one.
        l: Diversity of each sensitive attribute, in the kind that was asked for: distinct values, exp of the entropy,
            or for recursive diversity the largest l that holds with the c that was asked for.
        t: Distance of each sensitive attribute.
        alpha: Largest share of a value, of each sensitive attribute.
        presence: Least and most presence, when it was asked for.
    """

    k: int
    people: int
    classes: int
    unique: int
    l: dict[str, float] = field(default_factory=dict)  # noqa: E741
    t: dict[str, float] = field(default_factory=dict)
    alpha: dict[str, float] = field(default_factory=dict)
    presence: tuple[float, float] | None = None

    def failures(self, asked: Conditions) -> list[str]:
        """Sentences on the conditions that do not hold; empty when all do. An empty release meets all conditions."""
        if self.classes == 0:
            return []
        wrong = [f"k is {self.k} and should be {asked.k}"] if self.k < asked.k else []
        for name, found in self.l.items():
            if asked.l > 1 and found < asked.l - TOLERANCE:
                wrong.append(f"l of {name} is {found:.4g} and should be {asked.l:g}")
        for name, found in self.t.items():
            if asked.t is not None and found > asked.t + TOLERANCE:
                wrong.append(f"t of {name} is {found:.4g} and should be {asked.t:g}")
        for name, found in self.alpha.items():
            if asked.alpha is not None and found > asked.alpha + TOLERANCE:
                wrong.append(f"alpha of {name} is {found:.4g} and should be {asked.alpha:g}")
        if asked.presence is not None and self.presence is not None:
            (low, high), (least, most) = asked.presence, self.presence
            if least < low - TOLERANCE or most > high + TOLERANCE:
                wrong.append(f"presence is {least:.4g} to {most:.4g} and should be {low:g} to {high:g}")
        return wrong

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        found = {"k": self.k, "people": self.people, "classes": self.classes, "unique": self.unique}
        more = {"l": self.l, "t": self.t, "alpha": self.alpha, "presence": self.presence}
        return found | {name: value for name, value in more.items() if value}


def uniqueness_of(sizes: Counts) -> int:
    """Classes of one person."""
    return int((sizes == 1).sum())


def diversity_of(counts: Counts, kind: Diversity = "distinct", c: float = 1.0) -> float:
    """The l of the least diverse class.

    `distinct`: values that occur. `entropy`: exp(-sum p log p). `recursive`: the largest l for which the most frequent
    value is rarer than c times all values from the l-th most frequent on; 0 when there is none.

    >>> counts = np.array([[4, 3, 2], [5, 5, 0]])
    >>> diversity_of(counts), round(diversity_of(counts, "entropy"), 6), diversity_of(counts, "recursive", c=2.0)
    (2.0, 2.0, 2.0)
    """
    if not len(counts):
        return math.inf
    if kind == "distinct":
        return float((counts > 0).sum(axis=1).min())
    if kind == "entropy":
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
        return float(np.exp(-(shares * logs).sum(axis=1)).min())
    falling = -np.sort(-counts, axis=1)
    tails = np.cumsum(falling[:, ::-1], axis=1)[:, ::-1]  # tails[:, i]: from the (i+1)-th most frequent on
    return float((falling[:, :1] < c * tails).sum(axis=1).min())


def alpha_of(counts: Counts) -> float:
    """The largest share of a value in a class."""
    if not len(counts):
        return 0.0
    return float((counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)).max())


@dataclass(frozen=True, kw_only=True, eq=False)
class Edges:
    """The edges of a tree metric over values: the values first[e]..last[e] lie below edge e."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    length: NDArray[np.float64]


def edges_of(values: int, distance: Distance, tree: Tree | None = None) -> Edges:
    """The edges that a distance means: see the top of this file."""
    every = np.arange(values)
    if distance == "ordered":
        return Edges(
            first=np.zeros(max(values - 1, 0), np.int64),
            last=every[:-1],
            length=np.full(max(values - 1, 0), 1 / max(values - 1, 1)),
        )
    if distance == "equal":
        return Edges(first=every, last=every, length=np.full(values, 0.5))
    if tree is None:
        raise InvalidInput("needs a hierarchy of the sensitive attribute", field="t_distance", value=distance)
    height = tree.levels - 1
    first, last = [], []
    for level in range(1, tree.levels):
        nodes = tree.ancestors[:, level]
        starts = np.flatnonzero(np.diff(nodes, prepend=-1))
        first.append(starts)
        last.append(np.append(starts[1:], values) - 1)
    ends = np.concatenate(first) if first else every[:0]
    return Edges(
        first=ends.astype(np.int64),
        last=(np.concatenate(last) if last else every[:0]).astype(np.int64),
        length=np.full(len(ends), 1 / max(2 * height, 1)),
    )


def closeness_of(counts: Counts, whole: Counts, edges: Edges) -> float:
    """The largest earth mover's distance of a class's shares from those of the whole table.

    >>> counts = np.array([[2, 0, 0], [0, 1, 1]])
    >>> closeness_of(counts, counts.sum(axis=0), edges_of(3, "ordered"))
    0.375
    """
    if not len(counts):
        return 0.0
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    surplus = shares - whole / max(int(whole.sum()), 1)
    below = np.zeros((len(counts), counts.shape[1] + 1))
    np.cumsum(surplus, axis=1, out=below[:, 1:])
    return float((np.abs(below[:, edges.last + 1] - below[:, edges.first]) @ edges.length).max())
