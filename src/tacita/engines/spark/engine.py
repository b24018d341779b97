"""Counting on a Spark cluster: executors read the rows, encode and count them with the local engine's kernels.

A workload of any number of tables is one pass: each task counts all tables over its part of the rows, and the tables
are added up in a tree. Counts are those of the local engine over the same files, to the last row.

The first workload encodes rows as it counts. From the second on the codes are kept by the executors (a byte or two a
value, in memory and beyond it on their disks), because a method that asks twice asks often. Bounding contributions
exchanges rows by the person's key once for each bound; Spark keeps what was exchanged.

A machine that is lost costs time: Spark runs its tasks again elsewhere, and a task has no effect but its answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeVar

import pyarrow as pa

from tacita.common.progress import step
from tacita.domain import Domain
from tacita.engines.applying import apply_recoding
from tacita.engines.base import BATCH_ROWS, SourceCheck
from tacita.engines.checking import (
    check_columns,
    check_reading,
    check_rebinned,
    check_types,
    column_check,
    may_be_outside,
)
from tacita.engines.local.store import changed
from tacita.engines.spark.address import is_spark_frame
from tacita.engines.spark.counts import Counts, Failure, add, raised
from tacita.engines.spark.folding import ChooseRows, ExchangeRows, Fold, schema_of_plain
from tacita.engines.spark.place import Place
from tacita.engines.spark.session import jobs, load, session_of
from tacita.engines.spark.sources import FileSource, FrameSource, SparkSource
from tacita.engines.spark.tasks import Bounded, Check, CountBlocks, Encode, Exchange, Guarded, Then, Totals
from tacita.engines.spark.writing import Assign, AtPart, Spread, WritePart, Written
from tacita.errors import DataError, InternalError, InvalidInput
from tacita.privacy.unit import Unit
from tacita.tables.recoding import Recoding
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload

__all__ = ["SparkEngine"]

FEW_PARTS = 32
"""Answers of so many tasks are added up here; more are added up by executors first."""

BOUNDED_ROWS = 1 << 21
"""About so many raw rows of persons are in the memory of a task, where the number of rows is known."""

_T = TypeVar("_T")


@dataclass
class _State:
    """One state of a source, and what executors keep of it."""

    source: SparkSource
    version: object
    codes: Any = None
    asked: bool = False
    bounded: dict[int, Any] = field(default_factory=dict)

    def lasts(self) -> bool:
        return bool(self.version == self.source.version)

    def drop(self) -> None:
        if self.codes is not None:
            self.codes.unpersist()


class SparkEngine:
    """Rows that a Spark cluster reads.

    Args:
        domain: The schema.
        source: Files that this machine and all executors see by the same path (a path, several, a folder, an address in
            a store); a frame of Spark; None for a table.
        table: A table or view of Spark's catalog; the sheet, if the source is a workbook.
        master: Address of the cluster's master; None for the session of this process, or for what is configured.
        timeout: Seconds that one question may take; no limit by default.
        keep: Whether executors may keep codes, in memory and on their disks.
    """

    def __init__(
        self,
        domain: Domain,
        source: Any = None,
        *,
        table: str | None = None,
        master: str | None = None,
        timeout: float | None = None,
        keep: bool = True,
    ) -> None:
        if timeout is not None and not 0 < timeout < float("inf"):
            raise InvalidInput("must be a positive number of seconds", field="timeout", value=timeout)
        if source is None and not table:
            raise InvalidInput("give files, or the name of a table", field="table")
        if is_spark_frame(source) and ".connect." in type(source).__module__:
            raise InvalidInput(
                "must be a frame of a classic session: Spark Connect cannot run the work of this engine",
                field="source",
                hint="Write the frame as Parquet, or make a session without `remote`",
            )
        self._domain, self._given, self._table = domain, source, table
        self._master, self._timeout, self._keep, self._lock = master, timeout, keep, threading.Lock()
        self._session = source.sparkSession if is_spark_frame(source) else session_of(master)
        self._state = self._open()

    @property
    def domain(self) -> Domain:
        """Public description of the data."""
        return self._domain

    def tables(self, workload: Workload, unit: Unit) -> Tables:
        """Count the exact tables of a workload. See `Engine.tables`."""
        workload.check(self._domain)
        unit.check(self._domain)
        max_rows = unit.max_rows if unit.person else None
        step("counting rows")
        return Tables(self._domain, self._at_rest(lambda state: self._count(state, workload.keys, max_rows)))

    def project(self, attributes: Iterable[str]) -> Table:
        """Count one exact table over all rows, without bounding contributions: for the owner and for tests."""
        key = self._domain.check_countable(attributes)
        return self._at_rest(lambda state: self._count(state, [key], None))[key]

    def supports(self, attributes: Iterable[str]) -> bool:
        """Return whether the domain has all of these as countable attributes."""
        return set(attributes) <= set(self._domain.countable)

    def rows(self, columns: Iterable[str], batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Return the raw columns, in batches of at most `batch_rows`."""
        names = check_reading(self._domain, columns, batch_rows)
        step("reading rows")
        return self._rows(names, batch_rows)

    def _rows(self, names: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        state = self._current()
        with jobs(self._session, self._timeout):
            for batch in state.source.batches(names):
                for start in range(0, batch.num_rows, batch_rows):
                    yield batch.slice(start, batch_rows)
        if not state.lasts():
            raise changed()

    def fold(self, task: Callable[[Iterable[pa.RecordBatch]], _T], columns: Sequence[str], unit: Unit | None) -> _T:
        """Run a task over the rows that count, on executors, and add up its answers. See `Folds.fold`."""
        if unit is not None:
            unit.check(self._domain)
        names = check_reading(self._domain, columns, BATCH_ROWS)
        step("reading rows")
        found: _T = self._at_rest(lambda state: self._fold(state, Fold(task), names, unit))
        return found

    def _fold(self, state: _State, fold: Fold, names: Sequence[str], unit: Unit | None) -> Any:
        if unit is None or unit.person is None:
            return _sum(state.source.run(fold, names), fold)
        tasks = max(self._session.sparkContext.defaultParallelism, -(-(state.source.rows or 0) // BOUNDED_ROWS))
        needed = tuple(dict.fromkeys((*names, *self._domain.countable, unit.person)))
        exchanged = state.source.run(ExchangeRows(self._domain, tuple(names), unit.max_rows, tasks), needed)
        placed = exchanged.map(addressed).partitionBy(tasks, int)
        return _sum(placed.mapPartitions(Guarded(Then(ChooseRows(unit.max_rows), fold))), fold)

    def types(self, columns: Sequence[str]) -> pa.Schema:
        """Return the types of some raw columns, in all parts of the source; without dictionaries."""
        names = check_reading(self._domain, columns, BATCH_ROWS)
        schemas = [schema_of_plain(schema) for schema in self._current().source.schemas(names)]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException:
            raise DataError("its parts have columns of different types", field="source") from None

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
        """Write released rows on executors: a folder of files, whole and accepted, or not at all. See `Rewrites`."""
        names = check_reading(self._domain, columns, BATCH_ROWS)
        place = Place.of(target)
        step("writing rows")

        def work(state: _State) -> Any:
            spread = state.source.run(Spread(release), names).map(addressed).partitionBy(parts, int)
            if hasattr(release, "assign"):
                spread = spread.mapPartitions(Guarded(Assign(release))).map(addressed).partitionBy(parts, int)
            return _sum(spread.mapPartitionsWithIndex(AtPart(WritePart(place, schema, check))), _nothing)

        with place.hidden():
            written: Written = self._at_rest(work)
            if sorted(part for part, *_ in written.files) != list(range(parts)):
                raise InternalError("not every part was written once", field="output")
            accept(written.answer, written.rows)
            place.appear(list(written.files))
        answer: _T = written.answer
        return answer

    def apply(
        self, recoding: Recoding, columns: Iterable[str], batch_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows under a recoding. See `Recodes.apply`."""
        return apply_recoding(recoding, self._domain, columns, batch_rows, self.rows)

    def with_bins(self, domain: Domain) -> SparkEngine:
        """Return an engine over the same source with other bins. See `Rebins.with_bins`."""
        return SparkEngine(
            check_rebinned(self._domain, domain),
            self._given,
            table=self._table,
            master=self._master,
            timeout=self._timeout,
            keep=self._keep,
        )

    def check(self) -> SourceCheck:
        """Check how well the data fits its schema; all of it is read."""
        step("checking rows")
        found: Totals = self._at_rest(self._check)
        columns = tuple(column_check(self._domain, name, found.totals[name]) for name in self._domain.countable)
        return SourceCheck(rows=found.rows, columns=columns)

    def _check(self, state: _State) -> Totals:
        check = Check(self._domain, self._domain.countable)
        done: Totals = _sum(state.source.run(check, self._domain.names, strict=True), check)
        return done

    # -- one state of the source -----------------------------------------------------------------------------------

    def _open(self) -> _State:
        with jobs(self._session, self._timeout):
            source = self._source()
            version = source.version
            check_columns(self._domain, source.columns)
            for schema in source.schemas(self._domain.names):
                check_types(self._domain, schema)
            return _State(source, version)

    def _source(self) -> SparkSource:
        if is_spark_frame(self._given):
            return FrameSource(self._given)
        if self._given is None:
            return FrameSource(self._session.table(self._table))
        return FileSource(self._session, self._given, self._domain, self._table)

    def _current(self) -> _State:
        """Return the current state of the source."""
        with self._lock:
            if not self._state.lasts():
                self._state.drop()
                self._state = self._open()
            return self._state

    def _at_rest(self, work: Callable[[_State], _T]) -> _T:
        """Run work over one state of the source: if files changed meanwhile, drop the result and try again."""
        for _ in range(2):
            state = self._current()
            try:
                with jobs(self._session, self._timeout):
                    done = work(state)
            except Exception:
                if state.lasts():
                    raise
                continue
            if state.lasts():
                return done
        raise changed()

    # -- counting --------------------------------------------------------------------------------------------------

    def _count(
        self, state: _State, keys: Sequence[tuple[str, ...]], max_rows: int | None
    ) -> dict[tuple[str, ...], Table]:
        used = {name for key in keys for name in key}
        names = tuple(name for name in self._domain.countable if name in used)
        if max_rows is not None:
            names, blocks = self._domain.countable, self._bounded(state, max_rows)
        else:
            blocks = self._codes(state)
        if blocks is not None:
            names = self._domain.countable
        count = CountBlocks(self._domain, names, tuple(keys), may_be_outside(self._domain, names), state.source.rows)
        if blocks is None:
            task = Then(Encode(self._domain, names), count)
            answers = state.source.run(task, names or self._domain.names[:1])
        else:
            answers = blocks.mapPartitions(Guarded(count))
        done = _sum(answers, count)
        assert isinstance(done, Counts)
        return done.tables(self._domain)

    def _codes(self, state: _State) -> Any:
        """Return the codes that executors keep; None for the first question."""
        with self._lock:
            if not self._keep or not self._domain.countable:
                return None
            if state.codes is None and state.asked:
                names = self._domain.countable
                level = load("pyspark").StorageLevel.MEMORY_AND_DISK
                state.codes = state.source.run(Encode(self._domain, names), names).persist(level)
            state.asked = True
            return state.codes

    def _bounded(self, state: _State, max_rows: int) -> Any:
        """Return the codes of the rows that count, exchanged by person."""
        with self._lock:
            if max_rows not in state.bounded:
                tasks = self._session.sparkContext.defaultParallelism
                columns = (*self._domain.countable, str(self._domain.person))
                rows = state.source.run(Exchange(self._domain, max_rows, tasks), columns)
                exchanged = rows.map(addressed).partitionBy(tasks, int)
                state.bounded[max_rows] = exchanged.mapPartitions(Guarded(Bounded(max_rows)))
            return state.bounded[max_rows]


def _nothing(_: Iterable[Any]) -> Iterator[Written]:
    yield Written(())


def addressed(item: Any) -> tuple[int, Any]:
    """Return rows with the number of their task; a refusal goes to the first."""
    return (0, item) if isinstance(item, Failure) else item


def _sum(answers: Any, task: Callable[[Iterable[Any]], Iterator[_T]]) -> _T:
    """Add the answers of all tasks; of a source without parts, the answer of the task over no rows."""
    if answers.getNumPartitions() > FEW_PARTS:
        done = answers.treeAggregate(None, add, add)
    else:
        done = reduce(add, answers.collect(), None)
    found: _T = raised(next(task(())) if done is None else done)
    return found
