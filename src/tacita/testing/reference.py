"""Counting the slow way: one value at a time, in plain Python, without any code that engines use.

What a value means is written down here a second time, from the domain's description alone, so that a mistake
must be made twice to stay unseen.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from tacita.domain import Attribute, Boolean, Date, Domain, Numeric

__all__ = ["reference_code", "reference_counts", "reference_rows"]

Cells = Counter[tuple[int, ...]]


def reference_code(attribute: Attribute, value: Any, nulls: Sequence[str] = ("",)) -> int:
    """The code of one Python value."""
    declared = len(attribute.labels)
    nowhere = declared + attribute.other + attribute.missing
    other = declared if attribute.other else nowhere
    missing = nowhere - 1 if attribute.missing else nowhere
    # a typed number, date or truth value is what it is; what is compared as text may mean "missing"
    typed = isinstance(attribute, Numeric | Date) or (isinstance(attribute, Boolean) and isinstance(value, bool))
    if value is None or (not (typed and not isinstance(value, str)) and _spell(value) in nulls):
        return missing
    if isinstance(attribute, Numeric):
        return _number(attribute, value, missing, other)
    if isinstance(attribute, Date):
        return _day(attribute, value, other)
    if isinstance(attribute, Boolean) and isinstance(value, bool):
        return int(value)
    text = _spell(value)
    if isinstance(attribute, Boolean):
        words = ["false true", "f t", "no yes", "n y", "0 1"]
        return next((pair.split().index(text.lower()) for pair in words if text.lower() in pair.split()), other)
    return attribute.labels.index(text) if text in attribute.labels else other


def _spell(value: Any) -> str:
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
    elif isinstance(value, dt.datetime):
        day = (value.astimezone(dt.UTC) if value.tzinfo else value).date()
    else:
        day = value
    low, high = attribute.bounds
    day = low if day < low else high if day > high else day
    periods: list[Any] = []  # the different periods from the lower bound on; the code is how many came before
    at = low
    while at <= day:
        if _period(attribute.by, at) not in periods[-1:]:
            periods.append(_period(attribute.by, at))
        at += dt.timedelta(days=1)
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
    """Codes of all countable attributes of the rows that count."""
    columns = {name: [_plain(value) for value in table.column(name).to_pylist()] for name in domain.names}
    rows = [
        tuple(reference_code(domain[name], columns[name][i], domain.nulls) for name in domain.countable)
        for i in range(table.num_rows)
    ]
    if max_rows is None:
        return rows
    assert domain.person is not None
    persons: dict[str, list[tuple[str, tuple[int, ...]]]] = defaultdict(list)
    for key, row in zip(columns[domain.person], rows, strict=True):
        if key is None or str(key) in domain.nulls:
            continue
        text = str(key) + "|" + ",".join(str(code) for code in row)
        persons[str(key)].append((hashlib.md5(text.encode()).hexdigest(), row))
    return [row for owned in persons.values() for _, row in sorted(owned)[:max_rows]]


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal) else value


def reference_counts(domain: Domain, rows: Iterable[tuple[int, ...]], key: Sequence[str]) -> Cells:
    """Rows by their codes along a key; rows with a value outside the domain are left out."""
    places = [domain.countable.index(name) for name in key]
    sizes = [domain[name].size for name in key]
    cells = (tuple(row[place] for place in places) for row in rows)
    return Counter(cell for cell in cells if all(code < size for code, size in zip(cell, sizes, strict=True)))
