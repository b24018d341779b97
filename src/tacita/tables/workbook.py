"""A table as an Excel workbook: one sheet of rows, one of facts. Nothing changes its value on the way.

A sheet knows finite numbers of 53 bits, dates from 1900 on without a time zone, booleans and texts of 32,767
characters. A column that has something else is written as text, the whole column, so that its cells stay of one type:

    empty        numbers that are infinite, or none
    ISO 8601     dates before 1900, times with a zone or below a millisecond
    digits       integers over 2^53, decimals
    JSON         lists and structures;   hexadecimal digits: bytes

Texts are never read as formulas, links or numbers.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from tacita.errors import InvalidInput

__all__ = ["MOST_ROWS", "write_workbook"]

MOST_ROWS = 1_048_575
"""Rows of a sheet, less its header."""
_MOST_COLUMNS = 16_384
_MOST_LETTERS = 32_767
_EXACT = 2**53
_FIRST = 1900
_FACTS = "guarantee"
_OTHERWISE = "Write .csv or .parquet"
_OPTIONS = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}


def write_workbook(out: BinaryIO, table: pa.Table, facts: Mapping[str, str]) -> None:
    """Write two sheets: the table, and the facts."""
    for what, found, most in (("rows", table.num_rows, MOST_ROWS), ("columns", table.num_columns, _MOST_COLUMNS)):
        if found > most:
            raise InvalidInput(f"a sheet holds at most {most:,} {what}", field="path", value=found, hint=_OTHERWISE)
    import xlsxwriter  # takes as long to load as all of this module

    columns = [_cells(column) for column in table.columns]
    for name, cells in zip(table.column_names, columns, strict=True):
        if any(isinstance(cell, str) and len(cell) > _MOST_LETTERS for cell in (name, *cells)):
            rule = f"a cell of a sheet holds at most {_MOST_LETTERS:,} characters"
            raise InvalidInput(rule, field="path", value=name[:40], hint=_OTHERWISE)
    with xlsxwriter.Workbook(out, _OPTIONS) as book:
        bold = book.add_format({"bold": True})
        day, moment = (book.add_format({"num_format": text}) for text in ("yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss.000"))
        sheet = book.add_worksheet("table")
        sheet.freeze_panes(1, 0)
        for at, (name, kind, cells) in enumerate(zip(table.column_names, table.schema.types, columns, strict=True)):
            sheet.write_string(0, at, name, bold)
            shown = day if pa.types.is_date(kind) else moment if pa.types.is_timestamp(kind) else None
            sheet.write_column(1, at, cells, shown)
        about = book.add_worksheet(_FACTS)
        about.set_column(0, 0, 18)
        about.set_column(1, 1, 90, book.add_format({"text_wrap": True}))
        for at, (name, text) in enumerate(facts.items()):
            about.write_string(at, 0, name, bold)
            about.write_string(at, 1, text[:_MOST_LETTERS])


def _cells(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of a column as a sheet can hold them."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _cells(column.cast(kind.value_type))
    if pa.types.is_floating(kind):
        column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, kind))
    values = column.to_pylist()
    text = _text_of(kind, [value for value in values if value is not None])
    return values if text is None else [None if value is None else text(value) for value in values]


def _text_of(kind: pa.DataType, values: list[Any]) -> Callable[[Any], str] | None:
    """Return what makes texts of a column's values; None if a sheet holds them as they are."""
    types = pa.types
    if types.is_boolean(kind) or types.is_floating(kind) or types.is_null(kind) or _is_text(kind):
        return None
    if types.is_integer(kind):
        return str if any(abs(value) > _EXACT for value in values) else None
    if types.is_date(kind) or types.is_timestamp(kind):
        return _iso if any(map(_is_outside, values)) else None
    if types.is_time(kind):
        return _iso
    if types.is_decimal(kind) or types.is_duration(kind):
        return str
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return bytes.hex
    return _as_json


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_outside(value: dt.date) -> bool:
    """Whether a sheet would not hold a date or a time as it is."""
    if not isinstance(value, dt.datetime):
        return value.year < _FIRST
    return value.year < _FIRST or value.tzinfo is not None or value.microsecond % 1000 > 0


def _iso(value: dt.date | dt.time) -> str:
    return value.isoformat()


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
