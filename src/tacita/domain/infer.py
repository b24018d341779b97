"""A first draft of a schema from the data itself.

All parts of such a draft were read off private data: kinds, levels, bounds, whether values are missing. Each attribute
lists these parts in `derived`, and no private method accepts the domain until a person has checked and confirmed it
(`tacita schema confirm`). Until then the draft itself should hold as little about single persons as possible:

    bounds      lie on round numbers beyond the smallest and the largest value, never on them
    levels      are held by at least `LEAST_HOLDERS` persons (rows, where no column names persons); others are `other`
    person      an identifier whose values return: keys in text or whole numbers, never a date

These are guesses on the safe side. With a person named, nothing is protected row by row.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.domain.attributes import Attribute, Boolean, Categorical, Date, Identifier, Numeric
from tacita.domain.domain import Domain
from tacita.domain.encode import FALSE, TRUE, read_text
from tacita.errors import DataError

__all__ = ["LEAST_HOLDERS", "MOST_LEVELS", "infer"]

MOST_LEVELS = 50
"""More distinct values than this are a number, a date or an identifier, not a category."""
LEAST_HOLDERS = 5
"""Persons who must share a value before it becomes a level of a draft."""
_MOST_KEPT = 100_000
_LONGEST = 200  # characters of a value that are remembered: longer texts are no levels
_BINS = 10
_LARGEST = 1e300  # bounds beyond it have no round numbers around them
_KEY_VALUES, _LEAST_KEY_ROWS, _KEY_ROWS, _KEY_SPREAD = 100, 1.5, 100, 0.5
# names that keys have by custom
_KEY_NAME = re.compile(
    r"(^|[ _.-])(u?id|key|person|patient|subject|user|customer|client|member|employee|student|e?mail|phone|ssn|who"
    r"|(sur|last|first|full|user)?name)s?($|[ _.-]|(id|no|nr|number|key)$)|[a-z]I[dD]$",
    re.IGNORECASE,
)
_DAY_TEXT = re.compile(r"^\d{1,4}([-/.]| )(\d{1,2}|[A-Za-z]{3,9})\1\d{1,4}\b|^\d{1,2}:\d\d|^\d{8}T\d{4}")


@dataclass
class _Profile:
    """Running profile of one column."""

    name: str
    rows: int = 0
    missing: int = 0
    values: Counter[str] = field(default_factory=Counter)
    overflowed: bool = False

    def add(self, column: pa.Array, nulls: frozenset[str]) -> None:
        for text, times in _tally(self.name, column):
            self.rows += times
            if _is_absent(text, nulls):
                self.missing += times
            elif text is not None and (len(self.values) < _MOST_KEPT or text[:_LONGEST] in self.values):
                self.values[text[:_LONGEST]] += times
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
        # beyond 2**53 every float is whole
        whole = all(number.is_integer() and abs(number) < 1e15 for number in numbers)
        if whole and self._is_key(numbers):
            return Identifier(name=self.name, derived=("kind",))
        low, high = _round_outward(min(numbers), max(numbers), whole=whole)
        bins = None if whole and high - low < MOST_LEVELS else _BINS
        return Numeric(
            **common,
            bounds=(low, high),
            bins=bins,
            integer=whole,
            derived=("kind", "bounds", "bins", "missing"),
        )

    def _is_key(self, numbers: list[float]) -> bool:
        """Whether whole numbers look like keys: all different, called so, or in about equally many rows each.

        Rows of a quantity fall on its values at random, at best evenly: how often values occur then varies as a Poisson
        number that is not 0. Keys of persons with as many rows each vary by far less.
        """
        present = self.rows - self.missing
        if self.overflowed or len(self.values) == present > MOST_LEVELS:
            return max(numbers) - min(numbers) >= len(numbers) - 1
        if _KEY_NAME.search(self.name) is not None and len(self.values) > _BINS:
            return True
        times = np.fromiter(self.values.values(), np.float64)
        mean = float(times.mean())
        if len(self.values) < _KEY_VALUES or not _LEAST_KEY_ROWS <= mean <= _KEY_ROWS:
            return False
        rate = mean  # lambda of the Poisson law that has this mean where it is not 0: lambda = mean (1 - e^-lambda)
        for _ in range(50):
            rate = -mean * math.expm1(-rate)
        return bool(times.var() <= _KEY_SPREAD * mean * (1 + rate - mean))

    def _date(self, common: dict[str, Any], dates: list[dt.date]) -> Attribute:
        first, last = _years_around(min(dates), max(dates))
        by = "month" if (last - first).days <= 3 * 366 else "year"
        return Date(**common, bounds=(first, last), by=by, derived=("kind", "bounds", "missing"))

    def _levels(self, common: dict[str, Any]) -> Attribute:
        """Take all values as levels; those of too few persons are removed once the person column is known."""
        levels = tuple(sorted(text for text in self.values if len(text) < _LONGEST))
        if not levels or (_KEY_NAME.search(self.name) is not None and len(levels) > _BINS):
            return Identifier(name=self.name, derived=("kind",))
        other = len(levels) < len(self.values)
        return Categorical(**common, levels=levels, other=other, derived=("kind", "levels", "missing"))

    def person_rank(self) -> tuple[bool, int] | None:
        """Rank a column of identifiers by how much it looks like persons' keys; None if not at all."""
        returning = self.overflowed or any(times > 1 for times in self.values.values())
        if not self.values or not returning or any(_DAY_TEXT.search(text) for text in self.values):
            return None
        return _KEY_NAME.search(self.name) is not None, len(self.values)


