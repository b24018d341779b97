"""The dialect of a text file, found from its first lines.

    encoding     the mark at the start, else UTF-8 if the bytes are, else the likeliest single-byte one
    delimiter    the one that gives most lines the same number of values, more than one
    preamble     lines before the header that have another number of values
    header       whether the first line has names: distinct texts, no numbers or dates
    numbers      marks of decimals and thousands that explain most columns
    dates        a format that all values of a column follow
    missing      usual words that occur

A reading that is one of several possible ones is refused, with the options that decide it.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacita.domain import CsvDialect
from tacita.domain.dialect import DELIMITERS
from tacita.domain.spelling import NULL_WORDS, Ambiguous, find_dates, find_marks, used_nulls
from tacita.engines.local.files.base import RAGGED, reading
from tacita.engines.local.files.stored import StoredFile
from tacita.engines.local.files.text import TEXT, delimiter_of
from tacita.errors import DataError, InvalidInput

__all__ = ["SAMPLE_BYTES", "Sniffed", "shape_of", "sniff"]

SAMPLE_BYTES = 1 << 18
_MOST_LINES, _MOST_PREAMBLE = 2000, 20
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_LEGACY = ("cp1252", "cp1250", "cp1253", "cp1251", "cp1254", "iso8859_7", "iso8859_2", "iso8859_15", "cp437", "cp850")
_WESTERN = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØŒŠÙÚÛÜÝŸŽàáâãäåæçèéêëìíîïñòóôõöøœšùúûüýÿžßºª€£§°²³µ«»„“”‘’–—…·¿¡\u00a0")
"""Letters and signs that texts in languages of Western Europe have."""
_PREVIEW = 5
_DECLARED = re.compile(r'"?sep=(.)"?', re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Sniffed:
    """Dialect of a file, with reasons.

    Attributes:
        dialect: How it is written.
        nulls: Words that mean a missing value.
        reasons: What was found, in sentences.
        preview: The first rows as they would be read: for the owner.
        columns: Names of the columns.
    """

    dialect: CsvDialect
    nulls: tuple[str, ...] = ("",)
    reasons: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    preview: tuple[tuple[str, ...], ...] = field(default=(), repr=False)


def sniff(file: StoredFile, given: Mapping[str, Any] | None = None, *, values: bool = True) -> Sniffed:
    """Find the dialect of a text file.

    Args:
        file: The file.
        given: Members of `CsvDialect` that a person has stated; they are not searched.
        values: Whether marks of numbers and formats of dates are searched too, and refused where they are in doubt.
    """
    known = {name: value for name, value in (given or {}).items() if value is not None}
    with reading(file.name, "CSV"), file.stream() as stream:
        start = stream.read(SAMPLE_BYTES)
    if not start.strip():
        raise DataError("the file is empty; it needs at least a header", field=file.name)
    reasons: list[str] = []
    encoding = known.get("encoding") or _encoding(start, file, reasons)
    text = _decode(start, encoding, file)
    lines = text.splitlines(keepends=True)
    if len(start) == SAMPLE_BYTES and len(lines) > 1:
        lines = lines[:-1]  # it may be cut off
    lines = lines[:_MOST_LINES]
    declared = _DECLARED.fullmatch(lines[0].strip("\r\n"))
    if declared and "delimiter" not in known and "skip" not in known and declared[1] in DELIMITERS:
        known |= {"delimiter": declared[1], "skip": 1}
        reasons.append("The first line states the delimiter, as spreadsheet programs write it.")
    delimiter, quote, skip, rows = _shape(lines, file, known, reasons)
    header, names = _header(rows, known, reasons)
    body = rows[1:] if header else rows
    spaced = sum(cell != cell.strip() for row in body for cell in row)
    named = any(name != name.strip() for name in rows[0]) if header and rows else False
    trim = bool(known.get("trim", named or spaced > len(body) / 2))
    if trim and "trim" not in known:
        reasons.append("Spaces around values are left out.")
    clean = [[cell.strip() for cell in row] for row in body]
    columns = {name: set(column) for name, column in zip(names, zip(*clean, strict=True), strict=True)} if clean else {}
    nulls = used_nulls(columns.values())
    if len(nulls) > 1:
        reasons.append("Missing values: " + ", ".join(repr(word) for word in nulls if word) + " and empty ones.")
    present = {name: texts - set(nulls) for name, texts in columns.items()}
    marks = _marks(present if values else {}, delimiter, known, reasons)
    dates = known.get("dates") or _dates(present if values else {}, marks, reasons)
    dialect = CsvDialect(
        delimiter=None if delimiter == delimiter_of(CsvDialect(), file.suffix) else delimiter,
        quote=quote,
        encoding=encoding,
        decimal=marks.decimal,
        thousands=marks.thousands,
        dates=tuple(dates),
        header=header,
        columns=None if header else tuple(names),
        skip=skip,
        trim=trim,
        absent=known.get("absent", {}),
    )
    return Sniffed(
        dialect=dialect,
        nulls=nulls,
        reasons=tuple(reasons),
        columns=tuple(names),
        preview=tuple(tuple(row) for row in body[:_PREVIEW]),
    )


def shape_of(path: str) -> CsvDialect | None:
    """Find encoding, delimiter and header of a text file, so that its rows can be read as texts; None for others."""
    file = StoredFile(path)
    return sniff(file, values=False).dialect if file.suffix in TEXT else None


def _encoding(start: bytes, file: StoredFile, reasons: list[str]) -> str:
    for mark, name in _BOMS.items():
        if start.startswith(mark):
            reasons.append(f"Encoding: {name}, by the mark at its start.")
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
        return "utf-8"
    except UnicodeDecodeError:
        pass
    if start.count(b"\0") > len(start) / 4:
        name = "utf-16-le" if start[1:2] == b"\0" else "utf-16-be"
        reasons.append(f"Encoding: {name}: every other byte is zero.")
        return name
    if b"\0" in start:
        rule = "the file is not text: it holds zero bytes"
        raise DataError(rule, field=file.name, hint="Give it the ending that belongs to it, or save it as CSV")
    name = _legacy(start)
    reasons.append(f"Encoding: {name}, a guess: look at letters such as é or ß in the rows below.")
    return name


def _legacy(start: bytes) -> str:
    """The likeliest single-byte encoding: Western Europe's if all its letters are of Western languages."""
    from charset_normalizer import from_bytes

    text = start.decode("cp1252", "replace")
    if {character for character in text if ord(character) > 127} <= _WESTERN:
        return "cp1252"
    high = b"\n".join(line for line in start.splitlines() if any(byte > 127 for byte in line))[: 1 << 15]
    found = from_bytes(high, cp_isolation=list(_LEGACY)).best()
    return "cp1252" if found is None or "cp1252" in (found.encoding, *found.could_be_from_charset) else found.encoding


