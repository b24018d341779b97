"""Whether two sources are the same data, by looking: names may differ where the data does not."""

from __future__ import annotations

from pathlib import Path

from tacita.server.settings import SourceSettings

__all__ = ["identity_of"]

# the moment at which a server was started tells it from every other, whatever name it is reached by
_TABLE = (
    "SELECT pg_postmaster_start_time(), oid, to_regclass(%s)::oid FROM pg_database WHERE datname = current_database()"
)


def identity_of(source: SourceSettings) -> frozenset[tuple[object, ...]]:
    """Marks of what lies there: two sources that share one are the same data, wholly or in part.

    A copy, a view or a replica has marks of its own.

    Raises:
        SourceUnavailable: The database cannot be reached. A file that is gone has no marks.
    """
    if source.path is not None:
        return frozenset(_files(source.path.expanduser()))
    find = _collection if source.is_mongo else _table
    return frozenset([find(source.address, str(source.table))])


def _files(path: Path) -> list[tuple[object, ...]]:
    found = (file.stat() for file in (path, *path.rglob("*")) if file.is_file())
    return [(stat.st_dev, stat.st_ino) for stat in found]


def _table(url: str, table: str) -> tuple[object, ...]:
    from tacita.engines.postgres.driver import Server, load
    from tacita.engines.postgres.names import table_parts

    with Server(url).snapshot() as connection:
        name = load("psycopg.sql").Identifier(*table_parts(table)).as_string(connection)
        return tuple(connection.execute(_TABLE, [name]).fetchone())


def _collection(url: str, collection: str) -> tuple[object, ...]:
    from tacita.engines.mongo.driver import Server
    from tacita.engines.mongo.names import check_collection

    server = Server(url)
    with server.reading(check_collection(collection)) as reader:
        described = reader.describe(name_only=False)
        # a collection has a number of its own, the same on all members of a replica set; a view has only its name
        return ("mongodb", described.get("info", {}).get("uuid") or f"{server.place}/{collection}")