def _tally(name: str, column: pa.Array) -> Iterator[tuple[str | None, int]]:
    """The distinct values of a column as texts, and how often each is there."""
    if not pa.types.is_dictionary(column.type):
        column = (column if _is_binary(column.type) else column.cast(pa.string())).dictionary_encode()
    texts = _texts(name, column.dictionary)
    counts = column.indices.value_counts()
    for index, times in zip(counts.field("values").to_pylist(), counts.field("counts").to_pylist(), strict=True):
        yield None if index is None else texts[index], times


def _texts(name: str, distinct: pa.Array) -> list[str | None]:
    """Values as texts; bytes must be UTF-8."""
    if not (_is_binary(distinct.type) or pa.types.is_string(distinct.type)):
        distinct = distinct.cast(pa.string())
    texts = []
    for raw in distinct.cast(pa.large_binary()).to_pylist():
        text = None if raw is None else read_text(raw)
        if text is None and raw is not None:
            hint = 'Save the file as UTF-8; spreadsheet programs call that "CSV UTF-8"'
            raise DataError("holds text that is not UTF-8", field=name, hint=hint)
        texts.append(text)
    return texts


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def _is_absent(text: str | None, nulls: frozenset[str]) -> bool:
    return text is None or text in nulls or text.lower() == "nan"


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
    """Bounds on round numbers around a range, never its ends; zero is a round number that says nothing.

    >>> _round_outward(17.0, 90.0, whole=True), _round_outward(0.0, 9.5, whole=False)
    ((10.0, 100.0), (0.0, 10.0))
    """
    low, high = max(low, -_LARGEST), min(high, _LARGEST)
    span = high - low or abs(high) or 1.0
    # no finer than the numbers are themselves
    step = 10.0 ** max(math.floor(math.log10(max(span, max(abs(low), abs(high)) * 1e-12))), -300)
    step = max(step, 1.0) if whole else step
    start, end = math.floor(low / step) * step, math.ceil(high / step) * step
    start = start - step if start == low != 0 else start
    end = end + step if end == high != 0 else end
    return (start, end) if start < end else (start, start + step)


def _years_around(first: dt.date, last: dt.date) -> tuple[dt.date, dt.date]:
    """Whole years around two days, and never these days; the calendar ends in 9999."""
    low, high = first.replace(month=1, day=1), last.replace(month=12, day=31)
    if low == first and low.year > dt.MINYEAR:
        low = low.replace(year=low.year - 1)
    if high == last and high.year < dt.MAXYEAR:
        high = high.replace(year=high.year + 1)
    return low, high


