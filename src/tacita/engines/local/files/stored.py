"""Files on this machine, and in stores that Arrow's filesystems reach: S3, Google Cloud, Azure, Hadoop.

An address with a scheme (`s3://bucket/people.parquet`) names a file or a folder in a store. Credentials come from the
environment, as the store's own tools take them; an address that holds some is refused, because addresses are printed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.fs as pa_fs

from tacita.errors import InvalidInput, SourceUnavailable

__all__ = ["COMPRESSED", "STORES", "StoredFile", "find_files", "is_stored", "stamps"]

STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs")
"""Schemes of addresses in stores."""
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_SCHEME = re.compile(r"^([a-z0-9]+)://", re.IGNORECASE)


@dataclass(frozen=True)
class StoredFile:
    """One file.

    Attributes:
        path: Its path, in the store if there is one.
        store: The filesystem of a store; None for this machine.
        groups: The row groups of a Parquet file that are meant; None for all.
    """

    path: str
    store: Any = field(default=None, hash=False)
    groups: range | None = None

    @property
    def name(self) -> str:
        """Last part of its path."""
        return PurePosixPath(self.path).name if self.store is not None else Path(self.path).name

    @cached_property
    def suffix(self) -> str:
        """Ending that says what is in it, in lower case, without that of a compression."""
        suffixes = [suffix.lower() for suffix in PurePosixPath(self.name).suffixes]
        if suffixes and suffixes[-1] in COMPRESSED:
            suffixes.pop()
        return suffixes[-1] if suffixes else ""

    @property
    def local(self) -> Path | None:
        """Its path on this machine; None in a store."""
        return Path(self.path) if self.store is None else None

    def stream(self) -> pa.NativeFile:
        """Open it for reading from its start, decompressed."""
        if self.store is None:
            return pa.input_stream(self.path, compression="detect")
        return self.store.open_input_stream(self.path, compression="detect")

    def random(self) -> Any:
        """Open it for reading at any position: a path on this machine, a file in a store."""
        return self.local or self.store.open_input_file(self.path)

    def size(self) -> int:
        """Number of bytes."""
        if self.store is None:
            return Path(self.path).stat().st_size
        return int(self.store.get_file_info(self.path).size)

    def stamp(self) -> tuple[object, ...]:
        """Return what changes when it is written or replaced."""
        if self.store is None:
            found = Path(self.path).stat()
            return (self.path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        info = self.store.get_file_info(self.path)
        if info.type == pa_fs.FileType.NotFound:
            raise FileNotFoundError(self.path)
        return (self.path, info.size, info.mtime_ns)


def is_stored(address: str) -> bool:
    """Whether an address names something in a store.

    >>> is_stored("s3://bucket/a.csv"), is_stored("a.csv")
    (True, False)
    """
    found = _SCHEME.match(address)
    return found is not None and found[1].lower() in STORES


def find_files(addresses: Iterable[str | Path | StoredFile], endings: Sequence[Sequence[str]]) -> list[StoredFile]:
    """Return the current files of some addresses: a folder may have a new one.

    Args:
        addresses: Files and folders; a file that was found before is found again.
        endings: Endings of files in a folder that count, in groups: the first group that is there is taken.
    """
    return [file for address in addresses for file in _parts(address, endings)]


def _parts(address: str | Path | StoredFile, endings: Sequence[Sequence[str]]) -> list[StoredFile]:
    """Return the files of a folder, by name; a file is its own part."""
    if isinstance(address, StoredFile):
        return [address]
    if isinstance(address, str) and is_stored(address):
        store, root = _store(address)
        info = _info(store, root, address)
        if info.type != pa_fs.FileType.Directory:
            return [StoredFile(root, store)]
        listed = store.get_file_info(pa_fs.FileSelector(root, recursive=True))
        files = [StoredFile(each.path, store) for each in listed if each.is_file]
    else:
        path = Path(address)
        if not path.is_dir():
            return [StoredFile(str(path))]
        files = [StoredFile(str(file)) for file in path.rglob("*") if file.is_file()]
    # by convention, names with a leading underscore or dot hold no data
    shown = sorted((file for file in files if not file.name.startswith(("_", "."))), key=lambda file: file.path)
    for group in endings:
        found = [file for file in shown if file.suffix in group]
        if found:
            return found
    raise SourceUnavailable("the folder holds no Parquet, Arrow or text files", field="source", value=str(address))


def _store(address: str) -> tuple[Any, str]:
    parts = urlsplit(address)
    if parts.username or parts.password:
        raise InvalidInput(
            "must hold no credentials",
            field="source",
            value=f"{parts.scheme}://",
            hint="Set them in the environment, as the store's own tools take them",
        )
    try:
        store, root = pa_fs.FileSystem.from_uri(address)
    except (pa.ArrowException, OSError, ValueError):
        raise SourceUnavailable("the store cannot be reached", field="source", value=f"{parts.scheme}://") from None
    return store, root


def _info(store: Any, root: str, address: str) -> Any:
    try:
        info = store.get_file_info(root)
    except (pa.ArrowException, OSError):
        raise SourceUnavailable(
            "the store cannot be reached, or refuses the credentials of the environment", field="source"
        ) from None
    if info.type == pa_fs.FileType.NotFound:
        raise SourceUnavailable("no such file", field="source", value=address)
    return info


def stamps(files: Iterable[StoredFile]) -> object:
    """Return names, sizes and times of files, which change when one is written or replaced."""
    try:
        return tuple(file.stamp() for file in files)
    except FileNotFoundError as error:
        raise SourceUnavailable("no such file", field="source", value=error.filename or str(error)) from None
