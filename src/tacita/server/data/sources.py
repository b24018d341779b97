"""Named sources: those of the settings, and files that stewards have brought.

A file that was brought is stored in the server's own folder, and only child processes with limits open it
(`tacita.engines.local.isolated`). It can be replaced or removed until a dataset is registered over it: from then on
answers were paid for that are about these rows.
"""

from __future__ import annotations

import fcntl
import filecmp
import os
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import anyio.to_thread

from tacita.domain import CsvDialect, Domain
from tacita.engines.local.files.base import RowSource
from tacita.engines.local.files.draft import draft
from tacita.engines.local.files.open import open_source
from tacita.engines.local.files.parquet import PARQUET, ParquetSource
from tacita.engines.local.isolated import IsolatedSource, Limits
from tacita.errors import Conflict, DataError, InvalidInput, SourceUnavailable, UnknownName
from tacita.settings import SourceSettings
from tacita.wire.sources import FileKind

__all__ = ["BroughtSettings", "ReadingLimits", "Sources"]

_KINDS: tuple[FileKind, ...] = get_args(FileKind)


@dataclass(frozen=True, kw_only=True)
class ReadingLimits:
    """Limits on reading sources.

    Args:
        max_unrolling: Most bytes that the rows of a Parquet file may take for each byte of it.
        max_reader_bytes: Most memory for reading an uploaded file.
        database_seconds: Most seconds for one statement in a database.
    """

    max_unrolling: int = 1000
    max_reader_bytes: int = 1 << 30
    database_seconds: float = 3600.0

    def open_brought(
        self,
        path: Path,
        *,
        known: bool = False,
        strict: bool = False,
        whole: bool = False,
        domain: Domain | None = None,
        dialect: CsvDialect | None = None,
    ) -> IsolatedSource:
        """A file that came over the network.

        Args:
            path: Where it is stored.
            known: Whether it was read within these limits before.
            strict: Whether a text file must be whole lines of text in its encoding.
            whole: Whether the caller holds all rows, and so bounds them itself.
            domain: The schema, with the dialect of a text file.
            dialect: The dialect, where there is no schema yet.
        """
        limits = Limits(memory=self.max_reader_bytes)
        return IsolatedSource(
            path,
            limits.relaxed() if known else limits,
            max_unrolling=None if whole else self.max_unrolling,
            strict=strict,
            domain=domain,
            dialect=dialect,
        )

    def open(self, place: SourceSettings, domain: Domain | None = None, *, known: bool = False) -> RowSource:
        """A file, named in the settings or brought.

        Args:
            place: Which.
            domain: The schema: its columns alone are read.
            known: Whether it was read within these limits before.
        """
        assert place.path is not None
        path = place.path.expanduser()
        if place.brought:
            return self.open_brought(path, known=known, domain=domain)
        source = open_source(str(path), domain)
        if isinstance(source, ParquetSource):
            (source if domain is None else source.only(domain.names)).check_unrolling(self.max_unrolling)
        return source

    def draft(self, place: SourceSettings, title: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Draft the schema of a file, with reasons; that of an uploaded file in the process that opens it.

        Args:
            place: Which. title: Name of the domain.
            given: What a person has stated about the dialect of a text file.
        """
        assert place.path is not None
        path = place.path.expanduser()
        try:
            if place.brought:
                drafted: dict[str, Any] = self.open_brought(path).draft(title, given)
                return drafted
            if path.suffix.lower() in PARQUET or path.is_dir():
                self.open(place)  # refuses rows that take far more bytes than the file has
            return draft(str(path), title=title, given=given).as_dict()
        except DataError as error:  # a draft is for the owner, who can mend the file
            raise _without_address(error, field="source") from None


class BroughtSettings(SourceSettings):
    """Settings of a file that was uploaded over the network."""

    @property
    def brought(self) -> bool:
        """Always true."""
        return True


class Sources(Mapping[str, SourceSettings]):
    """All sources by name. Uploaded files are looked up at every use, because several processes share the folder.

    Args:
        named: Those of the settings.
        folder: Where uploaded files are stored.
        limits: Limits on reading them.
    """

    def __init__(
        self, named: Mapping[str, SourceSettings], folder: Path, *, limits: ReadingLimits | None = None
    ) -> None:
        self._named, self._folder, self._limits = named, folder, limits or ReadingLimits()

    def __getitem__(self, name: str) -> SourceSettings:
        if name in self._named:
            return self._named[name]
        path = self._brought(name)
        if path is None:
            raise KeyError(name)
        return BroughtSettings(path=path)

    def __iter__(self) -> Iterator[str]:
        yield from self._named
        if self._folder.is_dir():
            kept = (path for path in self._folder.iterdir() if not path.name.startswith("."))  # not what is coming in
            found = {path.stem for path in kept if path.suffix[1:] in _KINDS}
            yield from sorted(found - set(self._named))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def is_brought(self, name: str) -> bool:
        """Whether it is an uploaded file."""
        return name not in self._named and self._brought(name) is not None

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder: while the block runs, no other process replaces or removes an uploaded file."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self._folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    async def bring(
        self, name: str, kind: FileKind, chunks: AsyncIterator[bytes], *, check: Callable[[], None] = lambda: None
    ) -> None:
        """Store an uploaded file, whole or not at all. Its name was checked; its rows are read to check them.

        Args:
            name: Name of the source.
            kind: The stated format.
            chunks: Its content.
            check: Called when the file is complete and the folder is locked; raises if it must not be stored.

        Raises:
            Conflict: A source of the settings has this name, or the same file is stored under another name.
            DataError: It cannot be read in the stated format.
        """
        if name in self._named:
            raise Conflict("is a source of the settings", field="source", value=name, hint="Choose another name")
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, text = tempfile.mkstemp(dir=self._folder, prefix=".", suffix=f".{kind}")
        new = Path(text)
        try:
            with os.fdopen(handle, "wb") as file:
                async for chunk in chunks:
                    file.write(chunk)
            await anyio.to_thread.run_sync(self._keep, name, kind, new, check)
        finally:
            new.unlink(missing_ok=True)

    def remove(self, name: str, *, check: Callable[[], None] = lambda: None) -> None:
        """Delete an uploaded file; `check` as in `bring`."""
        with self.held():
            path = self._brought(name)
            if name in self._named or path is None:
                raise UnknownName(name, field="source", available=())  # the caller may not see the others
            check()
            path.unlink()

    def _keep(self, name: str, kind: FileKind, new: Path, check: Callable[[], None]) -> None:
        self._check_readable(new)
        with self.held():
            check()
            self._check_new(name, new)
            for other in _KINDS:
                if other != kind:
                    (self._folder / f"{name}.{other}").unlink(missing_ok=True)
            new.replace(self._folder / f"{name}.{kind}")

    def _check_readable(self, new: Path) -> None:
        if not new.stat().st_size:
            raise InvalidInput("must not be empty", field="file")
        try:
            self._limits.open_brought(new, strict=True).skim()
        except (DataError, SourceUnavailable) as error:
            raise _without_address(error, field="file") from None

    def _brought(self, name: str) -> Path | None:
        paths = (self._folder / f"{name}.{kind}" for kind in _KINDS)
        return next((path for path in paths if path.parent == self._folder and path.is_file()), None)

    def _check_new(self, name: str, new: Path) -> None:
        """Refuse the same bytes under another name: two names would be two budgets.

        This catches accidents only. The same rows in other bytes are another file, for which the uploader is
        responsible.
        """
        for known in self:
            path = None if known == name else self[known].path
            if path is not None and path.is_file() and filecmp.cmp(path, new, shallow=False):
                # the other name is not revealed: it may be outside the caller's scope
                raise Conflict("is the same file as another source", field="file", hint="Use that source")


def _without_address(error: DataError | SourceUnavailable, *, field: str) -> DataError:
    """Return an error that states the fault and the line for the owner, without the path on the server."""
    where = f" ({error.private})" if error.private else ""
    hint = error.hint or "Send CSV in UTF-8 with a line of names, or Parquet"
    return DataError(f"{error.rule}{where}", field=field, hint=hint)