def infer(batches: Iterable[pa.RecordBatch], *, title: str = "", nulls: Iterable[str] = ("", "NA", "?")) -> Domain:
    """A draft of the domain of some batches; every part that came from them is marked.

    Args:
        batches: The rows. They are read twice where a column seems to name persons: an iterator is held in memory.
        title: What the domain is called.
        nulls: Texts that mean a missing value.
    """
    rows = list(batches) if isinstance(batches, Iterator) else batches
    profiles: dict[str, _Profile] = {}
    absent = frozenset(nulls)
    for batch in rows:
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            profiles.setdefault(name, _Profile(name)).add(column, absent)
    if not profiles or not any(profile.rows for profile in profiles.values()):
        hint = "Bring data that has rows, or write the schema by hand"
        raise DataError("has no rows to infer a schema from", field="source", hint=hint)
    attributes = tuple(profile.attribute() for profile in profiles.values())
    person = _person(attributes, profiles)
    listed = [attribute for attribute in attributes if isinstance(attribute, Categorical)]
    if person is None:
        holders: Mapping[str, Mapping[str, int]] = {each.name: profiles[each.name].values for each in listed}
    else:
        holders = _count_holders(rows, person, [each.name for each in listed], absent)
    kept = tuple(_keep_shared(each, holders.get(each.name, {})) for each in attributes)
    return Domain(title=title, nulls=tuple(nulls), attributes=kept, person=person)


def _person(attributes: Iterable[Attribute], profiles: Mapping[str, _Profile]) -> str | None:
    """The identifier that looks most like persons' keys and whose values return: the rows seem to belong to persons."""
    ranks = {each.name: profiles[each.name].person_rank() for each in attributes if each.kind == "identifier"}
    found = {name: rank for name, rank in ranks.items() if rank is not None}
    return max(found, key=lambda name: found[name], default=None)


def _count_holders(
    batches: Iterable[pa.RecordBatch], person: str, names: list[str], nulls: frozenset[str]
) -> dict[str, dict[str, int]]:
    """Count the persons who hold each value, up to `LEAST_HOLDERS`."""
    seen: dict[str, dict[str, set[str]]] = {name: {} for name in names}
    for batch in batches:
        for name in names:
            for pair, _ in _tally_pairs(batch, name, person):
                text, key = pair
                holders = seen[name].setdefault(text, set())
                if len(holders) < LEAST_HOLDERS and key not in nulls:
                    holders.add(key)
    return {name: {text: len(holders) for text, holders in found.items()} for name, found in seen.items()}


def _tally_pairs(batch: pa.RecordBatch, one: str, other: str) -> Iterator[tuple[tuple[str, str], int]]:
    """The distinct pairs of two columns, both as texts, without those of which one is missing."""
    sides = []
    for name in (one, other):
        column = batch.column(name)
        if not pa.types.is_dictionary(column.type):
            column = (column if _is_binary(column.type) else column.cast(pa.string())).dictionary_encode()
        indices = column.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        sides.append((_texts(name, column.dictionary), indices))
    (texts, first), (keys, second) = sides
    there = (first >= 0) & (second >= 0)
    numbers, counts = np.unique(first[there] * len(keys) + second[there], return_counts=True)
    for number, times in zip(numbers.tolist(), counts.tolist(), strict=True):
        text, key = texts[number // len(keys)], keys[number % len(keys)]
        if text is not None and key is not None:
            yield (text, key), times


def _keep_shared(attribute: Attribute, holders: Mapping[str, int]) -> Attribute:
    """An attribute without levels of too few persons; an identifier if it has no others."""
    if not isinstance(attribute, Categorical):
        return attribute
    kept = tuple(level for level in attribute.levels if holders.get(level, 0) >= LEAST_HOLDERS)
    if not kept:
        return Identifier(name=attribute.name, derived=("kind",))
    return attribute.model_copy(update={"levels": kept, "other": attribute.other or len(kept) < len(attribute.levels)})
