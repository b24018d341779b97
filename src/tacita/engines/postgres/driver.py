"""Connections to PostgreSQL, and its errors in our words.

psycopg and ADBC come with an extra, so they load when they are first needed. No message ever holds the
address: it may hold a password. What the server says may quote values and stays private.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import pyarrow as pa

from tacita.errors import DataError, InvalidInput, SourceUnavailable, TacitaError

__all__ = ["Server", "load"]

_SETUP = ("SET LOCAL TIME ZONE 'UTC'", "SET LOCAL DateStyle = 'ISO, YMD'", "SET LOCAL client_encoding = 'UTF8'")
# with less, the server sorts all rows once for each table instead of hashing them (a million rows, 8 tables
# of two attributes: 3.2 s against 1.3 s); a server that grants more keeps it
_MORE_MEMORY = (
    "SELECT set_config('work_mem', greatest(setting::int8, 65536)::text, true) FROM pg_settings WHERE name = 'work_mem'"
)
_READ_ONLY = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"


def load(module: str) -> Any:
    """An optional module, or an error that says how to get it."""
    try:
        return import_module(module)
    except ImportError:
        raise InvalidInput(
            "PostgreSQL needs packages that are not installed",
            field="source",
            value=module.split(".", maxsplit=1)[0],
            hint='Install them with: pip install "tacita[postgres]"',
        ) from None


@dataclass(frozen=True)
class Server:
    """Where a database is and how long it may take. Its address is never shown."""

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
        """Host and database: what an error may say about the address."""
        parts: dict[str, Any] = self.__dict__["_parts"]
        return f"{parts.get('host', 'localhost')}/{parts.get('dbname', '')}"

    @contextmanager
    def snapshot(self) -> Iterator[Any]:
        """A psycopg connection in a transaction that sees one state of the database and changes nothing."""
        psycopg = load("psycopg")
        with self._errors(psycopg.Error), psycopg.connect(self.url) as connection:
            connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            connection.read_only = True
            for statement in (*self._setup(), _MORE_MEMORY):
                connection.execute(statement)
            yield connection
            connection.rollback()

    @contextmanager
    def arrow_snapshot(self) -> Iterator[Any]:
        """The same by ADBC, for reading many rows as Arrow."""
        adbc = load("adbc_driver_postgresql.dbapi")
        manager = load("adbc_driver_manager")
        with self._errors(manager.Error), adbc.connect(self.url) as connection:
            with connection.cursor() as cursor:
                for statement in (_READ_ONLY, *self._setup()):
                    cursor.execute(statement)
            yield connection
            connection.rollback()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """While batches flow, what the server says comes as an error of Arrow's, as text."""
        try:
            yield
        except (pa.ArrowException, OSError) as error:
            said = str(error)
            if "statement timeout" in said:
                raise self._too_slow(self._without_secrets(said)) from None
            raise SourceUnavailable(
                "the database broke off while rows were read",
                field="source",
                value=self.place,
                private=self._without_secrets(said),
            ) from None

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
            raise self._in_our_words(error) from None

    def _in_our_words(self, error: Exception) -> TacitaError:
        state = getattr(error, "sqlstate", None)
        state = state.decode() if isinstance(state, bytes) else state
        private = self._without_secrets(str(error))
        if state == "57014":
            return self._too_slow(private)
        if state in ("42P01", "3F000"):
            return DataError("no such table in the database", field="table", private=private)
        if state == "42501":
            return SourceUnavailable("the database does not let this user read it", field="table", private=private)
        if state is None or state[:2] in ("08", "28", "3D", "53", "57"):
            return SourceUnavailable(
                "the database cannot be reached", field="source", value=self.place, private=private
            )
        return DataError("the database refused the query", field="source", value=state, private=private)

    def _too_slow(self, private: str) -> SourceUnavailable:
        return SourceUnavailable(
            "the database did not answer in time",
            field="source",
            value=self.place,
            hint=f"The limit is {self.timeout:g} s; give more" if self.timeout else None,
            private=private,
        )

    def _without_secrets(self, text: str) -> str:
        for hidden in (self.url, self.__dict__["_parts"].get("password")):
            if hidden:
                text = text.replace(str(hidden), "…")
        return text
