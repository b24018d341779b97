"""Whether two sources are the same data, by looking: names may differ where the data does not."""

from __future__ import annotations

from pathlib import Path

from tacita.engines.marks import Mark, collection_mark, table_marks
from tacita.settings import SourceSettings

__all__ = ["identity_of"]


def identity_of(source: SourceSettings) -> frozenset[Mark]:
    """Marks of what lies there: two sources that share one are the same data, wholly or in part.

    A copy or a view has marks of its own.

    Raises:
        SourceUnavailable: The database cannot be reached. A file or a table that is gone has no marks.
    """
    if source.path is not None:
        return frozenset(_files(source.path.expanduser()))
    if source.is_mongo:
        return frozenset([collection_mark(source.address, str(source.table))])
    return frozenset(table_marks(source.address, str(source.table)))


def _files(path: Path) -> list[Mark]:
    found = (file.stat() for file in (path, *path.rglob("*")) if file.is_file())
    return [(stat.st_dev, stat.st_ino) for stat in found]
