"""Distinct rows, counted in parts: what `read_distinct_rows` finds in a table, for rows that are never in one place.

    task CountDistinct -> counts of a part -> added up -> `distinct_of` -> the `DistinctRows` of the same rows
    task CountWritten  -> the same of released rows, by the texts in them -> `recount_of` -> the criteria that hold

Values are compared by their meaning, as `quasi` compares them. Persons travel as digests of their keys (BLAKE2, 128
bits), so that no key leaves its executor. Memory grows with distinct rows; with a person's key, with persons.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.anonymize.criteria.conditions import Achieved, Conditions
from tacita.anonymize.criteria.criterion import Sensitive
from tacita.anonymize.hierarchies.hierarchy import TreeMaker
from tacita.anonymize.quasi import NO_ONE, DistinctRows, axis_of, distinct_rows
from tacita.anonymize.recount import recount
from tacita.domain import Domain
from tacita.engines.local.bound import key_texts
from tacita.tables.recoding.axis import OTHER, Axis, Key, read_keys

__all__ = ["CountDistinct", "CountWritten", "DistinctCounts", "distinct_of", "person_digests", "recount_of"]

Ints = NDArray[np.int64]
_PENDING = 1 << 19  # rows that wait to be made distinct


@dataclass(frozen=True, kw_only=True, eq=False)
class DistinctCounts:
    """Distinct rows of some columns, with how often each occurs; exact, and sensitive.

    Attributes:
        keys: The values of each column.
        codes: The place of each value of a row in them.
        times: How many rows are equal.
        persons: The digest of each row's person, zeros without a key; None when rows have no persons.
        held_back: Columns released unchanged in which a text is no level.
    """

    keys: tuple[tuple[Key, ...], ...]
    codes: NDArray[np.int32]
    times: Ints
    persons: NDArray[np.uint64] | None = None
    held_back: frozenset[str] = frozenset()

    def __add__(self, other: DistinctCounts) -> DistinctCounts:
        """Add the counts of other rows."""
        keys, columns = [], []
        for place, (mine, theirs) in enumerate(zip(self.keys, other.keys, strict=True)):
            known = {key: code for code, key in enumerate(mine)}
            moved = [known.setdefault(key, len(known)) for key in theirs]
            keys.append(tuple(known))
            there = np.array(moved, np.int32)[other.codes[:, place]] if moved else other.codes[:, place]
            columns.append(np.concatenate([self.codes[:, place], there]))
        persons = None
        if self.persons is not None and other.persons is not None:
            persons = np.concatenate([self.persons, other.persons])
        return _distinct(
            tuple(keys),
            np.stack(columns, axis=1).astype(np.int32),
            np.concatenate([self.times, other.times]),
            persons,
            self.held_back | other.held_back,
        )


def _distinct(
    keys: tuple[tuple[Key, ...], ...],
    codes: NDArray[np.int32],
    times: Ints,
    persons: NDArray[np.uint64] | None,
    held_back: frozenset[str],
) -> DistinctCounts:
    found, which = distinct_rows(codes, [len(each) for each in keys])
    if persons is None:
        sums = np.bincount(which, weights=times, minlength=len(found)).astype(np.int64)
        return DistinctCounts(keys=keys, codes=found, times=sums, held_back=held_back)
    order = np.lexsort((persons[:, 1], persons[:, 0], which))
    new = (np.diff(which[order], prepend=-1) != 0) | np.append(
        True, (np.diff(persons[order], axis=0) != 0).any(axis=1)
    )[: len(order)]
    starts = np.flatnonzero(new)
    sums = np.add.reduceat(times[order], starts) if len(starts) else times[:0]
    chosen = order[starts]
    return DistinctCounts(
        keys=keys, codes=found[which[chosen]], times=sums, persons=persons[chosen], held_back=held_back
    )


def _summed(parts: Iterable[DistinctCounts]) -> DistinctCounts | None:
    """Add up counts, many small ones at a time."""
    whole: DistinctCounts | None = None
    waiting: list[DistinctCounts] = []
    for part in parts:
        waiting.append(part)
        if sum(len(each.times) for each in waiting) > max(_PENDING, 0 if whole is None else len(whole.times)):
            whole, waiting = reduce(add, waiting if whole is None else [whole, *waiting]), []
    left = waiting if whole is None else [whole, *waiting]
    return reduce(add, left) if left else None


@dataclass(frozen=True)
class CountDistinct:
    """Count the distinct rows of a part, by the meaning of their values: a task of `Folds.fold`.

    Attributes:
        domain: The schema; its person's key, if it has one, is read too.
        names: The columns to count.
        unchanged: Columns that are released unchanged: whether they hold texts that are no levels.
    """

    domain: Domain
    names: tuple[str, ...]
    unchanged: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns to read."""
        person = [] if self.domain.person is None else [self.domain.person]
        return tuple(dict.fromkeys((*self.names, *self.unchanged, *person)))

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> DistinctCounts:
        """Count."""
        return _summed(map(self._of, batches)) or self._none()

    def _of(self, batch: pa.RecordBatch) -> DistinctCounts:
        read = {name: _numbered(self.domain, name, batch.column(name)) for name in (*self.names, *self.unchanged)}
        held_back = {name for name in self.unchanged if _is_used(*read[name], OTHER)}
        persons = None
        if self.domain.person is not None:
            persons = person_digests(self.domain, batch.column(self.domain.person))
        return _distinct(
            tuple(tuple(read[name][1]) for name in self.names),
            np.stack([read[name][0] for name in self.names], axis=1).astype(np.int32),
            np.ones(batch.num_rows, np.int64),
            persons,
            frozenset(held_back),
        )

    def _none(self) -> DistinctCounts:
        persons = None if self.domain.person is None else np.zeros((0, 2), np.uint64)
        none = np.zeros((0, len(self.names)), np.int32)
        return DistinctCounts(keys=((),) * len(self.names), codes=none, times=np.zeros(0, np.int64), persons=persons)


