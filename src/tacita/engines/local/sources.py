"""Sources of local rows: files and frames, as streams of Arrow batches with only the requested columns.

A source is read as often as needed and never held; the batches of one source have the same rows each time,
whatever columns are requested. An error never holds raw values, not even in its private part, which names the broken
line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from tacita.engines.local.unrolling import batches_of, check_unrolling, pieces
from tacita.errors import DataError, InvalidInput, SourceUnavailable

__all__ = [
    "Checked",
    "CsvSource",
    "FrameSource",
    "Narrowable",
    "ParquetSource",
    "RowSource",
    "Rows",
    "open_source",
    "stamps",
]

READ_ROWS = 2 * 65_535  # rows that are encoded at once: whole runs of the counting kernel's counters
_LOOK = 1 << 16  # bytes in which a header and a line are searched
CSV_BLOCK = 1 << 23  # bytes of text that are parsed at once
DELIMITERS = {".csv": ",", ".tsv": "\t"}
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
PARQUET = (".parquet", ".pq")
RAGGED = "a line has more or fewer values than the header"
NO_TEXT = "the file is not UTF-8 text"
_CONVERT = 'Save it as UTF-8; spreadsheet programs call that "CSV UTF-8"'
_QUOTED = re.compile(rb'"[^"]*"')
_NO_CSV = {
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"PK\x03\x04": "a ZIP archive or a workbook of a spreadsheet program",
    b"\xd0\xcf\x11\xe0": "a workbook of a spreadsheet program",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
}
"""First bytes of files that are often mistaken for CSV."""
COMPRESSED = (".gz", ".bz2", ".zst")


class RowSource(Protocol):
    """A stream of rows that can be read again."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def rows(self) -> int | None:
        """Number of rows, if it is known without reading them."""

    @property
    def version(self) -> object:
        """A value that changes when the data does; None if the data cannot change."""

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns, for each part that may have its own."""

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns."""


class Rows:
    """Some columns of a source, as something that can be iterated more than once."""

    def __init__(self, source: RowSource, columns: Sequence[str]) -> None:
        self._source, self._columns = source, columns

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self._source.batches(self._columns)


@runtime_checkable
class Checked(Protocol):
    """A source that can be broken in ways that counting ignores."""

    def check(self) -> None:
        """Read everything, and refuse broken data."""


@runtime_checkable
class Narrowable(Protocol):
    """A source whose batches depend on the columns that may be requested."""

    def only(self, columns: Sequence[str]) -> RowSource:
        """The same with these columns alone, so that others cannot make its batches small."""


class FrameSource:
    """An Arrow table, or anything that exports an Arrow stream: a pandas or polars frame, a reader."""

    def __init__(self, frame: Any) -> None:
        # a reader can be read only once, so its rows have to be held
        self._frame = _as_table(frame) if isinstance(frame, pa.RecordBatch | pa.RecordBatchReader) else frame
        schema = self._frame.schema if isinstance(self._frame, pa.Table) else _schema(self._frame)
        self.columns = _distinct(schema.names)

    @property
    def rows(self) -> int | None:
        """Number of rows, if the frame states it."""
        return len(self._frame) if hasattr(self._frame, "__len__") else None

    @property
    def version(self) -> object:
        """None: a frame is assumed not to change."""
        return None

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns; some frames know them only after conversion to Arrow."""
        yield self._table(columns).schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns."""
        table = self._table(columns)
        for start in range(0, table.num_rows, READ_ROWS):
            # columns may be chunked differently; slices of our own are the same for every choice of columns
            part = table.slice(start, READ_ROWS).combine_chunks()
            yield from part.to_batches()

    def _table(self, columns: Sequence[str]) -> pa.Table:
        wanted = list(columns)
        if isinstance(self._frame, pa.Table):
            return self._frame.select(wanted)
        if hasattr(self._frame, "__getitem__"):  # pandas and polars; others give all columns
            return _as_table(self._frame[wanted])
        return _as_table(self._frame).select(wanted)


