"""Parquet files, in batches that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tacita.engines.local.files.base import READ_ROWS, distinct_names, reading, same_columns
from tacita.engines.local.files.stored import StoredFile, find_files, stamps
from tacita.engines.local.files.unrolling import batches_of, check_unrolling, pieces

__all__ = ["PARQUET", "ParquetSource"]

PARQUET = (".parquet", ".pq")


class ParquetSource:
    """One or several Parquet files or folders of them, read as one.

    Args:
        addresses: Files and folders, on this machine or in a store.
    """

    def __init__(self, addresses: Sequence[str | Path | StoredFile]) -> None:
        self._addresses = list(addresses)
        self._pieces: dict[StoredFile, tuple[object, list[int]]] = {}
        self._rows = 0
        self.columns: tuple[str, ...] = ()
        for file in self._files():
            with reading(file.name, "Parquet"), pq.ParquetFile(file.random()) as opened:
                self._rows += opened.metadata.num_rows
                names = distinct_names(opened.schema_arrow.names)
            self.columns = same_columns(self.columns, names, file.name)

    def _files(self) -> list[StoredFile]:
        return find_files(self._addresses, [PARQUET])

    @property
    def rows(self) -> int | None:
        """Number of rows, by the files' footers."""
        return self._rows

    @property
    def version(self) -> object:
        """Names, sizes and times of the files."""
        return stamps(self._files())

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns, in each file."""
        for file in self._files():
            with reading(file.name, "Parquet"), pq.ParquetFile(file.random()) as opened:
                schema = opened.schema_arrow
            yield pa.schema([schema.field(name) for name in columns])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, with these columns; fewer at once if rows can be long, whichever columns are requested."""
        for file in self._files():
            with reading(file.name, "Parquet"):
                yield from batches_of(file.random(), columns, self._cut(file), file.groups)

    def check_unrolling(self, most: int) -> None:
        """Refuse a file whose rows take far more bytes than the file has: see `unrolling`."""
        for file in self._files():
            with reading(file.name, "Parquet"):
                check_unrolling(file.random(), file.size(), self.columns, most)

    def only(self, columns: Sequence[str]) -> ParquetSource:
        """The same with these columns alone, so that others cannot make its batches small."""
        narrow = copy(self)
        narrow.columns, narrow._pieces = tuple(columns), {}
        return narrow

    def _cut(self, file: StoredFile) -> list[int]:
        """Return the pieces of a file, computed again when the file has changed."""
        stamp = stamps([file])
        known, cut = self._pieces.get(file, (None, []))
        if known != stamp:
            cut = pieces(file.random(), self.columns, READ_ROWS, file.groups)
            self._pieces[file] = (stamp, cut)
        return cut
