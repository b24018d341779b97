"""Whether two sources are the same data, by looking: names may differ where the data does not."""

from __future__ import annotations

from pathlib import Path

from tacita.errors import DataError
from tacita.server.settings import SourceSettings

__all__ = ["identity_of"]

# the moment at which a server was started distinguishes it from every other, whatever name it is reached by; a table
# that has partitions or inheriting tables holds their rows too
_TABLES = (
    "WITH RECURSIVE held(id) AS (SELECT %s::regclass::oid UNION SELECT inhrelid FROM pg_catalog.pg_inherits"
    " JOIN held ON inhparent = held.id) SELECT pg_catalog.pg_postmaster_start_time(), pg_database.oid, held.id"
    " FROM held, pg_catalog.pg_database WHERE datname = pg_catalog.current_database()"
)


def identity_of(source: SourceSettings) -> frozenset[tuple[object, ...]]:
    """Marks of what lies there: two sources that share one are the same data, wholly or in part.

    A copy, a view or a replica has marks of its own.

    Raises:
        SourceUnavailable: The database cannot be reached. A file or a table that is gone has no marks.
    """
    if source.path is not None:
        return frozenset(_files(source.path.expanduser()))
    if source.is_mongo:
        return frozenset([_collection(source.address, str(source.table))])
    return frozenset(_tables(source.address, str(source.table)))


def _files(path: Path) -> list[tuple[object, ...]]:
    found = (file.stat() for file in (path, *path.rglob("*")) if file.is_file())
    return [(stat.st_dev, stat.st_ino) for stat in found]


def _tables(url: str, table: str) -> list[tuple[object, ...]]:
    """The table and all whose rows are read with it."""
    from tacita.engines.postgres.driver import Server, load
    from tacita.engines.postgres.names import table_parts

    server, identifier = Server(url), load("psycopg.sql").Identifier
    try:
        found = identifier(*server.resolve(identifier(*table_parts(table))))
    except DataError:
        return []
    with server.snapshot() as connection:
        return [tuple(row) for row in connection.execute(_TABLES, [found.as_string(connection)])]


def _collection(url: str, collection: str) -> tuple[object, ...]:
    from tacita.engines.mongo.driver import Server
    from tacita.engines.mongo.names import check_collection

    server = Server(url)
    with server.reading(check_collection(collection)) as reader:
        described = reader.describe(name_only=False)
        # a collection has a number of its own, the same on all members of a replica set; a view has only its name
        return ("mongodb", described.get("info", {}).get("uuid") or f"{server.place}/{collection}")
