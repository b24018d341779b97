"""Text files with delimiters (CSV and its relatives), read by the dialect of the schema.

All values are text: the schema has the types. What the dialect says about numbers, dates and missing values is applied
here, so that everything behind it reads one form: 1234.5 and 2020-12-31. Bytes that are no text in the encoding are
read too, as the replacement character, because counting must not fail on a value; `check` reports where they are.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from io import RawIOBase, TextIOWrapper
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv

from tacita.domain import CsvDialect, Domain
from tacita.domain.dialect import DELIMITERS
from tacita.engines.local.files.base import (
    NO_TEXT,
    NOT_ENCODED,
    RAGGED,
    READ_ROWS,
    distinct_names,
    reading,
    same_columns,
)
from tacita.engines.local.files.conversion import Conversion
from tacita.engines.local.files.stored import StoredFile, find_files, stamps
from tacita.errors import DataError

__all__ = ["CSV_BLOCK", "TEXT", "TextSource", "delimiter_of", "header_of"]

TEXT = (".csv", ".tsv", ".tab", ".txt", ".data", ".dat")
"""Endings of text files; without a dialect, all but .tsv and .tab have commas."""
TABS = (".tsv", ".tab")
CSV_BLOCK = 1 << 23  # bytes of text that are parsed at once
_LOOK = 1 << 16  # bytes in which a header and a line are searched
_DRAFT = "Draft its schema: the draft finds the dialect; or state it in the schema: `csv: {{delimiter: {!r}}}`"
_QUOTED = re.compile(r'"[^"]*"')
_NO_CSV = {
    b"PK\x03\x04": "a ZIP archive or a workbook of a spreadsheet program",
    b"\xd0\xcf\x11\xe0": "a workbook of a spreadsheet program",
    b"PAR1": "a Parquet file",
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
}
"""First bytes of files that are often mistaken for text."""


def delimiter_of(dialect: CsvDialect, suffix: str) -> str:
    """Return the delimiter of a file: that of the dialect, else that of its ending."""
    return dialect.delimiter or ("\t" if suffix in TABS else ",")


def header_of(file: StoredFile, dialect: CsvDialect) -> tuple[str, ...]:
    """Return the names of a file's columns as a dialect reads them; reads no row."""
    if not dialect.header:
        return dialect.columns or ()
    with reading(file.name, "CSV"), file.stream() as stream:
        start = stream.read(_LOOK)
    lines = start.decode(dialect.encoding, "replace").removeprefix("\ufeff").splitlines()[dialect.skip :]
    written = {"quotechar": dialect.quote} if dialect.quote else {"quoting": csv.QUOTE_NONE}
    names = next(csv.reader(lines[:1], delimiter=delimiter_of(dialect, file.suffix), **written), [])
    return tuple(name.strip() for name in names) if dialect.trim else tuple(names)