class ParquetSource:
    """One or several Parquet files or folders of them, read as one."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = list(paths)
        self._pieces: dict[Path, tuple[object, list[int]]] = {}
        self._rows = 0
        self.columns: tuple[str, ...] = ()
        for path in _files(self._paths):
            with _reading(path, "Parquet"), pq.ParquetFile(path) as file:
                self._rows += file.metadata.num_rows
                names = _distinct(file.schema_arrow.names)
            self.columns = _same(self.columns, names, path)

    @property
    def rows(self) -> int | None:
        """Number of rows, by the files' footers."""
        return self._rows

    @property
    def version(self) -> object:
        """Names, sizes and times of the files."""
        return stamps(self._paths)

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns, in each file."""
        for path in _files(self._paths):
            with _reading(path, "Parquet"), pq.ParquetFile(path) as file:
                schema = file.schema_arrow
            yield pa.schema([schema.field(name) for name in columns])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, with these columns; fewer at once if rows can be long, whichever columns are requested."""
        for path in _files(self._paths):
            with _reading(path, "Parquet"):
                yield from batches_of(path, columns, self._cut(path))

    def check_unrolling(self, most: int) -> None:
        """Refuse a file whose rows take far more bytes than the file has: see `unrolling`."""
        for path in _files(self._paths):
            with _reading(path, "Parquet"):
                check_unrolling(path, self.columns, most)

    def only(self, columns: Sequence[str]) -> ParquetSource:
        """The same with these columns alone, so that others cannot make its batches small."""
        narrow = copy(self)
        narrow.columns, narrow._pieces = tuple(columns), {}
        return narrow

    def _cut(self, path: Path) -> list[int]:
        """Return the pieces of a file, computed again when the file has changed."""
        stamp = stamps([path])
        known, cut = self._pieces.get(path, (None, []))
        if known != stamp:
            cut = pieces(path, self.columns, READ_ROWS)
            self._pieces[path] = (stamp, cut)
        return cut


