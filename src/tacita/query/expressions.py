"""Numbers that are computed for each row from its own values, and the public bounds of what they can be.

    Value      the number of a column, moved to its public bounds
    Coded      a public number for each code, or for each combination of codes (a dimension table, the year of a date)
    Binary     + - * / of two numbers;   Call: abs, round, floor, ceil, sqrt, ln, exp, least, greatest, coalesce
    Choice     CASE: the first branch whose condition holds

Privacy:  none of its own. Bounds follow from public bounds by interval arithmetic; a measure clips to them once more,
          so that no rounding can leave them. A row's number depends on that row alone.  Claim: docs/claims/sql.md
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tacita.errors import InvalidInput
from tacita.query.numbers import Array, Bounds
from tacita.query.where import Where

__all__ = ["FUNCTIONS", "Binary", "Call", "Choice", "Coded", "Computed", "Constant", "Expression", "Rows", "Value"]

Ranges = Callable[[str], Bounds]


class Rows(Protocol):
    """Some rows: the codes of their attributes and the numbers of their columns."""

    @property
    def count(self) -> int:
        """Number of rows."""

    @property
    def codes(self) -> Mapping[str, npt.NDArray[Any]]:
        """Codes by attribute."""

    def numbers(self, column: str) -> Array:
        """Numbers of a column; NaN where there is none."""


class Expression(ABC):
    """A number for each row, NaN for none."""

    @property
    @abstractmethod
    def parts(self) -> tuple[Expression, ...]:
        """Expressions that it is made of."""

    @abstractmethod
    def bounds(self, ranges: Ranges) -> Bounds | None:
        """Public bounds of the number; None if it is never there."""

    @abstractmethod
    def evaluate(self, rows: Rows) -> Array:
        """Compute the number of each row."""

    @abstractmethod
    def as_dict(self) -> Any:
        """Plain data."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns whose numbers are read, each once."""
        return _each(name for part in self.parts for name in part.columns)

    @property
    def coded(self) -> tuple[str, ...]:
        """Attributes whose codes are read, each once."""
        return _each(name for part in self.parts for name in part.coded)


