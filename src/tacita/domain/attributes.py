"""The kinds of attribute: what is public about one column.

An attribute turns every raw value into one of `size` codes, in this order:

    0 .. levels-1      the declared levels or bins
    then               the bucket `other`, if declared     (a value that is not among the levels)
    then               the bucket `missing`, if declared   (null, NaN, or a spelling in `Domain.nulls`)
    size               out_of_domain

An out-of-domain value never raises while counting: an error would itself reveal a fact about a person. Its row is left
out of the tables over that attribute, and `tacita schema check` shows the owner how many such values there are.
Numbers and dates beyond the bounds are moved to the nearest bound, because only the bounds are public.

A bin holds `start <= x < next start`; the last one holds the upper bound as well.
"""

from __future__ import annotations

import calendar
import datetime as dt
import itertools
import math
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    model_validator,
)
from pydantic_core import CoreSchema

from tacita.common.wellformed import fail_fast
from tacita.errors import SchemaError

__all__ = [
    "Attribute",
    "Binned",
    "Boolean",
    "Categorical",
    "Date",
    "Identifier",
    "Numeric",
    "Ordinal",
    "Role",
]

Role = Literal["identifier", "quasi-identifier", "sensitive", "other"]

OTHER, MISSING = "(other)", "(missing)"
EPOCH = dt.date(1970, 1, 1)
_EXACT = 2.0**53  # beyond it, floats skip whole numbers
MAX_LEVELS = 1 << 24  # codes stay well inside 32 bits


