"""One entry to all sources: a path, an address in a store, or a frame in, rows out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tacita.domain import CsvDialect, Domain
from tacita.engines.local.files.arrow import ARROW, ArrowSource
from tacita.engines.local.files.base import RowSource
from tacita.engines.local.files.duckdb import DuckDbSource
from tacita.engines.local.files.frame import FrameSource, is_frame
from tacita.engines.local.files.parquet import PARQUET, ParquetSource
from tacita.engines.local.files.statistical import STATISTICAL, StatisticalSource
from tacita.engines.local.files.stored import StoredFile, find_files
from tacita.engines.local.files.text import TEXT, TextSource, header_of
from tacita.engines.local.files.workbook import WORKBOOK, read_workbook
from tacita.errors import InvalidInput

__all__ = ["DUCKDB", "ENDINGS", "GROUPS", "open_source"]

DUCKDB = "duckdb:"
ENDINGS = (*TEXT, *PARQUET, *ARROW, *WORKBOOK, *STATISTICAL)
"""Endings of files that can be read."""
GROUPS = (PARQUET, ARROW, TEXT)  # of which a folder may hold several files


def open_source(
    source: Any, domain: Domain | None = None, *, dialect: CsvDialect | None = None, table: str | None = None
) -> RowSource:
    """Open a source of rows.

    Args:
        source: A path, several paths, a folder, an address in a store, `duckdb:PATH`, or a frame.
        domain: The schema: its dialect is that of text files, and numbers and dates in them are converted.
        dialect: How text files are written, where there is no schema yet.
        table: The sheet of a workbook, or the table of a DuckDB file.
    """
    if isinstance(source, str) and source.startswith(DUCKDB):
        if table is None:
            raise InvalidInput("a DuckDB file needs the name of a table", field="table")
        return DuckDbSource(source.removeprefix(DUCKDB).removeprefix("//"), table)
    if isinstance(source, str | Path):
        return _open_paths([source], domain, dialect, table)
    if (
        isinstance(source, list | tuple)
        and source
        and all(isinstance(path, str | Path | StoredFile) for path in source)
    ):
        return _open_paths(source, domain, dialect, table)
    if is_frame(source):
        return FrameSource(source)
    if all(hasattr(source, part) for part in ("columns", "batches", "version")):
        found: RowSource = source
        return found
    raise InvalidInput(
        "must be a path, a list of paths, or a frame with an Arrow stream (pyarrow, pandas, polars, DuckDB)",
        field="source",
        value=type(source).__name__,
    )


def _open_paths(
    paths: Sequence[str | Path | StoredFile], domain: Domain | None, dialect: CsvDialect | None, table: str | None
) -> RowSource:
    files = find_files(paths, GROUPS)
    group = _group(files)
    if table is not None and group is not WORKBOOK:
        raise InvalidInput("only a workbook or a database has tables", field="table", value=table)
    if group in (WORKBOOK, STATISTICAL) and len(files) > 1:
        raise InvalidInput("must be one file", field="source", value=", ".join(file.name for file in files[:5]))
    used = dialect or _dialect_of(files, group, domain)
    makers: dict[tuple[str, ...], Callable[[], RowSource]] = {
        PARQUET: lambda: ParquetSource(paths),
        ARROW: lambda: ArrowSource(paths),
        TEXT: lambda: TextSource(paths, used, domain),
        WORKBOOK: lambda: FrameSource(read_workbook(files[0], table)),
        STATISTICAL: lambda: StatisticalSource(files[0]),
    }
    return makers[group]()


def _dialect_of(files: Sequence[StoredFile], group: tuple[str, ...], domain: Domain | None) -> CsvDialect:
    """Return the dialect of the schema; the plain one for files whose header names more of its columns when read so.

    Tacita writes plain files, so what it released can be read with the schema of the source.
    """
    plain = CsvDialect()
    if domain is None or group is not TEXT or not files or domain.csv == plain:
        return plain if domain is None else domain.csv
    known = set(domain.names)
    stated, other = (len(known & set(header_of(files[0], each))) for each in (domain.csv, plain))
    return plain if domain.csv.header and other > stated else domain.csv


def _group(files: Sequence[StoredFile]) -> tuple[str, ...]:
    """Return the endings of the kind that all files are of."""
    groups = (TEXT, PARQUET, ARROW, WORKBOOK, STATISTICAL)
    found = {next((group for group in groups if file.suffix in group), ()) for file in files}
    if () in found:
        name = next(file.name for file in files if file.suffix not in ENDINGS)
        raise InvalidInput(
            "must be a file of a format that can be read",
            field="source",
            value=name,
            hint=f"Names of files end in {', '.join(ENDINGS)}; other data can be read into a frame",
        )
    if len(found) != 1:
        kinds = sorted({file.suffix for file in files})
        raise InvalidInput("files of one source must be of one kind", field="source", value=", ".join(kinds))
    return found.pop()
