"""Whether two sources are the same data, by looking: names may differ where the data does not."""

from __future__ import annotations

from pathlib import Path

from tacita.engines.local.files.open import GROUPS
from tacita.engines.local.files.stored import find_files
from tacita.engines.marks import Mark, catalog_mark, collection_mark, table_marks
from tacita.engines.spark.address import SparkAddress, is_spark
from tacita.settings import SourceSettings

__all__ = ["identity_of"]


def identity_of(source: SourceSettings) -> frozenset[Mark]:
    """Marks of what lies there: two sources that share one are the same data, wholly or in part.

    A copy or a view has marks of its own.

    Raises:
        SourceUnavailable: The database cannot be reached. A file or a table that is gone has no marks.
    """
    if source.files is not None:
        return frozenset(_files(source.files.expanduser()))
    if is_spark(source.address):
        return frozenset(_by_spark(source))
    if source.is_mongo:
        return frozenset([collection_mark(source.address, str(source.table))])
    return frozenset(table_marks(source.address, str(source.table)))


def _by_spark(source: SourceSettings) -> list[Mark]:
    address = SparkAddress.parse(source.address)
    if address.path is None:
        return [catalog_mark(address.master, str(source.table))]
    return [("stored", str(file.store.type_name), file.path) for file in find_files([address.path], GROUPS)]


def _files(path: Path) -> list[Mark]:
    found = (file.stat() for file in (path, *path.rglob("*")) if file.is_file())
    return [(stat.st_dev, stat.st_ino) for stat in found]
