"""Value trees: what a value may be generalised to, level by level, up to one root.

All leaves have the same number of levels above them; a branch that ends early repeats its leaf. A value that is missing
hangs from the root, unless the tree has a leaf for it. Level 0 are the leaves, the highest level is the root.

Files are read by `reading`, rules that make a tree of any values are in `rules`, `building` makes one of a schema, and
`preview` says what each level loses.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.anonymize.hierarchies.faults import cover_faults, path_faults, refuse
from tacita.common.whole import write_text
from tacita.domain import Attribute
from tacita.errors import InvalidInput
from tacita.tables.recoding.axis import MISSING, Axis

__all__ = ["ROOT", "Hierarchy", "Tree", "TreeMaker"]

ROOT = "*"
Paths = tuple[tuple[str, ...], ...]


class TreeMaker(Protocol):
    """Object that gives a hierarchy of the values of an axis."""

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """The hierarchy that the values of an axis belong to."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """A hierarchy over the codes of an axis that is sorted by it, so that below each node lie neighbouring codes.

    Attributes:
        ancestors: For each code its node on each level, the root first and the leaf last.
        leaves: Number of leaves below each node, also those that do not occur.
        labels: The text of each node.
    """

    ancestors: NDArray[np.int32]
    leaves: NDArray[np.int64]
    labels: tuple[str, ...]

    @property
    def levels(self) -> int:
        """Levels, root and leaves included."""
        return int(self.ancestors.shape[1])

    def common(self, low: NDArray[np.integer[Any]], high: NDArray[np.integer[Any]]) -> NDArray[np.int32]:
        """The lowest node above all codes from `low` to `high`, elementwise."""
        same = self.ancestors[low] == self.ancestors[high]
        level = np.logical_and.accumulate(same, axis=-1).sum(axis=-1) - 1
        return np.asarray(np.take_along_axis(self.ancestors[low], level[..., None], axis=-1)[..., 0])

    def loss(self, node: NDArray[np.int32]) -> NDArray[np.float64]:
        """(leaves below it - 1) / (all leaves - 1): 0 for a leaf, 1 for the root."""
        every = int(self.leaves.max(initial=1))
        return np.asarray((self.leaves[node] - 1) / max(every - 1, 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """A tree of texts.

    Attributes:
        name: Its name; shown in errors.
        paths: For each leaf the way from the root to it, all of the same length, neighbours side by side.
    """

    name: str
    paths: Paths

    def __post_init__(self) -> None:
        refuse(self.name, path_faults(self.paths))
        object.__setattr__(self, "paths", tuple(sorted(self.paths, key=self._sorted_by)))

    def _sorted_by(self, path: tuple[str, ...]) -> tuple[int, ...]:
        return tuple(self._first[level, label] for level, label in enumerate(path))

    @cached_property
    def _first(self) -> dict[tuple[int, str], int]:
        """First index of each node: branches keep the order they were written in."""
        first: dict[tuple[int, str], int] = {}
        for place, path in enumerate(self.paths):
            for level, label in enumerate(path):
                first.setdefault((level, label), place)
        return first

    @property
    def leaves(self) -> tuple[str, ...]:
        """The leaves, from the first branch to the last."""
        return tuple(path[-1] for path in self.paths)

    @property
    def levels(self) -> int:
        """Levels, root and leaves included."""
        return len(self.paths[0])

    # -- making ---------------------------------------------------------------------------------------------------

    @classmethod
    def from_rows(cls, name: str, rows: Iterable[Sequence[str]]) -> Hierarchy:
        """From lists that begin with a leaf and end with the root.

        >>> Hierarchy.from_rows("pet", [["cat", "mammal", "*"], ["dog", "mammal", "*"], ["eel", "fish", "*"]]).levels
        3
        """
        return cls(name=name, paths=tuple(tuple(str(part) for part in reversed(row)) for row in rows if row))

    @classmethod
    def from_parents(cls, name: str, parents: Mapping[str, str]) -> Hierarchy:
        """From the parent of each value; the one that has none is the root."""
        inner = set(parents.values())
        ways = []
        for leaf in parents:
            if leaf in inner:
                continue
            ways.append(_climb(name, leaf, parents))
        if not ways:
            raise InvalidInput("goes round in a circle", field=name, value=next(iter(parents), None))
        for node in inner:  # a circle that no leaf leads to
            _climb(name, node, parents)
        return cls(name=name, paths=_padded(ways))

    @classmethod
    def from_tree(cls, name: str, tree: Any) -> Hierarchy:
        """From nested mappings and lists, the root first: {root: {branch: [leaf, leaf]}}."""
        return cls(name=name, paths=_padded(list(_walk(name, tree, ()))))

    @classmethod
    def from_dict(cls, name: str, data: Any) -> Hierarchy:
        """From plain data: a list of rows, or a mapping with `rows`, `tree` or `parents`."""
        if isinstance(data, list):
            return cls.from_rows(name, data)
        if isinstance(data, Mapping) and len(data) == 1:
            ((form, content),) = data.items()
            makers: dict[str, Any] = {"rows": cls.from_rows, "tree": cls.from_tree, "parents": cls.from_parents}
            if form in makers:
                made: Hierarchy = makers[form](name, content)
                return made
        raise InvalidInput("must be a list of rows, or one of rows, tree or parents", field=name)

    # -- plain data -----------------------------------------------------------------------------------------------

    @property
    def rows(self) -> list[list[str]]:
        """Lists that begin with a leaf and end with the root: what `from_rows` and REST policies take."""
        return [list(reversed(path)) for path in self.paths]

    def to_csv(self) -> str:
        """One line for each leaf: leaf;level 1;...;root."""
        text = io.StringIO()
        csv.writer(text, delimiter=";", lineterminator="\n").writerows(self.rows)
        return text.getvalue()

    def write(self, path: str | Path) -> None:
        """Write a CSV file that `reading.read_hierarchy` reads."""
        write_text(path, self.to_csv())

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its lines: two hierarchies with the same digest are the same."""
        return hashlib.sha256(self.to_csv().encode()).hexdigest()

    # -- use ------------------------------------------------------------------------------------------------------

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """Itself: it does not depend on what occurs."""
        return self

    def check(self, attribute: Attribute) -> None:
        """Refuse it if a declared level has no leaf; names all such levels, and leaves that are probably misspelt."""
        levels: Sequence[str] = getattr(attribute, "levels", ())
        refuse(attribute.name, cover_faults(self.leaves, levels), hint="Add a line for each level")

    def over(self, axis: Axis) -> Tree:
        """The tree over the values of an axis; the axis must be in the order of the leaves (`order_of`)."""
        paths = {path[-1]: path for path in self._with_missing(axis)}
        absent = [text for text in axis.texts if text not in paths]
        if absent:
            raise InvalidInput(
                f"the hierarchy {self.name!r} does not cover {len(absent)} of its values",
                field=axis.name,
                hint="Add a leaf for each value that occurs",
            )
        nodes: dict[tuple[int, str], int] = {}
        for path in paths.values():
            for level, label in enumerate(path):
                nodes.setdefault((level, label), len(nodes))
        counts = np.zeros(len(nodes), np.int64)
        for path in paths.values():
            for level, label in enumerate(path):
                counts[nodes[level, label]] += 1
        ancestors = [[nodes[level, label] for level, label in enumerate(paths[text])] for text in axis.texts]
        table = np.array(ancestors, np.int32).reshape(len(axis), self.levels)
        return Tree(ancestors=table, leaves=counts, labels=tuple(label for _, label in nodes))

    def order_of(self, axis: Axis) -> list[Any]:
        """The values of an axis in the order of the leaves."""
        place = {path[-1]: number for number, path in enumerate(self._with_missing(axis))}
        return sorted(axis.keys, key=lambda key: place.get(axis._text(key), len(place)))

    def _with_missing(self, axis: Axis) -> Paths:
        if not axis.has_missing or MISSING in self.leaves:
            return self.paths
        return ((self.paths[0][0], *(MISSING,) * (self.levels - 1)), *self.paths)


def _climb(name: str, leaf: str, parents: Mapping[str, str]) -> tuple[str, ...]:
    way = [leaf]
    while way[-1] in parents:
        above = parents[way[-1]]
        if above in way:
            raise InvalidInput("goes round in a circle", field=name, value=above)
        way.append(above)
    return tuple(str(part) for part in reversed(way))


def _walk(name: str, tree: Any, above: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    if isinstance(tree, Mapping):
        for label, below in tree.items():
            yield from _walk(name, below, (*above, str(label)))
    elif isinstance(tree, list):
        for part in tree:
            yield from _walk(name, part, above)
    elif tree is None:
        yield above
    else:
        yield (*above, str(tree))


def _padded(ways: list[tuple[str, ...]]) -> Paths:
    longest = max((len(way) for way in ways), default=0)
    return tuple(way + (way[-1],) * (longest - len(way)) for way in ways)
