"""Series of numbers: a folder or a zip archive of CSV files, one file for each series, rows in the order of time.

Privacy: these are the private rows themselves; nothing here may be released.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from tacita.errors import DataError, InvalidInput, SourceUnavailable, UnknownName
from tacita.learn.structure.columns import StructureColumns
from tacita.models.continuous.moments import Array

__all__ = ["Series", "pool", "read_series"]

_MOST_BYTES = 1 << 30  # of one file of an archive
_LEAST = 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Series:
    """One series.

    Args:
        name: Of its file, without the suffix.
        columns: Names of the columns.
        values: (times, columns).
    """

    name: str
    columns: tuple[str, ...]
    values: Array = field(repr=False)


def read_series(path: Path | str, columns: Sequence[str] | None = None, *, longer_than: int = _LEAST) -> list[Series]:
    """Read all series of a folder or a zip archive, in the order of their names.

    Args:
        path: Folder or archive. Files that end in .csv are read, also in folders below it; hidden files are not.
        columns: Columns to read; if None, all columns of numbers that vary within a series.
        longer_than: Leave out series of this length or shorter ones.
    """
    tables = dict(sorted(_tables(Path(path)), key=lambda pair: _natural(pair[0])))
    if not tables:
        raise SourceUnavailable("has no CSV files", field="series", value=path)
    chosen = _numeric(tables) if columns is None else tuple(columns)
    if not chosen:
        raise InvalidInput("must have a column of numbers that varies", field="series", value=path)
    found = []
    for name, table in tables.items():
        values = np.stack([_numbers(name, table, column) for column in chosen], axis=1)
        values = values[np.isfinite(values).all(axis=1)]
        if len(values) > longer_than:
            found.append(Series(name=name, columns=chosen, values=values))
    if not found:
        raise InvalidInput(f"must have a series with more than {longer_than} rows", field="series", value=path)
    return found


def pool(series: Sequence[Series]) -> StructureColumns:
    """Return the rows of all series together."""
    values = np.concatenate([each.values for each in series])
    return StructureColumns(numbers=dict(zip(series[0].columns, values.T, strict=True)))


def _tables(path: Path) -> Iterator[tuple[str, pa.Table]]:
    if path.is_dir():
        for file in path.rglob("*"):
            place = PurePosixPath(file.relative_to(path).as_posix())
            if file.is_file() and _wanted(place):
                yield str(place.with_suffix("")), _csv(str(place), file.read_bytes())
        return
    try:
        with zipfile.ZipFile(path) as archive:
            for info in archive.infolist():
                place = PurePosixPath(info.filename)
                if not info.is_dir() and _wanted(place):
                    if info.file_size > _MOST_BYTES:
                        raise InvalidInput(f"must have files of at most {_MOST_BYTES} bytes", field="series")
                    yield str(place.with_suffix("")), _csv(str(place), archive.read(info))
    except (OSError, zipfile.BadZipFile):
        raise SourceUnavailable("must be a folder or a zip archive", field="series", value=path) from None


def _wanted(path: PurePosixPath) -> bool:
    hidden = any(part.startswith((".", "__")) for part in path.parts)
    return path.suffix.lower() == ".csv" and not hidden


def _csv(name: str, data: bytes) -> pa.Table:
    try:
        return pa_csv.read_csv(io.BytesIO(data))
    except pa.ArrowInvalid:
        raise DataError("is not a CSV file with a header", field="series", private=name) from None


def _natural(name: str) -> list[tuple[int, int, str]]:
    """V2 before V10."""
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"(\d+)", name)]


def _numeric(tables: Mapping[str, pa.Table]) -> tuple[str, ...]:
    """Columns that are numbers in every series, and vary in one."""
    first = next(iter(tables.values()))
    found = []
    for column in first.column_names:
        if column and all(_is_number(table, column) for table in tables.values()):
            varies = (np.ptp(np.nan_to_num(_floats(table, column))) > 0 for table in tables.values() if table.num_rows)
            if any(varies):
                found.append(column)
    return tuple(found)


def _is_number(table: pa.Table, column: str) -> bool:
    if table.column_names.count(column) != 1:
        return False
    kind = table.schema.field(column).type
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind))


def _floats(table: pa.Table, column: str) -> Any:
    return table.column(column).cast(pa.float64()).to_numpy(zero_copy_only=False)


def _numbers(name: str, table: pa.Table, column: str) -> Array:
    if column not in table.column_names:
        raise UnknownName(column, field="columns", available=[each for each in table.column_names if each])
    if not _is_number(table, column):
        raise DataError("must be a column of numbers in every series", field=column, private=name)
    return np.asarray(_floats(table, column), float)
