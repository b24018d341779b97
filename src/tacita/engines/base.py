"""The engine interface: a source of data that counts it exactly.

An engine holds no noise, no budget and no algorithm. It answers questions about its data, always
exactly:

    tables(workload, unit)   exact tables, counted next to the data
    rows(columns)            a stream of Arrow batches, for methods that need rows
    apply(recoding, columns) the rows again, with labels instead of quasi-identifiers
    with_bins(domain)        the same rows, with numbers and dates in other bins
    check()                  for the owner: how well the data fits its schema
    sums(request)            exact sums of what rows contribute, added up next to the data where that is exact

All engines agree on every count, to the last row: see `tacita.testing.EngineContract`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

from tacita.domain import Domain
from tacita.engines.adding import Added, Sums
from tacita.privacy.unit import Unit
from tacita.tables.recoding import Recoding
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload

__all__ = ["Adds", "ColumnCheck", "Engine", "Rebins", "Recodes", "SourceCheck"]

BATCH_ROWS = 1 << 17


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
class Adds(Engine, Protocol):
    """An engine that adds up what rows contribute next to the data. Those over files stream their rows instead."""

    def sums(self, request: Sums) -> Added | None:
        """Add up formulas over the rows that count, by groups, in one reading of the data.

        The sums are exactly those of `rows`, read by `tacita.domain.line` and `encode`, whatever the values are.

        Returns:
            None if the source cannot compute them exactly, for this schema or these values: then rows are streamed.
        """
