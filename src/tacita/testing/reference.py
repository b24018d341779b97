"""Reference implementation of counting: one value at a time, in plain Python, without any code of the engines.

The encoding of values is implemented here a second time, from the domain's description alone, so that only a
mistake that is made twice stays undetected.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.domain import Attribute, Boolean, Date, Domain, Numeric

__all__ = ["reference_code", "reference_counts", "reference_rows", "spell"]

Cells = Counter[tuple[int, ...]]


def reference_code(attribute: Attribute, value: Any, nulls: Sequence[str] = ("",)) -> int:
    """Return the code of one Python value; bytes are text, or out of domain."""
    declared = len(attribute.labels)
    nowhere = declared + attribute.other + attribute.missing
    other = declared if attribute.other else nowhere
    missing = nowhere - 1 if attribute.missing else nowhere
    if isinstance(value, bytes):
        text = _text(value)
        return other if text is None else reference_code(attribute, text, nulls)
    # a typed number, date or truth value is never missing; a value that is compared as text may mean "missing"
    typed = isinstance(attribute, Numeric | Date) or (isinstance(attribute, Boolean) and isinstance(value, bool))
    if (
        value is None
        or (isinstance(value, float) and math.isnan(value))
        or (not (typed and not isinstance(value, str)) and spell(value) in nulls)
    ):
        return missing
    if isinstance(attribute, Numeric):
        return _number(attribute, value, missing, other)
    if isinstance(attribute, Date):
        return _day(attribute, value, other)
    if isinstance(attribute, Boolean) and isinstance(value, bool):
        return int(value)
    text = spell(value)
    if isinstance(attribute, Boolean):
        words = ["false true", "f t", "no yes", "n y", "0 1"]
        return next((pair.split().index(text.lower()) for pair in words if text.lower() in pair.split()), other)
    return attribute.labels.index(text) if text in attribute.labels else other


def spell(value: Any) -> str:
    """Return the text by which a value is compared with levels."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dt.time):
        return str(value).rstrip("0").rstrip(".") if value.microsecond else str(value)
    if isinstance(value, float):
        whole = math.isfinite(value) and int(value) == value and abs(value) < 2**53
        return str(int(value)) if whole else repr(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(attribute: Numeric, value: Any, missing: int, other: int) -> int:
    try:
        number = float(value)
    except ValueError:
        return other
    if math.isnan(number):
        return missing
    low, high = attribute.bounds
    number = low if number < low else high if number > high else number
    return max(place for place, start in enumerate(attribute.starts) if start <= number)


def _day(attribute: Date, value: Any, other: int) -> int:
    if isinstance(value, str):
        try:
            day = dt.date.fromisoformat(value.strip()[:10])
        except ValueError:
            return other
    else:
        day = value
    low, high = attribute.bounds
    day = low if day < low else high if day > high else day
    if attribute.edges is not None:
        return sum(1 for edge in attribute.edges[1:-1] if edge <= day)
    periods: list[Any] = []  # the different periods from the lower bound on; the code is the number of earlier ones
    for number in range(low.toordinal(), day.toordinal() + 1):
        period = _period(attribute.by, dt.date.fromordinal(number))
        if period not in periods[-1:]:
            periods.append(period)
    return len(periods) - 1


def _period(by: str, day: dt.date) -> tuple[int, ...]:
    if by == "week":
        return day.isocalendar()[:2]
    parts = {
        "year": (),
        "quarter": ((day.month - 1) // 3,),
        "month": (day.month,),
        "day": (day.month, day.day),
    }
    return (day.year, *parts[by])


def reference_rows(domain: Domain, table: pa.Table, max_rows: int | None = None) -> list[tuple[int, ...]]:
    """Return the codes of all countable attributes of the rows that count."""
    columns = {name: _values(domain[name], table.column(name)) for name in domain.names}
    rows = [
        tuple(reference_code(domain[name], columns[name][i], domain.nulls) for name in domain.countable)
        for i in range(table.num_rows)
    ]
    if max_rows is None:
        return rows
    assert domain.person is not None
    persons: dict[str, list[tuple[str, tuple[int, ...]]]] = defaultdict(list)
    for value, row in zip(columns[domain.person], rows, strict=True):
        key = _key(value)
        if key is None or key in domain.nulls:
            continue
        text = key + "|" + ",".join(str(code) for code in row)
        persons[key].append((hashlib.md5(text.encode()).hexdigest(), row))
    return [row for owned in persons.values() for _, row in sorted(owned)[:max_rows]]


def _key(value: Any) -> str | None:
    """Return a person's key: a text, or a number in a spelling that all equal numbers share."""
    if value is None or isinstance(value, bytes):
        return None if value is None else _text(value)
    whole = int(value)
    if whole == value:
        return str(whole)
    digits = f"{value:f}"
    return digits[: max(place for place, digit in enumerate(digits) if digit != "0") + 1]


def _text(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _values(attribute: Attribute, column: pa.ChunkedArray) -> list[Any]:
    """Return a column as Python values: texts as bytes, days as dates (Python's last date for all later ones)."""
    kind = column.type
    if kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        return list(column.cast(pa.large_binary()).to_pylist())
    if isinstance(attribute, Date) and pa.types.is_temporal(kind):
        width = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        units = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
        unit = "ms" if pa.types.is_date64(kind) else getattr(kind, "unit", "s")
        day = 1 if pa.types.is_date32(kind) else 86_400 * units[unit]
        return [None if tick is None else _date(tick // day) for tick in column.cast(width).to_pylist()]
    values = column.to_pylist()
    if isinstance(attribute, Numeric):
        return [float(value) if isinstance(value, Decimal) else value for value in values]
    if pa.types.is_float32(kind):  # its own shortest text, and not that of the nearest wider float
        return [None if value is None else float(str(np.float32(value))) for value in values]
    return list(values)


def _date(days: int) -> dt.date:
    first, last = dt.date.min.toordinal(), dt.date.max.toordinal()
    return dt.date.fromordinal(min(max(days + dt.date(1970, 1, 1).toordinal(), first), last))


def reference_counts(domain: Domain, rows: Iterable[tuple[int, ...]], key: Sequence[str]) -> Cells:
    """Count rows by their codes along a key; rows with a value outside the domain are left out."""
    places = [domain.countable.index(name) for name in key]
    sizes = [domain[name].size for name in key]
    cells = (tuple(row[place] for place in places) for row in rows)
    return Counter(cell for cell in cells if all(code < size for code, size in zip(cell, sizes, strict=True)))
