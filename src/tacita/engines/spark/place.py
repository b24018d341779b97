"""A folder of Parquet files that a cluster writes: seen whole, or not at all.

While work runs, files lie in a hidden folder beside the output, under names that readers skip. At the end they get
their names, and the folder becomes the output in one step; in an object store, which has no such step, files are moved
one by one, and `_SUCCESS` comes last. What was not answered with is removed. A driver that is killed leaves the hidden
folder behind, and no output.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.fs as pa_fs

from tacita.engines.local.files.stored import is_stored
from tacita.errors import InvalidInput, SourceUnavailable

__all__ = ["SUCCESS", "Place"]

SUCCESS = "_SUCCESS"
_OBJECTS = re.compile(r"^(s3|gs|gcs|abfs|abfss)://", re.IGNORECASE)


@dataclass(frozen=True)
class Place:
    """Output folder that is yet to appear, and the hidden folder that is written to.

    Attributes:
        path: The output, on its filesystem.
        token: Part of the name of the hidden folder.
        store: The filesystem.
        objects: Whether it is an object store.
    """

    path: str
    token: str
    store: Any = field(repr=False)
    objects: bool = False

    @classmethod
    def of(cls, path: str) -> Place:
        """The place of an output, which must not exist yet."""
        if is_stored(path):
            try:
                store, root = pa_fs.FileSystem.from_uri(path)
            except (pa.ArrowException, OSError, ValueError):
                raise SourceUnavailable("the store cannot be reached", field="output") from None
        else:
            store, root = pa_fs.LocalFileSystem(), str(Path(path).expanduser().resolve())
        made = cls(root.rstrip("/"), uuid.uuid4().hex[:12], store, bool(_OBJECTS.match(path)))
        made.check()
        return made

    def check(self) -> None:
        """Refuse an output that exists, or whose folder does not."""
        parent = str(PurePosixPath(self.path).parent)
        with self._says():
            here, above = self.store.get_file_info([self.path, parent])
        if here.type != pa_fs.FileType.NotFound:
            raise InvalidInput(
                "exists already: a folder of parts is never mixed with another", field="output", value=self.path
            )
        if above.type != pa_fs.FileType.Directory and not self.objects:
            raise InvalidInput("its folder must exist", field="output", value=self.path)

    @property
    def _hidden(self) -> str:
        whole = PurePosixPath(self.path)
        return str(whole.with_name(f".{whole.name}.{self.token}.part"))

    # -- on any machine ----------------------------------------------------------------------------------------------

    @contextmanager
    def create(self, name: str) -> Iterator[Any]:
        """Open a new file; its folder is there, or this machine does not see it."""
        rule = "an executor cannot write there, or does not see the folder"
        with self._says(rule), self.store.open_output_stream(f"{self._hidden}/{name}") as file:
            yield file

    def size(self, name: str) -> int:
        """Number of bytes of a file; -1 if it is not there."""
        info = self.store.get_file_info(f"{self._hidden}/{name}")
        return int(info.size) if info.type == pa_fs.FileType.File else -1

    @contextmanager
    def read(self, name: str) -> Iterator[Any]:
        """Open a file."""
        with self.store.open_input_file(f"{self._hidden}/{name}") as file:
            yield file

    # -- on the machine that started the work ------------------------------------------------------------------------

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Make the hidden folder; what is still in it afterwards is removed."""
        with self._says():
            self.store.create_dir(self._hidden, recursive=False)
        try:
            yield
        finally:
            with suppress(OSError, pa.ArrowException):
                self.store.delete_dir(self._hidden)

    def appear(self, files: list[tuple[int, str, int, int]]) -> None:
        """Let the output appear: these files, in the order of their parts, and nothing else."""
        for _, name, _, size in files:
            if self.size(name) != size:
                raise SourceUnavailable(
                    "the executors write where this machine does not see it",
                    field="output",
                    value=self.path,
                    hint="Give a folder that all machines see by the same path",
                )
        self.check()
        done = self.path if self.objects else f"{self._hidden}/whole"
        with self._says():
            self.store.create_dir(done, recursive=False)
            for place, (_, name, _, _) in enumerate(sorted(files)):
                self.store.move(f"{self._hidden}/{name}", f"{done}/part-{place:05d}.parquet")
            with self.store.open_output_stream(f"{done}/{SUCCESS}"):
                pass
            if not self.objects:
                self.store.move(done, self.path)

    @contextmanager
    def _says(self, rule: str = "cannot be written") -> Iterator[None]:
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise InvalidInput(rule, field="output", value=self.path, private=type(error).__name__) from None
