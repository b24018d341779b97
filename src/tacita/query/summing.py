"""Exact sums of the rows that count, by group: one pass over the data.

Counts of rows alone are counted where the data lies, and an engine that adds up (`Adds`) is asked for the sums;
otherwise rows are streamed. All ways give the same integers. Distinct persons and private keys need all rows at once,
so that their cells and numbers are held in memory; the sums of a key are computed only after it was chosen.

Privacy: none; everything here is exact, and only noise leaves it (`aggregates`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacita.domain import Domain
from tacita.engines.adding import Sums
from tacita.engines.base import Adds, Engine, Folds
from tacita.engines.local.bound import key_texts
from tacita.noise import Source
from tacita.privacy.partitions import KeySelection
from tacita.query.counted import counted_rows, fold_counted
from tacita.query.derived import Derived
from tacita.query.measures import Integers, Measure, Persons
from tacita.query.numbers import Array, Measurable, measurable, numbers, presence
from tacita.query.pushed import PushedPlan, PushedRecipe, add_groups, build_request, read_as, split_where
from tacita.query.where import Where
from tacita.tables.workload import Workload

__all__ = ["Gathered", "KeyedSums", "exact_sums", "gather", "request_of"]

_WIDEST = 64
"""Sums of a key in a group that are held for every key that occurs."""


class _Recipe(PushedRecipe, Protocol):
    @property
    def keys(self) -> tuple[str, ...]: ...
    @property
    def where(self) -> Where: ...
    @property
    def derived(self) -> tuple[Derived, ...]: ...


class _Plan(PushedPlan, Protocol):
    @property
    def recipe(self) -> _Recipe: ...
    @property
    def grouped(self) -> Domain | None: ...
    @property
    def groups(self) -> int: ...


def exact_sums(plan: _Plan, engine: Engine) -> list[Integers]:
    """Exact sums of every measure over public groups; sensitive."""
    distinct = [isinstance(measure, Persons) for measure in plan.measures]
    totals = [np.zeros((plan.groups, measure.width), np.int64) for measure in plan.measures]
    if not any(distinct) and all(measure.column is None for measure in plan.measures):
        _from_table(plan, engine, totals)
        return totals
    if (added := _add_up(plan, engine)) is not None:
        return added
    # all rows of a person are in one part, so that numbers of distinct persons are added up too
    return fold_counted(
        engine, _SumRows(plan, any(distinct)), _columns(plan, _texts(plan) if any(distinct) else ()), plan.unit
    ).totals


@dataclass(frozen=True, eq=False)
class _Sums:
    """Exact sums over some rows."""

    totals: list[Integers]

    def __add__(self, other: _Sums) -> _Sums:
        """Add those of other rows."""
        return _Sums([one + more for one, more in zip(self.totals, other.totals, strict=True)])


@dataclass(frozen=True)
class _SumRows:
    """Sums of every measure; `distinct` where persons are counted."""

    plan: _Plan
    distinct: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> _Sums:
        """Sum up rows."""
        plan = self.plan
        if self.distinct:
            return _Sums(_gather(plan, batches).sums(None))
        totals = [np.zeros((plan.groups, measure.width), np.int64) for measure in plan.measures]
        for rows in _read(plan, batches):
            for total, measure in zip(totals, plan.measures, strict=True):
                np.add(total, measure.sums(plan.groups, rows.cells, rows.values(measure)[rows.keep]), out=total)
        return _Sums(totals)


def _from_table(plan: _Plan, engine: Engine, totals: list[Integers]) -> None:
    names = _coded(plan)
    codes, counts = engine.tables(Workload.of(names), plan.unit)[names].nonzero()
    rows = _Rows(plan=plan, codes=dict(zip(names, codes.T, strict=True)), count=len(counts))
    found = np.bincount(rows.cells, weights=counts[rows.keep], minlength=plan.groups)
    for total, measure in zip(totals, plan.measures, strict=True):
        total[:, 0] += np.rint(found).astype(np.int64) * measure.steps


def request_of(plan: _Plan) -> Sums | None:
    """Return the request to an engine that adds up; None if rows are streamed."""
    only, rest = split_where(plan.recipe.where)
    return build_request(plan, only, _coded(plan, rest), _columns(plan))


def _add_up(plan: _Plan, engine: Engine) -> list[Integers] | None:
    """Sums that the engine adds up; None if it cannot."""
    request = request_of(plan) if isinstance(engine, Adds) else None
    added = engine.sums(request) if isinstance(engine, Adds) and request is not None else None
    if request is None or added is None:
        return None
    names, (_, rest) = request.names, split_where(plan.recipe.where)

    def place(codes: Integers) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        columns = dict(zip(names, codes.T, strict=True))
        rows = _Rows(plan=plan, codes=columns, count=len(codes), where=rest)
        return rows.keep, rows.cells

    totals = [np.zeros((plan.groups, measure.width), np.int64) for measure in plan.measures]
    add_groups(plan, request, added, totals, place)
    return totals


def _coded(plan: _Plan, where: Where | None = None) -> tuple[str, ...]:
    """Attributes that decide which rows are counted, and where."""
    made = {each.name: each.of for each in plan.recipe.derived}
    by = [part for name in plan.recipe.by for part in made.get(name, (name,))]
    return tuple(dict.fromkeys((*by, *(where or plan.recipe.where).attributes)))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rows:
    """A batch of rows: codes, and numbers where a measure needs them."""

    plan: _Plan
    codes: Mapping[str, npt.NDArray[Any]]
    count: int
    batch: pa.RecordBatch | None = None
    where: Where | None = None
    """The conditions that are left to check; all of them if not given."""
    _known: dict[str, Array] = field(default_factory=dict)

    @cached_property
    def _placed(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.int64]]:
        plan, where = self.plan, self.where or self.plan.recipe.where
        keep = where.holds(self.codes, self.count)
        for name in _coded(plan, where):
            keep &= self.codes[name] < plan.domain[name].size
        made = {each.name: each for each in plan.recipe.derived}
        cells = np.zeros(self.count, np.int64)
        for attribute in plan.grouped.attributes if plan.grouped is not None else ():
            each = made.get(attribute.name)
            codes = self.codes[attribute.name] if each is None else each.encode(self.codes, self.count)
            keep &= codes < attribute.size
            cells = cells * attribute.size + codes
        return keep, cells[keep]

    @property
    def keep(self) -> npt.NDArray[np.bool_]:
        """Rows of the query; without those that are out of domain in an attribute that decides."""
        return self._placed[0]

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """Group of each row that is kept."""
        return self._placed[1]

    def numbers(self, column: str) -> Array:
        """Numbers of a column within the schema's bounds."""
        if column not in self._known:
            assert self.batch is not None
            domain = self.plan.domain
            self._known[column] = numbers(measurable(domain, column), self.batch.column(column), domain.nulls)
        return self._known[column]

    def values(self, measure: Measure) -> Array:
        """Numbers that a measure adds up; zeros where it counts rows."""
        column = measure.column
        if column is None:
            return np.zeros(self.count)
        made = next((each for each in self.plan.recipe.computed if each.name == column), None)
        if made is not None:
            with np.errstate(
                all="ignore"
            ):  # a warning would reveal that a row is there, even one that WHERE leaves out
                return made.of.evaluate(self)
        assert self.batch is not None
        attribute = read_as(self.plan.domain, measure)
        if not isinstance(attribute, Measurable):
            return presence(attribute, self.batch.column(column), self.plan.domain.nulls)
        if attribute == self.plan.domain[column]:
            return self.numbers(column)
        return numbers(attribute, self.batch.column(column), self.plan.domain.nulls)


