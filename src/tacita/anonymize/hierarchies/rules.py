"""Rules that make a hierarchy of any values: intervals, periods, masked digits, prefixes, merged neighbours.

A rule names no value, so it can be written down without reading data, also for numbers without a finite list of values
and for attributes whose levels are not declared. It gives a hierarchy of the values of an axis: of those that are
declared (`declared.declared_axis`), or of those that occur when rows are anonymized.

    intervals   {widths: [5, 10, 20], origin: 0}    34 -> 30..34 -> 30..39 -> 20..39 -> *
    periods     {by: [month, quarter, year, decade]}    2024-02-01 -> 2024-02 -> 2024-Q1 -> 2024 -> 2020..2029 -> *
    digits      {mask: [1, 2, 3]}                   12345 -> 1234* -> 123** -> 12*** -> *
    prefixes    {keep: [3, 1]}                      10115 -> 101** -> 1**** -> *
    order       {levels: [low, middle, high, top], merge: 2}    low -> low..middle -> *

Privacy: none by itself. A rule is public as long as its numbers are chosen by a person, not read off rows.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from tacita.anonymize.hierarchies.hierarchy import ROOT, Hierarchy
from tacita.errors import InvalidInput
from tacita.tables.recoding.axis import EPOCH, MISSING, Axis

__all__ = ["RULES", "Digits", "Intervals", "Merged", "Period", "Periods", "Prefixes", "Rule", "rule_data", "rule_of"]

_LEAST, _LARGEST, _SLACK = 1e-15, 1e15, 1e-9
Period = Literal["week", "month", "quarter", "year", "decade"]


def _made(axis: Axis, rows: list[list[str]], levels: int) -> Hierarchy:
    """The hierarchy of some rows; of the missing value alone where there are none."""
    return Hierarchy.from_rows(axis.name, rows or [[MISSING, *[MISSING] * levels, ROOT]])


@dataclass(frozen=True, kw_only=True)
class Intervals:
    """Intervals of numbers, each level as many times wider as it says.

    Args:
        widths: From the narrowest to the widest; each must hold whole intervals of the one before.
        origin: Where an interval begins.
        bounds: All whole numbers from one to the other are leaves, whether they occur or not; by default only those
            that occur are.
    """

    widths: tuple[float, ...]
    origin: float = 0
    bounds: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not self.widths or any(not _LEAST <= width <= _LARGEST for width in self.widths):
            raise InvalidInput("must be positive, at least one, none beyond 1e15", field="widths", value=self.widths)
        if not abs(self.origin) <= _LARGEST:
            raise InvalidInput("must lie between -1e15 and 1e15", field="origin", value=self.origin)
        ratios = [wide / narrow for narrow, wide in itertools.pairwise(self.widths)]
        if any(ratio < 2 - _SLACK or abs(ratio - round(ratio)) > _SLACK for ratio in ratios):
            raise InvalidInput("each must hold whole intervals of the one before", field="widths", value=self.widths)

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """The hierarchy of the numbers of an axis."""
        if axis.kind != "number":
            raise InvalidInput("intervals are for numbers", field=axis.name, value=axis.kind)
        keys = [key for key in axis.keys if key is not None]
        if self.bounds is not None:
            keys = sorted({*keys, *range(self.bounds[0], self.bounds[1] + 1)})
        whole = all(isinstance(key, int) for key in keys) and all(
            float(each).is_integer() for each in (*self.widths, self.origin)
        )
        rows = [[str(key), *(self._label(float(key), width, whole) for width in self.widths), ROOT] for key in keys]
        return _made(axis, rows, len(self.widths))

    def _label(self, value: float, width: float, whole: bool) -> str:
        # by whole numbers of the narrowest intervals, so that rounding cannot put one of them below two wider ones
        place = (value - self.origin) // self.widths[0] // round(width / self.widths[0])
        low = self.origin + place * width
        if whole:
            return f"{int(low)}" if width == 1 else f"{int(low)}..{int(low + width - 1)}"
        return f"[{low:.17g}, {low + width:.17g})"  # all digits: two intervals must not share a name


@dataclass(frozen=True, kw_only=True)
class Periods:
    """Periods of dates, from the shortest to the longest."""

    by: tuple[Period, ...] = ("month", "year")

    def __post_init__(self) -> None:
        places = [_PERIODS.index(part) if part in _PERIODS else -1 for part in self.by]
        if not places or -1 in places or any(a >= b for a, b in itertools.pairwise(places)):
            rule = "must be some of week, month, quarter, year, decade, from the shortest to the longest"
            raise InvalidInput(rule, field="by", value=self.by)
        if self.by[0] == "week" and len(self.by) > 1:
            raise InvalidInput("weeks go alone: one may lie in two months", field="by", value=self.by)

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """The hierarchy of the dates of an axis."""
        if axis.kind != "date":
            raise InvalidInput("periods are for dates", field=axis.name, value=axis.kind)
        days = [EPOCH + dt.timedelta(days=int(key)) for key in axis.keys if key is not None]
        rows = [[day.isoformat(), *(_period(part, day) for part in self.by), ROOT] for day in days]
        return _made(axis, rows, len(self.by))


_PERIODS: tuple[str, ...] = get_args(Period)


def _period(by: str, day: dt.date) -> str:
    if by == "week":
        return "{}-W{:02d}".format(*day.isocalendar()[:2])
    if by == "month":
        return f"{day:%Y-%m}"
    if by == "quarter":
        return f"{day.year}-Q{(day.month + 2) // 3}"
    start = day.year // 10 * 10
    return f"{day.year}" if by == "year" else f"{start}..{start + 9}"


@dataclass(frozen=True, kw_only=True)
class Prefixes:
    """The first letters of a text, from more to fewer; the rest is shown as `*`.

    >>> Prefixes(keep=(3, 1)).hierarchy(Axis(name="zip", kind="set", keys=("10115", "10117"))).paths[0]
    ('*', '1****', '101**', '10115')
    """

    keep: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.keep or any(a <= b for a, b in itertools.pairwise(self.keep)) or self.keep[-1] < 1:
            raise InvalidInput("must fall and be positive", field="keep", value=self.keep)

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """The hierarchy of the texts of an axis."""
        texts = [axis._text(key) for key in axis.keys if key is not None]
        rows = [[text, *(text[:n] + "*" * max(len(text) - n, 0) for n in self.keep), ROOT] for text in texts]
        return _made(axis, rows, len(self.keep))


@dataclass(frozen=True, kw_only=True)
class Digits:
    """The last characters of a text masked, from fewer to more.

    >>> Digits(mask=(1, 2)).hierarchy(Axis(name="zip", kind="set", keys=("12345", "12399"))).paths[0]
    ('*', '123**', '1234*', '12345')
    """

    mask: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.mask or any(a >= b for a, b in itertools.pairwise(self.mask)) or self.mask[0] < 1:
            raise InvalidInput("must rise and be positive", field="mask", value=self.mask)

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """The hierarchy of the texts of an axis."""
        texts = [axis._text(key) for key in axis.keys if key is not None]
        rows = [[text, *(_masked(text, n) for n in self.mask), ROOT] for text in texts]
        return _made(axis, rows, len(self.mask))


def _masked(text: str, count: int) -> str:
    return text[: max(len(text) - count, 0)] + "*" * min(count, len(text))


@dataclass(frozen=True, kw_only=True)
class Merged:
    """Neighbouring levels of an order merged, level by level, until one group is left.

    >>> order = Merged(levels=("low", "middle", "high"), merge=2)
    >>> order.hierarchy(Axis(name="x", kind="order", keys=("low", "middle", "high"))).paths[0]
    ('*', 'low..middle', 'low')
    """

    levels: tuple[str, ...]
    merge: int = 2

    def __post_init__(self) -> None:
        if self.merge < 2:
            raise InvalidInput("must be at least 2", field="merge", value=self.merge)
        if not self.levels or len(set(self.levels)) != len(self.levels):
            raise InvalidInput("must be distinct, at least one", field="levels", value=list(self.levels))

    def hierarchy(self, axis: Axis) -> Hierarchy:
        """The hierarchy of all levels, whether they occur or not."""
        widths, width = [], self.merge
        while width < len(self.levels):
            widths.append(width)
            width *= self.merge
        rows = [
            [level, *(self._label(place // width * width, width) for width in widths), ROOT]
            for place, level in enumerate(self.levels)
        ]
        return _made(axis, rows, len(widths))

    def _label(self, start: int, width: int) -> str:
        last = min(start + width, len(self.levels)) - 1
        return self.levels[start] if last == start else f"{self.levels[start]}..{self.levels[last]}"


Rule = Intervals | Periods | Prefixes | Digits | Merged
RULES: dict[str, Callable[..., Rule]] = {
    "intervals": Intervals,
    "periods": Periods,
    "digits": Digits,
    "prefixes": Prefixes,
    "order": Merged,
}
"""Rules by the name that files have for them."""


def rule_of(name: str, content: Any, *, field: str) -> Rule:
    """The rule that plain data describes.

    >>> rule_of("digits", {"mask": [1, 2]}, field="zip")
    Digits(mask=(1, 2))
    """
    members = list(getattr(RULES[name], "__dataclass_fields__", ()))
    if not isinstance(content, Mapping) or not set(content) <= set(members):
        raise InvalidInput(f"{name} takes {', '.join(members)}", field=field)
    try:
        return RULES[name](**{key: tuple(v) if isinstance(v, list) else v for key, v in content.items()})
    except TypeError:
        raise InvalidInput(f"{name} needs {members[0]}, of the right kind", field=field) from None


def rule_data(rule: Rule) -> dict[str, Any]:
    """Plain data of a rule: what `rule_of` reads."""
    name = next(name for name, kind in RULES.items() if kind is type(rule))
    content = {key: list(v) if isinstance(v, tuple) else v for key, v in asdict(rule).items() if v is not None}
    return {name: content}
