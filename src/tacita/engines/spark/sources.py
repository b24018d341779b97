"""Sources of rows that a cluster reads: files that all of its machines see, and Spark's own frames and tables.

    FileSource     an RDD of paths: each task reads its files with Arrow, and no row passes through the JVM
    FrameSource    Arrow batches that Spark hands to each task

Measured: counting files so costs a seventh of counting a frame over the same files, because a frame's rows are
converted one by one.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.domain import Domain
from tacita.engines.local.files.base import READ_ROWS, Narrowable, RowSource, distinct_names, reading
from tacita.engines.local.files.open import GROUPS, open_source
from tacita.engines.local.files.parquet import PARQUET
from tacita.engines.local.files.stored import StoredFile, find_files
from tacita.engines.spark.counts import raised
from tacita.engines.spark.session import load, quiet
from tacita.engines.spark.tasks import Guarded, ReadFiles, Send
from tacita.errors import DataError

__all__ = ["FileSource", "FrameSource", "SparkSource", "parts_of", "slices_of"]

TASKS_PER_CORE = 4
"""Most tasks for each core: enough for even work, and for little work lost with a machine."""

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[Any]]


class SparkSource(Protocol):
    """Rows that a cluster reads."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def rows(self) -> int | None:
        """Number of rows, if it is known without reading them."""

    @property
    def version(self) -> object:
        """A value that changes when the data does; None if the data cannot change."""

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns, for each part that may have its own."""

    def run(self, task: Task, columns: Sequence[str], *, strict: bool = False) -> Any:
        """Return an RDD of what a task yields for each part of the rows."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, with these columns, on this machine."""


class FileSource:
    """Files that this machine and all executors see by the same path.

    Args:
        session: The Spark session.
        source: A path, several paths, a folder, or an address in a store.
        domain: The schema.
    """

    def __init__(self, session: Any, source: Any, domain: Domain, table: str | None = None) -> None:
        self._context, self._domain, self._table = session.sparkContext, domain, table
        self._paths = [_absolute(each) for each in (source if isinstance(source, list | tuple) else [source])]
        opened: RowSource = open_source(self._paths, domain, table=table)
        self._opened = opened.only(domain.names) if isinstance(opened, Narrowable) else opened
        self.columns, self.rows = opened.columns, opened.rows

    @property
    def version(self) -> object:
        """Names, sizes and times of the files."""
        return self._opened.version

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns, in each file."""
        return self._opened.schemas(columns)

    def run(self, task: Task, columns: Sequence[str], *, strict: bool = False) -> Any:
        """Return an RDD of what a task yields for the files of each part."""
        cores = self._context.defaultParallelism
        slices = slices_of(parts_of(find_files(self._paths, GROUPS), cores), TASKS_PER_CORE * cores)
        again = not self._context.master.startswith("local")  # where Spark does not try again
        read = Guarded(ReadFiles(self._domain, tuple(columns), task, strict, self._table), again=again)
        return self._context.parallelize(slices, max(len(slices), 1)).mapPartitions(_Flat(read))

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, read by this machine: sending them through executors would only cost more."""
        return self._opened.batches(columns)


def _absolute(source: Any) -> Any:
    """Return the path of a file as executors see it: their working folder is another."""
    if isinstance(source, Path) or (isinstance(source, str) and Path(source).exists()):
        return Path(source).absolute()
    return source


@dataclass(frozen=True)
class _Flat:
    """A task over lists of files."""

    task: Guarded

    def __call__(self, lists: Iterable[Sequence[StoredFile]]) -> Iterator[Any]:
        return self.task(file for files in lists for file in files)


def parts_of(files: Sequence[StoredFile], least: int) -> list[StoredFile]:
    """Split large Parquet files by their row groups, where there are fewer files than tasks could read at once."""
    found: list[StoredFile] = []
    for file in files:
        groups = 1
        if len(files) < least and file.suffix in PARQUET:
            with reading(file.name, "Parquet"), pq.ParquetFile(file.random()) as opened:
                groups = int(opened.num_row_groups)
        parts = min(groups, -(-least // len(files)))
        ends = [groups * at // parts for at in range(parts + 1)]
        found += [replace(file, groups=range(*pair)) for pair in pairwise(ends)] if parts > 1 else [file]
    return found


def slices_of(files: Sequence[StoredFile], most: int) -> list[list[StoredFile]]:
    """Deal files to tasks, so that each has about as many bytes.

    >>> [len(part) for part in slices_of([StoredFile("/dev/null")] * 5, 2)]
    [3, 2]
    """
    parts: list[list[StoredFile]] = [[] for _ in range(min(len(files), most))]
    held = [0.0] * len(parts)
    shared = Counter((file.path, id(file.store)) for file in files)
    sizes = [file.size() / shared[file.path, id(file.store)] for file in files]
    for size, file in sorted(zip(sizes, files, strict=True), key=lambda pair: (-pair[0], pair[1].path)):
        least = min(range(len(parts)), key=lambda at: (held[at], len(parts[at])))
        parts[least].append(file)
        held[least] += size
    return parts


class FrameSource:
    """A frame of Spark: a table of its catalog, or anything that it reads (Delta, Iceberg, JDBC).

    Args:
        frame: The frame; it is assumed not to change.
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self.columns = distinct_names(frame.columns)
        self.rows: int | None = None
        self.version: object = None

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns."""
        to_arrow = load("pyspark.sql.pandas.types").to_arrow_type
        kinds = dict(zip(self.columns, (part.dataType for part in self._frame.schema.fields), strict=True))
        found = []
        for name in columns:
            try:
                found.append((name, to_arrow(kinds[name], timezone="UTC")))
            except (TypeError, ValueError):
                raise DataError(
                    "a column of this type cannot be read", field=name, value=kinds[name].simpleString()
                ) from None
        yield pa.schema(found)

    def run(self, task: Task, columns: Sequence[str], *, strict: bool = False) -> Any:
        """Return an RDD of what a task yields for the rows of each partition."""
        # by position: Spark reads dots and letter case of names in its own way
        places = [self.columns.index(name) for name in columns]
        numbered = self._frame.toDF(*(f"c{at}" for at in range(len(self.columns))))
        with quiet():
            found = numbered.select(*(f"c{at}" for at in places)).mapInArrow(
                _InArrow(Guarded(_Renamed(tuple(columns), task))), "item binary"
            )
        return found.rdd.map(_unpickled)

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, part by part, as executors send them."""
        for item in self.run(Send(tuple(columns)), columns).toLocalIterator(prefetchPartitions=True):
            with pa.ipc.open_stream(raised(item)) as stream:
                yield from stream


@dataclass(frozen=True)
class _Renamed:
    """Batches with their own names again, and as many rows at once as the kernels like."""

    names: tuple[str, ...]
    task: Task

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        return self.task(self._batches(batches))

    def _batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        for batch in batches:
            if held and sum(each.num_rows for each in held) + batch.num_rows > READ_ROWS:
                yield self._joined(held)
                held = []
            held.append(batch)
        if held:
            yield self._joined(held)

    def _joined(self, held: list[pa.RecordBatch]) -> pa.RecordBatch:
        (joined,) = pa.Table.from_batches(held).combine_chunks().to_batches() or [held[0]]
        return joined.rename_columns(list(self.names))


@dataclass(frozen=True)
class _InArrow:
    """A task as Spark calls it: its items go as bytes in batches of one row."""

    task: Guarded

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for item in self.task(batches):
            yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(item)], pa.binary())], names=["item"])


def _unpickled(row: Any) -> Any:
    return pickle.loads(row[0])  # noqa: S301 -- written by a task of the same job
