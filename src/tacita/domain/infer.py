"""A first draft of a schema from the data itself.

Everything that such a draft says was read off private data: kinds, levels, bounds, whether values are missing.
Each attribute lists these parts in `derived`, and nothing that claims privacy accepts the domain until a person
has looked at it and confirmed it (`tacita schema confirm`). Bounds are widened to round numbers, so that the
extreme person's value does not stand in the draft; levels that only one row has are left to the bucket `other`.
An identifier whose values return is taken for the person's key, so that nobody with many rows is protected row
by row by mistake.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tacita.domain.attributes import Attribute, Boolean, Categorical, Date, Identifier, Numeric
from tacita.domain.domain import Domain
from tacita.domain.encode import FALSE, TRUE
from tacita.errors import DataError

__all__ = ["infer"]

MOST_LEVELS = 50
"""More distinct values than this are a number, a date or an identifier, not a category."""
_MOST_KEPT = 100_000
_BINS = 10


@dataclass
class _Profile:
    """What has been seen of one column."""

    name: str
    rows: int = 0
    missing: int = 0
    values: Counter[str] = field(default_factory=Counter)
    overflowed: bool = False

    def add(self, column: pa.Array, nulls: frozenset[str]) -> None:
        self.rows += len(column)
        if not pa.types.is_dictionary(column.type):
            column = column.cast(pa.string()).dictionary_encode()
        texts = [None if value is None else str(value) for value in column.dictionary.to_pylist()]
        counts = column.indices.value_counts()
        for index, times in zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True):
            text = None if index is None else texts[index]
            if text is None or text in nulls or text.lower() == "nan":
                self.missing += times
            elif len(self.values) < _MOST_KEPT or text in self.values:
                self.values[text] += times
            else:
                self.overflowed = True

    def attribute(self) -> Attribute:
        present = self.rows - self.missing
        common: dict[str, Any] = {"name": self.name, "missing": self.missing > 0}
        if not present:
            return Identifier(name=self.name, derived=("kind",))
        if {text.lower() for text in self.values} <= {*TRUE, *FALSE} and len(self.values) <= 2:
            if {text.lower() for text in self.values} & {"1", "0"} and len(self.values) == 1:
                return self._levels(common)
            return Boolean(**common, derived=("kind", "missing"))
        numbers = _all(self.values, _number)
        if numbers is not None and len(self.values) > 2:
            return self._number(common, numbers)
        dates = _all(self.values, _date)
        if dates is not None:
            return self._date(common, dates)
        if self.overflowed or len(self.values) > MOST_LEVELS:
            return Identifier(name=self.name, derived=("kind",))
        return self._levels(common)

    def _number(self, common: dict[str, Any], numbers: list[float]) -> Attribute:
        whole = all(number.is_integer() for number in numbers)
        all_distinct = not self.overflowed and len(self.values) == self.rows - self.missing > MOST_LEVELS
        if whole and (all_distinct or self.overflowed) and max(numbers) - min(numbers) >= len(numbers) - 1:
            return Identifier(name=self.name, derived=("kind",))  # a running number or a key
        low, high = _round_outward(min(numbers), max(numbers), whole=whole)
        bins = None if whole and high - low < MOST_LEVELS else _BINS
        return Numeric(
            **common,
            bounds=(low, high),
            bins=bins,
            integer=whole,
            derived=("kind", "bounds", "bins", "missing"),
        )

    def _date(self, common: dict[str, Any], dates: list[dt.date]) -> Attribute:
        first, last = min(dates).replace(month=1, day=1), max(dates).replace(month=12, day=31)
        by = "month" if (last - first).days <= 3 * 366 else "year"
        return Date(**common, bounds=(first, last), by=by, derived=("kind", "bounds", "missing"))

    def _levels(self, common: dict[str, Any]) -> Attribute:
        kept = sorted(text for text, times in self.values.items() if times > 1)
        if not kept:  # all different: each would stand for one row
            return Identifier(name=self.name, derived=("kind",))
        other = len(kept) < len(self.values)
        return Categorical(**common, levels=tuple(kept), other=other, derived=("kind", "levels", "missing"))


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text[:10]) if len(text) >= 10 else None
    except ValueError:
        return None


def _all(texts: Iterable[str], read: Any) -> list[Any] | None:
    found = []
    for text in texts:
        value = read(text)
        if value is None:
            return None
        found.append(value)
    return found


def _round_outward(low: float, high: float, *, whole: bool) -> tuple[float, float]:
    """Bounds on round numbers around a range.

    >>> _round_outward(17.0, 90.0, whole=True)
    (10.0, 90.0)
    """
    span = high - low or abs(high) or 1.0
    step = 10.0 ** math.floor(math.log10(span))
    step = max(step, 1.0) if whole else step
    start, end = math.floor(low / step) * step, math.ceil(high / step) * step
    return (start, end) if start < end else (start, start + step)


def infer(batches: Iterable[pa.RecordBatch], *, title: str = "", nulls: Iterable[str] = ("", "NA", "?")) -> Domain:
    """A draft of the domain of some batches; every part that came from them is marked."""
    profiles: dict[str, _Profile] = {}
    absent = frozenset(nulls)
    for batch in batches:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            profiles.setdefault(name, _Profile(name)).add(column, absent)
    if not profiles or not any(profile.rows for profile in profiles.values()):
        raise DataError("has no rows to read a schema off", field="source")
    attributes = tuple(profile.attribute() for profile in profiles.values())
    return Domain(title=title, nulls=tuple(nulls), attributes=attributes, person=_person(attributes, profiles))


def _person(attributes: Iterable[Attribute], profiles: Mapping[str, _Profile]) -> str | None:
    """The identifier whose values return, if there is one: the rows then seem to belong to somebody.

    A guess on the safe side: with a person named, nothing is protected row by row.
    """
    for attribute in attributes:
        profile = profiles[attribute.name]
        returning = profile.overflowed or any(times > 1 for times in profile.values.values())
        if attribute.kind == "identifier" and profile.values and returning:
            return attribute.name
    return None