def _decode(start: bytes, encoding: str, file: StoredFile) -> str:
    try:
        return codecs.getincrementaldecoder(encoding)().decode(start).removeprefix("\ufeff")
    except (UnicodeError, LookupError):
        raise DataError(
            f"the file is not text in the encoding {encoding}", field=file.name, hint="Leave it out: it is found"
        ) from None


def _shape(
    lines: Sequence[str], file: StoredFile, known: dict[str, Any], reasons: list[str]
) -> tuple[str, str, int, list[list[str]]]:
    """Return delimiter, quote, lines of the preamble, and the rows of the sample."""
    usual = delimiter_of(CsvDialect(), file.suffix)
    marks = [known["delimiter"]] if "delimiter" in known else [usual, *(m for m in DELIMITERS if m != usual)]
    quotes = [known["quote"]] if "quote" in known else ['"', "'"]
    skips = [known["skip"]] if "skip" in known else None
    tries = [_try(lines, mark, quote, skips) for mark in marks for quote in quotes]
    share, _, _, _, delimiter, quote, skip, rows = max(tries, key=lambda found: found[:4])
    if any(cell.startswith(" ") and cell.lstrip().startswith(('"', quote or '"')) for row in rows for cell in row):
        hint = "Leave out the spaces between delimiters and quotes"
        raise DataError("spaces come before quotes, so that the quotes are no quotes", field=file.name, hint=hint)
    width = len(rows[0]) if rows else 0
    if width > 1 and share < 0.9:
        at = next(at for at, row in enumerate(rows) if len(row) != width)
        where = f"line {at + skip + 1}: {len(rows[at])} values instead of {width}"
        hint = "Give each line as many values as the header has names"
        raise DataError(RAGGED, field=file.name, hint=hint, private=where)
    if delimiter != usual:
        reasons.append(f"Values are separated by {DELIMITERS.get(delimiter, repr(delimiter))}.")
    if quote == "'":
        reasons.append("Values are quoted by single quotes.")
    if skip:
        reasons.append(f"{skip} lines before the header are skipped.")
    return delimiter, quote, skip, [row for row in rows if len(row) == width]


