"""Value trees: what a value may be generalised to, level by level, up to one root.

Three forms are read (`Hierarchy.read`, by the ending of the file):

    CSV     one line for each leaf: leaf;level 1;...;root
    YAML    rows: the same as lists;  tree: nested, root first;  parents: child: parent

and three are built over the values that occur: `Intervals` of numbers, `Periods` of dates, `Prefixes` of texts. All
leaves have the same number of levels above them; a branch that ends early repeats its leaf. A value that is missing
hangs from the root, unless the tree has a leaf for it.
"""

from __future__ import annotations

import csv
import datetime as dt
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tacita.common.yaml_text import load_yaml
from tacita.errors import InvalidInput
from tacita.tables.recoding.axis import EPOCH, MISSING, Axis

__all__ = ["Hierarchy", "Intervals", "Periods", "Prefixes", "Tree", "TreeMaker"]

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
        if not self.paths:
            raise InvalidInput("has no leaves", field=self.name)
        lengths = {len(path) for path in self.paths}
        if len(lengths) != 1:
            raise InvalidInput("every leaf must have all levels", field=self.name, value=sorted(lengths))
        roots = sorted({path[0] for path in self.paths})
        if len(roots) != 1:
            raise InvalidInput("must end in one root", field=self.name, value=", ".join(roots))
        parent: dict[tuple[int, str], str] = {}
        for path in self.paths:
            for level, (above, below) in enumerate(itertools.pairwise(path), start=1):
                if parent.setdefault((level, below), above) != above:
                    rule = f"{below!r} stands below both {parent[level, below]!r} and {above!r}"
                    raise InvalidInput(rule, field=self.name)
        leaves = [path[-1] for path in self.paths]
        if len(set(leaves)) != len(leaves):
            twice = next(leaf for leaf in leaves if leaves.count(leaf) > 1)
            raise InvalidInput("a leaf is there twice", field=self.name, value=twice)
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

    @classmethod
    def read(cls, path: str | Path) -> Hierarchy:
        """From a CSV file (`;` or `,` between levels) or a YAML file; named after the file."""
        file = Path(path)
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise InvalidInput("cannot be read as UTF-8 text", field="hierarchy", value=file) from None
        if file.suffix.lower() in (".yaml", ".yml", ".json"):
            return cls.from_dict(file.stem, load_yaml(text, field=f"hierarchy {file.name}"))
        between = ";" if ";" in text else ","
        return cls.from_rows(file.stem, list(csv.reader(text.splitlines(), delimiter=between)))

    # -- use ------------------------------------------------------------------------------------------------------

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """Itself: it does not depend on what occurs."""
        return self

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


# -- built over the values that occur ------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Intervals of numbers, each level as many times wider as it says.

    Args:
        widths: From the narrowest to the widest; each must hold whole intervals of the one before.
        origin: Where an interval begins.
        bounds: All whole numbers from one to the other are leaves, whether they occur or not; by default only those
            that occur are.
    """

    widths: tuple[float, ...]
    origin: float = 0
    bounds: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not self.widths or any(width <= 0 for width in self.widths):
            raise InvalidInput("must be positive, at least one", field="widths", value=self.widths)
        if any(wide <= narrow or wide % narrow for narrow, wide in itertools.pairwise(self.widths)):
            raise InvalidInput("each must hold whole intervals of the one before", field="widths", value=self.widths)

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """The hierarchy of the numbers of an axis."""
        if axis.kind != "number":
            raise InvalidInput("intervals are for numbers", field=axis.name, value=axis.kind)
        keys = [key for key in axis.keys if key is not None]
        if self.bounds is not None:
            keys = sorted({*keys, *range(self.bounds[0], self.bounds[1] + 1)})
        whole = all(isinstance(key, int) for key in keys) and all(float(w).is_integer() for w in self.widths)
        rows = [[str(key), *(self._label(float(key), width, whole) for width in self.widths), ROOT] for key in keys]
        return Hierarchy.from_rows(axis.name, rows or [[MISSING, *[MISSING] * len(self.widths), ROOT]])

    def _label(self, value: float, width: float, whole: bool) -> str:
        low = self.origin + (value - self.origin) // width * width
        if whole:
            return f"{int(low)}..{int(low + width - 1)}"
        return f"[{low:.17g}, {low + width:.17g})"  # all digits: two intervals must not share a name


@dataclass(frozen=True, kw_only=True)
class Periods:
    """Periods of dates, from the shortest to the longest."""

    by: tuple[Literal["week", "month", "quarter", "year"], ...] = ("month", "year")

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """The hierarchy of the dates of an axis."""
        if axis.kind != "date":
            raise InvalidInput("periods are for dates", field=axis.name, value=axis.kind)
        days = [EPOCH + dt.timedelta(days=int(key)) for key in axis.keys if key is not None]
        rows = [[day.isoformat(), *(_period(part, day) for part in self.by), ROOT] for day in days]
        return Hierarchy.from_rows(axis.name, rows or [[MISSING, *[MISSING] * len(self.by), ROOT]])


def _period(by: str, day: dt.date) -> str:
    if by == "week":
        return "{}-W{:02d}".format(*day.isocalendar()[:2])
    if by == "month":
        return f"{day:%Y-%m}"
    return f"{day.year}-Q{(day.month + 2) // 3}" if by == "quarter" else f"{day.year}"


@dataclass(frozen=True, kw_only=True)
class Prefixes:
    """The first letters of a text, from more to fewer; the rest is shown as `*`.

    >>> Prefixes(keep=(3, 1)).hierarchy(Axis(name="zip", kind="set", keys=("10115", "10117"))).paths[0]
    ('*', '1****', '101**', '10115')
    """

    keep: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.keep or any(a <= b for a, b in itertools.pairwise(self.keep)) or self.keep[-1] < 1:
            raise InvalidInput("must fall and be positive", field="keep", value=self.keep)

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """The hierarchy of the texts of an axis."""
        texts = [axis._text(key) for key in axis.keys if key is not None]
        rows = [[text, *(text[:n] + "*" * max(len(text) - n, 0) for n in self.keep), ROOT] for text in texts]
        return Hierarchy.from_rows(axis.name, rows or [[MISSING, *[MISSING] * len(self.keep), ROOT]])
