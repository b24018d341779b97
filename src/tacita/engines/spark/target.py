"""A folder that a cluster writes, by its address: `spark:PATH`, `spark://master:port/PATH`.

    check            before anything is read or paid for: the cluster is there, and the folder is not
    write_parts      rows that a function makes for each part, written by executors
    write            rows that this machine has

Rows of an engine are written by the engine itself: see `SparkEngine.rewrite`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from tacita.common.progress import step
from tacita.engines.spark.address import SparkAddress, is_spark
from tacita.errors import InvalidInput

__all__ = ["SparkTarget"]

PART_ROWS = 1 << 20


@dataclass(frozen=True)
class SparkTarget:
    """A folder of Parquet files that a cluster writes.

    Attributes:
        folder: The folder, which all machines see by this path.
        master: Address of the cluster's master; None for the one that Spark's own configuration names.
    """

    folder: str
    master: str | None = None

    @classmethod
    def parse(cls, address: str) -> SparkTarget:
        """Read an address.

        >>> SparkTarget.parse("spark:/data/out")
        SparkTarget(folder='/data/out', master=None)
        """
        if not is_spark(address):
            raise InvalidInput("must be spark:PATH, or spark://host:port/PATH", field="output", value=address)
        read = SparkAddress.parse(address)
        if read.path is None:
            raise InvalidInput("must name a folder", field="output", value=address, hint="Write spark:/data/out")
        return cls(read.path, read.master)

    @property
    def name(self) -> str:
        """The place, as messages and reports show it."""
        return f"spark:{self.folder}"

    @property
    def path(self) -> None:
        """The file, if it is one: it is none."""
        return

    def check(self, names: Sequence[str] = ()) -> None:
        """Refuse a cluster that is not there, a folder that is, and one that cannot be made; columns may be any."""
        from tacita.engines.spark.place import Place
        from tacita.engines.spark.session import session_of

        session_of(self.master)
        with Place.of(self.folder).hidden():  # now, and not when rows are paid for
            pass

    @staticmethod
    def parts_of(rows: int) -> int:
        """Number of files for so many rows; it depends on nothing else."""
        return max(1, -(-rows // PART_ROWS))

    def write(self, batches: Iterator[pa.Table], progress: Callable[[int], None] | None = None) -> None:
        """Write batches that this machine has, as one file of the folder."""
        from tacita.engines.spark.place import Place
        from tacita.engines.spark.writing import write

        place = Place.of(self.folder)
        step("writing rows")
        with place.hidden():
            written = write(place, 0, None, batches)
            if progress is not None:
                progress(written.rows)
            place.appear(list(written.files))

    def write_parts(self, parts: Sequence[Callable[[], Iterator[pa.Table]]]) -> int:
        """Write every part as a file, on executors, and return the number of rows.

        Args:
            parts: Each gives the batches of one file. It runs on an executor, again if that is lost, so it must give
                the same rows whenever it runs; each has random numbers of its own.
        """
        from tacita.engines.spark.place import Place
        from tacita.engines.spark.session import jobs, session_of
        from tacita.engines.spark.writing import write_drawn

        place, session = Place.of(self.folder), session_of(self.master)
        step("writing rows")
        with place.hidden(), jobs(session):
            written = write_drawn(session, place, parts)
            place.appear(list(written.files))
        return written.rows
