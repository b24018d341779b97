"""Backup and restore: a consistent copy of the whole state in one file, from either database and for either.

    copied = back_up(Database(url), Path("state.backup"))      while servers and workers go on
    restored = restore(Path("state.backup"), Database(empty))  into an empty database

The copy is a state database of its own, in SQLite, readable by its owner alone: it holds what the state holds, which
includes digests of tokens, the ledger's secret and the parameters of functions. All tables are read in one snapshot.

The copy is fenced (`fence.py`) in the transaction that fills it: anyone who opens it, by `restore` or as a state of its
own, finds its accounts closed, and functions with a noise path answer nothing new. A copy of an earlier version is
migrated on the way back. A state may move from SQLite to PostgreSQL in this way.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from tacita.errors import Conflict, InvalidInput, SourceUnavailable
from tacita.store.clock import aware
from tacita.store.database import Database
from tacita.store.events import LOCAL, append
from tacita.store.fence import RESTORED, close_every, halt_paths
from tacita.store.private import private_file
from tacita.store.schema import campaigns, events, fences, installation, job_queue, metadata, secrets

__all__ = ["Copied", "back_up", "restore"]

_ROWS = 100  # read at once: the parameters of a function may have megabytes
_OF_ITS_OWN = (installation, job_queue)
"""Tables that are not copied: where the state is, and messages about jobs that the table of jobs has."""
_MAGIC = b"SQLite format 3\x00"


@dataclass(frozen=True, kw_only=True)
class Copied:
    """Result of a copy.

    Attributes:
        rows: Rows of each table that has any.
        closed: Accounts that are closed in the copy.
    """

    rows: dict[str, int]
    closed: int


def back_up(database: Database, file: Path, *, principal: str = LOCAL) -> Copied:
    """Copy the whole state into a new file, whole or not at all.

    Raises:
        Conflict: The file exists.
    """
    if file.exists():
        hint = "Name a new file: a backup is never overwritten"
        raise Conflict("exists already", field="file", value=file, hint=hint)
    if not file.absolute().parent.is_dir():
        raise InvalidInput("must be in a folder that exists", field="file", value=file)
    with tempfile.TemporaryDirectory(dir=file.absolute().parent, prefix=".tacita-backup-") as folder:
        unfinished = Path(folder) / "state.db"
        copy = Database(_file_url(unfinished))
        try:
            with database.snapshot() as source, copy.writing() as target:
                _clear(target)
                copied = _copy(source, target)
                halt_paths(target)
                append(target, "ledger-fenced", "", principal, reason=RESTORED)
        finally:
            copy.close()  # writes the log beside the file into it
        unfinished.replace(file)
    with database.writing() as connection:
        append(connection, "state-copied", "", principal, rows=sum(copied.rows.values()))
    return copied


def restore(file: Path, database: Database, *, principal: str = LOCAL) -> Copied:
    """Put a copy into an empty state database, with all accounts closed.

    Args:
        file: From `back_up`, also of an earlier version; it is not changed.
        database: Where to; nothing may be stored in it yet.
        principal: Who restores it.

    Raises:
        Conflict: The database is not empty, or a newer version wrote the copy.
        InvalidInput: The file is no copy of a state.
    """
    _check_is_copy(file)
    with tempfile.TemporaryDirectory(prefix="tacita-restore-") as folder:
        working = Path(folder) / "state.db"
        private_file(working)
        shutil.copyfile(file, working)
        copy = Database(_file_url(working))  # brings an earlier version up to date
        try:
            with copy.snapshot() as source, database.writing() as target:
                _check_empty(target)
                _clear(target)
                copied = _copy(source, target)
                if database.is_postgres:
                    _set_sequences(target)
                halt_paths(target)
                append(target, "ledger-fenced", "", principal, reason=RESTORED)
        finally:
            copy.close()
    return copied


def _file_url(file: Path) -> sa.URL:
    """The address of a file of any name: as text, `?` and `%` would mean something else."""
    return sa.URL.create("sqlite", database=str(file))


def _copy(source: sa.Connection, target: sa.Connection) -> Copied:
    """Copy all tables, then close all accounts."""
    rows = {}
    for table in metadata.sorted_tables:
        if table in _OF_ITS_OWN:
            continue
        count = 0
        for batch in _batches(source, table):
            target.execute(table.insert(), batch)
            count += len(batch)
        if count:
            rows[table.name] = count
    close_every(target, RESTORED)
    closed = target.execute(sa.select(sa.func.count()).select_from(fences).where(fences.c.account != "")).scalar_one()
    return Copied(rows=rows, closed=closed)


def _batches(source: sa.Connection, table: sa.Table) -> Iterator[list[dict[str, Any]]]:
    """Rows of a table, some at a time; times in UTC, which SQLite stores without saying so."""
    found = source.execution_options(yield_per=_ROWS).execute(table.select())
    try:
        for part in found.mappings().partitions(_ROWS):
            yield [{name: _in_utc(value) for name, value in row.items()} for row in part]
    except ValueError:
        raise InvalidInput("holds a value that Tacita never writes", field=f"file.{table.name}") from None


def _in_utc(value: Any) -> Any:
    return aware(value).astimezone(dt.UTC) if isinstance(value, dt.datetime) else value


def _clear(target: sa.Connection) -> None:
    """Remove what migrations have written into a new database: the copied log begins with its own first line."""
    target.execute(secrets.delete())
    if target.dialect.name == "postgresql":
        target.exec_driver_sql("ALTER TABLE events DISABLE TRIGGER events_kept")
        target.execute(events.delete())
        target.exec_driver_sql("ALTER TABLE events ENABLE TRIGGER events_kept")
        return
    query = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'events'"
    triggers = target.exec_driver_sql(query).all()
    for name, _ in triggers:
        target.exec_driver_sql(f"DROP TRIGGER {name}")
    target.execute(events.delete())
    for _, statement in triggers:
        target.exec_driver_sql(statement)


def _check_empty(target: sa.Connection) -> None:
    for table in metadata.sorted_tables:
        if table in (installation, job_queue, secrets):
            continue
        allowed = 1 if table is events else 0  # the line with which every log begins
        if len(target.execute(sa.select(sa.literal(1)).select_from(table).limit(allowed + 1)).all()) > allowed:
            hint = "Name a new, empty database (--state): a restore adds to nothing and overwrites nothing"
            raise Conflict("is not empty", field="state", value=table.name, hint=hint)


def _check_is_copy(file: Path) -> None:
    if file.exists() and not file.is_file():
        raise InvalidInput("must be a file", field="file", value=file)
    try:
        with file.open("rb") as opened:
            known = opened.read(len(_MAGIC)) == _MAGIC
    except OSError as error:
        raise SourceUnavailable("cannot be read", field="file", value=file, hint=error.strerror) from error
    log = file.with_name(file.name + "-wal")
    if log.is_file() and log.stat().st_size:
        hint = "It is a state in use, or of a process that was killed: open it with TACITA_STATE, or back it up"
        raise InvalidInput("has changes in a file beside it", field="file", value=file, hint=hint)
    if not known or not _is_whole(file):
        hint = "A file that is damaged cannot be restored: take another backup"
        raise InvalidInput("must be a whole file that `tacita state backup` wrote", field="file", value=file, hint=hint)


def _is_whole(file: Path) -> bool:
    """Whether it is a database that SQLite finds no fault with; nothing is written beside it, on any medium."""
    try:
        with contextlib.closing(sqlite3.connect(f"{file.absolute().as_uri()}?immutable=1", uri=True)) as opened:
            sound = opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            known = opened.execute("SELECT 1 FROM sqlite_master WHERE name = 'alembic_version'").fetchone()
            return sound and known is not None
    except sqlite3.DatabaseError:
        return False


def _set_sequences(target: sa.Connection) -> None:
    """Let PostgreSQL count on from the numbers that were copied."""
    for column in (campaigns.c.number, events.c.id):
        most = target.execute(sa.select(sa.func.max(column))).scalar_one_or_none()
        if most is not None:
            sequence = sa.func.pg_get_serial_sequence(column.table.name, column.name)
            target.execute(sa.select(sa.func.setval(sequence, most)))