def _each(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Constant(Expression):
    """A public number; NaN is NULL."""

    value: float

    @property
    def parts(self) -> tuple[Expression, ...]:
        """None."""
        return ()

    def bounds(self, ranges: Ranges) -> Bounds | None:
        """The number itself."""
        return None if math.isnan(self.value) else (self.value, self.value)

    def evaluate(self, rows: Rows) -> Array:
        """The number in every row."""
        return np.full(rows.count, self.value)

    def as_dict(self) -> Any:
        """The number, or null."""
        return None if math.isnan(self.value) else self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and repr(self.value) == repr(other.value)

    def __hash__(self) -> int:
        return hash(repr(self.value))


@dataclass(frozen=True)
class Value(Expression):
    """The number of a column."""

    column: str

    @property
    def parts(self) -> tuple[Expression, ...]:
        """None."""
        return ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The one."""
        return (self.column,)

    def bounds(self, ranges: Ranges) -> Bounds | None:
        """The column's."""
        return ranges(self.column)

    def evaluate(self, rows: Rows) -> Array:
        """Its numbers."""
        return rows.numbers(self.column)

    def as_dict(self) -> Any:
        """Plain data."""
        return {"column": self.column}


@dataclass(frozen=True)
class Coded(Expression):
    """A public number for each cell of some attributes, in row-major order; NaN for none."""

    of: tuple[str, ...]
    sizes: tuple[int, ...]
    values: tuple[float | None, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        """None."""
        return ()

    @property
    def coded(self) -> tuple[str, ...]:
        """The attributes."""
        return self.of

    def bounds(self, ranges: Ranges) -> Bounds | None:
        """The least and the largest number of the public table."""
        there = [value for value in self.values if value is not None]
        return (min(there), max(there)) if there else None

    def evaluate(self, rows: Rows) -> Array:
        """Look up each row's cell; an out-of-domain value has none."""
        table = np.array([math.nan if value is None else value for value in self.values] + [math.nan])
        cells, inside = np.zeros(rows.count, np.int64), np.ones(rows.count, bool)
        for name, size in zip(self.of, self.sizes, strict=True):
            codes = rows.codes[name].astype(np.int64)
            inside &= codes < size
            cells = cells * size + codes
        return np.asarray(table[np.where(inside, cells, len(table) - 1)])

    def as_dict(self) -> Any:
        """Plain data."""
        return {"of": list(self.of), "values": list(self.values)}


@dataclass(frozen=True)
class Binary(Expression):
    """Two numbers, added, subtracted, multiplied or divided."""

    operator: str
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Both."""
        return (self.left, self.right)

    def bounds(self, ranges: Ranges) -> Bounds | None:
        """Interval arithmetic; a divisor that may be zero has no bounds and is refused."""
        left, right = self.left.bounds(ranges), self.right.bounds(ranges)
        if left is None or right is None:
            return None
        if self.operator == "/" and right[0] <= 0 <= right[1]:
            raise InvalidInput(
                "divides by a number that may be zero, so that the result has no bounds",
                field="sql",
                value=f"[{right[0]:g}, {right[1]:g}]",
                hint="Divide two aggregates after noise, SUM(x) / SUM(y), or add a constant to the divisor",
            )
        ends = [_OPERATORS[self.operator](a, b) for a in left for b in right]
        return float(min(ends)), float(max(ends))

    def evaluate(self, rows: Rows) -> Array:
        """Row by row."""
        return np.asarray(_OPERATORS[self.operator](self.left.evaluate(rows), self.right.evaluate(rows)))

    def as_dict(self) -> Any:
        """Plain data."""
        return {"operator": self.operator, "parts": [part.as_dict() for part in self.parts]}


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def _half_up(x: Any) -> Any:
    """Round halves away from zero, as SQL does."""
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": np.abs,
    "round": _half_up,
    "floor": np.floor,
    "ceil": np.ceil,
    "sqrt": np.sqrt,
    "ln": np.log,
    "exp": np.exp,
    "least": np.fmin,
    "greatest": np.fmax,
    "coalesce": lambda a, b: np.where(np.isnan(a), b, a),
}
_LEAST = {"sqrt": 0.0, "ln": 5e-324}


@dataclass(frozen=True)
class Call(Expression):
    """A function of one or two numbers."""

    name: str
    parts_: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        """Its arguments."""
        return self.parts_

    def bounds(self, ranges: Ranges) -> Bounds | None:
        """Ends of a monotone function at the ends of its arguments."""
        found = [bounds for part in self.parts_ if (bounds := part.bounds(ranges)) is not None]
        if not found:
            return None
        low, high = found[0]
        if self.name == "coalesce":
            return min(low for low, _ in found), max(high for _, high in found)
        if self.name in ("least", "greatest"):
            ends = [FUNCTIONS[self.name](a, b) for a in found[0] for b in found[-1]]
            # the other argument alone counts where one is missing
            return min([*ends, *(low for low, _ in found)]), max([*ends, *(high for _, high in found)])
        if self.name == "abs":
            return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))
        if low < _LEAST.get(self.name, -math.inf):
            raise InvalidInput(
                f"{self.name.upper()} of a number that may be {'negative' if self.name == 'sqrt' else 'zero or less'}",
                field="sql",
                value=f"[{low:g}, {high:g}]",
                hint="Narrow the number with WHERE, or use GREATEST(x, 1)",
            )
        with np.errstate(over="ignore"):  # without bounds it is refused
            return float(FUNCTIONS[self.name](low)), float(FUNCTIONS[self.name](high))

    def evaluate(self, rows: Rows) -> Array:
        """Row by row."""
        return np.asarray(FUNCTIONS[self.name](*(part.evaluate(rows) for part in self.parts_)), np.float64)

    def as_dict(self) -> Any:
        """Plain data."""
        return {"function": self.name, "parts": [part.as_dict() for part in self.parts_]}


@dataclass(frozen=True)
class Choice(Expression):
    """The number of the first condition that holds, or the last number."""

    whens: tuple[tuple[Where, Expression], ...]
    otherwise: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        """All branches."""
        return (*(then for _, then in self.whens), self.otherwise)

    @property
    def coded(self) -> tuple[str, ...]:
        """Attributes of conditions and branches."""
        return _each((*(name for where, _ in self.whens for name in where.attributes), *super().coded))

    def bounds(self, ranges: Ranges) -> Bounds | None:
        """The hull of all branches."""
        found = [bounds for part in self.parts if (bounds := part.bounds(ranges)) is not None]
        return (min(low for low, _ in found), max(high for _, high in found)) if found else None

    def evaluate(self, rows: Rows) -> Array:
        """Row by row."""
        conditions = [where.holds(rows.codes, rows.count) for where, _ in self.whens]
        branches = [then.evaluate(rows) for _, then in self.whens]
        return np.asarray(np.select(conditions, branches, self.otherwise.evaluate(rows)), np.float64)

    def as_dict(self) -> Any:
        """Plain data."""
        whens = [{"when": where.as_dict(), "then": then.as_dict()} for where, then in self.whens]
        return {"case": whens, "else": self.otherwise.as_dict()}


@dataclass(frozen=True, kw_only=True)
class Computed:
    """A computed column: a name and an expression."""

    name: str
    of: Expression

    def range(self, ranges: Ranges) -> Bounds:
        """Public bounds, which rise: those of a constant are widened to zero."""
        found = self.of.bounds(ranges)
        if found is None:
            raise InvalidInput("is always NULL", field="sql", value=self.name)
        low, high = found
        if low == high:
            return (min(low, 0.0), max(high, 0.0)) if low else (0.0, 1.0)
        return low, high

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"name": self.name, "is": self.of.as_dict()}
