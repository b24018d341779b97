"""Named sources: those of the settings, and files that stewards have brought.

A file that was brought lies in the server's own folder. It can be replaced or removed until a dataset is registered
over it: from then on answers were paid for that are about these rows.
"""

from __future__ import annotations

import filecmp
import os
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Literal

from tacita.engines.local.sources import open_source
from tacita.errors import Conflict, InvalidInput, TacitaError, UnknownName
from tacita.server.settings import SourceSettings

__all__ = ["Kind", "Sources"]

Kind = Literal["csv", "parquet"]
_KINDS: tuple[Kind, ...] = ("csv", "parquet")


class Sources(Mapping[str, SourceSettings]):
    """All sources by name; what was brought is looked up at every use, because several processes share the folder.

    Args:
        named: Those of the settings.
        folder: Where files that are brought lie.
    """

    def __init__(self, named: Mapping[str, SourceSettings], folder: Path) -> None:
        self._named, self._folder = named, folder

    def __getitem__(self, name: str) -> SourceSettings:
        if name in self._named:
            return self._named[name]
        path = self._brought(name)
        if path is None:
            raise KeyError(name)
        return SourceSettings(path=path)

    def __iter__(self) -> Iterator[str]:
        yield from self._named
        if self._folder.is_dir():
            kept = (path for path in self._folder.iterdir() if not path.name.startswith("."))  # not what is coming in
            found = {path.stem for path in kept if path.suffix[1:] in _KINDS}
            yield from sorted(found - set(self._named))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def is_brought(self, name: str) -> bool:
        """Whether it is a file that somebody has brought."""
        return name not in self._named and self._brought(name) is not None

    async def bring(self, name: str, kind: Kind, chunks: AsyncIterator[bytes]) -> None:
        """Keep a file, whole or not at all. Its name was checked; its content is read once, to see that it can be.

        Raises:
            Conflict: The settings name a source so, or the very same file is there under another name.
            DataError: It cannot be read as what it is said to be.
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
            self._check(name, new)
            for other in _KINDS:
                if other != kind:
                    (self._folder / f"{name}.{other}").unlink(missing_ok=True)
            new.replace(self._folder / f"{name}.{kind}")
        finally:
            new.unlink(missing_ok=True)

    def remove(self, name: str) -> None:
        """Delete a file that was brought."""
        path = self._brought(name)
        if name in self._named or path is None:
            raise UnknownName(name, field="source", available=[known for known in self if self.is_brought(known)])
        path.unlink()

    def _brought(self, name: str) -> Path | None:
        paths = (self._folder / f"{name}.{kind}" for kind in _KINDS)
        return next((path for path in paths if path.parent == self._folder and path.is_file()), None)

    def _check(self, name: str, new: Path) -> None:
        if not new.stat().st_size:
            raise InvalidInput("must not be empty", field="file")
        for known in self:
            path = self._brought(known) if known != name and known not in self._named else None
            if path is not None and filecmp.cmp(path, new, shallow=False):  # two names would be two budgets
                raise Conflict(f"is the same file as the source {known!r}", field="file", hint="Use that source")
        try:
            source = open_source(str(new))
            next(iter(source.batches(source.columns)), None)
        except TacitaError as error:
            # its address would be ours
            raise type(error)(error.rule, field="file", hint="Send CSV with a line of names, or Parquet") from None
