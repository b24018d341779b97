"""A new table in PostgreSQL, filled by binary COPY.

One transaction creates the table and fills it, so no one sees a part of it, and a process that is killed leaves
nothing. Columns have the type that is next to Arrow's; names are quoted, never pasted. Statements look names up in
`pg_catalog` alone, as those that read do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import pyarrow as pa

from tacita.common.progress import step
from tacita.engines.postgres.driver import Server, load
from tacita.engines.postgres.names import table_parts
from tacita.engines.targets import Progress
from tacita.errors import DataError, InvalidInput, SourceUnavailable, TacitaError

__all__ = ["PostgresTarget", "stored_type"]

_LONGEST = 63  # bytes of a name: the server cuts off the rest without an error
_MOST_COLUMNS = 1600
_TYPES = {
    pa.int16(): "int2",
    pa.int32(): "int4",
    pa.int64(): "int8",
    pa.float32(): "float4",
    pa.float64(): "float8",
    pa.bool_(): "bool",
    pa.string(): "text",
    pa.binary(): "bytea",
    pa.date32(): "date",
    pa.time64("us"): "time",
    pa.timestamp("us"): "timestamp",
    pa.timestamp("us", "UTC"): "timestamptz",
}
_WIDER = {
    pa.int8(): pa.int16(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.date64(): pa.date32(),
    pa.null(): pa.string(),
}
_EXISTS, _NO_RIGHT, _READ_ONLY, _NO_SCHEMA = ("42P07", "42710"), ("42501", "42939"), "25006", "3F000"
_BAD_TEXT, _CANCELLED = ("22021", "22P05"), "57014"


def stored_type(kind: pa.DataType) -> pa.DataType | None:
    """Return the Arrow type in which a column is sent; None if PostgreSQL has none for it."""
    types = pa.types
    if types.is_dictionary(kind):
        return stored_type(kind.value_type)
    if types.is_timestamp(kind):
        return pa.timestamp("us", "UTC" if kind.tz else None)
    if types.is_time(kind):
        return pa.time64("us")
    if types.is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale) if kind.precision <= 38 else None
    if types.is_fixed_size_binary(kind):
        return pa.binary()
    kind = _WIDER.get(kind, kind)
    return kind if kind in _TYPES or types.is_decimal(kind) else None


class PostgresTarget:
    """A table that does not exist yet.

    Args:
        url: Address of the database, as libpq reads it. It never appears in a message.
        table: The table, as `table` or `schema.table`; without a schema, in the first of the role's search path.
    """

    def __init__(self, url: str, table: str) -> None:
        try:
            self._parts = table_parts(table)
        except InvalidInput as error:
            raise InvalidInput(error.rule, field="into", value=table, hint=error.hint) from None
        self._server = Server(url)
        self._sql = load("psycopg.sql")
        for part in self._parts:
            _check_name(part, "into")
        if len(self._parts) == 2 and (self._parts[0].startswith("pg_") or self._parts[0] == "information_schema"):
            raise InvalidInput("is a schema of the server itself", field="into", value=self._parts[0])

    @property
    def name(self) -> str:
        """Database and table, without credentials."""
        return f"{self._server.place}: {'.'.join(self._parts)}"

    @property
    def path(self) -> None:
        """No file."""
        return None

    def check(self, names: Sequence[str] = ()) -> None:
        """Create the table and take it back, so that all that could forbid it is seen: rights, names, a standby."""
        for name in names:
            _check_name(name, name)
        psycopg = load("psycopg")
        with self._errors(psycopg.Error), psycopg.connect(self._server.url, client_encoding="UTF8") as connection:
            connection.execute(self._create(self._place(connection), pa.schema([])))
            connection.rollback()

    def write(self, batches: Iterator[pa.Table], progress: Progress | None = None) -> None:
        """Create the table and fill it, in one transaction."""
        first = next(batches)
        schema = self._schema(first.schema)
        psycopg, manager = load("psycopg"), load("adbc_driver_manager")
        with self._errors(psycopg.Error), psycopg.connect(self._server.url, client_encoding="UTF8") as connection:
            place = self._place(connection)
            connection.rollback()
        step("writing rows")
        with self._errors(manager.Error), self._server.arrow_writing() as connection:
            with connection.cursor() as cursor:
                cursor.execute(self._create(place, schema))
            rows = 0
            for batch in chain([first], batches):
                if batch.num_rows:
                    with connection.cursor() as cursor:
                        cursor.adbc_ingest(place[1], _stored(batch, schema), mode="append", db_schema_name=place[0])
                rows += batch.num_rows
                if progress is not None:
                    progress(rows)
            connection.commit()

    def _place(self, connection: Any) -> tuple[str, str]:
        """Return schema and table; the schema is the first of the role's search path if none is named."""
        schema = self._parts[0] if len(self._parts) == 2 else None
        if schema is None:
            (schema,) = connection.execute("SELECT pg_catalog.current_schema()").fetchone()
        if schema is None:
            raise InvalidInput("the role has no schema to create tables in", field="into", hint="Write schema.table")
        return schema, self._parts[-1]

    def _schema(self, schema: pa.Schema) -> pa.Schema:
        """Return the columns with the types in which they are sent."""
        if len(schema) > _MOST_COLUMNS:
            raise InvalidInput(f"PostgreSQL has at most {_MOST_COLUMNS} columns", field="columns", value=len(schema))
        twice = next((name for name in schema.names if schema.names.count(name) > 1), None)
        if twice is not None:
            raise InvalidInput("is the name of two columns", field="columns", value=twice)
        fields = []
        for field in schema:
            _check_name(field.name, field.name)
            kind = stored_type(field.type)
            if kind is None:
                raise DataError("PostgreSQL has no such type", field=field.name, value=str(field.type))
            fields.append(pa.field(field.name, kind))
        return pa.schema(fields)

    def _create(self, place: tuple[str, str], schema: pa.Schema) -> str:
        sql = self._sql
        listed = [
            sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(f"pg_catalog.{_sql_type(field.type)}"))
            for field in schema
        ]
        table = sql.Identifier(*place)
        statement: str = sql.SQL("CREATE TABLE {} ({})").format(table, sql.SQL(", ").join(listed)).as_string(None)
        return statement

    @contextmanager
    def _errors(self, kind: type[Exception]) -> Iterator[None]:
        """Convert the server's errors by their codes, because their texts may quote a row."""
        try:
            yield
        except TacitaError:
            raise
        except kind as error:
            state = getattr(error, "sqlstate", None)
            state = state.decode() if isinstance(state, bytes) else state
            shown = ".".join(self._parts)
            if state in _EXISTS:
                hint = "Rows are never added to a table: give a new name, or drop it yourself"
                raise InvalidInput("exists already", field="into", value=shown, hint=hint) from None
            if state in _NO_RIGHT:
                rule = "the database does not let this user create the table"
                raise SourceUnavailable(rule, field="into", value=shown) from None
            if state == _READ_ONLY:
                rule = "the database can only be read: it is a standby, or its transactions are read-only"
                raise SourceUnavailable(rule, field="output", value=self._server.place) from None
            if state == _NO_SCHEMA:
                raise InvalidInput("no such schema in the database", field="into", value=self._parts[0]) from None
            if state == _CANCELLED:
                rule = "the database stopped the writing: it was cancelled, or took longer than the database allows"
                raise SourceUnavailable(rule, field="output", value=self._server.place) from None
            if state in _BAD_TEXT:
                rule = "a text has a zero byte, or letters that the database's encoding lacks"
                raise DataError(rule, field="output", value=self._server.place) from None
            raise self._server.explain(error) from None


def _sql_type(kind: pa.DataType) -> str:
    return f"numeric({kind.precision}, {kind.scale})" if pa.types.is_decimal(kind) else _TYPES[kind]


def _stored(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast a batch; a finer time than PostgreSQL has is cut off."""
    if rows.schema.names != schema.names:
        raise DataError("a batch has other columns than the first", field="columns")
    columns = []
    for field, column in zip(schema, rows.columns, strict=True):
        kind = column.type
        plain = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
        try:
            columns.append(plain.cast(field.type, safe=not pa.types.is_temporal(field.type)))
        except pa.ArrowException:
            raise DataError("has values that its type in PostgreSQL does not hold", field=field.name) from None
    return pa.table(columns, schema=schema).combine_chunks()


def _check_name(name: str, field: str) -> None:
    """Refuse a name that the server would cut off or cannot hold."""
    try:
        raw = name.encode()
    except UnicodeEncodeError:
        raw = b""
    if not raw or b"\0" in raw or len(raw) > _LONGEST:
        raise InvalidInput(f"must have 1 to {_LONGEST} bytes as a name in PostgreSQL", field=field, value=name)
