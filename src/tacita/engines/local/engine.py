"""Counting on this machine: files of many formats, Arrow tables, pandas and polars frames, DuckDB relations."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.common.progress import step
from tacita.domain import Domain
from tacita.engines.applying import apply_recoding
from tacita.engines.base import BATCH_ROWS, SourceCheck
from tacita.engines.checking import check_columns, check_reading, check_rebinned, check_types, column_check
from tacita.engines.local.bound import Bound
from tacita.engines.local.counter import Counter
from tacita.engines.local.files.base import Checked, Narrowable, RowSource
from tacita.engines.local.files.open import open_source
from tacita.engines.local.layout import Layout, Planes
from tacita.engines.local.store import CodeStore, Reading, Snapshot, changed
from tacita.errors import InvalidInput
from tacita.privacy.unit import Unit
from tacita.tables.recoding import Recoding
from tacita.tables.table import Table
from tacita.tables.workload import Tables, Workload

__all__ = ["CACHE_BYTES", "LocalEngine"]

CACHE_BYTES = 1 << 30
"""Codes that an engine keeps by default."""

_T = TypeVar("_T")


class LocalEngine:
    """Rows in files or frames, counted on this machine.

    Rows are read in batches, turned into codes and counted; the raw table is never held. The codes themselves
    (a byte a value for up to 255 levels) are kept up to `cache_bytes`, so that the next workload reads
    nothing; beyond that every workload reads the source once. Files that have changed are read again, also when they
    change while they are counted; a frame is assumed not to change. Threads may share an engine.

    Args:
        domain: The schema.
        source: A path, several paths, a folder of files, an address in a store, or a frame with an Arrow stream.
        table: The sheet of a workbook, or the table of a DuckDB file.
        cache_bytes: Most memory for kept codes; 0 keeps none.
        threads: Threads to count with; all processors by default.

    >>> from tacita.domain import Boolean
    >>> domain = Domain(attributes=[Boolean(name="smokes")])
    >>> engine = LocalEngine(domain, pa.table({"smokes": [True, False, True]}))
    >>> engine.project(["smokes"]).values
    array([1, 2])
    """

    def __init__(
        self,
        domain: Domain,
        source: Any,
        *,
        table: str | None = None,
        cache_bytes: int = CACHE_BYTES,
        threads: int | None = None,
    ) -> None:
        if cache_bytes < 0:
            raise InvalidInput("must not be negative", field="cache_bytes", value=cache_bytes)
        if threads is not None and threads < 1:
            raise InvalidInput("must be at least 1", field="threads", value=threads)
        self._domain, self._threads, self._cache_bytes = domain, threads, cache_bytes
        self._given, self._table, self._lock = source, table, threading.Lock()
        opened = open_source(source, domain, table=table)
        self._snapshot = self._open(opened, opened.version)

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
        return Tables(self._domain, self._at_rest(lambda store: self._count(store, workload.keys, max_rows)))

    def project(self, attributes: Iterable[str]) -> Table:
        """Count one exact table over all rows, without bounding contributions: for the owner and for tests."""
        key = self._domain.check_countable(attributes)
        return self._at_rest(lambda store: self._count(store, [key], None))[key]

    def supports(self, attributes: Iterable[str]) -> bool:
        """Return whether the domain has all of these as countable attributes."""
        return set(attributes) <= set(self._domain.countable)

    def rows(self, columns: Iterable[str], batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """Return the raw columns, in batches of at most `batch_rows`."""
        names = check_reading(self._domain, columns, batch_rows)
        step("reading rows")
        return self._rows(names, batch_rows)

    def _rows(self, names: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        snapshot = self._current()
        for batch in snapshot.source.batches(names):
            for start in range(0, batch.num_rows, batch_rows):
                yield batch.slice(start, batch_rows)
        if not snapshot.lasts():
            raise changed()

    def apply(
        self, recoding: Recoding, columns: Iterable[str], batch_rows: int = BATCH_ROWS
    ) -> Iterator[pa.RecordBatch]:
        """Return the rows under a recoding. See `Recodes.apply`."""
        return apply_recoding(recoding, self._domain, columns, batch_rows, self.rows)

    def with_bins(self, domain: Domain) -> LocalEngine:
        """Return an engine over the same source with other bins. See `Rebins.with_bins`."""
        return LocalEngine(
            check_rebinned(self._domain, domain),
            self._given,
            table=self._table,
            cache_bytes=self._cache_bytes,
            threads=self._threads,
        )

    def check(self) -> SourceCheck:
        """Check how well the data fits its schema; all of it is read, whatever is cached."""
        step("checking rows")
        return self._at_rest(self._check)

    def _check(self, store: CodeStore) -> SourceCheck:
        source = store.snapshot.source
        read = source.checked if isinstance(source, Checked) else source.batches
        names, rows = self._domain.countable, 0
        totals = {name: np.zeros(self._domain[name].size + 1, np.int64) for name in names}
        for batch in read(self._domain.names):
            rows += batch.num_rows
            for name, codes in self._domain.encode(batch, names).items():
                totals[name] += np.bincount(codes, minlength=len(totals[name]))
        return SourceCheck(rows=rows, columns=tuple(column_check(self._domain, n, totals[n]) for n in names))

    # -- one state of the source -----------------------------------------------------------------------------

    def _open(self, source: RowSource, version: object) -> Snapshot:
        check_columns(self._domain, source.columns)
        # a user-defined source may not know its types: then they are checked batch by batch
        for schema in source.schemas(self._domain.names) if hasattr(source, "schemas") else ():
            check_types(self._domain, schema)
        if isinstance(source, Narrowable):
            source = source.only(self._domain.names)
        return Snapshot(source, version, Layout(self._domain, ()), full=self._cache_bytes == 0)

    def _current(self) -> Snapshot:
        """Return the snapshot of the current state of the source."""
        with self._lock:
            version = self._snapshot.source.version
            if version != self._snapshot.version:
                self._snapshot = self._open(open_source(self._given, self._domain, table=self._table), version)
            return self._snapshot

    def _at_rest(self, work: Callable[[CodeStore], _T]) -> _T:
        """Run work over one state of the source: if the source changed meanwhile, drop the result and try again.

        Cached results are stored together, and only if the state lasted. So threads share them safely, and a bound is
        never applied to other rows than those it was found on.
        """
        for _ in range(2):
            store = CodeStore(self._domain, self._cache_bytes, self._current())
            try:
                done = work(store)
            except Exception:
                if store.snapshot.lasts():
                    raise
                continue
            if store.snapshot.lasts():
                self._keep(store.snapshot)
                return done
        raise changed()

    def _keep(self, learnt: Snapshot) -> None:
        with self._lock:
            if self._snapshot.version == learnt.version:
                self._snapshot = self._snapshot.join(learnt)

    def _count(
        self, store: CodeStore, keys: Sequence[tuple[str, ...]], max_rows: int | None
    ) -> dict[tuple[str, ...], Table]:
        if max_rows is not None:
            reading, blocks = self._bounded(store, max_rows)
        else:
            used = {name for key in keys for name in key}
            reading = store.read([name for name in self._domain.countable if name in used])
            blocks = (block for block, _ in reading.blocks)
        counter = Counter(reading.layout, keys, reading.outside, reading.rows, self._threads)
        for block in blocks:
            counter.add(block)
        return counter.tables()

    # -- contribution bounding -------------------------------------------------------------------------------

    def _bounded(self, store: CodeStore, max_rows: int) -> tuple[Reading, Iterator[Planes]]:
        """Return a reading of all attributes, and the blocks of the rows that count."""
        if max_rows not in store.snapshot.bounds:
            bound = self._find_bound(store, max_rows)
            store.learn(bounds={**store.snapshot.bounds, max_rows: bound})
        reading = self._keyed(store)
        bound = store.snapshot.bounds[max_rows]
        if not reading.cached:
            return reading, self._keep_streaming(reading, bound)
        if max_rows not in store.snapshot.masks:
            masks = tuple(np.packbits(mask) for mask in bound.keep(self._coded(reading)))
            store.learn(masks={**store.snapshot.masks, max_rows: masks})
        # the keys are not needed any more, so they are not read again
        blocks = store.read(self._domain.countable).blocks
        packed = store.snapshot.masks[max_rows]
        return reading, (_masked(block, bits) for (block, _), bits in zip(blocks, packed, strict=True))

    def _find_bound(self, store: CodeStore, max_rows: int) -> Bound:
        # the first pass reads all attributes, not only the keys, so that the cache is filled on the way
        persons = Bound.count_persons(keys for _, keys in self._keyed(store).blocks)
        over = [key for key, rows in persons.items() if rows > max_rows]
        return Bound.find(over, max_rows, self._coded(self._keyed(store))) if over else Bound({})

    def _keyed(self, store: CodeStore) -> Reading:
        return store.read(self._domain.countable, self._domain.person)

    def _coded(self, reading: Reading) -> Iterator[tuple[pa.DictionaryArray, NDArray[Any]]]:
        """Yield keys and codes of all countable attributes, in the domain's order."""
        for block, keys in reading.blocks:
            codes = [reading.layout.codes(block, name) for name in self._domain.countable]
            yield keys, np.array(codes).reshape(len(codes), block.shape[1])

    def _keep_streaming(self, reading: Reading, bound: Bound) -> Iterator[Planes]:
        passed: list[Planes] = []

        def watched() -> Iterator[tuple[Planes, pa.DictionaryArray]]:
            for block, keys in reading.blocks:
                passed.append(block)
                yield block, keys

        again = Reading(reading.layout, reading.rows, reading.outside, False, watched())
        for mask in bound.keep(self._coded(again)):
            yield np.ascontiguousarray(passed.pop()[:, mask])


def _masked(block: Planes, bits: NDArray[np.uint8]) -> Planes:
    mask = np.unpackbits(bits, count=block.shape[1]).astype(np.bool_)
    return block if mask.all() else np.ascontiguousarray(block[:, mask])