def _numbered(domain: Domain, name: str, column: pa.Array) -> tuple[Ints, list[Key]]:
    """The value of each row, by its place among distinct ones: values that mean the same are one."""
    indices, keys = read_keys(domain[name], column, domain.nulls)
    known: dict[Key, int] = {}
    places = np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
    return places[indices], list(known)


def _is_used(indices: Ints, keys: Sequence[Key], key: Key) -> bool:
    return key in keys and bool((indices == keys.index(key)).any())


def person_digests(domain: Domain, column: pa.Array) -> NDArray[np.uint64]:
    """A digest of the person's key of each row; zeros without a key."""
    keys = key_texts(column, domain.nulls, str(domain.person))
    digests = [hashlib.blake2b((text or "").encode(), digest_size=16).digest() for text in keys.dictionary.to_pylist()]
    table = np.frombuffer(b"".join(digests) + bytes(16), np.uint64).reshape(-1, 2)
    rows = pc.fill_null(keys.indices.cast(pa.int64()), len(digests)).to_numpy(zero_copy_only=False)
    return np.asarray(table[rows], np.uint64)


def distinct_of(
    domain: Domain,
    counts: DistinctCounts,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    hierarchies: Mapping[str, TreeMaker],
) -> DistinctRows:
    """The distinct rows that `read_distinct_rows` finds in the same rows, in the same order.

    Args:
        domain: Public description of them.
        counts: Of quasi-identifiers, then sensitive attributes.
        quasi: The quasi-identifiers.
        sensitive: The sensitive attributes.
        hierarchies: Of some of these.
    """
    columns = []
    for place, name in enumerate((*quasi, *sensitive)):
        keys, codes = counts.keys[place], counts.codes[:, place]
        used = np.flatnonzero(np.bincount(codes, minlength=len(keys)))
        axis, tree = axis_of(domain[name], [keys[at] for at in used], hierarchies.get(name))
        columns.append((axis, tree, axis.encode(codes.astype(np.int64), keys)))
    of_quasi, of_sensitive = columns[: len(quasi)], columns[len(quasi) :]
    axes = tuple(axis for axis, _, _ in of_quasi)
    matrix = np.stack([codes for _, _, codes in of_quasi], axis=1)
    codes, of_row = distinct_rows(matrix, [len(axis) for axis in axes])
    return DistinctRows(
        axes=axes,
        trees=tuple(tree for _, tree, _ in of_quasi),
        codes=codes,
        of_row=of_row,
        persons=_persons(counts),
        sensitive=tuple(axis for axis, _, _ in of_sensitive),
        sensitive_trees=tuple(tree for _, tree, _ in of_sensitive),
        values=np.stack([codes for _, _, codes in of_sensitive])
        if of_sensitive
        else np.zeros((0, len(of_row)), np.int32),
        times=counts.times,
    )


def _persons(counts: DistinctCounts) -> Ints | None:
    if counts.persons is None:
        return None
    _, numbers = np.unique(counts.persons, axis=0, return_inverse=True)
    return np.where(counts.persons.any(axis=1), numbers.reshape(-1), NO_ONE).astype(np.int64)


# -- released rows -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountWritten:
    """Count the distinct rows of what was written: quasi-identifiers by their texts, sensitive values by their meaning.

    Called with batches of written rows, each with the digests of their persons beside.
    """

    domain: Domain
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]

    def __call__(self, batches: Iterable[tuple[pa.Table, pa.Table]]) -> DistinctCounts:
        """Count."""
        found = _summed(self._of(rows, beside) for rows, beside in batches)
        if found is not None:
            return found
        return CountDistinct(self.domain, (*self.quasi, *self.sensitive))(())

    def _of(self, rows: pa.Table, beside: pa.Table) -> DistinctCounts:
        read = [_texts(rows.column(name)) for name in self.quasi]
        read += [_numbered(self.domain, name, rows.column(name)) for name in self.sensitive]
        persons = None
        if self.domain.person is not None:
            persons = np.stack([column.to_numpy() for column in beside.columns], axis=1).astype(np.uint64)
        return _distinct(
            tuple(tuple(keys) for _, keys in read),
            np.stack([indices for indices, _ in read], axis=1).astype(np.int32),
            np.ones(rows.num_rows, np.int64),
            persons,
            frozenset(),
        )


def _texts(column: pa.ChunkedArray) -> tuple[Ints, list[Key]]:
    encoded = column.combine_chunks().dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary.to_pylist()


def recount_of(
    counts: DistinctCounts,
    quasi: int,
    conditions: Conditions,
    *,
    sensitive: Sequence[Axis],
    attributes: Sequence[Sensitive],
) -> Achieved:
    """Measure the criteria on counts of written rows.

    Args:
        counts: Of quasi-identifiers, then sensitive attributes.
        quasi: Number of quasi-identifiers.
        conditions: Gives the criteria.
        sensitive: The sensitive attributes' axes.
        attributes: The sensitive attributes in the whole table.
    """
    classes = distinct_rows(counts.codes[:, :quasi], [len(keys) for keys in counts.keys[:quasi]])[1]
    values = {
        axis.name: axis.encode(counts.codes[:, quasi + place].astype(np.int64), counts.keys[quasi + place])
        for place, axis in enumerate(sensitive)
    }
    return recount(classes, values, conditions, attributes=attributes, persons=_persons(counts), times=counts.times)