class TextSource:
    """One or several text files, or folders of them, read as one.

    Args:
        addresses: Files and folders, on this machine or in a store.
        dialect: How they are written.
        domain: Kinds of the columns: numbers and dates are converted. Without it all texts stay as they are written.
    """

    def __init__(
        self, addresses: Sequence[str | Path | StoredFile], dialect: CsvDialect, domain: Domain | None = None
    ) -> None:
        self._addresses, self._dialect = list(addresses), dialect
        self._conversion = Conversion(dialect, domain)
        self._skip_blank = True
        self._headers: dict[StoredFile, tuple[object, dict[str, str]]] = {}
        self.columns: tuple[str, ...] = ()
        for file in self._files():
            self.columns = same_columns(self.columns, tuple(self._header(file)), file.name)
        self._skip_blank = len(self.columns) > 1  # in a single column a blank line is a value

    def _header(self, file: StoredFile) -> dict[str, str]:
        """Return the names of a file's columns, and as they are written: perhaps with spaces around them."""
        with reading(file.name, "CSV"):
            stamp = file.stamp()
        known, names = self._headers.get(file, (None, {}))
        if known != stamp:
            _check_first_lines(file, self._dialect)
            with self._reading(file), self._open(file, None) as reader:
                written = list(reader.schema.names)
            named = [name.strip() for name in written] if self._dialect.trim else written
            names = dict(zip(distinct_names(named), written, strict=True))
            self._headers[file] = (stamp, names)
        return names

    def _reading(self, file: StoredFile) -> AbstractContextManager[None]:
        return reading(file.name, "CSV", partial(_broken_line, file, self._dialect))

    def _files(self) -> list[StoredFile]:
        return find_files(self._addresses, [TEXT])

    @property
    def rows(self) -> int | None:
        """None: the number of rows is not known before they are read."""
        return None

    @property
    def version(self) -> object:
        """Names, sizes and times of the files."""
        return stamps(self._files())

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns: all are text."""
        yield pa.schema([(name, pa.string()) for name in columns])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns."""
        return self._batches(columns, strict=False)

    def checked(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns; a file that is not whole lines of text in its encoding is refused."""
        return self._batches(columns, strict=True)

    def _batches(self, columns: Sequence[str], *, strict: bool) -> Iterator[pa.RecordBatch]:
        for file in self._files():
            header = self._header(file)
            wanted = [header[name] for name in columns]
            with self._reading(file), self._open(file, wanted, strict=strict) as reader:
                for batch in reader:
                    for start in range(0, batch.num_rows, READ_ROWS):
                        yield self._conversion.apply(batch.slice(start, READ_ROWS), columns)

    def _open(self, file: StoredFile, columns: Sequence[str] | None, *, strict: bool = False) -> Any:
        wanted, dialect = list(columns or ()), self._dialect
        return pa_csv.open_csv(
            self._bytes(file, strict=strict or columns is None),
            read_options=pa_csv.ReadOptions(
                block_size=CSV_BLOCK,
                column_names=None if dialect.header else list(dialect.columns or ()),
                skip_rows=dialect.skip,
            ),
            parse_options=pa_csv.ParseOptions(
                delimiter=delimiter_of(dialect, file.suffix),
                quote_char=dialect.quote or False,
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

    def _bytes(self, file: StoredFile, *, strict: bool) -> Any:
        """Open a file as UTF-8. Arrow reads UTF-8 as it is; what is converted must be valid."""
        encoding = self._dialect.encoding
        if encoding in ("utf-8", "utf-8-sig") and (strict or not self._conversion.active):
            return file.stream()
        return pa.PythonFile(_Decoder(file.stream(), encoding, "strict" if strict else "replace"), mode="r")


class _Decoder(RawIOBase):
    """Bytes of a file in another encoding, as UTF-8."""

    def __init__(self, raw: Any, encoding: str, errors: str) -> None:
        self._raw, self._decode = raw, codecs.getincrementaldecoder(encoding)(errors)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._left:
            read = self._raw.read(max(len(buffer), 1 << 16))
            self._left = self._decode.decode(read, final=not read).encode("utf-8", "replace")
            if not read:
                break
        size = min(len(buffer), len(self._left))
        buffer[:size], self._left = self._left[:size], self._left[size:]
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()


def _broken_line(file: StoredFile, dialect: CsvDialect, rule: str) -> str | None:
    """Find the first broken line, without its content.

    A stream reader does not know the line, so it is searched again.
    """
    if rule not in (RAGGED, NO_TEXT, NOT_ENCODED):
        return None
    with suppress(OSError, pa.ArrowException, csv.Error), file.stream() as stream:
        if rule == NO_TEXT:
            # each byte as one character, so that decoding cannot fail
            text = TextIOWrapper(stream, encoding="latin-1", newline="")
            return next((f"line {at}" for at, line in enumerate(text, 1) if not _is_text(line.encode("latin-1"))), None)
        text = TextIOWrapper(stream, encoding=dialect.encoding, errors="replace", newline="")
        if rule == NOT_ENCODED:
            return next((f"line {at}" for at, line in enumerate(text, 1) if "\ufffd" in line), None)
        for _ in range(dialect.skip):
            text.readline()
        how: dict[str, Any] = {"quotechar": dialect.quote} if dialect.quote else {"quoting": csv.QUOTE_NONE}
        lines = csv.reader(text, delimiter=delimiter_of(dialect, file.suffix), **how)
        width = len(dialect.columns or next(lines, []))
        for line in lines:
            if line and len(line) != width:
                return f"line {lines.line_num + dialect.skip}: {len(line)} values instead of {width}"
    return None


def _is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


def _check_first_lines(file: StoredFile, dialect: CsvDialect) -> None:
    """Refuse a file that is not text, and text with another delimiter, which would be read as one column."""
    with reading(file.name, "CSV"), file.stream() as stream:
        start = stream.read(_LOOK)
    for mark, what in _NO_CSV.items():
        if start.startswith(mark):
            hint = "Give it the ending that belongs to it, or save it as CSV"
            raise DataError(f"the file is {what}, not CSV", field=file.name, hint=hint)
    wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))
    if wide and not dialect.encoding.startswith(("utf-16", "utf_16")):
        hint = "Draft its schema: the draft finds the encoding; or state it in the schema: `csv: {encoding: utf-16}`"
        raise DataError("the file is UTF-16 text, not UTF-8", field=file.name, hint=hint)
    text = start.decode(dialect.encoding, "replace")
    first = text.splitlines()[dialect.skip : dialect.skip + 2]
    for at, character in enumerate(first[0] if first else ""):
        if ord(character) < 32 and character != "\t":
            rule = f"the file is not text: character {at + 1} of its first line is a control character"
            raise DataError(rule, field=file.name, hint="Save it as CSV or as Parquet, with the ending of its format")
    if dialect.delimiter is None:
        _check_delimiter([_QUOTED.sub("", line) for line in first], file)


def _check_delimiter(first: Sequence[str], file: StoredFile) -> None:
    ours = delimiter_of(CsvDialect(), file.suffix)
    own = [line.count(ours) for line in first]
    for mark, name in DELIMITERS.items():
        times = [line.count(mark) for line in first]
        if mark == ours or not times or times[0] <= own[0]:
            continue
        if len(times) == 1 or times[0] == times[1] or (own[0] == 0 and times[1] > 0):
            raise DataError(
                f"the header has {name} in it: values seem to be separated by {name}, not by {DELIMITERS[ours]}",
                field=file.name,
                hint=_DRAFT.format(mark),
            )
