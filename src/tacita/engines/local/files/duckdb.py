"""Tables of DuckDB files: `duckdb:people.duckdb` with the name of a table. Needs the extra `files`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacita.common.extras import needs_extra
from tacita.engines.local.files.base import READ_ROWS, distinct_names
from tacita.engines.local.files.stored import StoredFile, stamps
from tacita.errors import SourceUnavailable, UnknownName

__all__ = ["DuckDbSource"]


class DuckDbSource:
    """One table or view of a DuckDB file, opened for reading only.

    Args:
        path: The file.
        table: Name of the table, perhaps with its schema: `main.people`.
    """

    def __init__(self, path: str | Path, table: str) -> None:
        self._file, self._table = StoredFile(str(path)), table
        with self._open() as connection:
            names = connection.execute("SELECT table_schema, table_name FROM information_schema.tables").fetchall()
            known = {f"{schema}.{name}": (schema, name) for schema, name in names}
            known |= {name: (schema, name) for schema, name in names if schema == "main"}
            if table not in known:
                raise UnknownName(table, field="table", available=sorted(known))
            self._from = ".".join(_quoted(part) for part in known[table])
            self._schema: pa.Schema = connection.sql(f"SELECT * FROM {self._from} LIMIT 0").to_arrow_table().schema  # noqa: S608
        self.columns = distinct_names(self._schema.names)

    @property
    def rows(self) -> int | None:
        """None: the number of rows is not known before they are read."""
        return None

    @property
    def version(self) -> object:
        """Name, size and time of the file."""
        return stamps([self._file])

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns."""
        yield pa.schema([self._schema.field(name) for name in columns])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns, in the order of the file."""
        wanted = ", ".join(_quoted(name) for name in columns)
        with self._open() as connection:
            reader = connection.sql(f"SELECT {wanted} FROM {self._from}").to_arrow_reader(READ_ROWS)  # noqa: S608
            yield from reader

    @contextmanager
    def _open(self) -> Iterator[Any]:
        with needs_extra("files", "a DuckDB file", "source"):
            import duckdb
        stamps([self._file])  # a file that is not there would be an empty database
        try:
            connection = duckdb.connect(
                self._file.path,
                read_only=True,
                config={"enable_external_access": "false", "preserve_insertion_order": "true"},
            )
        except duckdb.Error:
            rule = "cannot be opened as a DuckDB file"
            raise SourceUnavailable(rule, field="source", value=self._file.name) from None
        try:
            yield connection
        except duckdb.Error:
            raise SourceUnavailable("cannot be read", field="source", value=self._file.name) from None
        finally:
            connection.close()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
