"""Marks that identify data when it is registered again under another name: digests of files, ids of tables.

    a file, a folder     SHA-256 of each file's bytes, whatever its name and folder, on this machine or in a store
    PostgreSQL           the system identifier of the cluster, the ids of the database, the table and its partitions
    MongoDB              the collection's UUID
    Spark                those of the files, as without Spark; of a table, its place and name in the catalog

They find accidents: the same file in another folder, the same table by another address. A copy that was changed in one
byte, a view, or a copy of a table has marks of its own.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from tacita.domain import Domain
from tacita.engines.local.files.base import reading
from tacita.engines.local.files.open import DUCKDB, GROUPS
from tacita.engines.local.files.stored import StoredFile, find_files, is_stored
from tacita.engines.spark.address import SparkAddress, is_spark
from tacita.errors import DataError, InternalError, SourceUnavailable
from tacita.privacy.ledger import DataMarks

__all__ = ["Mark", "catalog_mark", "collection_mark", "data_marks", "table_marks"]

# a cluster has one system identifier, whatever address it is reached by; a table that has partitions or inheriting
# tables holds their rows too
_TABLES = (
    "WITH RECURSIVE held(id) AS (SELECT %s::regclass::oid UNION SELECT inhrelid FROM pg_catalog.pg_inherits"
    " JOIN held ON inhparent = held.id) SELECT system_identifier, pg_database.oid, held.id"
    " FROM held, pg_catalog.pg_control_system(), pg_catalog.pg_database WHERE datname = pg_catalog.current_database()"
)

Mark = tuple[object, ...]


def data_marks(address: str, domain: Domain, table: str | None = None) -> DataMarks:
    """Compute the marks of a source, by its address as `connect` reads it.

    Raises:
        SourceUnavailable: It cannot be reached or read.
    """
    lower = address.lower()
    if is_spark(address):
        place = SparkAddress.parse(address)
        if place.path is not None:
            return data_marks(place.path, domain, table)
        found = {_digest(catalog_mark(place.master, str(table)))}
    elif lower.startswith(("postgresql:", "postgres:")):
        found = {_digest(mark) for mark in table_marks(address, str(table))}
    elif lower.startswith(("mongodb:", "mongodb+srv:")):
        found = {_digest(collection_mark(address, str(table)))}
    elif is_stored(address):
        found = {_store_digest(file) for file in find_files([address], GROUPS)}
    elif "://" in address:  # an engine whose data could not be recognised would have a second budget
        raise InternalError("has no marks: add them to engines.marks", field="source")
    else:
        path = Path(address.removeprefix(DUCKDB)).expanduser()
        files = [path] if not path.is_dir() else [each for each in path.rglob("*") if each.is_file()]
        found = {_file_digest(file) for file in files}
    return DataMarks(marks=frozenset(found), schema=domain.fingerprint)


def _digest(parts: Mark) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def _file_digest(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise SourceUnavailable(f"cannot be read: {error.strerror}", field="source", value=str(file)) from None


def _store_digest(file: StoredFile) -> str:
    digest = hashlib.sha256()
    with reading(file.name, "a file"), file.store.open_input_file(file.path) as opened:
        while part := opened.read(1 << 22):
            digest.update(part)
    return digest.hexdigest()


def table_marks(url: str, table: str) -> list[Mark]:
    """Return the marks of a PostgreSQL table and of all tables read with it; none if there is no such table."""
    from tacita.engines.postgres.driver import Server, load
    from tacita.engines.postgres.names import table_parts

    server, identifier = Server(url), load("psycopg.sql").Identifier
    try:
        found = identifier(*server.resolve(identifier(*table_parts(table))))
    except DataError:
        return []
    with server.snapshot() as connection:
        return [("postgresql", *row) for row in connection.execute(_TABLES, [found.as_string(connection)])]


def collection_mark(url: str, collection: str) -> Mark:
    """Return the mark of a MongoDB collection: its UUID, equal on all members of a replica set; a view's name."""
    from tacita.engines.mongo.driver import Server
    from tacita.engines.mongo.names import check_collection

    server = Server(url)
    with server.reading(check_collection(collection)) as reader:
        described = reader.describe(name_only=False)
        return ("mongodb", described.get("info", {}).get("uuid") or f"{server.place}/{collection}")


def catalog_mark(master: str | None, table: str) -> Mark:
    """Return the mark of a table of Spark's catalog: where its data lies; a view's own name."""
    from tacita.engines.spark.session import place_of_table, session_of

    return ("spark", *place_of_table(session_of(master), table))
