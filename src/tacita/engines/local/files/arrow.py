"""Arrow files: the IPC format with random access (Feather version 2), and IPC streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc

from tacita.engines.local.files.base import READ_ROWS, distinct_names, reading, same_columns
from tacita.engines.local.files.stored import StoredFile, find_files, stamps

__all__ = ["ARROW", "ArrowSource"]

ARROW = (".arrow", ".feather", ".ipc", ".arrows")
_KIND = "Arrow"


class ArrowSource:
    """One or several Arrow files, or folders of them, read as one.

    Args:
        addresses: Files and folders, on this machine or in a store.
    """

    def __init__(self, addresses: Sequence[str | Path | StoredFile]) -> None:
        self._addresses = list(addresses)
        self.columns: tuple[str, ...] = ()
        for file in self._files():
            with reading(file.name, _KIND):
                names = distinct_names(_schema(file).names)
            self.columns = same_columns(self.columns, names, file.name)

    def _files(self) -> list[StoredFile]:
        return find_files(self._addresses, [ARROW])

    @property
    def rows(self) -> int | None:
        """None: the number of rows is not known before they are read."""
        return None

    @property
    def version(self) -> object:
        """Names, sizes and times of the files."""
        return stamps(self._files())

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns, in each file."""
        for file in self._files():
            with reading(file.name, _KIND):
                schema = _schema(file)
            yield pa.schema([schema.field(name) for name in columns])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns."""
        for file in self._files():
            with reading(file.name, _KIND):
                for batch in _batches(file):
                    for start in range(0, batch.num_rows, READ_ROWS):
                        yield batch.slice(start, READ_ROWS).select(list(columns))


def _schema(file: StoredFile) -> pa.Schema:
    with file.stream() as stream:
        start = stream.read(6)
    if start == b"ARROW1":
        with pa.ipc.open_file(file.random()) as opened:
            return opened.schema
    with file.stream() as stream, pa.ipc.open_stream(stream) as opened:
        return opened.schema


def _batches(file: StoredFile) -> Iterator[pa.RecordBatch]:
    with file.stream() as stream:
        start = stream.read(6)
    if start == b"ARROW1":
        with pa.ipc.open_file(file.random()) as opened:
            for at in range(opened.num_record_batches):
                yield opened.get_batch(at)
        return
    with file.stream() as stream, pa.ipc.open_stream(stream) as opened:
        yield from opened