class CsvSource:
    """One or several CSV files with a header, or folders of them, read as one.

    All values are text: the schema has the types. Text that is not UTF-8 is read too, because counting must not fail
    on a value; `check` reports where it is.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = list(paths)
        self.columns: tuple[str, ...] = ()
        self._skip_blank = True
        for path in _files(self._paths):
            _check_first_lines(path)
            with _reading(path, "CSV"), self._open(path, None) as reader:
                names = _distinct(reader.schema.names)
            self.columns = _same(self.columns, names, path)
        self._skip_blank = len(self.columns) > 1  # in a single column a blank line is a value

    @property
    def rows(self) -> int | None:
        """None: the number of rows is not known before they are read."""
        return None

    @property
    def version(self) -> object:
        """Names, sizes and times of the files."""
        return stamps(self._paths)

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns: all are text."""
        yield pa.schema([(name, pa.string()) for name in columns])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns."""
        for path in _files(self._paths):
            with _reading(path, "CSV"), self._open(path, columns) as reader:
                for batch in reader:
                    for start in range(0, batch.num_rows, READ_ROWS):
                        yield batch.slice(start, READ_ROWS)

    def check(self) -> None:
        """Read everything, and refuse a file that is not whole lines of UTF-8 text."""
        for path in _files(self._paths):
            with _reading(path, "CSV"), self._open(path, self.columns, strict=True) as reader:
                for _ in reader:
                    pass

    def _open(self, path: Path, columns: Sequence[str] | None, *, strict: bool = False) -> pa_csv.CSVStreamingReader:
        wanted = list(columns or ())
        return pa_csv.open_csv(
            str(path),
            read_options=pa_csv.ReadOptions(block_size=CSV_BLOCK),
            parse_options=pa_csv.ParseOptions(
                delimiter=DELIMITERS[_kind(path)],
                newlines_in_values=True,
                ignore_empty_lines=self._skip_blank,
            ),
            convert_options=pa_csv.ConvertOptions(
                check_utf8=strict or columns is None,
                column_types=dict.fromkeys(wanted, pa.string()),
                include_columns=wanted,
                strings_can_be_null=False,
            ),
        )


def open_source(source: Any) -> RowSource:
    """Open a path, several paths, a folder of Parquet or CSV files, or a frame as a source."""
    if isinstance(source, str | Path):
        return _open_paths([Path(source)])
    if isinstance(source, list | tuple) and source and all(isinstance(path, str | Path) for path in source):
        return _open_paths([Path(path) for path in source])
    if hasattr(source, "__arrow_c_stream__") or isinstance(source, pa.RecordBatch):
        return FrameSource(source)
    if all(hasattr(source, part) for part in ("columns", "batches", "version")):
        found: RowSource = source
        return found
    raise InvalidInput(
        "must be a path, a list of paths, or a frame with an Arrow stream (pyarrow, pandas, polars)",
        field="source",
        value=type(source).__name__,
    )


def _open_paths(paths: list[Path]) -> RowSource:
    kinds = {_kind(path) for path in _files(paths)}
    if len(kinds) != 1:
        raise InvalidInput("files of one source must be of one kind", field="source", value=", ".join(sorted(kinds)))
    return ParquetSource(paths) if kinds <= set(PARQUET) else CsvSource(paths)


def _files(paths: Iterable[Path]) -> list[Path]:
    """Return the current files: a folder may have a new one."""
    return [part for path in paths for part in _parts(path)]


def _parts(path: Path) -> list[Path]:
    """Return the files of a folder, by name; a file is its own part."""
    if not path.is_dir():
        return [path]
    for kinds in (PARQUET, tuple(DELIMITERS)):
        files = sorted(file for file in path.rglob("*") if file.suffix.lower() in kinds and file.is_file())
        # by convention, names with a leading underscore or dot hold no data
        files = [file for file in files if not file.name.startswith(("_", "."))]
        if files:
            return files
    raise SourceUnavailable("the folder holds no Parquet or CSV files", field="source", value=path)


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind in PARQUET:
        return PARQUET[0]
    if kind not in DELIMITERS:
        raise InvalidInput(
            "must be a file that ends in .csv, .tsv or .parquet",
            field="source",
            value=path.name,
            hint="Rename it, or read it into a frame and give that",
        )
    return kind


@contextmanager
def _reading(path: Path, kind: str) -> Iterator[None]:
    """Convert errors of a reader into ours. Their text may quote rows, so none of it is passed on."""
    try:
        yield
    except FileNotFoundError:
        raise SourceUnavailable("no such file", field="source", value=path) from None
    except MemoryError:
        raise DataError("the file needs more memory than there is", field=path.name) from None
    except (pa.ArrowException, UnicodeError, OverflowError) as error:
        rule, hint = _explain(str(error), kind)
        raise DataError(rule, field=path.name, hint=hint, private=_broken_line(path, kind, rule)) from None
    except OSError as error:
        reason = error.strerror or "it cannot be opened"
        raise SourceUnavailable(f"cannot be read: {reason}", field="source", value=path) from None


def _explain(message: str, kind: str) -> tuple[str, str | None]:
    if "Empty CSV file" in message:
        return "the file is empty; it needs at least a header", None
    if "columns, got" in message:
        return RAGGED, "Give each line as many values as the header has names"
    if "UTF8" in message or "utf-8" in message:
        return NO_TEXT, _CONVERT
    return f"the file cannot be read as {kind}", None


def _broken_line(path: Path, kind: str, rule: str) -> str | None:
    """Find the first broken line, without its content.

    A stream reader does not know the line, so it is searched again, byte by byte, whatever encoding the file has.
    """
    if kind != "CSV" or rule not in (RAGGED, NO_TEXT):
        return None
    with suppress(OSError, pa.ArrowException, csv.Error), pa.input_stream(str(path), compression="detect") as stream:
        # each byte as one character, so that decoding cannot fail
        text = TextIOWrapper(stream, encoding="latin-1", newline="")
        if rule == NO_TEXT:
            return next((f"line {at}" for at, line in enumerate(text, 1) if not _is_text(line.encode("latin-1"))), None)
        lines = csv.reader(text, delimiter=DELIMITERS[_kind(path)])
        width = len(next(lines, []))
        for line in lines:
            if line and len(line) != width:
                return f"line {lines.line_num}: {len(line)} values instead of {width}"
    return None


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_first_lines(path: Path) -> None:
    """Refuse a file that is not CSV, and CSV with another separator, which would be read as one column."""
    with _reading(path, "CSV"), pa.input_stream(str(path), compression="detect") as stream:
        start = stream.read(_LOOK)
    for mark, what in _NO_CSV.items():
        if start.startswith(mark):
            hint = "Save it as CSV in UTF-8, or as Parquet, with the ending that belongs to it"
            raise DataError(f"the file is {what}, not CSV", field=path.name, hint=hint)
    first = start.splitlines()[:2]
    header = first[0] if first else b""
    for at, byte in enumerate(header):
        if byte < 32 and byte not in b"\t":
            rule = f"the file is not text: byte {at + 1} of its first line is a control character"
            raise DataError(rule, field=path.name, hint="Save it as CSV in UTF-8, or as Parquet")
    _check_separator([_QUOTED.sub(b"", line) for line in first], path)


def _check_separator(first: Sequence[bytes], path: Path) -> None:
    ours = DELIMITERS[_kind(path)]
    own = [line.count(ours.encode()) for line in first]
    for mark, name in SEPARATORS.items():
        times = [line.count(mark.encode()) for line in first]
        if mark == ours or not times or times[0] <= own[0]:
            continue
        if len(times) == 1 or times[0] == times[1] or (own[0] == 0 and times[1] > 0):
            raise DataError(
                f"the header has {name} in it: values seem to be separated by {name}, not by {SEPARATORS[ours]}",
                field=path.name,
                hint="Rename it to end in .tsv"
                if mark == DELIMITERS[".tsv"]
                else f"Save it with {SEPARATORS[ours]} between the values",
            )


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    listed = tuple(names)
    twice = next((name for name in listed if listed.count(name) > 1), None)
    if twice is not None:
        raise DataError("a column name is there twice", field="source", value=twice)
    return listed


def _same(before: tuple[str, ...], names: tuple[str, ...], path: Path) -> tuple[str, ...]:
    """Return the columns that all parts have."""
    missing = next((name for name in before if name not in names), None)
    if missing is not None:
        raise DataError(f"the part has no column {missing!r}, which the part before has", field=path.name)
    return before or names


def stamps(paths: Sequence[Path]) -> object:
    """Return names, sizes and times of files, which change when one is written or replaced."""
    try:
        found = [(path, path.stat()) for path in _files(paths)]
        return tuple((str(path), s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for path, s in found)
    except FileNotFoundError as error:
        raise SourceUnavailable("no such file", field="source", value=error.filename) from None


def _as_table(frame: Any) -> pa.Table:
    try:
        return pa.Table.from_batches([frame]) if isinstance(frame, pa.RecordBatch) else pa.table(frame)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(
            "the frame has a column that Arrow cannot hold",
            field="source",
            hint="Give each column values of one type",
            private=type(error).__name__,
        ) from None


def _schema(frame: Any) -> pa.Schema:
    if hasattr(frame, "__getitem__") and hasattr(frame, "columns"):
        names = [str(name) for name in frame.columns]
        return pa.schema([(name, pa.null()) for name in names])
    return pa.RecordBatchReader.from_stream(frame).schema
