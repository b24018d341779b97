"""t-closeness [Li, Li, Venkatasubramanian 2007]: sensitive values of a class are spread as in the whole table.

All three kinds of distance are the earth mover's distance on a tree,

    EMD(p, q) = sum over edges of length(edge) * |p(below edge) - q(below edge)|

with a path of m values and edges 1/(m-1) long for ordered values, a star with edges 1/2 for unordered ones, and the
hierarchy with edges 1/(2 * height) otherwise (then two leaves lie (height of their common ancestor)/height apart).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.criteria.criterion import Classes, Criterion, Floats, Ints, Sensitive
from tacita.anonymize.parameters import described
from tacita.errors import InvalidInput

if TYPE_CHECKING:
    from tacita.anonymize.hierarchies.hierarchy import Tree

__all__ = ["Distance", "Edges", "TCloseness", "closeness_of", "edges_of"]

Distance = Literal["equal", "ordered", "hierarchical"]


@dataclass(frozen=True, kw_only=True)
class TCloseness(Criterion):
    """Distance of at most t. The distance follows the kind of attribute when it is not chosen."""

    name: ClassVar[str] = "t"
    title: ClassVar[str] = "t-closeness"
    measured: ClassVar[str] = "distance from the whole"
    always: ClassVar[bool] = True
    monotone: ClassVar[bool] = True

    t: float | None = field(
        default=None,
        metadata=described("Largest distance of a class's sensitive values from those of all rows.", ge=0, le=1),
    )
    t_distance: Distance | None = field(
        default=None, metadata=described("The distance; by the kind of attribute by default.")
    )

    def __post_init__(self) -> None:
        if self.t is not None and not 0 <= self.t <= 1:
            raise InvalidInput("must lie between 0 and 1", field="t", value=self.t)

    @property
    def words(self) -> str:
        """Clause on the request, for people who know no statistics."""
        return f"sensitive values of each group are at most {self.t:g} away from those of all (t)"

    def edges(self, attribute: Sensitive) -> Edges:
        """The metric of a sensitive attribute: the chosen one, or what its kind suggests."""
        return edges_of(len(attribute.whole), self.t_distance or attribute.kind, attribute.tree)

    def measure(self, classes: Classes) -> Floats:
        """The distance of each class."""
        return _distances(classes.values, classes.of.whole, self.edges(classes.of))

    def rules(self, attributes: Sequence[Sensitive]) -> Mapping[str, Any]:
        """The rule of compiled code."""
        edges = [self.edges(attribute) for attribute in attributes]
        return {
            "closeness": 1.0 if self.t is None else float(self.t),
            "edge_start": np.cumsum([0, *(len(part.first) for part in edges)]).astype(np.int64),
            "edge_first": np.concatenate([np.zeros(0, np.int64), *(part.first for part in edges)]).astype(np.int64),
            "edge_last": np.concatenate([np.zeros(0, np.int64), *(part.last for part in edges)]).astype(np.int64),
            "edge_length": np.concatenate([np.zeros(0), *(part.length for part in edges)]),
        }


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


def _distances(counts: Ints, whole: Ints, edges: Edges) -> Floats:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    surplus = shares - whole / max(int(whole.sum()), 1)
    below = np.zeros((len(counts), counts.shape[1] + 1))
    np.cumsum(surplus, axis=1, out=below[:, 1:])
    return np.asarray(np.abs(below[:, edges.last + 1] - below[:, edges.first]) @ edges.length)


def closeness_of(counts: Ints, whole: Ints, edges: Edges) -> float:
    """The largest earth mover's distance of a class's shares from those of the whole table.

    >>> counts = np.array([[2, 0, 0], [0, 1, 1]])
    >>> closeness_of(counts, counts.sum(axis=0), edges_of(3, "ordered"))
    0.375
    """
    return float(_distances(counts, whole, edges).max()) if len(counts) else 0.0