def _encoded(plan: _Plan) -> tuple[str, ...]:
    """Columns that are read as codes."""
    made = {each.name: each.of for each in plan.recipe.computed}
    wanted = [measure.column for measure in plan.measures if measure.column in made]
    return tuple(dict.fromkeys((*_coded(plan), *(name for each in wanted for name in made[str(each)].coded))))


def _columns(plan: _Plan, more: tuple[str, ...] = ()) -> list[str]:
    """Columns that are read, in this order, by which equal rows of a person are chosen."""
    made = {each.name: each.of for each in plan.recipe.computed}
    wanted = [measure.column for measure in plan.measures if measure.column is not None]
    plain = [name for name in wanted if name not in made]
    read = [name for name in wanted if name in made for name in made[name].columns]
    columns = dict.fromkeys((*_encoded(plan), *plain, *read, *more))
    return list(columns or dict.fromkeys(plan.domain.names[:1]))  # rows are counted by any column


def _texts(plan: _Plan) -> tuple[str, ...]:
    """Columns that are read as texts: private keys, and the person."""
    person = plan.unit.person
    return (*plan.recipe.keys, *([person] if person else []))


def _read(plan: _Plan, batches: Iterable[pa.RecordBatch]) -> Iterator[_Rows]:
    coded = _encoded(plan)
    for batch in batches:
        yield _Rows(plan=plan, codes=plan.domain.encode(batch, coded), count=batch.num_rows, batch=batch)


