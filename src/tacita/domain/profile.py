"""Profile of one column, gathered batch by batch: rows, values, and kinds that they can be read as.

Distinct values are counted up to `MOST_KEPT`. Beyond that only what a decision needs is followed: whether all values
are numbers or dates, and between which ends.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tacita.domain.dialect import CsvDialect
from tacita.domain.encode import read_text
from tacita.errors import DataError

__all__ = ["LONGEST", "MOST_KEPT", "Profile", "tally", "tally_pairs"]

MOST_KEPT = 20_000
"""Distinct values of a column that are counted."""
_PROBE = 500  # values that are looked for in later batches
LONGEST = 200
"""Characters of a value that are remembered: longer texts are no levels."""


@dataclass
class Profile:
    """Running profile of one column.

    Attributes:
        name: Of the column.
        dialect: How numbers and dates are written.
        rows, missing: Number of rows, and of rows without a value.
        values: How often each distinct value is there.
        overflowed: Whether there are more distinct values than are counted.
        returned: Whether a value of an earlier batch was seen again in a column of many numbers.
    """

    name: str
    dialect: CsvDialect
    rows: int = 0
    missing: int = 0
    values: Counter[str] = field(default_factory=Counter)
    overflowed: bool = False
    returned: bool = False
    _numbers: bool = True
    _whole: bool = True
    _dates: bool = True
    _low: float = math.inf
    _high: float = -math.inf
    _first: dt.date | None = None
    _last: dt.date | None = None

    def add(self, column: pa.Array, nulls: frozenset[str]) -> None:
        """Add the rows of a batch."""
        if self.overflowed and self._add_wide(column, nulls):
            return
        fresh: dict[str, int] = {}
        for text, times in tally(self.name, column):
            self.rows += times
            if text is None or text in nulls or text.lower() == "nan":
                self.missing += times
            else:
                fresh[text] = times
        for text, times in fresh.items():
            short = text[:LONGEST]
            if len(self.values) < MOST_KEPT or short in self.values:
                self.values[short] += times
            else:
                self.overflowed = True
                self._follow(text)

    def _add_wide(self, column: pa.Array, nulls: frozenset[str]) -> bool:
        """Follow the ends of a column of many numbers without listing its values; False if this is not possible."""
        if not (self._numbers and self.dialect.plain_numbers) or pa.types.is_dictionary(column.type):
            return False
        try:
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                absent = pc.is_in(column, pa.array(sorted(nulls), column.type))
                column = pc.if_else(absent, None, column)
            numbers = column.cast(pa.float64())
        except (pa.ArrowException, TypeError):
            return False
        if not self.returned:
            known = pa.array([float(text) for text in islice(self.values, _PROBE)])
            self.returned = bool(pc.any(pc.is_in(numbers, known)).as_py())
        line = numbers.drop_null().to_numpy(zero_copy_only=False)
        line = line[~np.isnan(line)]
        self.rows += len(column)
        self.missing += len(column) - len(line)
        if line.size:
            if not np.isfinite(line).all():
                self._numbers = False
                return True
            self._low, self._high = min(self._low, float(line.min())), max(self._high, float(line.max()))
            self._whole = self._whole and bool((np.floor(line) == line).all())
            self._dates = False
        return True

    def _follow(self, text: str) -> None:
        """Follow one value that is not counted."""
        number = self.number(text) if self._numbers else None
        if number is None:
            self._numbers = False
        else:
            self._low, self._high = min(self._low, number), max(self._high, number)
            self._whole = self._whole and number.is_integer()
        day = self.dialect.date(text) if self._dates else None
        if day is None:
            self._dates = False
        else:
            self._first = day if self._first is None else min(self._first, day)
            self._last = day if self._last is None else max(self._last, day)

    def number(self, text: str) -> float | None:
        """Read a value as a finite number; None if it is none."""
        if self.dialect.plain_numbers:
            try:
                value: float | None = float(text)
            except ValueError:
                return None
        else:
            value = self.dialect.number(text)
        return value if value is not None and math.isfinite(value) else None

    @property
    def present(self) -> int:
        """Number of rows with a value."""
        return self.rows - self.missing

    def numbers(self) -> tuple[float, float, bool] | None:
        """Ends of the values, and whether all are whole numbers; None if some are no numbers."""
        if not self._numbers:
            return None
        found = [self.number(text) for text in self.values]
        if any(value is None for value in found):
            return None
        kept = [value for value in found if value is not None]
        low, high = min([self._low, *kept]), max([self._high, *kept])
        # beyond 2**53 every float is whole
        whole = self._whole and all(value.is_integer() for value in kept) and max(abs(low), abs(high)) < 1e15
        return low, high, whole

    def dates(self) -> tuple[dt.date, dt.date] | None:
        """First and last day; None if some values are no dates."""
        if not self._dates:
            return None
        found = [self.dialect.date(text) for text in self.values]
        kept = [day for day in found if day is not None]
        if len(kept) < len(found) or not kept:
            return None
        ends = [*kept, *([self._first] if self._first else []), *([self._last] if self._last else [])]
        return min(ends), max(ends)


def tally(name: str, column: pa.Array) -> Iterator[tuple[str | None, int]]:
    """The distinct values of a column as texts, and how often each is there."""
    column = _encoded(column)
    texts = _texts(name, column.dictionary)
    counts = column.indices.value_counts()
    for index, times in zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True):
        yield None if index is None else texts[index], times


def tally_pairs(
    batch: pa.RecordBatch, one: str, other: str, *, without: Collection[str] = ()
) -> Iterator[tuple[tuple[str, str], int]]:
    """The distinct pairs of two columns, both as texts, without those of which one is missing.

    Args:
        batch: The rows. one, other: Names of the columns.
        without: Values of the first column that are left out.
    """
    texts, first = _numbered(batch, one)
    left = np.array([text is not None and text not in without for text in texts] + [False])
    there = left[first]
    if not there.any():
        return
    keys, second = _numbered(batch.filter(pa.array(there)), other)
    first = first[there]
    there = second >= 0
    numbers, counts = np.unique(first[there] * len(keys) + second[there], return_counts=True)
    for number, times in zip(numbers.tolist(), counts.tolist(), strict=True):
        text, key = texts[number // len(keys)], keys[number % len(keys)]
        if text is not None and key is not None:
            yield (text, key), times


def _numbered(batch: pa.RecordBatch, name: str) -> tuple[list[str | None], Any]:
    """The distinct values of a column as texts, and for each row the number of its value; -1 for null."""
    column = _encoded(batch.column(name))
    return _texts(name, column.dictionary), column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)


def _encoded(column: pa.Array) -> Any:
    if pa.types.is_dictionary(column.type):
        return column
    return (column if _is_binary(column.type) else column.cast(pa.string())).dictionary_encode()


def _texts(name: str, distinct: pa.Array) -> list[str | None]:
    """Values as texts; bytes must be UTF-8."""
    if not (_is_binary(distinct.type) or pa.types.is_string(distinct.type)):
        distinct = distinct.cast(pa.string())
    if pa.types.is_string(distinct.type):
        try:
            distinct.validate(full=True)
            return list(distinct.to_pylist())
        except (pa.ArrowInvalid, UnicodeDecodeError):
            pass
    texts = []
    for raw in distinct.cast(pa.large_binary()).to_pylist():
        text = None if raw is None else read_text(raw)
        if text is None and raw is not None:
            hint = "State the encoding of the file, or save it as UTF-8"
            raise DataError("holds text that is not UTF-8", field=name, hint=hint)
        texts.append(text)
    return texts


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


Holders = Mapping[str, Mapping[str, int]]
"""For each column, the number of persons who hold each value."""