class Frozen(BaseModel):
    """A pydantic model that cannot change and that reports its faults as `SchemaError`."""

    model_config = ConfigDict(frozen=True, extra="forbid", ignored_types=(cached_property,))

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Validate lists up to their first fault."""
        return fail_fast(handler(source))

    def __init__(self, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            first = error.errors()[0]
            path = [str(part) for part in first["loc"]]
            if isinstance(data.get("name"), str):
                path.insert(0, data["name"])
            rule = first["msg"].removeprefix("Value error, ")
            given = None if first["type"] in ("missing", "value_error") else first["input"]
            raise SchemaError(rule[:1].lower() + rule[1:], field=".".join(path) or "schema", value=given) from None


class _Attribute(Frozen):
    name: str = Field(min_length=1, max_length=200)
    role: Role = "other"
    description: str = ""
    missing: bool = Field(default=False, description="Reserve a bucket for nulls.")
    other: bool = Field(default=False, description="Reserve a bucket for values that are not declared.")
    derived: tuple[str, ...] = Field(
        default=(), description="Parts read off private data and not yet confirmed as public by a person."
    )

    @property
    def labels(self) -> tuple[str, ...]:
        """The declared levels or bins as text, without the buckets."""
        raise NotImplementedError

    @cached_property
    def size(self) -> int:
        """Number of codes, buckets included."""
        return len(self.labels) + self.other + self.missing

    @cached_property
    def all_labels(self) -> tuple[str, ...]:
        """One text for each code, buckets included."""
        return self.labels + (OTHER,) * self.other + (MISSING,) * self.missing

    @property
    def out_of_domain(self) -> int:
        """Code of an out-of-domain value."""
        return self.size

    @property
    def other_code(self) -> int:
        """Code of undeclared values."""
        return len(self.labels) if self.other else self.out_of_domain

    @property
    def missing_code(self) -> int:
        """Code of nulls."""
        return len(self.labels) + self.other if self.missing else self.out_of_domain

    @property
    def countable(self) -> bool:
        """Whether tables over this attribute exist."""
        return True

    def confirmed(self) -> Attribute:
        """The same attribute after a person has confirmed that all of it is public."""
        return self.model_copy(update={"derived": ()})  # type: ignore[return-value]


def _level_text(value: object) -> object:
    """Whole numbers may stand unquoted in YAML; `yes` and `no` may not, because YAML reads them as booleans."""
    if isinstance(value, bool):
        raise ValueError(f"levels must be text; YAML read {str(value).lower()} here, put quotes around the word")
    return str(value) if isinstance(value, int) else value


Level = Annotated[str, BeforeValidator(_level_text)]


class _Levelled(_Attribute):
    """Attributes whose levels are listed one by one."""

    levels: tuple[Level, ...] = Field(min_length=1, max_length=MAX_LEVELS)

    @model_validator(mode="after")
    def _check_levels(self) -> _Levelled:
        seen: set[str] = set()
        for level in self.levels:
            if level in seen:
                raise ValueError(f"levels must be distinct, {level!r} is there twice")
            seen.add(level)
        return self

    @property
    def labels(self) -> tuple[str, ...]:
        """The declared levels."""
        return self.levels


class Categorical(_Levelled):
    """Values without an order, compared as text."""

    kind: Literal["categorical"] = "categorical"


class Ordinal(_Levelled):
    """Values from the lowest to the highest, compared as text."""

    kind: Literal["ordinal"] = "ordinal"


class Boolean(_Attribute):
    """True or false; text is read as true/t/yes/y/1 and false/f/no/n/0 in any case."""

    kind: Literal["boolean"] = "boolean"

    @property
    def labels(self) -> tuple[str, ...]:
        """False comes first."""
        return ("false", "true")


class Identifier(_Attribute):
    """A free value that identifies a person or a thing. It has no codes and is never counted."""

    kind: Literal["identifier"] = "identifier"
    role: Role = "identifier"

    @property
    def labels(self) -> tuple[str, ...]:
        """None: it has no codes."""
        return ()

    @property
    def countable(self) -> bool:
        """Never."""
        return False


class _Binned(_Attribute):
    """Base class of numbers and dates: a code is the bin that holds the value on the number line."""

    @property
    def starts(self) -> tuple[float, ...]:
        """Lower edge of every bin on the number line; for dates, days since 1970-01-01."""
        raise NotImplementedError

    @property
    def line_bounds(self) -> tuple[float, float]:
        """The bounds on the number line."""
        raise NotImplementedError


class Numeric(_Binned):
    """A number between public bounds, in public bins.

    With `edges`, these are the bins; with `bins`, that many of equal width; an integer attribute with neither has one
    level for each integer. Real attributes need one of the two.
    """

    kind: Literal["numeric"] = "numeric"
    bounds: tuple[float, float]
    edges: tuple[float, ...] | None = None
    bins: int | None = Field(default=None, ge=1, le=MAX_LEVELS)
    integer: bool = False

    @model_validator(mode="after")
    def _check(self) -> Numeric:
        low, high = self.bounds
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"bounds must be finite and rising, got [{low:g}, {high:g}]")
        if not math.isfinite(high - low):
            raise ValueError(f"bounds must not be further apart than the largest float, got [{low:g}, {high:g}]")
        if self.bins is not None and (high - low) / self.bins < math.ulp(max(abs(low), abs(high))):
            raise ValueError(f"bounds must be wide enough for {self.bins} bins, got [{low!r}, {high!r}]")
        if self.integer and max(abs(low), abs(high)) > _EXACT:
            raise ValueError(f"bounds of an integer attribute must be at most 2**53, got [{low:g}, {high:g}]")
        if self.edges is not None and self.bins is not None:
            raise ValueError("give edges or bins, not both")
        if self.edges is not None:
            _check_edges(self.edges, low, high)
        elif self.bins is None and not self.integer:
            raise ValueError("a real attribute needs edges or bins")
        if self.integer and not (low.is_integer() and high.is_integer()):
            raise ValueError(f"bounds of an integer attribute must be integers, got [{low:g}, {high:g}]")
        if self.integer and self.edges and not all(edge.is_integer() for edge in self.edges):
            raise ValueError("edges of an integer attribute must be integers")
        if self.integer and self.edges is None and self.bins is None and high - low >= MAX_LEVELS:
            raise ValueError("too many integers for one level each; give edges or bins")
        if self.integer and self.bins is not None and self.bins > high - low + 1:
            raise ValueError("more bins than integers between the bounds")
        return self

    @cached_property
    def starts(self) -> tuple[float, ...]:
        """Lower edge of every bin."""
        low, high = self.bounds
        if self.edges is not None:
            return self.edges[:-1]
        if self.bins is None:
            return tuple(float(x) for x in range(int(low), int(high) + 1))
        if self.integer:  # near-equal groups of whole numbers
            count = int(high) - int(low) + 1
            return tuple(float(int(low) + (i * count) // self.bins) for i in range(self.bins))
        return tuple(low + (high - low) * i / self.bins for i in range(self.bins))

    @property
    def line_bounds(self) -> tuple[float, float]:
        """The bounds themselves."""
        return self.bounds

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """`18..64` for integers, `[0, 0.5)` for reals."""
        high = self.bounds[1]
        ends = (*self.starts[1:], high)
        if not self.integer:
            pairs = list(zip(self.starts, ends, strict=True))
            return (*(f"[{a:g}, {b:g})" for a, b in pairs[:-1]), f"[{pairs[-1][0]:g}, {high:g}]")
        lasts = [int(end) - 1 for end in ends[:-1]] + [int(high)]
        firsts = [int(start) for start in self.starts]
        return tuple(f"{a}" if a == b else f"{a}..{b}" for a, b in zip(firsts, lasts, strict=True))


def _check_edges(edges: tuple[Any, ...], low: Any, high: Any) -> None:
    if len(edges) < 2 or any(a >= b for a, b in itertools.pairwise(edges)):
        raise ValueError("edges must rise strictly and be at least two")
    if edges[0] != low or edges[-1] != high:
        shown = f"[{low}, {high}]" if isinstance(low, dt.date) else f"[{low:g}, {high:g}]"
        raise ValueError(f"edges must begin and end at the bounds {shown}")


class Date(_Binned):
    """A calendar date between public bounds, counted by day, week (from Monday), month, quarter or year.

    With `edges`, bins start at these days instead; the last edge is the upper bound.
    """

    kind: Literal["date"] = "date"
    bounds: tuple[dt.date, dt.date]
    by: Literal["day", "week", "month", "quarter", "year"] = "month"
    edges: tuple[dt.date, ...] | None = None

    @model_validator(mode="after")
    def _check(self) -> Date:
        if self.bounds[0] >= self.bounds[1]:
            raise ValueError(f"bounds must rise, got [{self.bounds[0]}, {self.bounds[1]}]")
        if self.edges is not None:
            if self.by != type(self).model_fields["by"].default:
                raise ValueError("give edges or by, not both")
            _check_edges(self.edges, *self.bounds)
        return self

    @cached_property
    def first_days(self) -> tuple[dt.date, ...]:
        """First day of every bin; the first one is cut off at the lower bound."""
        if self.edges is not None:
            return self.edges[:-1]
        days, day = [self.bounds[0]], self._after(self.bounds[0])
        while day is not None and day <= self.bounds[1]:
            days.append(day)
            day = self._after(day)
        return tuple(days)

    def _after(self, day: dt.date) -> dt.date | None:
        """First day of the period after the one that holds `day`; None where the calendar ends, in 9999."""
        if self.by in ("day", "week"):
            last = day + dt.timedelta(days=0 if self.by == "day" else min(6 - day.weekday(), (dt.date.max - day).days))
        else:
            months = {"month": 1, "quarter": 3, "year": 12}[self.by]
            month = day.month + (months - 1 - (day.month - 1) % months)
            last = dt.date(day.year, month, calendar.monthrange(day.year, month)[1])
        return None if last == dt.date.max else last + dt.timedelta(days=1)

    @cached_property
    def starts(self) -> tuple[float, ...]:
        """First day of every bin, as days since 1970-01-01."""
        return tuple(float((day - EPOCH).days) for day in self.first_days)

    @property
    def line_bounds(self) -> tuple[float, float]:
        """The bounds as days since 1970-01-01."""
        low, high = self.bounds
        return float((low - EPOCH).days), float((high - EPOCH).days)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """`2020-09`, `2020-Q3`, `2020-W37` and so on; with edges `2020-09-01..2020-09-14`."""
        if self.edges is not None:
            ends = (*(day - dt.timedelta(days=1) for day in self.edges[1:-1]), self.bounds[1])
            pairs = zip(self.first_days, ends, strict=True)
            return tuple(f"{a}" if a == b else f"{a}..{b}" for a, b in pairs)
        names: dict[str, Callable[[dt.date], str]] = {
            "day": lambda d: d.isoformat(),
            "week": lambda d: "{}-W{:02d}".format(*d.isocalendar()[:2]),
            "month": lambda d: f"{d:%Y-%m}",
            "quarter": lambda d: f"{d.year}-Q{(d.month + 2) // 3}",
            "year": lambda d: f"{d.year}",
        }
        return tuple(names[self.by](day) for day in self.first_days)


Attribute = Annotated[
    Categorical | Ordinal | Numeric | Date | Boolean | Identifier,
    Field(discriminator="kind"),
]
Binned = Numeric | Date