class _Numbered:
    """Texts as numbers from 0, in the order in which they are met; -1 for none."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def __call__(self, column: pa.Array, nulls: tuple[str, ...], name: str) -> npt.NDArray[np.int64]:
        texts = key_texts(column, nulls, name)
        table = [
            -1 if text is None else self.known.setdefault(text, len(self.known))
            for text in texts.dictionary.to_pylist()
        ]
        indices = texts.indices.fill_null(len(table)).to_numpy(zero_copy_only=False)
        return np.asarray(np.array([*table, -1], np.int64)[indices], np.int64)


class _Keyed(ABC):
    """Keys and sums of a query with private keys, before keys are chosen."""

    keys: tuple[tuple[str, ...], ...]

    @abstractmethod
    def units(self) -> list[int]:
        """Number of distinct units that have each key."""

    def choose(self, selection: KeySelection, source: Source) -> list[int]:
        """Choose the keys that are named; in the order of their texts, which says nothing about the data."""
        kept = selection.choose(self.units(), source)
        return sorted((at for at, keep in enumerate(kept) if keep), key=lambda at: self.keys[at])

    @abstractmethod
    def sums(self, kept: list[int] | None) -> list[Integers]:
        """Sums over the public groups, and over the keys that were chosen."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Gathered(_Keyed):
    """All rows that count and that the condition picks: group, key, person, and the numbers of every measure.

    Exact; held in memory while a plan runs.
    """

    plan: _Plan
    cells: npt.NDArray[np.int64]
    key: npt.NDArray[np.int64]
    who: npt.NDArray[np.int64]
    values: tuple[Array, ...]
    keys: tuple[tuple[str, ...], ...]

    def units(self) -> list[int]:
        """Number of distinct units that have each key."""
        pairs = np.unique(np.stack([self.key, self.who]), axis=1)[0]
        found: list[int] = np.bincount(pairs, minlength=len(self.keys)).tolist()
        return found

    def sums(self, kept: list[int] | None) -> list[Integers]:
        """Sums over the public groups, and over the keys that were chosen."""
        groups, cells, there = self.plan.groups, self.cells, np.ones(self.cells.size, bool)
        if kept is not None:
            places = np.full(len(self.keys), -1, np.int64)
            places[kept] = np.arange(len(kept))
            at = places[self.key]
            there, groups = at >= 0, groups * len(kept)
            cells = (cells * len(kept) + at)[there]
        found = []
        for measure, values in zip(self.plan.measures, self.values, strict=True):
            if isinstance(measure, Persons):
                once = np.unique(np.stack([cells, self.who[there]]), axis=1)[0]
                found.append(measure.sums(groups, once, np.zeros(once.size)))
            else:
                found.append(measure.sums(groups, cells, values[there]))
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyedSums(_Keyed):
    """The same without rows: sums of every key in every public group where it occurs; exact, and addable.

    Attributes:
        plan: The plan.
        keys: The keys.
        counts: Distinct units of each key.
        cells: A key and a group, one in each row.
        totals: Of every measure, the sums of each row of `cells`.
    """

    plan: _Plan
    keys: tuple[tuple[str, ...], ...]
    counts: Integers
    cells: Integers
    totals: tuple[Integers, ...]

    @classmethod
    def of(cls, rows: Gathered) -> KeyedSums:
        """Sum up rows."""
        cells, which = np.unique(np.stack([rows.key, rows.cells], axis=1), axis=0, return_inverse=True)
        place = which.reshape(-1).astype(np.int64)
        alone = replace(rows, plan=_OneKey(rows.plan, len(cells)), cells=place)
        counts = np.array(rows.units(), np.int64)
        return cls(plan=rows.plan, keys=rows.keys, counts=counts, cells=cells, totals=tuple(alone.sums(None)))

    def __add__(self, other: KeyedSums) -> KeyedSums:
        """Add those of other units."""
        known = {key: at for at, key in enumerate(self.keys)}
        moved = np.array([known.setdefault(key, len(known)) for key in other.keys], np.int64)
        counts = np.zeros(len(known), np.int64)
        counts[: len(self.keys)] = self.counts
        np.add.at(counts, moved, other.counts)
        theirs = np.stack([moved[other.cells[:, 0]], other.cells[:, 1]], axis=1)
        cells, which = np.unique(np.concatenate([self.cells, theirs]), axis=0, return_inverse=True)
        totals = []
        for one, more in zip(self.totals, other.totals, strict=True):
            total = np.zeros((len(cells), one.shape[1]), np.int64)
            np.add.at(total, which.reshape(-1), np.concatenate([one, more]))
            totals.append(total)
        return KeyedSums(plan=self.plan, keys=tuple(known), counts=counts, cells=cells, totals=tuple(totals))

    def units(self) -> list[int]:
        """Number of distinct units that have each key."""
        found: list[int] = self.counts.tolist()
        return found

    def sums(self, kept: list[int] | None) -> list[Integers]:
        """Sums over the public groups, and over the keys that were chosen."""
        chosen = list(range(len(self.keys))) if kept is None else kept
        places = np.full(len(self.keys), -1, np.int64)
        places[chosen] = np.arange(len(chosen))
        at = places[self.cells[:, 0]]
        target, found = (self.cells[:, 1] * len(chosen) + at)[at >= 0], []
        for total in self.totals:
            sums = np.zeros((self.plan.groups * len(chosen), total.shape[1]), np.int64)
            sums[target] = total[at >= 0]
            found.append(sums)
        return found


