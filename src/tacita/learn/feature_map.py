"""Rows as numbers that a model can take, by public rules alone.

    number     between its bounds, from -1 to 1                            one column
               by the bins of the schema, where `coded`: as levels         one column for each bin
               by `nodes` at equal distances: shares of the two next to    one column for each node
               it, so that the model is a line from node to node
    levels     1 for the level that it is, 0 for the others                one column for each level
    target     from -1 to 1: a number between its bounds, or one of two levels; with several classes, the code

A block is the columns of one attribute. Whatever the row, the absolute values of a block add up to at most 1: that is
what all sensitivities in this package are made of.

Privacy:  bounds and levels come from the schema, never from rows. A value beyond the bounds is moved to them, or its
          row is left out, as `outside` says; either way the number of such rows is released only with noise.
          Claim: docs/claims/private-regression.md
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacita.domain import Boolean, Date, Domain, Numeric
from tacita.engines.base import Engine
from tacita.errors import InvalidInput
from tacita.privacy.unit import Unit
from tacita.query.counted import counted_rows, fold_counted
from tacita.query.numbers import Measurable, bounds_of, measurable, numbers

__all__ = ["Array", "FeatureMap", "Outside", "PointRows", "Points", "Task", "add_up"]

_T = TypeVar("_T")

Array = npt.NDArray[np.float64]
Task = Literal["linear", "logistic", "classes"]
Outside = Literal["clip", "leave-out"]
_EPOCH = date(1970, 1, 1)
_MOST_NODES = 1000
_SLACK = 1e-9  # of the range: what the ends may be missed by without counting as outside


@dataclass(frozen=True, kw_only=True, eq=False)
class Points:
    """Rows of features and targets, all from -1 to 1. Exact: for mechanisms only.

    Attributes:
        x: One row of columns for each row that counts.
        y: Its target.
        outside: Number of rows with a value beyond the bounds.
    """

    x: Array = field(repr=False)
    y: Array = field(repr=False)
    outside: int

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, kw_only=True)
class FeatureMap:
    """Map from attributes to columns, and the target.

    Args:
        domain: Public description of the data.
        features: Attributes to predict from.
        target: Attribute to predict.
        task: A number by a line, one of two levels by its odds, or one of several classes.
        outside: Treatment of a row with a number beyond the bounds.
        coded: Whether numbers and dates among the features are taken by their bins, as levels are. A row without a
            number then counts, as one without a level does.
        nodes: The same by so many nodes between the bounds; 0 for none.
    """

    domain: Domain = field(repr=False)
    features: tuple[str, ...]
    target: str
    task: Task = "linear"
    outside: Outside = "clip"
    coded: bool = False
    nodes: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))
        if not self.features or len(set(self.features)) != len(self.features) or self.target in self.features:
            raise InvalidInput(
                "must be distinct, at least one, none of them the target", field="features", value=list(self.features)
            )
        if self.task not in get_args(Task):
            raise InvalidInput("must be linear, logistic or classes", field="task", value=self.task)
        if self.outside not in ("clip", "leave-out"):
            raise InvalidInput("must be clip or leave-out", field="outside", value=self.outside)
        if type(self.nodes) is not int or not (self.nodes == 0 or 2 <= self.nodes <= _MOST_NODES):
            raise InvalidInput(f"must be 0, or from 2 to {_MOST_NODES}", field="nodes", value=self.nodes)
        if self.nodes and self.coded:
            raise InvalidInput("takes numbers by nodes or by bins, not by both", field="nodes", value=self.nodes)
        self.domain.check_countable((*self.features, self.target))
        for name in self.features:
            if self._is_line(name) or self._has_nodes(name):
                measurable(self.domain, name)
        if self.task == "linear":
            measurable(self.domain, self.target)
        elif self.task == "logistic" and len(self.domain[self.target].labels) != 2:
            raise InvalidInput(
                "must have two levels", field="target", value=self.target, hint="For more classes, grow a tree"
            )

    def _is_line(self, name: str) -> bool:
        """Whether a feature is one column, from -1 to 1."""
        attribute = self.domain[name]
        whole = not (self.coded or self.nodes)
        return isinstance(attribute, Boolean) or (isinstance(attribute, Numeric | Date) and whole)

    def _has_nodes(self, name: str) -> bool:
        """Whether a feature has a column for each node."""
        return self.nodes > 0 and isinstance(self.domain[name], Numeric | Date)

    def _width(self, name: str) -> int:
        """Columns of a feature."""
        return 1 if self._is_line(name) else self.nodes if self._has_nodes(name) else self.domain[name].size

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Columns of each feature."""
        return tuple(self._width(name) for name in self.features)

    @property
    def columns(self) -> int:
        """Columns of all features."""
        return sum(self.widths)

    @property
    def blocks(self) -> int:
        """Features: each adds at most 1 to the sum of absolute values of a row."""
        return len(self.features)

    @cached_property
    def owners(self) -> npt.NDArray[np.int64]:
        """The feature of each column, by its place."""
        return np.repeat(np.arange(self.blocks), self.widths)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A name for each column: the feature, and the level where it has levels."""
        found: list[str] = []
        for name in self.features:
            if self._is_line(name):
                found.append(name)
            else:
                labels = self._nodes_of(name) if self._has_nodes(name) else self.domain[name].all_labels
                found += [f"{name}={label}" for label in labels]
        return tuple(found)

    def _nodes_of(self, name: str) -> list[str]:
        """Return the places of the nodes of a feature, in its units."""
        places = np.linspace(*bounds_of(measurable(self.domain, name)), self.nodes).tolist()
        if isinstance(self.domain[name], Date):
            return [str(_EPOCH + timedelta(days=place)) for place in places]
        return [f"{place:.10g}" for place in places]

    @cached_property
    def ends(self) -> Array:
        """Public bounds of each column; -1 and 1 for a level."""
        parts: list[tuple[float, float]] = []
        for name, width in zip(self.features, self.widths, strict=True):
            parts += [bounds_of(measurable(self.domain, name))] if self._is_line(name) else [(-1.0, 1.0)] * width
        return np.array(parts)

    @property
    def target_ends(self) -> tuple[float, float]:
        """Public bounds of the target; -1 and 1 for levels."""
        return bounds_of(measurable(self.domain, self.target)) if self.task == "linear" else (-1.0, 1.0)

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns that have to be read."""
        return (*self.features, self.target)

    # -- reading ----------------------------------------------------------------------------------------------------

    def read(self, engine: Engine, unit: Unit) -> PointRows:
        """The rows that count, batch by batch; sensitive."""
        return PointRows(design=self, engine=engine, unit=unit)

    def points(self, batch: pa.RecordBatch | pa.Table) -> Points:
        """One batch: rows without a number or a target are left out."""
        x, beyond = self.matrix(batch)
        y, y_beyond = self.targets(batch)
        known = ~np.isnan(x).any(axis=1) & ~np.isnan(y)
        outside = (beyond | y_beyond) & known
        if self.outside == "leave-out":
            known &= ~outside
        return Points(x=x[known], y=y[known], outside=int(outside.sum()))

    def matrix(self, batch: pa.RecordBatch | pa.Table) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Columns of all rows, NaN where a number is missing, and which rows lie beyond the bounds."""
        parts, beyond = [], np.zeros(batch.num_rows, np.bool_)
        for name in self.features:
            attribute = self.domain[name]
            values = batch.column(name)
            if self._is_line(name):
                place, out = self._place(name, values)
                parts.append(place[:, None])
                beyond |= out
            elif self._has_nodes(name):
                place, out = self._place(name, values)
                parts.append(_shares(place, self.nodes))
                beyond |= out
            else:
                rows = _only(batch, name)
                if isinstance(attribute, Numeric):
                    place, out = self._place(name, values)
                    rows = pa.table({name: self._moved(attribute, place)})
                    beyond |= out
                codes = self.domain.encode(rows, [name])[name].astype(np.int64)
                # a value without a place has no level: all zeros, which the bound allows
                parts.append(np.eye(attribute.size + 1)[codes][:, :-1])
        return np.concatenate(parts, axis=1), beyond

    def targets(self, batch: pa.RecordBatch | pa.Table) -> tuple[Array, npt.NDArray[np.bool_]]:
        """The target of all rows, NaN where it is missing, and which rows lie beyond its bounds."""
        if self.task == "linear":
            return self._place(self.target, batch.column(self.target))
        codes = self.domain.encode(_only(batch, self.target), [self.target])[self.target].astype(np.int64)
        if self.task == "classes":
            places = np.where(codes < self.domain[self.target].size, codes.astype(float), np.nan)
        else:
            places = np.where(codes < 2, 2.0 * codes - 1.0, np.nan)
        return places, np.zeros(len(codes), np.bool_)

    def _place(self, name: str, values: Any) -> tuple[Array, npt.NDArray[np.bool_]]:
        attribute = measurable(self.domain, name)
        low, high = bounds_of(attribute)
        line = numbers(attribute, values, self.domain.nulls)
        place = np.clip(2 * (line - low) / (high - low) - 1, -1, 1)
        return place, _beyond(attribute, values, self.domain.nulls, line)

    @staticmethod
    def _moved(attribute: Numeric, place: Array) -> pa.Array:
        """Numbers in units again, inside the bounds: so that each has a bin."""
        low, high = attribute.bounds
        line = np.clip(low + (place + 1) / 2 * (high - low), low, high)
        return pa.array(np.rint(line) if attribute.integer else line, mask=np.isnan(place))

    # -- plain data -------------------------------------------------------------------------------------------------

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with the part of the schema that it needs."""
        return {
            "domain": self.domain.project(self.needed).as_dict(),
            "features": list(self.features),
            "target": self.target,
            "task": self.task,
            "outside": self.outside,
            **({"coded": True} if self.coded else {}),
            **({"nodes": self.nodes} if self.nodes else {}),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FeatureMap:
        """The design that `as_dict` wrote."""
        rest = {name: value for name, value in data.items() if name != "domain"}
        return cls(domain=Domain.from_dict(data["domain"]), **rest | {"features": tuple(rest["features"])})


@dataclass(frozen=True, kw_only=True, eq=False)
class PointRows:
    """The rows that count, read when they are iterated over; sums of them are computed where they are (`add_up`).

    `mapped` is applied to each batch.
    """

    design: FeatureMap
    engine: Engine = field(repr=False)
    unit: Unit
    mapped: Callable[[Points], Points] | None = None

    def __iter__(self) -> Iterator[Points]:
        """Read them here."""
        yield from _Points(self.design, self.mapped)(counted_rows(self.engine, self.design.needed, self.unit))

    def map(self, change: Callable[[Points], Points]) -> PointRows:
        """The same with each batch changed; once."""
        return replace(self, mapped=change)

    def add_up(self, task: Callable[[Iterable[Points]], _T]) -> _T:
        """Return what a task answers about all of them; its answers about parts of them are added up."""
        work = _OfPoints(_Points(self.design, self.mapped), task)
        found: _T = fold_counted(self.engine, work, self.design.needed, self.unit)
        return found


@dataclass(frozen=True)
class _Points:
    design: FeatureMap
    mapped: Callable[[Points], Points] | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Points]:
        for batch in batches:
            points = self.design.points(batch)
            yield points if self.mapped is None else self.mapped(points)


