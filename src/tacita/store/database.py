"""Access to all stored state: SQLite by default, PostgreSQL by URL, the same behaviour on both.

`writing()` is a transaction that excludes all others on what it locks: on SQLite it takes the write lock at once
(BEGIN IMMEDIATE), on PostgreSQL callers lock rows with SELECT ... FOR UPDATE. When it returns, the changes are on
disk: SQLite runs in WAL mode with synchronous = FULL.
"""

from __future__ import annotations

import datetime as dt
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import URL, make_url

from tacita.errors import Conflict, InvalidInput, SourceUnavailable
from tacita.store.clock import now
from tacita.store.private import private_file
from tacita.store.schema import Time
from tacita.store.witness import Witness

__all__ = ["NEWEST", "Database"]

_MIGRATIONS = Path(__file__).parent / "migrations"
_KNOWN = frozenset(file.name.partition("_")[0] for file in (_MIGRATIONS / "versions").glob("[0-9]*.py"))
NEWEST = max(_KNOWN)
"""Revision of the schema that this version writes: the number of the last migration."""
_REVISION = sa.table("alembic_version", sa.column("version_num"))
_MIGRATION_LOCK = 0x7AC17A  # PostgreSQL advisory lock: one process migrates, the others wait
_BUSY_MS = 60_000
_PLACE = (  # server, database and timeline; a role may lack the right to read one
    "(SELECT system_identifier::text FROM pg_control_system())",
    "(SELECT oid::text FROM pg_database WHERE datname = current_database())",
    "left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)",
)


