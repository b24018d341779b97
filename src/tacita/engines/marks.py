"""What data is recognised by when it comes again under another name: digests of files, numbers of tables.

    a file, a folder     SHA-256 of each file's bytes, whatever it is called and wherever it lies
    PostgreSQL           the cluster's own number, the database's and the table's
    MongoDB              the collection's own number

They find accidents: the same file in another folder, the same table by another address. A copy that was changed in one
byte, a view, or a copy of a table has marks of its own.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from tacita.domain import Domain
from tacita.errors import SourceUnavailable
from tacita.privacy.ledger import DataMarks

__all__ = ["data_marks"]

_TABLE = (
    "SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system()), oid, pg_catalog.to_regclass(%s)::oid"
    " FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()"
)


def data_marks(address: str, domain: Domain, table: str | None = None) -> DataMarks:
    """Marks of what an address means, as `connect` reads it.

    Raises:
        SourceUnavailable: It cannot be reached or read.
    """
    lower = address.lower()
    if lower.startswith(("postgresql:", "postgres:")):
        found = {_digest(("postgresql", *_postgres(address, str(table))))}
    elif lower.startswith(("mongodb:", "mongodb+srv:")):
        found = {_digest(("mongodb", *_mongo(address, str(table))))}
    else:
        path = Path(address).expanduser()
        files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
        found = {_file_digest(file) for file in files}
    return DataMarks(marks=frozenset(found), schema=domain.fingerprint)


def _digest(parts: tuple[object, ...]) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def _file_digest(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise SourceUnavailable(f"cannot be read: {error.strerror}", field="source", value=str(file)) from None


def _postgres(url: str, table: str) -> tuple[object, ...]:
    from tacita.engines.postgres.driver import Server, load
    from tacita.engines.postgres.names import table_parts

    with Server(url).snapshot() as connection:
        name = load("psycopg.sql").Identifier(*table_parts(table)).as_string(connection)
        return tuple(connection.execute(_TABLE, [name]).fetchone())


def _mongo(url: str, collection: str) -> tuple[object, ...]:
    from tacita.engines.mongo.driver import Server
    from tacita.engines.mongo.names import check_collection

    server = Server(url)
    with server.reading(check_collection(collection)) as reader:
        described = reader.describe(name_only=False)
        # a collection has a number of its own, the same on all members of a replica set; a view has only its name
        return (described.get("info", {}).get("uuid") or f"{server.place}/{collection}",)
