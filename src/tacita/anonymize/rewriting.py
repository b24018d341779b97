"""Anonymization as a distributed write: k-anonymous rows that are never in one place.

    distinct rows, counted where the rows are -> classes, found here -> recoded rows, written where they are
    -> counted again from what was written -> the folder appears, or nothing does

The classes are those that a run over the same rows in memory makes, and the files hold the same rows. Classes lie in
the order of their labels, rows within one in the order of their values; a class of more rows than two files is divided
by a hash of the values. So neither order nor file says where a row came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.anonymize.distinct_counts import person_digests
from tacita.anonymize.quasi import DistinctRows
from tacita.domain import Domain
from tacita.engines.local.digests import numbers_of_rows
from tacita.tables.recoding import SUPPRESSED, Recoding
from tacita.tables.recoding.axis import level_texts
from tacita.tables.recoding.render import encode_rows, plain

__all__ = ["PART_ROWS", "Layout", "ReleaseRows"]

Ints = NDArray[np.int64]
PART_ROWS = 1 << 20
"""About so many rows are in a file."""
_COMBINATION = "\0combination"
_DIGESTS = ("\0person", "\0person too")


@dataclass(frozen=True, eq=False)
class Layout:
    """The file of each class: the first of its files, and how many it has."""

    first: Ints
    count: Ints

    @classmethod
    def of(cls, sizes: Ints, rows: int = PART_ROWS) -> Layout:
        """Classes in their order, about so many rows in a file.

        >>> layout = Layout.of(np.array([3, 3, 9, 1]), rows=4)
        >>> layout.first.tolist(), layout.count.tolist(), layout.parts
        ([0, 0, 1, 4], [1, 1, 3, 1], 5)
        """
        first, count = np.zeros(len(sizes), np.int64), np.ones(len(sizes), np.int64)
        place, filled = 0, 0
        for at, size in enumerate(sizes.tolist()):
            if size > 2 * rows:
                place += filled > 0
                first[at], count[at] = place, -(-size // rows)
                place, filled = place + int(count[at]), 0
                continue
            if filled >= rows:
                place, filled = place + 1, 0
            first[at], filled = place, filled + size
        return cls(first, count)

    @property
    def parts(self) -> int:
        """Number of files; one where there is no class."""
        return int((self.first + self.count).max(initial=1))

    def of_rows(self, classes: Ints, rows: pa.Table) -> Ints:
        """The file of each row, by its class, and by its values where a class has several."""
        several = np.flatnonzero(self.count[classes] > 1)
        found = self.first[classes].copy()
        if len(several):
            numbers = numbers_of_rows(rows.take(pa.array(several)))
            found[several] += (numbers % self.count[classes[several]].astype(np.uint64)).astype(np.int64)
        return found


@dataclass(frozen=True, eq=False)
class ReleaseRows:
    """Recode rows and say which file each goes to.

    Attributes:
        domain: The schema.
        recoding: Made for these rows.
        schema: Of the released columns.
        unchanged: Columns released unchanged.
        as_text: Those of them in which a text is no level, so that all are released as texts.
        sizes: Rows of each class.
    """

    domain: Domain
    recoding: Recoding
    schema: pa.Schema
    unchanged: tuple[str, ...]
    as_text: frozenset[str]
    sizes: Ints

    @classmethod
    def of(
        cls,
        domain: Domain,
        recoding: Recoding,
        unchanged: tuple[str, ...],
        *,
        types: pa.Schema,
        as_text: frozenset[str],
        distinct: DistinctRows,
    ) -> ReleaseRows:
        """Settle the columns and the files of a release.

        Args:
            domain: The schema.
            recoding: Of these rows.
            unchanged: Columns released unchanged.
            types: Their types in the source.
            as_text: Those of them in which a text is no level.
            distinct: The rows, as they were counted.
        """
        kept, rows = recoding.classes != SUPPRESSED, distinct.rows if recoding.shares is None else recoding.shares
        sizes = np.bincount(recoding.classes[kept], weights=rows[kept], minlength=len(recoding.labels))
        fields = [(name, pa.string()) for name in recoding.names]
        fields += [(name, pa.string() if name in as_text else types.field(name).type) for name in unchanged]
        kind = cls if recoding.shares is None else ReleaseShares
        return kind(domain, recoding, pa.schema(fields), unchanged, as_text, sizes.astype(np.int64))

    @cached_property
    def layout(self) -> Layout:
        """The file of each class."""
        return Layout.of(self.sizes)

    @property
    def rows(self) -> int:
        """Number of released rows."""
        return int(self.sizes.sum())

    @property
    def classes(self) -> pa.Table:
        """The labels of each class, and its number of rows."""
        columns = [
            pa.array(words, pa.string()).take(pa.array(self.recoding.labels[:, place]))
            for place, words in enumerate(self.recoding.texts)
        ]
        return pa.table([*columns, pa.array(self.sizes)], names=[*self.recoding.names, "\0rows"])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
        """Recode batch by batch."""
        for batch in batches:
            rows, classes = self._recoded(pa.Table.from_batches([batch]))
            parts = self.layout.of_rows(classes, rows.select(self.schema.names))
            for part in np.unique(parts).tolist():
                yield part, rows.take(pa.array(np.flatnonzero(parts == part)))

    def _labels(self, classes: Ints) -> list[pa.Array]:
        return [
            pa.array(words, pa.string()).take(pa.array(self.recoding.labels[classes, place]))
            for place, words in enumerate(self.recoding.texts)
        ]

    def _others(self, table: pa.Table, chosen: pa.Array) -> list[pa.Array]:
        """The columns that are released unchanged."""
        columns = []
        for name in self.unchanged:
            column = plain(table.column(name)).take(chosen)
            if name in self.as_text:
                column = level_texts(self.domain[name], column, self.domain.nulls)
            columns.append(column.cast(self.schema.field(name).type))
        return columns

    def _recoded(self, table: pa.Table) -> tuple[pa.Table, Ints]:
        recoding = self.recoding
        classes = recoding.classes[recoding.combinations(encode_rows(recoding, self.domain, table))]
        kept = np.flatnonzero(classes != SUPPRESSED)
        classes, chosen = classes[kept], pa.array(kept)
        rows = pa.table([*self._labels(classes), *self._others(table, chosen)], schema=self.schema)
        if self.domain.person is not None:
            digests = person_digests(self.domain, plain(table.column(self.domain.person)).take(chosen))
            for name, words in zip(_DIGESTS, digests.T, strict=True):
                rows = rows.append_column(name, pa.array(words))
        return rows, classes


@dataclass(frozen=True, eq=False)
class ReleaseShares(ReleaseRows):
    """The same where rows of a combination are split over classes, by the order of their other released values.

    All rows of a combination meet in one place, where each gets its class; no row has a person.
    """

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Table]]:
        """Send the rows of each combination to one place."""
        for batch in batches:
            table = pa.Table.from_batches([batch])
            combinations = self.recoding.combinations(encode_rows(self.recoding, self.domain, table))
            columns = [*self._others(table, pa.array(np.arange(table.num_rows))), pa.array(combinations)]
            rows = pa.table(columns, names=[*self.unchanged, _COMBINATION])
            group = combinations % self.layout.parts
            for place in np.unique(group).tolist():
                yield place, rows.take(pa.array(np.flatnonzero(group == place)))

    def assign(self, rows: pa.Table, times: Ints) -> Iterator[tuple[int, pa.Table, Ints]]:
        """Yield released rows and how often each occurs, for all rows of some combinations, sorted by their values.

        Args:
            rows: Distinct rows.
            times: How often each occurs.
        """
        where = np.repeat(np.arange(len(times)), times)
        combinations = rows[_COMBINATION].to_numpy()[where]
        present, numbers = np.unique(combinations, return_inverse=True)
        firsts = self.recoding.combinations(self.recoding.codes)
        entries = np.flatnonzero(np.isin(firsts, present))
        part = replace(
            self.recoding,
            codes=self.recoding.codes[entries],
            classes=self.recoding.classes[entries],
            shares=None if self.recoding.shares is None else self.recoding.shares[entries],
        )
        at = part.combinations(self.recoding.codes[present])
        classes = part.place(at[numbers.reshape(-1)], np.arange(len(where)))
        pairs, counts = np.unique(np.stack([where, classes], axis=1), axis=0, return_counts=True)
        kept = pairs[:, 1] != SUPPRESSED
        (place, classes), counts = pairs[kept].T, counts[kept]
        others = rows.select(list(self.unchanged)).take(pa.array(place)).columns
        released = pa.table([*self._labels(classes), *others], schema=self.schema)
        parts = self.layout.of_rows(classes, released)
        for number in np.unique(parts).tolist():
            mine = np.flatnonzero(parts == number)
            yield number, released.take(pa.array(mine)), counts[mine].astype(np.int64)
