"""The engine interface: a source of data that counts it exactly.

An engine holds no noise, no budget and no algorithm. It answers questions about its data, always
exactly:

    tables(workload, unit)   exact tables, counted next to the data
    rows(columns)            a stream of Arrow batches, for methods that need rows
    apply(recoding, columns) the rows again, with labels instead of quasi-identifiers
    with_bins(domain)        the same rows, with numbers and dates in other bins
    fold(task, columns, unit)  an addable answer about rows, computed where they are
    check()                  for the owner: how well the data fits its schema
    sums(request)            exact sums of what rows contribute, added up next to the data where that is exact

All engines agree on every count, to the last row: see `tacita.testing.EngineContract`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import pyarrow as pa

from tacita.domain import Domain
from tacita.engines.adding import Added, Sums
from tacita.privacy.unit import Unit
from tacita.tables.recoding import Recoding
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload

__all__ = ["Adds", "ColumnCheck", "Engine", "Folds", "Rebins", "Recodes", "Rewrites", "SourceCheck"]

BATCH_ROWS = 1 << 17

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class ColumnCheck:
    """Fit of one column to its attribute. Counts are exact: for the owner only."""

    name: str
    missing: int
    other: int
    nowhere: int

    @property
    def fits(self) -> bool:
        """Whether every value is in the domain."""
        return self.nowhere == 0


@dataclass(frozen=True, kw_only=True)
class SourceCheck:
    """Fit of a source to its domain. Exact: for the owner only."""

    rows: int
    columns: tuple[ColumnCheck, ...]
    advice: tuple[str, ...] = ()
    """Advice to the owner on how the source is reached; nothing fails because of it."""

    @property
    def fits(self) -> bool:
        """Whether every value of every column is in the domain."""
        return all(column.fits for column in self.columns)


@runtime_checkable
class Engine(Protocol):
    """A source of data that counts it. Also a `Projectable`, so that it can replace tables everywhere."""

    @property
    def domain(self) -> Domain:
        """Public description of the data."""

    def tables(self, workload: Workload, unit: Unit) -> Tables:
        """Count the exact tables of a workload.

        A row counts in a table if all of its values there are in the domain. If the unit is a person, only
        `max_rows` rows of each person are counted in the whole workload: those with the smallest

            md5(person's key as text + "|" + codes of all countable attributes joined by ",")

        which depends on that person's rows alone, favours no value, and is the same in every engine. A row
        without a person's key is not counted; a text in `Domain.nulls` is no key, nor is one that is not UTF-8.

        Keys that are equal in the source have equal texts: a key is text, a whole number, or a decimal, which is
        written without trailing zeros. Columns of other types are refused when the engine is made.
        """

    def project(self, attributes: Iterable[str]) -> Table:
        """Count one exact table over all rows, without bounding contributions: for the owner and for tests."""

    def supports(self, attributes: Iterable[str]) -> bool:
        """Return whether the domain has all of these as countable attributes."""

    def rows(self, columns: Iterable[str], batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Return the raw columns, in batches, in no particular order."""

    def check(self) -> SourceCheck:
        """Check how well the data fits its schema; for the owner, before anyone may query it.

        Reads everything that counting could read, so that broken data fails here and not at a query.
        """


@runtime_checkable
class Recodes(Engine, Protocol):
    """An engine that returns its rows under a recoding. All of ours do; an engine that only counts need not."""

    def apply(
        self, recoding: Recoding, columns: Iterable[str], batch_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows under a recoding that was made for them, in batches: labels, then `columns` unchanged.

        Rows that the recoding suppresses are left out. The others are sorted by all their columns, so that neither
        the order of the source nor a row number is released. Rows that the recoding does not know are refused. The
        caller must check whether any rows are returned.
        """


@runtime_checkable
class Rebins(Engine, Protocol):
    """An engine that counts its rows in other bins too. All of ours do; an engine over codes cannot."""

    def with_bins(self, domain: Domain) -> Engine:
        """Return an engine over the same source, whose numbers and dates are in the bins of this domain.

        The domain must describe the same columns, and differ in bins at most. Which rows of a person count is decided
        anew, by the rule above.
        """


@runtime_checkable
class Folds(Engine, Protocol):
    """An engine that runs work on its rows where they are, in parts, and adds up the answers."""

    def fold(self, task: Callable[[Iterable[pa.RecordBatch]], _T], columns: Sequence[str], unit: Unit | None) -> _T:
        """Return what a task answers about all rows that count: the sum of its answers about parts of them.

        The task gets batches of raw columns, which may be none, and its answers have `+`. It must be picklable, and is
        run again where a machine is lost, so it must have no effect but its answer. A task with a method `at` is
        replaced by `task.at(part)`, where `part` is the number of the part that it gets: for random numbers of its own.

        If the unit is a person, the rows are those that `tables` would count, chosen among rows with equal codes by
        their values (see `tacita.query.counted`), and all rows of a person are in one part. If it is a row, all rows
        count. Without a unit all rows of all persons count: for the owner, and for what bounds nothing.

        The answer travels and may be written to disks of the cluster, as rows may; a refusal holds no values of rows.
        """


@runtime_checkable
class Rewrites(Folds, Protocol):
    """An engine that writes released rows where its own are, in parts, without holding them in one place."""

    def rewrite(
        self,
        release: Callable[[Iterable[pa.RecordBatch]], Iterator[tuple[int, pa.Table]]],
        columns: Sequence[str],
        target: str,
        *,
        schema: pa.Schema,
        parts: int,
        check: Callable[[Iterable[tuple[pa.Table, pa.Table]]], _T],
        accept: Callable[[_T, int], None],
    ) -> _T:
        """Write a folder of files, which appears when it is whole and accepted, or not at all.

        Args:
            release: From batches of raw columns to released rows, each under the number of its part. The number must
                follow from what is released, because it is visible; columns beyond the schema are not written. With a
                method `assign`, it sends rows that must be seen together to one of `parts` places; `assign` is called
                there with the distinct rows and how often each occurs, sorted by their values, and gives a part,
                released rows and how often each of them occurs.
            columns: The raw columns.
            target: The folder, which must not exist.
            schema: Of the columns that are written. Each file is sorted by them.
            parts: Number of files.
            check: Answers about rows that were read back from what was written, with the other columns beside them. Its
                answers are added up.
            accept: Called with the answer and the number of rows; raises if the output must not appear.
        """

    def types(self, columns: Sequence[str]) -> pa.Schema:
        """Return the types of some raw columns, in all parts of the source; without dictionaries."""


@runtime_checkable
class Adds(Engine, Protocol):
    """An engine that adds up what rows contribute next to the data. Those over files stream their rows instead."""

    def sums(self, request: Sums) -> Added | None:
        """Add up formulas over the rows that count, by groups, in one reading of the data.

        The sums are exactly those of `rows`, read by `tacita.domain.line` and `encode`, whatever the values are.

        Returns:
            None if the source cannot compute them exactly, for this schema or these values: then rows are streamed.
        """
