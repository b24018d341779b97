"""Reading of an untrusted file by a child process with limits.

    IsolatedSource(path).batches(columns)      as of any other source

A file can abort its reader (through a defect of the reader), make it loop for ever or use gigabytes. Here this ends
a child process only, and so becomes an ordinary refusal: `DataError`. The rows come back as Arrow batches over a pipe.
The protocol of the child is described in `reader`.

Utility:  1 million rows of 15 columns, described and read once: 1.1 CPU s instead of 0.3 from CSV (98 MiB), 0.8
          instead of 0.2 from Parquet (13 MiB). Half a second of it is the start of two children. Encoding these
          rows takes longer than that, and codes that an engine keeps in memory are not read again.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.ipc

from tacita.domain import CsvDialect, Domain
from tacita.engines.local.files.stored import StoredFile, stamps
from tacita.engines.local.reader import STREAM
from tacita.errors import DataError, rebuild

__all__ = ["IsolatedSource", "Limits"]

_MODULE = "tacita.engines.local.reader"
_ENVIRONMENT = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # the others reserve address space that they may never use
    "MALLOC_ARENA_MAX": "2",
}
_KEPT = ("PATH", "LANG", "LC_", "TMPDIR", "PYTHON", "LD_LIBRARY_PATH", "HOME", "SYSTEMROOT", "NUMBA_", "OMP_")
_PIPE = 1 << 20
_TOO_LONG = (signal.SIGXCPU, signal.SIGKILL)  # the second also when the machine has no memory left


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one reading of a file.

    Args:
        memory: Bytes of memory, besides those of the bare reader.
        seconds: CPU seconds for any file.
        seconds_per_mib: CPU seconds for each mebibyte of the file besides.
    """

    memory: int = 1 << 30
    seconds: float = 60.0
    seconds_per_mib: float = 1.0

    def cpu_seconds(self, path: Path) -> int:
        """Compute the limit of CPU seconds for this file."""
        try:
            size = path.stat().st_size
        except OSError:  # the child says what is wrong with it
            size = 0
        return math.ceil(self.seconds + self.seconds_per_mib * size / (1 << 20))

    def relaxed(self) -> Limits:
        """Allow more time, for files that were read before: a busier machine must not refuse an accepted file."""
        return Limits(memory=self.memory, seconds=4 * self.seconds, seconds_per_mib=4 * self.seconds_per_mib)


