"""Distinct combinations of quasi-identifiers, the people who have them, and their sensitive values.

People are counted, not rows. Without a person's key every row is a person. With one, a person with many rows counts
once in a class, however many of their rows lie in it, and once for each sensitive value; rows without a key (null, or a
text in `Domain.nulls`) are released with the others and count no one. Combinations are in the order of their codes, so
nothing here depends on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.anonymize.criteria.criterion import Sensitive
from tacita.anonymize.hierarchies.hierarchy import Tree, TreeMaker
from tacita.domain import Attribute, Domain
from tacita.engines.local.bound import key_texts
from tacita.errors import InvalidInput
from tacita.tables.recoding import Axis
from tacita.tables.recoding.axis import Key, read_keys

__all__ = [
    "NO_ONE",
    "DistinctRows",
    "axis_of",
    "distinct_pairs",
    "distinct_rows",
    "joined",
    "read_distinct_rows",
    "read_persons",
    "sorted_distinct",
]

NO_ONE = -1
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class DistinctRows:
    """People by their quasi-identifiers.

    Attributes:
        axes: The quasi-identifiers.
        trees: The hierarchy of each, or None.
        codes: Distinct combinations, sorted.
        of_row: Combination of each row.
        persons: Person of each row, -1 without a key; None when every row is a person.
        sensitive: The sensitive attributes.
        sensitive_trees: The hierarchy of each, or None.
        values: The code of each sensitive attribute (one in each row of the array) for each row.
        part: Rows that may be released, when the others only give the size of the population; those count no one.
        times: Number of equal rows that each row represents; None if it is one for all. Where there are persons, those
            of a person.
    """

    axes: tuple[Axis, ...]
    trees: tuple[Tree | None, ...]
    codes: NDArray[np.int32]
    of_row: Ints
    persons: Ints | None
    sensitive: tuple[Axis, ...]
    sensitive_trees: tuple[Tree | None, ...]
    values: NDArray[np.int32]
    part: NDArray[np.bool_] | None = None
    times: Ints | None = None

    def sums(self, groups: Ints, count: int, chosen: NDArray[Any] | None = None) -> Ints:
        """Number of rows in each group, for the group of every row, or of some rows."""
        times = self.times if self.times is None or chosen is None else self.times[chosen]
        return np.bincount(groups, weights=times, minlength=count).astype(np.int64)

    @cached_property
    def rows(self) -> Ints:
        """Rows of each combination, whether they are released or not."""
        return self.sums(self.of_row, len(self.codes))

    @cached_property
    def leaving(self) -> Ints:
        """Rows of each combination that may be released."""
        return self.rows if self.part is None else self.sums(self.of_row[self.part], len(self.codes), self.part)

    @cached_property
    def people(self) -> int:
        """Number of people."""
        if self.persons is None:
            return int(self.rows.sum())
        return len(np.unique(self.persons[self.persons != NO_ONE]))

    @cached_property
    def membership(self) -> tuple[Ints, Ints]:
        """Distinct (combination, person) pairs, sorted, skipping rows without a person."""
        if self.persons is None:
            raise InvalidInput("has no persons", field="persons")
        return distinct_pairs(self.of_row, self.persons)

    @cached_property
    def weights(self) -> Ints:
        """People of each combination."""
        if self.persons is None:
            return self.rows
        return np.bincount(self.membership[0], minlength=len(self.codes)).astype(np.int64)

    @cached_property
    def attributes(self) -> tuple[Sensitive, ...]:
        """The sensitive attributes in the whole table."""
        return tuple(
            Sensitive(
                name=axis.name,
                whole=self.value_counts(place),
                missing=0 if axis.has_missing else None,
                kind="hierarchical" if tree is not None else "equal" if axis.kind == "set" else "ordered",
                tree=tree,
            )
            for place, (axis, tree) in enumerate(zip(self.sensitive, self.sensitive_trees, strict=True))
        )

    def value_counts(self, place: int) -> Ints:
        """People with each value of a sensitive attribute, in the whole table."""
        codes, size = self.values[place].astype(np.int64), len(self.sensitive[place])
        if self.persons is None:
            return self.sums(codes, size)
        return np.bincount(distinct_pairs(codes, self.persons)[0], minlength=size).astype(np.int64)


def sorted_distinct(numbers: Ints) -> Ints:
    """Each number once, rising: np.unique for numbers, without its detour over a hash table."""
    rising = np.sort(numbers)
    return rising[np.concatenate([[True], rising[1:] != rising[:-1]])] if len(rising) else rising


def distinct_pairs(place: Ints, person: Ints) -> tuple[Ints, Ints]:
    """Distinct (group, person) pairs, skipping missing persons."""
    known = person != NO_ONE
    span = int(person.max(initial=0)) + 1
    pairs = sorted_distinct(place[known] * span + person[known])
    return pairs // span, pairs % span


def distinct_rows(codes: NDArray[np.int32], sizes: Sequence[int]) -> tuple[NDArray[np.int32], Ints]:
    """The distinct rows of a matrix of codes, sorted, and which of them each row is."""
    number, span = np.zeros(len(codes), np.int64), 1
    for column, size in zip(codes.T, sizes, strict=True):
        if span * max(size, 1) >= 2**62:  # start again from how many there really are
            _, number = np.unique(number, return_inverse=True)
            number, span = number.astype(np.int64), int(number.max(initial=0)) + 1
        number, span = number * max(size, 1) + column, span * max(size, 1)
    _, first, which = np.unique(number, return_index=True, return_inverse=True)
    return np.ascontiguousarray(codes[first], np.int32), which.reshape(-1).astype(np.int64)


def read_distinct_rows(
    domain: Domain,
    table: pa.Table,
    quasi: Sequence[str],
    *,
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, TreeMaker] | None = None,
    part: str | NDArray[np.bool_] | None = None,
    by_appearance: bool = False,
) -> DistinctRows:
    """Return the distinct combinations of some rows.

    Args:
        domain: Public description of them; its person's key identifies the person of each row.
        table: The rows.
        quasi: The quasi-identifiers.
        sensitive: The sensitive attributes.
        hierarchies: Of some of these.
        part: Rows that may be released, or a boolean attribute that says so.
        by_appearance: Number values without an order as they first appear, as the legacy mode does: then all that
            follows depends on the order of the rows.
    """
    makers = dict(hierarchies or {})
    columns = [_axis(domain, table, name, makers.get(name), by_appearance) for name in quasi]
    held = [_axis(domain, table, name, makers.get(name), False) for name in sensitive]
    axes = tuple(axis for axis, _, _ in columns)
    matrix = np.stack([codes for _, _, codes in columns], axis=1)
    codes, of_row = distinct_rows(matrix, [len(axis) for axis in axes])
    empty = np.zeros((0, table.num_rows), np.int32)
    persons = None if domain.person is None else read_persons(domain, table)
    leaving = None
    if part is not None:
        leaving = _truths(domain, table, part) if isinstance(part, str) else part
        persons = np.where(leaving, np.arange(table.num_rows) if persons is None else persons, NO_ONE)
    return DistinctRows(
        axes=axes,
        trees=tuple(tree for _, tree, _ in columns),
        codes=codes,
        of_row=of_row,
        persons=persons,
        sensitive=tuple(axis for axis, _, _ in held),
        sensitive_trees=tuple(tree for _, tree, _ in held),
        values=np.stack([codes for _, _, codes in held]) if held else empty,
        part=leaving,
    )


def _truths(domain: Domain, table: pa.Table, name: str) -> NDArray[np.bool_]:
    if domain[name].kind != "boolean":
        raise InvalidInput("must be a boolean attribute", field="part", value=name)
    indices, keys = read_keys(domain[name], table.column(name), domain.nulls)
    return np.asarray(np.array([key == "true" for key in keys])[indices])


def _axis(
    domain: Domain, table: pa.Table, name: str, maker: TreeMaker | None, by_appearance: bool
) -> tuple[Axis, Tree | None, NDArray[np.int32]]:
    attribute = domain[name]
    indices, keys = read_keys(attribute, table.column(name), domain.nulls)
    used = np.flatnonzero(np.bincount(indices, minlength=len(keys)))
    occurring = [keys[i] for i in used]
    order = None
    if by_appearance and attribute.kind in ("categorical", "boolean"):
        first = np.full(len(keys), len(indices))
        np.minimum.at(first, indices, np.arange(len(indices)))
        order = list(dict.fromkeys(keys[i] for i in used[np.argsort(first[used])]))
    axis, tree = axis_of(attribute, occurring, maker, order)
    return axis, tree, axis.encode(indices, keys)


def axis_of(
    attribute: Attribute, occurring: Sequence[Key], maker: TreeMaker | None, order: Sequence[Key] | None = None
) -> tuple[Axis, Tree | None]:
    """The axis of the values that occur, in the order of a hierarchy if there is one."""
    axis = Axis.of(attribute, occurring, order=order)
    if maker is None:
        return axis, None
    hierarchy = maker.hierarchy(axis)
    axis = Axis.of(attribute, occurring, order=hierarchy.order_of(axis))
    return axis, hierarchy.over(axis)


def read_persons(domain: Domain, table: pa.Table) -> Ints:
    """Number the person of each row; -1 without a key."""
    assert domain.person is not None
    keys = key_texts(table.column(domain.person), domain.nulls, domain.person)
    # texts may be there twice after numbers were brought to one spelling
    names = keys.dictionary.dictionary_encode()
    places = pc.fill_null(names.indices.cast(pa.int64()), NO_ONE).to_numpy(zero_copy_only=False)
    rows = pc.fill_null(keys.indices.cast(pa.int64()), len(places)).to_numpy(zero_copy_only=False)
    return np.asarray(np.append(places, NO_ONE)[rows], np.int64)


def joined(batches: Iterable[pa.RecordBatch], columns: Sequence[str], schema: pa.Schema | None = None) -> pa.Table:
    """Batches as one table, also when there are none."""
    parts = list(batches)
    if parts:
        return pa.Table.from_batches(parts)
    return pa.table({name: pa.array([], pa.string()) for name in columns}, schema=schema)
