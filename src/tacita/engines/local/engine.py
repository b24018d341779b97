"""Counting on this machine: CSV and Parquet files, Arrow tables, pandas and polars frames."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.base import BATCH_ROWS, SourceCheck
from tacita.engines.checking import check_columns, check_reading, column_check
from tacita.engines.local.bound import Bound
from tacita.engines.local.counter import Counter
from tacita.engines.local.layout import Planes
from tacita.engines.local.sources import open_source
from tacita.engines.local.store import CodeStore, Reading
from tacita.errors import InvalidInput
from tacita.privacy.unit import Unit
from tacita.table import Table
from tacita.tables import Tables, Workload

__all__ = ["CACHE_BYTES", "LocalEngine"]

CACHE_BYTES = 1 << 30
"""Codes that an engine keeps by default."""


class LocalEngine:
    """Rows in files or frames, counted on this machine.

    Rows are read in batches, turned into codes and counted; the raw table is never held. The codes themselves
    (a byte a value for up to 255 levels) are kept up to `cache_bytes`, so that the next workload reads
    nothing; beyond that every workload reads the source once. Files that have changed are read again; a frame
    is taken to stay as it is.

    Args:
        domain: What is public about the data.
        source: A path, several paths, a folder of Parquet or CSV files, or a frame with an Arrow stream.
        cache_bytes: Most memory for kept codes; 0 keeps none.
        threads: Threads to count with; all processors by default.

    >>> from tacita.domain import Boolean
    >>> domain = Domain(attributes=[Boolean(name="smokes")])
    >>> engine = LocalEngine(domain, pa.table({"smokes": [True, False, True]}))
    >>> engine.project(["smokes"]).values
    array([1, 2])
    """

    def __init__(
        self, domain: Domain, source: Any, *, cache_bytes: int = CACHE_BYTES, threads: int | None = None
    ) -> None:
        if cache_bytes < 0:
            raise InvalidInput("must not be negative", field="cache_bytes", value=cache_bytes)
        if threads is not None and threads < 1:
            raise InvalidInput("must be at least 1", field="threads", value=threads)
        self._domain, self._threads = domain, threads
        self._source = open_source(source)
        check_columns(domain, self._source.columns)
        self._store = CodeStore(domain, self._source, cache_bytes)
        self._bounds: dict[int, Bound] = {}
        self._masks: dict[int, list[NDArray[np.uint8]]] = {}

    @property
    def domain(self) -> Domain:
        """What is public about the data."""
        return self._domain

    def tables(self, workload: Workload, unit: Unit) -> Tables:
        """Exact tables of a workload. See `Engine.tables`."""
        workload.check(self._domain)
        unit.check(self._domain)
        self._refresh()
        return Tables(self._domain, self._count(workload.keys, unit.max_rows if unit.person else None))

    def project(self, attributes: Iterable[str]) -> Table:
        """One exact table over all rows, unbounded: for the owner and for tests."""
        key = self._domain.check_countable(attributes)
        self._refresh()
        return self._count([key], None)[key]

    def supports(self, attributes: Iterable[str]) -> bool:
        """Whether the domain has all of these as countable attributes."""
        return set(attributes) <= set(self._domain.countable)

    def rows(self, columns: Iterable[str], batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The raw columns, in batches of at most `batch_rows`."""
        names = check_reading(self._domain, columns, batch_rows)
        return (
            batch.slice(start, batch_rows)
            for batch in self._source.batches(names)
            for start in range(0, batch.num_rows, batch_rows)
        )

    def check(self) -> SourceCheck:
        """How well the data fits its schema."""
        self._refresh()
        names, rows = self._domain.countable, 0
        totals = {name: np.zeros(self._domain[name].size + 1, np.int64) for name in names}
        reading = self._store.read(names)
        for block, _ in reading.blocks:
            rows += block.shape[1]
            for name in names:
                totals[name] += np.bincount(reading.layout.codes(block, name), minlength=len(totals[name]))
        return SourceCheck(rows=rows, columns=tuple(column_check(self._domain, n, totals[n]) for n in names))

    def _refresh(self) -> None:
        if self._store.refresh():
            self._bounds.clear()
            self._masks.clear()

    def _count(self, keys: Sequence[tuple[str, ...]], max_rows: int | None) -> dict[tuple[str, ...], Table]:
        if max_rows is not None:
            reading, blocks = self._bounded(max_rows)
        else:
            used = {name for key in keys for name in key}
            reading = self._store.read([name for name in self._domain.countable if name in used])
            blocks = (block for block, _ in reading.blocks)
        counter = Counter(reading.layout, keys, reading.outside, reading.rows, self._threads)
        for block in blocks:
            counter.add(block)
        return counter.tables()

    # -- at most so many rows of a person --------------------------------------------------------------------

    def _bounded(self, max_rows: int) -> tuple[Reading, Iterator[Planes]]:
        """A reading of all attributes, and the blocks of the rows that count."""
        if max_rows not in self._bounds:
            self._bounds[max_rows] = self._find_bound(max_rows)
        reading = self._keyed()
        if not reading.cached:
            return reading, self._keep_streaming(reading, self._bounds[max_rows])
        if max_rows not in self._masks:
            kept = self._bounds[max_rows].keep(self._coded(reading))
            self._masks[max_rows] = [np.packbits(mask) for mask in kept]
        # the keys are not needed any more, so they are not read again
        blocks = self._store.read(self._domain.countable).blocks
        packed = self._masks[max_rows]
        return reading, (_masked(block, bits) for (block, _), bits in zip(blocks, packed, strict=True))

    def _find_bound(self, max_rows: int) -> Bound:
        # the first pass reads all attributes, not only the keys, so that the cache is filled on the way
        persons = Bound.count_persons(keys for _, keys in self._keyed().blocks)
        over = [key for key, rows in persons.items() if rows > max_rows]
        return Bound.find(over, max_rows, self._coded(self._keyed())) if over else Bound({})

    def _keyed(self) -> Reading:
        return self._store.read(self._domain.countable, self._domain.person)

    def _coded(self, reading: Reading) -> Iterator[tuple[pa.DictionaryArray, NDArray[Any]]]:
        """Keys and codes of all countable attributes, in the domain's order."""
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