class IsolatedSource:
    """A file as a source of rows, opened by child processes only.

    Args:
        path: The file.
        limits: Limits of one reading.
        max_unrolling: Most bytes that the rows of a Parquet file may take for each byte of it; None for any number.
        strict: Whether a text file must be whole lines of text in its encoding.
        domain: The schema, with the dialect of a text file: numbers and dates are converted.
        dialect: How a text file is written, where there is no schema yet.
        table: The sheet of a workbook.
    """

    def __init__(
        self,
        path: Path,
        limits: Limits | None = None,
        *,
        max_unrolling: int | None = None,
        strict: bool = False,
        domain: Domain | None = None,
        dialect: CsvDialect | None = None,
        table: str | None = None,
    ) -> None:
        self._path, self._limits = path, limits or Limits()
        self._domain, self._dialect, self._table = domain, dialect, table
        self._max_unrolling, self._strict = max_unrolling, strict
        self._only: tuple[str, ...] | None = None
        self._described: tuple[object, pa.Schema] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self._schema().names)

    @property
    def rows(self) -> int | None:
        """None: the number of rows is not known before they are read, and a footer may be wrong."""
        return None

    @property
    def version(self) -> object:
        """Name, size and time of the file."""
        return stamps([StoredFile(str(self._path))])

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns."""
        schema = self._schema()
        yield pa.schema([schema.field(name) for name in columns])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, with these columns."""
        for stream in self._streams("read", columns=list(columns)):
            yield from stream

    def skim(self) -> None:
        """Read everything that a dataset could use, and keep nothing; refuse a file that cannot be read."""
        for _ in self._streams("skim"):
            pass

    def checked(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns; a text file that is not whole lines of text in its encoding is refused."""
        strict = copy(self)
        strict._strict = True
        return strict.batches(columns)

    def draft(self, title: str, given: Mapping[str, Any] | None = None) -> Any:
        """Draft its schema, as data: see `tacita.engines.local.files.draft`.

        Args:
            title: Name of the domain. given: What a person has stated about the dialect.
        """
        with self._child("draft", title=title, given=dict(given or {})) as out:
            text = out.read()
        return json.loads(text)

    def only(self, columns: Sequence[str]) -> IsolatedSource:
        """Return the same source with these columns alone, so that others cannot make its batches small."""
        narrow = copy(self)
        narrow._only = tuple(columns)
        return narrow

    def _schema(self) -> pa.Schema:
        version = self.version
        if self._described is None or self._described[0] != version:
            (schema,) = [stream.schema for stream in self._streams("describe")]
            self._described = (version, schema)
        return self._described[1]

    def _streams(self, do: str, **parts: Any) -> Iterator[pa.RecordBatchReader]:
        """Yield the streams that a child sends; each must be read to its end before the next."""
        with self._child(do, **parts) as out:
            while out.read(len(STREAM)) == STREAM:
                with pa.ipc.open_stream(out) as stream:
                    yield stream
                    for _ in stream:  # skip the rest if the caller read the schema alone
                        pass

    @contextmanager
    def _child(self, do: str, **parts: Any) -> Iterator[IO[bytes]]:
        """Start a child and yield its output; once all was read, raise its refusal or the cause of its death."""
        reading, writing = os.pipe()
        request = {
            "do": do,
            "path": str(self._path),
            "columns": None,
            "only": None if self._only is None else list(self._only),
            "unrolling": self._max_unrolling,
            "strict": self._strict,
            "title": "",
            "domain": None if self._domain is None else self._domain.to_json(),
            "dialect": None if self._dialect is None else self._dialect.model_dump(mode="json"),
            "table": self._table,
            "memory": self._limits.memory,
            "seconds": self._limits.cpu_seconds(self._path),
            "outcome": writing,
            **parts,
        }
        with os.fdopen(reading, "rb") as outcome:
            try:
                child = subprocess.Popen(  # noqa: S603 -- our own module, in our own interpreter
                    [sys.executable, "-P", "-m", _MODULE],  # nothing is imported from the working directory
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[writing],
                    env=_environment(),
                    start_new_session=True,  # an interrupt at the terminal reaches us only, and we pass it on
                )
            finally:
                os.close(writing)
            whole = True
            with child:
                assert child.stdin is not None
                assert child.stdout is not None
                with suppress(OSError, AttributeError):  # a wider pipe is faster, where there is one
                    fcntl.fcntl(child.stdout, fcntl.F_SETPIPE_SZ, _PIPE)
                try:
                    with suppress(BrokenPipeError):
                        child.stdin.write(json.dumps(request).encode())
                        child.stdin.close()
                    try:
                        yield child.stdout
                    except (pa.ArrowException, OSError):
                        whole = False  # the child died in the middle of a stream
                    said = outcome.read()
                finally:
                    child.kill()
        _raise(said, child.returncode, whole=whole)


def _environment() -> dict[str, str]:
    """Return the environment of a reader, without settings and credentials of any name.

    The reader runs as our user: on most systems it could still read our own environment in /proc.
    """
    ours = {name: value for name, value in os.environ.items() if name.startswith(_KEPT)}
    return ours | _ENVIRONMENT


def _raise(said: bytes, status: int, *, whole: bool) -> None:
    """Raise the error that a child reported, or the cause of its death."""
    problem = json.loads(said) if said else {}
    if problem:
        raise rebuild(problem) from None
    if said and whole:
        return
    if -status in _TOO_LONG:
        raise DataError("the file takes too long or too much memory to read", field="file") from None
    raise DataError("the file ended its reader: it is damaged, or was made to do harm", field="file") from None
