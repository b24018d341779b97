"""Workbooks of spreadsheet programs: one sheet, its first row with the names of the columns.

Needs the extra `files`. A sheet is read whole: it has at most about a million rows. Cells keep their types: a column of
numbers with a few texts in it becomes texts, in which whole numbers have no decimal point.
"""

from __future__ import annotations

import datetime as dt
from io import BytesIO
from typing import Any

import pyarrow as pa

from tacita.common.extras import needs_extra
from tacita.engines.local.files.base import distinct_names, reading
from tacita.engines.local.files.stored import StoredFile
from tacita.errors import DataError, InvalidInput

__all__ = ["WORKBOOK", "read_workbook", "sheets_of"]

WORKBOOK = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")


def sheets_of(file: StoredFile) -> list[str]:
    """Return the names of the sheets of a workbook."""
    return list(_open(file).sheet_names)


def read_workbook(file: StoredFile, sheet: str | None = None) -> pa.Table:
    """Read one sheet of a workbook.

    Args:
        file: The workbook.
        sheet: Name of the sheet; not needed if there is one only.
    """
    book = _open(file)
    names = list(book.sheet_names)
    if sheet is None and len(names) > 1:
        raise InvalidInput(
            "has several sheets", field="source", value=file.name, hint=f"Name one of them: {', '.join(names)}"
        )
    if sheet is not None and sheet not in names:
        raise InvalidInput("is no sheet of the workbook", field="sheet", value=sheet, hint=f"It has {', '.join(names)}")
    rows = book.get_sheet_by_name(sheet or names[0]).to_python(skip_empty_area=True)
    if not rows:
        raise DataError("the sheet is empty; it needs at least a header", field=file.name)
    header = distinct_names(str(name).strip() for name in rows[0])
    if any(not name for name in header):
        raise DataError("a column has no name in the first row", field=file.name, hint="Name every column")
    columns = zip(*rows[1:], strict=True) if len(rows) > 1 else ([] for _ in header)
    return pa.table({name: _column(list(cells)) for name, cells in zip(header, columns, strict=True)})


def _open(file: StoredFile) -> Any:
    with needs_extra("files", "a workbook", "source"):
        from python_calamine import CalamineError, CalamineWorkbook
    with reading(file.name, "a workbook"), file.stream() as stream:
        content = BytesIO(stream.read())
    try:
        return CalamineWorkbook.from_filelike(content)
    except CalamineError:
        raise DataError("the file cannot be read as a workbook", field=file.name) from None


def _column(cells: list[Any]) -> pa.Array:
    """One type for all cells: numbers, dates, booleans, or texts."""
    present = [cell for cell in cells if cell != "" and cell is not None]
    kinds = {type(cell) for cell in present}
    values = [None if cell == "" else cell for cell in cells]
    if kinds <= {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= {int, float}:
        whole = all(float(cell).is_integer() for cell in present)
        return pa.array([None if v is None else int(v) if whole else float(v) for v in values])
    if kinds <= {dt.date, dt.datetime}:
        days = [v.date() if isinstance(v, dt.datetime) else v for v in values]
        if all(not isinstance(v, dt.datetime) or v.time() == dt.time() for v in present):
            return pa.array(days, pa.date32())
        return pa.array([None if v is None else _moment(v) for v in values], pa.timestamp("s"))
    return pa.array([None if v is None else _text(v) for v in values], pa.string())


def _moment(value: dt.date) -> dt.datetime:
    return value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)


def _text(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dt.datetime | dt.date):
        return value.isoformat()
    return str(value)