def _try(
    lines: Sequence[str], delimiter: str, quote: str, skips: Sequence[int] | None
) -> tuple[float, int, int, int, str, str, int, list[list[str]]]:
    """Read the sample; how consistent it is comes first, then how much is left out, and how many values a line has."""
    how: dict[str, Any] = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    try:
        rows = list(csv.reader(io.StringIO("".join(lines), newline=""), delimiter=delimiter, **how))
    except csv.Error:
        return 0.0, 0, 0, 0, delimiter, quote, 0, []
    widths = Counter(len(row) for row in rows if row)
    width, _ = max(widths.items(), key=lambda found: (found[1] * (found[0] > 1), found[1]), default=(0, 0))
    skip = skips[0] if skips else _preamble(rows, width)
    left = [row for row in rows[skip:] if row or width == 1]
    share = sum(len(row) == width for row in left) / max(len(left), 1)
    plain = sum(quote in cell for row in left for cell in row) if quote else 0
    return (share if width > 1 else 0.0), -skip, -plain, width, delimiter, quote, skip, left


def _preamble(rows: Sequence[Sequence[str]], width: int) -> int:
    """Lines before the first that has as many values as most."""
    first = next((at for at, row in enumerate(rows) if len(row) == width), 0)
    return first if width > 1 and first <= _MOST_PREAMBLE else 0


def _header(rows: Sequence[Sequence[str]], known: dict[str, Any], reasons: list[str]) -> tuple[bool, list[str]]:
    if known.get("columns"):
        names = list(known["columns"])
        if rows and len(rows[0]) != len(names):
            rule = f"must be as many as the values of a line, which are {len(rows[0])}"
            raise InvalidInput(rule, field="csv.columns", value=len(names))
        return False, names
    if not rows:
        return True, []
    first = [cell.strip() for cell in rows[0]]  # named without spaces: see `trim`
    if "header" in known:
        header = bool(known["header"])
    else:
        values = [cell for cell in first if cell]
        numbers = [cell for cell in values if _is_value(cell)]
        header = bool(values) and not numbers and len(set(values)) == len(values)
        if values and not numbers and not header:
            _check_twice(first, rows[1:])
    if header:
        return True, first
    reasons.append("The first line has values, not names. Name the columns: they are c1, c2, … until then.")
    return False, [f"c{at}" for at in range(1, len(first) + 1)]


def _check_twice(first: Sequence[str], body: Sequence[Sequence[str]]) -> None:
    """Refuse a header with a name twice; a line of values above values of the same kind is no header."""
    twice = next((name for name in first if name not in NULL_WORDS and first.count(name) > 1), None)
    for at, name in enumerate(first):
        below = {row[at].strip() for row in body} - set(NULL_WORDS)
        if twice is not None and name not in NULL_WORDS and below and all(_is_value(cell) for cell in below):
            hint = "Rename one, or state that there is no header, and the names of the columns"
            raise DataError("a column name is there twice", field="source", value=twice, hint=hint)


def _is_value(cell: str) -> bool:
    """Whether a text is a number or a date, and so no name of a column."""
    dialects = (CsvDialect(), CsvDialect(decimal=",", thousands="."))
    found = find_dates("", {cell})
    return any(each.number(cell) is not None for each in dialects) or found is not None


def _marks(columns: dict[str, set[str]], delimiter: str, known: dict[str, Any], reasons: list[str]) -> CsvDialect:
    if "decimal" in known or "thousands" in known:
        return CsvDialect(decimal=known.get("decimal", "."), thousands=known.get("thousands", ""))
    found, doubt = find_marks(dict(columns), delimiter)
    if doubt is not None:
        _refuse(doubt, "csv.decimal", "numbers")
    if not found.plain_numbers:
        grouped = f", {found.thousands!r} between groups of digits" if found.thousands else ""
        reasons.append(f"Numbers have {found.decimal!r} before decimals{grouped}.")
    return found


def _dates(columns: dict[str, set[str]], marks: CsvDialect, reasons: list[str]) -> tuple[str, ...]:
    formats: list[str] = []
    for name, texts in columns.items():
        if all(marks.number(text) is not None for text in texts):
            continue
        found = find_dates(name, texts)
        if found is None:
            continue
        needed, doubt = found
        if doubt is not None:
            _refuse(doubt, "csv.dates", "dates")
        formats += [each for each in needed if each not in formats]
    if formats:
        reasons.append("Dates are written as " + ", ".join(formats) + ".")
    return tuple(formats)


def _refuse(doubt: Ambiguous, where: str, what: str) -> None:
    ways = " or ".join(f"{stated} ({meaning})" for stated, meaning in doubt.readings)
    raise InvalidInput(
        f"must be stated: {what} in {doubt.column!r} {doubt.rule}",
        field=where,
        hint=f"State {ways}",
    )
