"""Connections to PostgreSQL, and its errors in our words.

psycopg and ADBC come with an extra, so they load when they are first needed. No message ever holds the
address: it may hold a password.

Names of functions, operators and types in our statements are looked up in `pg_catalog` alone. With the role's own
search path, a user who may create functions in a schema of that path could add an overload that matches our arguments
better than the built-in one, and it would run for each row with the rights of the engine's role.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tacita.common.extras import load_module
from tacita.errors import DataError, InvalidInput, SourceUnavailable, TacitaError

__all__ = ["Server", "load"]

_PATH = "pg_catalog, pg_temp"  # pg_temp would come first if it were not named
_SETUP = (
    f"SET LOCAL search_path = {_PATH}",
    "SET LOCAL TIME ZONE 'UTC'",
    "SET LOCAL DateStyle = 'ISO, YMD'",
    "SET LOCAL client_encoding = 'UTF8'",
)
# with less, the server sorts all rows once for each table instead of hashing them (a million rows, 8 tables
# of two attributes: 3.2 s against 1.3 s); a server that grants more keeps it
_MORE_MEMORY = (
    "SELECT pg_catalog.set_config('work_mem', greatest(setting::int8, 65536)::text, true)"
    " FROM pg_catalog.pg_settings WHERE name = 'work_mem'"
)
# runs with the role's own search path, so every name in it is qualified and every operator has exactly its types
_RESOLVE = (
    "SELECT nspname, relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace"
    " ON pg_namespace.oid OPERATOR(pg_catalog.=) relnamespace"
    " WHERE pg_class.oid OPERATOR(pg_catalog.=) %s::pg_catalog.regclass::pg_catalog.oid"
)
_READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


def load(module: str) -> Any:
    """Import an optional module, or raise an error that states how to install it."""
    return load_module(module, extra="postgres", what="PostgreSQL", field="source")


@dataclass(frozen=True)
class Server:
    """Address and timeout of a database. The address is never shown."""

    url: str
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.timeout is not None and not 0 < self.timeout < float("inf"):
            raise InvalidInput("must be a positive number of seconds", field="timeout", value=self.timeout)
        try:
            parts = load("psycopg.conninfo").conninfo_to_dict(self.url)
        except load("psycopg").ProgrammingError:  # its message repeats the address
            raise InvalidInput("must be an address like postgresql://user@host:5432/database", field="source") from None
        object.__setattr__(self, "_parts", parts)

    def __repr__(self) -> str:
        return f"Server({self.place})"

    @property
    def place(self) -> str:
        """Host and database: the part of the address that an error may show."""
        parts: dict[str, Any] = self.__dict__["_parts"]
        return f"{parts.get('host', 'localhost')}/{parts.get('dbname', '')}"

    def resolve(self, table: Any) -> tuple[str, str]:
        """Find schema and name of a table or view by the role's search path.

        Args:
            table: Its name, as a `psycopg.sql.Identifier` of one or two parts.
        """
        psycopg = load("psycopg")
        with self._errors(psycopg.Error), psycopg.connect(self.url, client_encoding="UTF8") as connection:
            connection.read_only = True
            found = connection.execute(_RESOLVE, [table.as_string(connection)]).fetchone()
            connection.rollback()
        if found is None:  # dropped between the two lookups
            raise DataError("no such table in the database", field="table")
        schema, name = found
        return schema, name

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        """Open a psycopg connection in a read-only transaction that sees one state of the database."""
        psycopg = load("psycopg")
        with self._errors(psycopg.Error), psycopg.connect(self.url) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            for statement in (*self._setup(), _MORE_MEMORY):
                connection.execute(statement)
            yield connection
            connection.rollback()

    @contextmanager
    def arrow_snapshot(self, *, more_memory: bool = False) -> Iterator[Any]:
        """Open the same by ADBC, for reading many rows as Arrow; grouping needs more memory, a scan does not."""
        adbc = load("adbc_driver_postgresql.dbapi")
        manager = load("adbc_driver_manager")
        with self._errors(manager.Error), adbc.connect(self._arrow_url()) as connection:
            with connection.cursor() as cursor:
                for statement in (_READ_ONLY, *self._setup(), *([_MORE_MEMORY] if more_memory else [])):
                    cursor.execute(statement)
            yield connection
            connection.rollback()

    @contextmanager
    def arrow_writing(self) -> Iterator[Any]:
        """Open a transaction that writes, by ADBC; nothing of it is kept unless it is committed."""
        adbc = load("adbc_driver_postgresql.dbapi")
        with adbc.connect(self._arrow_url()) as connection:
            with connection.cursor() as cursor:
                for statement in _SETUP:
                    cursor.execute(statement)
            try:
                yield connection
            finally:
                connection.rollback()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Convert errors while batches are read: Arrow raises the server's errors as text."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            if "statement timeout" in str(error):
                raise self._too_slow() from None
            raise SourceUnavailable(
                "the database broke off while rows were read", field="source", value=self.place
            ).while_reading() from None

    def _arrow_url(self) -> str:
        """Return the address with the search path in it: ADBC's driver reads the catalogue while it connects."""
        own = self.__dict__["_parts"].get("options")
        options = " ".join([*([own] if own else []), f"-c search_path={_PATH.replace(' ', '')}"])
        address: str = load("psycopg.conninfo").make_conninfo(self.url, options=options)
        return address

    def _setup(self) -> tuple[str, ...]:
        if self.timeout is None:
            return _SETUP
        return (*_SETUP, f"SET LOCAL statement_timeout = {max(int(self.timeout * 1000), 1)}")

    @contextmanager
    def _errors(self, kind: type[Exception]) -> Iterator[None]:
        try:
            yield
        except TacitaError:
            raise
        except kind as error:
            raise self.explain(error) from None

    def explain(self, error: Exception) -> TacitaError:
        """Convert an error of the server by its code, because its text may quote a row (`CAST` names the value)."""
        state = getattr(error, "sqlstate", None)
        state = state.decode() if isinstance(state, bytes) else state
        if state == "57014":
            return self._too_slow()
        if state in ("42P01", "3F000"):
            return DataError("no such table in the database", field="table")
        if state == "42501":
            return SourceUnavailable("the database does not let this user read it", field="table")
        if state is None or state[:2] in ("08", "28", "3D", "53", "57"):
            # before a connection there is no row
            private = self._without_secrets(str(error)) if _is_connecting(error) else state
            lost = SourceUnavailable(
                "the database cannot be reached", field="source", value=self.place, private=private
            )
            return lost.while_reading() if state is not None and state[:2] == "53" else lost
        return DataError("the database refused the query", field="source", value=state)

    def _too_slow(self) -> SourceUnavailable:
        return SourceUnavailable(
            "the database did not answer in time",
            field="source",
            value=self.place,
            hint=f"The limit is {self.timeout:g} s; give more" if self.timeout else None,
        ).while_reading()

    def _without_secrets(self, text: str) -> str:
        for hidden in (self.url, self._arrow_url(), self.__dict__["_parts"].get("password")):
            if hidden:
                text = text.replace(str(hidden), "…")
        return text


def _is_connecting(error: Exception) -> bool:
    """Return whether this is libpq's error about a connection that it could not make."""
    return isinstance(error, load("psycopg").OperationalError) and getattr(error, "sqlstate", None) is None