@dataclass(frozen=True)
class _OneKey:
    """A plan over other groups."""

    plan: _Plan
    groups: int

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plan, name)


@dataclass(frozen=True)
class _GatherSums:
    plan: _Plan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> KeyedSums:
        return KeyedSums.of(_gather(self.plan, batches))


def gather(plan: _Plan, engine: Engine) -> Gathered | KeyedSums:
    """Hold what a query with private keys needs; a row without a key is left out.

    Where the engine folds, these are sums for each key that occurs; histograms would be too wide for that.
    """
    columns = _columns(plan, _texts(plan))
    if isinstance(engine, Folds) and sum(measure.width for measure in plan.measures) <= _WIDEST:
        return engine.fold(_GatherSums(plan), columns, plan.unit)
    return _gather(plan, counted_rows(engine, columns, plan.unit))


def _gather(plan: _Plan, batches: Iterable[pa.RecordBatch]) -> Gathered:
    person, names = plan.unit.person, plan.recipe.keys
    numbered: dict[str, _Numbered] = {name: _Numbered() for name in (*names, *([person] if person else []))}
    tuples: dict[tuple[int, ...], int] = {}
    parts: list[tuple[Any, ...]] = []
    rows_before = 0
    for rows in _read(plan, batches):
        assert rows.batch is not None
        texts = {name: to(rows.batch.column(name), plan.domain.nulls, name)[rows.keep] for name, to in numbered.items()}
        there = np.ones(rows.cells.size, bool)
        for name in names:
            there &= texts[name] >= 0
        key = _tuples(tuples, [texts[name][there] for name in names], int(there.sum()))
        who = texts[person][there] if person else rows_before + np.arange(int(there.sum()))
        rows_before += rows.count
        values = tuple(rows.values(measure)[rows.keep][there] for measure in plan.measures)
        parts.append((rows.cells[there], key, who, *values))
    columns = [np.concatenate(each) for each in zip(*parts, strict=True)] if parts else []
    if not columns:
        none = np.zeros(0, np.int64)
        columns = [none, none, none, *(np.zeros(0) for _ in plan.measures)]
    written = [list(numbered[name].known) for name in names]
    keys = tuple(tuple(texts[at] for texts, at in zip(written, each, strict=True)) for each in tuples)
    return Gathered(plan=plan, cells=columns[0], key=columns[1], who=columns[2], values=tuple(columns[3:]), keys=keys)


def _tuples(
    known: dict[tuple[int, ...], int], columns: list[npt.NDArray[np.int64]], rows: int
) -> npt.NDArray[np.int64]:
    """Number the combinations of several keys."""
    if not columns:
        return np.zeros(rows, np.int64)
    distinct, inverse = np.unique(np.stack(columns), axis=1, return_inverse=True)
    numbers_ = [known.setdefault(tuple(each), len(known)) for each in distinct.T.tolist()]
    return np.array(numbers_, np.int64)[inverse.reshape(-1)] if numbers_ else np.zeros(0, np.int64)