@dataclass(frozen=True)
class _OfPoints:
    points: _Points
    task: Callable[[Iterable[Points]], Any]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Any:
        return self.task(self.points(batches))


def add_up(batches: Iterable[Points], task: Callable[[Iterable[Points]], _T]) -> _T:
    """Return what a task answers about rows whose answers are additive: where the rows are, if that is known."""
    return batches.add_up(task) if isinstance(batches, PointRows) else task(batches)


def _shares(places: Array, nodes: int) -> Array:
    """Shares of nodes from -1 to 1 that give each place: of two neighbours, adding up to 1; zeros where it is NaN."""
    steps = np.nan_to_num((places + 1) / 2) * (nodes - 1)
    below = np.minimum(steps.astype(np.int64), nodes - 2)
    found, rows = np.zeros((len(places), nodes)), np.arange(len(places))
    found[rows, below] = 1 - (steps - below)
    found[rows, below + 1] = steps - below
    found[np.isnan(places)] = 0
    return found


def _only(batch: pa.RecordBatch | pa.Table, name: str) -> pa.Table:
    return pa.table({name: batch.column(name)})


def _beyond(attribute: Measurable, values: Any, nulls: Sequence[str], clipped: Array) -> npt.NDArray[np.bool_]:
    """Values beyond the bounds: those that wider bounds would map to another number."""
    if not isinstance(attribute, Numeric):
        return np.zeros(len(clipped), np.bool_)
    low, high = attribute.bounds
    wide = Numeric(name=attribute.name, bounds=(-_far(low), _far(high)), bins=1, missing=True, other=True)
    return np.asarray(np.abs(numbers(wide, values, tuple(nulls)) - clipped) > _SLACK * (high - low) + attribute.integer)


def _far(end: float) -> float:
    return 2.0 ** (math.ceil(math.log2(abs(end) + 1)) + 60)