class Database:
    """State behind a URL: `sqlite:///path`, `postgresql://...`. Brings the schema up to date when opened.

    Args:
        url: Where the state is.
        witness: Folder of the file that the ledger's last charges are noted in (`witness.py`); none if not given.

    Raises:
        Conflict: A newer version of Tacita, or another program, wrote the schema.
        SourceUnavailable: It cannot be reached.
    """

    def __init__(self, url: str | URL, *, witness: Path | None = None) -> None:
        self.url, self.witness_folder = _parse(url), witness
        self._file = None if self.is_postgres else Path(str(self.url.database)).resolve()
        # the ledger's lock is worth nothing to a transaction that keeps an older snapshot: never inherit the level
        options: dict[str, Any] = {"pool_pre_ping": True, "isolation_level": "READ COMMITTED"}
        self._engine = sa.create_engine(self.url, **(options if self.is_postgres else {}))
        weakref.finalize(self, self._engine.dispose)  # no connection stays open if a caller forgets to close
        _prepare_postgres(self._engine) if self.is_postgres else _prepare_sqlite(self.url, self._engine)
        self._inode = _inode_of(self._file)
        self._migrate()
        from tacita.store.fence import note_place

        note_place(self)

    @property
    def is_postgres(self) -> bool:
        """Whether the state lives in PostgreSQL."""
        return self.url.get_backend_name() == "postgresql"

    @property
    def file(self) -> Path | None:
        """The file that the state is in, where it is SQLite's."""
        return self._file

    @cached_property
    def witness(self) -> Witness | None:
        """The file outside of the state that the last charges of the ledger are noted in; None if there is none."""
        if self.witness_folder is None:
            return None
        with self.reading() as connection:
            return Witness.of(self.witness_folder, connection)

    @cached_property
    def place(self) -> sa.ColumnElement[str | None]:
        """Place of the state, as an expression: server, database and timeline of PostgreSQL; null for a file."""
        if not self.is_postgres:
            return sa.literal(None, sa.Text())
        return sa.literal_column("||'/'||".join(part if self._can(part) else "'?'" for part in _PLACE), sa.Text())

    def _can(self, part: str) -> bool:
        try:
            with self._engine.connect() as connection:
                connection.exec_driver_sql(f"SELECT {part}")
        except (sa.exc.ProgrammingError, sa.exc.NotSupportedError):  # no such function here, or no right to call it
            return False
        return True

    def time(self, *, ago: dt.timedelta = dt.timedelta()) -> sa.ColumnElement[Any]:
        """The time of day, or one before it, as an expression: by PostgreSQL's clock, since those of hosts differ."""
        if self.is_postgres:
            return sa.func.clock_timestamp(type_=Time) - sa.literal(ago, sa.Interval())
        return sa.literal(now() - ago, Time)

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that commits when the block ends and leaves nothing when it raises."""
        with self._reachable(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """A connection for reads; takes no lock."""
        with self._reachable(), self._engine.connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    @contextmanager
    def snapshot(self) -> Iterator[sa.Connection]:
        """A connection whose reads all see the same moment; takes no lock."""
        level = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True} if self.is_postgres else {}
        with self._reachable(), self._engine.connect() as plain:
            connection = plain.execution_options(snapshot=True, **level)
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()

    @contextmanager
    def _reachable(self) -> Iterator[None]:
        if _inode_of(self._file) != self._inode:
            hint = "End all processes that use it, and see to the file: what they write now would be lost"
            raise SourceUnavailable(
                "the file of the state was removed or replaced while it was in use", field="state", hint=hint
            )
        try:
            yield
        except sa.exc.OperationalError as error:
            raise SourceUnavailable(
                "the state database cannot be reached or did not answer in time",
                field="state",
                value=self.url.render_as_string(hide_password=True),
                private=str(error.orig),
            ) from error

    # -- schema ---------------------------------------------------------------------------------------------------

    def _migrate(self) -> None:
        found = self._revision()
        if found == NEWEST:
            return
        if found is not None and found not in _KNOWN:  # what it means is not known, so nothing may be charged to it
            rule = f"has the schema {found}, and this version of Tacita knows those up to {NEWEST}"
            hint = "Install the version that wrote it, or a newer one; or name another database"
            raise Conflict(rule, field="state", value=self.url.render_as_string(hide_password=True), hint=hint)
        from alembic import command  # takes a tenth of a second to load, and is seldom needed
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(_MIGRATIONS))
        with self.writing() as connection:
            if self.is_postgres:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_MIGRATION_LOCK)))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")

    def _revision(self) -> str | None:
        """The revision of the stored schema; None where there is none yet."""
        with self.reading() as connection:
            if not sa.inspect(connection).has_table(_REVISION.name):
                return None
            return connection.execute(sa.select(_REVISION.c.version_num)).scalar()


def _inode_of(file: Path | None) -> tuple[int, int] | None:
    """Identity of a file, which another file in its place has not."""
    if file is None:
        return None
    try:
        found = file.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _parse(url: str | URL) -> URL:
    try:
        parsed = make_url(url)
    except sa.exc.ArgumentError:
        raise InvalidInput("must be a database URL such as sqlite:///tacita.db", field="state") from None
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise InvalidInput("must be sqlite or postgresql", field="state", value=parsed.get_backend_name())
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.database in (None, "", ":memory:"):
        raise InvalidInput("must name a file: state in memory would forget what was spent", field="state")
    return parsed


def _prepare_postgres(engine: sa.Engine) -> None:
    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        # whatever the server's default: a charge that was acknowledged must be on disk
        options = connection.get_execution_options()
        if options.get("isolation_level") != "AUTOCOMMIT" and not options.get("snapshot"):
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")


def _prepare_sqlite(url: URL, engine: sa.Engine) -> None:
    assert url.database is not None
    file = Path(url.database).resolve()
    try:
        private_file(file)  # its log and index get the same rights from SQLite
    except OSError as error:
        raise SourceUnavailable("the state cannot be opened", field="state", value=file, hint=error.strerror) from error

    @sa.event.listens_for(engine, "connect")
    def _connect(connection: Any, _record: Any) -> None:
        # the driver's own transaction handling would delay BEGIN and let two writers read the same balance
        connection.isolation_level = None
        for pragma in (
            f"busy_timeout = {_BUSY_MS}",
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        if options.get("isolation_level") != "AUTOCOMMIT":
            connection.exec_driver_sql("BEGIN" if options.get("snapshot") else "BEGIN IMMEDIATE")
