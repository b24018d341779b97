"""Conditions on one attribute, such as `age < 16` or `town in (A, B)`, on values and on codes.

Numbers, dates and levels in an order compare as such; all others only know = and !=. A missing or undeclared value
meets no condition but those that name it: `town = (missing)`.

Privacy: none of its own; a condition is written by a person and reads no data.
"""

from __future__ import annotations

import datetime as dt
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Attribute, Date, Domain, Numeric, Ordinal
from tacita.domain.attributes import EPOCH, MISSING, OTHER
from tacita.domain.encode import parse_line
from tacita.errors import InvalidInput

__all__ = ["Condition", "Relation", "bin_ends", "bins_where"]

Relation = Literal["<", "<=", ">", ">=", "=", "!=", "in"]
Mask = NDArray[np.bool_]

_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "!=": operator.ne,
}
_WRITTEN = re.compile(r"^\s*(?P<name>.+?)\s*(?P<relation><=|>=|!=|<|>|=|\bin\b)\s*(?P<value>.+?)\s*$")


@dataclass(frozen=True, kw_only=True)
class Condition:
    """An attribute, a relation, and the value or values that it is compared with."""

    attribute: str
    relation: Relation
    values: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(str(value) for value in self.values))
        if self.relation not in get_args(Relation):
            raise InvalidInput("must be one of " + " ".join(get_args(Relation)), field="relation", value=self.relation)
        if not self.values or (self.relation != "in" and len(self.values) != 1):
            raise InvalidInput("needs one value, or several after `in`", field="condition", value=str(self))

    @classmethod
    def parse(cls, text: str) -> Condition:
        """`age < 16`, `married != yes`, `town in (A, B)`.

        >>> Condition.parse("age<16").values, Condition.parse("town in (A, B)").values
        (('16',), ('A', 'B'))
        """
        match = _WRITTEN.match(text) if isinstance(text, str) else None
        if match is None:
            raise InvalidInput("must read like `age < 16` or `town in (A, B)`", field="condition", value=text)
        relation, value = match["relation"], match["value"]
        if relation == "in":
            if value.startswith("(") and value.endswith(")") and value not in (MISSING, OTHER):
                value = value[1:-1]
            return cls(attribute=match["name"], relation="in", values=tuple(part.strip() for part in value.split(",")))
        return cls(attribute=match["name"], relation=relation, values=(value,))  # type: ignore[arg-type]

    def check(self, domain: Domain) -> Condition:
        """This condition, if it can be asked of its attribute."""
        attribute = domain[domain.check_countable([self.attribute])[0]]
        for value in self.values:
            if value not in _buckets(attribute):
                self._point(attribute, value)
        return self

    def holds(self, attribute: Attribute, values: NDArray[Any]) -> Mask:
        """For each value whether it meets this: points of the number line for numbers and dates, codes for all else."""
        found = np.zeros(len(values), bool)
        declared = (
            ~np.isnan(values)
            if isinstance(attribute, Numeric | Date)
            else (values >= 0) & (values < len(attribute.labels))
        )
        for value in self.values:
            bucket = _buckets(attribute).get(value)
            if bucket is None:
                found |= declared & self._compare(values, self._point(attribute, value))
            elif isinstance(attribute, Numeric | Date):
                found |= ~declared if self.relation != "!=" else declared
            else:
                found |= self._compare(values, bucket)
        return found

    def on_codes(self, attribute: Attribute) -> Mask:
        """For each code of the attribute whether it meets this; a bin that is met in part is refused."""
        if not isinstance(attribute, Numeric | Date):
            return self.holds(attribute, np.arange(attribute.size))
        found = np.zeros(attribute.size, bool)
        first, _ = bin_ends(attribute)
        for value in self.values:
            bucket = _buckets(attribute).get(value)
            if bucket is not None:
                found |= self._compare(np.arange(attribute.size), bucket)
                continue
            found[: first.size] |= bins_where(attribute, self.relation, self._point(attribute, value))
        return found

    def _compare(self, values: NDArray[Any], point: float) -> Mask:
        return np.asarray(_RELATIONS["=" if self.relation == "in" else self.relation](values, point))

    def _point(self, attribute: Attribute, value: str) -> float:
        if isinstance(attribute, Numeric | Date):
            try:
                point = float(value) if isinstance(attribute, Numeric) else parse_line(attribute, value)
            except ValueError:
                point = np.inf
            if not np.isfinite(point):
                what = "a number" if isinstance(attribute, Numeric) else "a date such as 2020-09-17"
                raise InvalidInput(f"must be compared with {what}", field=attribute.name, value=value)
            return point
        if self.relation in ("<", "<=", ">", ">=") and not isinstance(attribute, Ordinal):
            raise InvalidInput(
                "has no order, so that only = and != can be asked", field=attribute.name, value=str(self)
            )
        if value not in attribute.labels:
            raise InvalidInput("is no level of this attribute", field=attribute.name, value=value)
        return float(attribute.labels.index(value))

    def __str__(self) -> str:
        value = f"({', '.join(self.values)})" if self.relation == "in" else self.values[0]
        return f"{self.attribute} {self.relation} {value}"


def bin_ends(attribute: Numeric | Date) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the largest value that each bin holds."""
    starts = np.asarray(attribute.starts)
    whole = isinstance(attribute, Date) or attribute.integer
    ends = starts[1:] - 1 if whole else np.nextafter(starts[1:], -np.inf)
    return starts, np.append(ends, attribute.line_bounds[1])


def bins_where(attribute: Numeric | Date, relation: Relation, point: float) -> Mask:
    """For each bin whether its values compare so with a point of the number line; a bin that is met in part is refused.

    >>> from tacita.domain import Numeric
    >>> bins_where(Numeric(name="age", bounds=(0, 99), edges=(0, 18, 65, 99)), ">=", 18).tolist()
    [False, True, True]
    """
    compare = _RELATIONS["=" if relation == "in" else relation]
    first, last = bin_ends(attribute)
    low, high = compare(first, point), compare(last, point)
    if relation in ("=", "!=", "in"):
        whole = isinstance(attribute, Date) or attribute.integer
        possible = not whole or float(point).is_integer()  # 2.5 is in no bin of whole numbers
        cut = (first <= point) & (point <= last) & (first != last) & possible
    else:
        cut = low != high
    if cut.any():
        raise _cuts_bin(attribute, point, attribute.labels[int(np.argmax(cut))])
    return np.asarray(low, bool)


def _cuts_bin(attribute: Numeric | Date, point: float, label: str) -> InvalidInput:
    near = sorted(sorted(attribute.starts, key=lambda start: abs(start - point))[:6])
    return InvalidInput(
        f"the condition cuts a bin of the public schema: {label}",
        field=attribute.name,
        value=_point_text(attribute, point),
        hint=f"Bins near it start at {', '.join(_point_text(attribute, edge) for edge in near)}; use < or >= with "
        "one of these",
    )


def _point_text(attribute: Numeric | Date, point: float) -> str:
    return str(EPOCH + dt.timedelta(days=point)) if isinstance(attribute, Date) else f"{point:g}"


def _buckets(attribute: Attribute) -> dict[str, int]:
    """The codes beside the declared levels, by their labels."""
    return {label: code for code, label in enumerate(attribute.all_labels) if code >= len(attribute.labels)}
