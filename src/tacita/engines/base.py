"""What an engine is: a place where data lies and is counted.

An engine holds no noise, no budget and no algorithm. It answers questions about its data, always
exactly:

    tables(workload, unit)   exact tables, counted next to the data
    rows(columns)            a stream of Arrow batches, for what is not a table
    apply(recoding, columns) the rows again, with labels instead of quasi-identifiers
    check()                  for the owner: how well the data fits its schema

All engines agree on every count, to the last row: see `tacita.testing.EngineContract`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import pyarrow as pa

from tacita.domain import Domain
from tacita.privacy.unit import Unit
from tacita.tables.recoding import Recoding
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload

__all__ = ["ColumnCheck", "Engine", "Recodes", "SourceCheck"]

BATCH_ROWS = 1 << 17


@dataclass(frozen=True, kw_only=True)
class ColumnCheck:
    """How one column fits its attribute. Counts are exact: for the owner's eyes only."""

    name: str
    missing: int
    other: int
    nowhere: int

    @property
    def fits(self) -> bool:
        """Whether every value has a place in the domain."""
        return self.nowhere == 0


@dataclass(frozen=True, kw_only=True)
class SourceCheck:
    """How a source fits its domain. Exact: for the owner's eyes only."""

    rows: int
    columns: tuple[ColumnCheck, ...]
    advice: tuple[str, ...] = ()
    """What the owner had better change about the way to the source; nothing fails over it."""

    @property
    def fits(self) -> bool:
        """Whether every value of every column has a place in the domain."""
        return all(column.fits for column in self.columns)


@runtime_checkable
class Engine(Protocol):
    """Where data is and counting happens. Also a `Projectable`, so that it can stand wherever tables can."""

    @property
    def domain(self) -> Domain:
        """What is public about the data."""

    def tables(self, workload: Workload, unit: Unit) -> Tables:
        """Exact tables of a workload.

        A row counts in a table when all of its values there have a place in the domain. When the unit is a
        person, only `max_rows` rows of each person are counted in the whole workload: those with the smallest

            md5(person's key as text + "|" + codes of all countable attributes joined by ",")

        which depends on that person's rows alone, favours no value, and is the same in every engine. A row
        without a person's key is not counted; a text in `Domain.nulls` is no key, nor is one that is not UTF-8.

        Keys that are equal where the data lies have equal texts: a key is text, a whole number, or a decimal, which
        is written without zeros at its end. Columns of other types are refused when the engine is made.
        """

    def project(self, attributes: Iterable[str]) -> Table:
        """One exact table over all rows, unbounded: for the owner and for tests."""

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether the domain has all of these as countable attributes."""

    def rows(self, columns: Iterable[str], batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The raw columns, in batches, in no particular order."""

    def check(self) -> SourceCheck:
        """How well the data fits its schema; for the owner, before anybody may ask.

        Reads all that counting could, so that what is broken shows here and not when somebody asks.
        """


@runtime_checkable
class Recodes(Engine, Protocol):
    """An engine that gives its rows under a recoding. All of ours do; what only counts need not."""

    def apply(
        self, recoding: Recoding, columns: Iterable[str], batch_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """The rows under a recoding that was made for them, in batches: labels, then `columns` as they are.

        Rows that the recoding suppresses are left out. The others come sorted by all that comes with them, so that
        neither the order of the source nor a number of a row leaves. Rows that the recoding does not know are
        refused. Whether what comes out holds anything is for the caller to count.
        """
