"""Files of statistical programs: Stata (.dta), SPSS (.sav, .zsav, .por) and SAS (.sas7bdat, .xpt).

Needs the extra `files`. Codes that have labels are read as their labels, which then are levels; codes without one are
read as numbers in text. Missing values that the program declares are null. Files are read in chunks.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.common.extras import needs_extra
from tacita.engines.local.files.base import READ_ROWS, distinct_names
from tacita.engines.local.files.stored import StoredFile, stamps
from tacita.errors import DataError, InvalidInput

__all__ = ["STATISTICAL", "StatisticalSource"]

STATISTICAL = (".dta", ".sav", ".zsav", ".por", ".sas7bdat", ".xpt")
_READERS = {
    ".dta": "read_dta",
    ".sav": "read_sav",
    ".zsav": "read_sav",
    ".por": "read_por",
    ".sas7bdat": "read_sas7bdat",
    ".xpt": "read_xport",
}
_DATES = ("date", "DATE", "%td", "%d")


class StatisticalSource:
    """One file of a statistical program.

    Args:
        file: The file, on this machine.
    """

    def __init__(self, file: StoredFile) -> None:
        if file.local is None:
            hint = "Copy it, or write it as Parquet"
            raise InvalidInput("must be a file on this machine", field="source", value=file.name, hint=hint)
        self._file = file
        _, self._about = self._read(metadataonly=True)
        self.columns = distinct_names(self._about.column_names)
        self._labels: Mapping[str, Mapping[Any, str]] = {
            name: self._about.value_labels.get(label, {})
            for name, label in self._about.variable_to_label.items()
            if self._about.value_labels.get(label)
        }

    @property
    def rows(self) -> int | None:
        """None: some files do not state it."""
        return None

    @property
    def version(self) -> object:
        """Name, size and time of the file."""
        return stamps([self._file])

    @property
    def labels(self) -> dict[str, list[str]]:
        """Labels of each column that has some, in the order of their codes."""
        return {name: [found[code] for code in sorted(found, key=_order)] for name, found in self._labels.items()}

    def schemas(self, columns: Sequence[str]) -> Iterator[pa.Schema]:
        """Yield the types of these columns."""
        yield pa.schema([(name, self._type(name)) for name in columns])

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All rows, with these columns."""
        wanted, at = list(columns), 0
        while True:
            found, _ = self._read(usecols=wanted, row_offset=at, row_limit=READ_ROWS)
            count = len(next(iter(found.values()))) if found else 0
            if count:
                arrays = [self._column(name, found[name]) for name in wanted]
                yield pa.RecordBatch.from_arrays(arrays, names=wanted)
            if count < READ_ROWS:
                return
            at += count

    def _type(self, name: str) -> pa.DataType:
        kind = self._about.readstat_variable_types[name]
        if name in self._labels or kind == "string":
            return pa.string()
        form = self._about.original_variable_types.get(name, "")
        return pa.date32() if form.startswith(_DATES) else pa.float64()

    def _column(self, name: str, values: Any) -> pa.Array:
        kind = self._type(name)
        if name in self._labels:
            labels = self._labels[name]
            return pa.array([_label(labels, value) for value in values], kind)
        if kind == pa.string():
            return pa.array([value or None for value in values], kind)
        if kind == pa.date32():
            return pa.array([_day(value) for value in values], kind)
        return pa.array(np.asarray([math.nan if v is None else v for v in values], np.float64), kind, from_pandas=True)

    def _read(self, **how: Any) -> tuple[Any, Any]:
        with needs_extra("files", "a file of a statistical program", "source"):
            import pyreadstat
        try:
            read = getattr(pyreadstat, _READERS[self._file.suffix])
            found: tuple[Any, Any] = read(str(self._file.local), output_format="dict", **how)
            return found
        except (pyreadstat.ReadstatError, pyreadstat.PyreadstatError, ValueError, UnicodeError):
            raise DataError("the file cannot be read as its ending says", field=self._file.name) from None


def _order(code: Any) -> tuple[int, float, str]:
    return (0, float(code), "") if isinstance(code, int | float) else (1, 0.0, str(code))


def _label(labels: Mapping[Any, str], value: Any) -> str | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if value in labels:
        return labels[value]
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _day(value: Any) -> dt.date | None:
    if isinstance(value, dt.datetime):
        return value.date()
    return value if isinstance(value, dt.date) else None
