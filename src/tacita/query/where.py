"""Conditions on the rows of a query: on codes, so that they are as public as the schema.

A condition holds for whole levels and bins. One that would cut a bin is refused, because codes do not show
where in a bin a value lies. Missing values satisfy no comparison, nor its negation; ask for them by name.

Privacy: a row is in or out by its own values alone, so a condition never raises the sensitivity.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric, Ordinal
from tacita.domain.attributes import EPOCH
from tacita.domain.conditions import bin_ends, bins_where
from tacita.errors import InvalidInput

__all__ = [
    "ALL_ROWS",
    "AllOf",
    "AnyOf",
    "Comparison",
    "OnCells",
    "OneOf",
    "Where",
    "compare",
    "is_missing",
    "narrow",
    "negate",
    "reached",
]

Mask = npt.NDArray[np.bool_]
Comparison = Literal["=", "<>", "<", "<=", ">", ">="]
_OPPOSITE: dict[str, Comparison] = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class Where(ABC):
    """A condition on the codes of some attributes."""

    @property
    @abstractmethod
    def attributes(self) -> tuple[str, ...]:
        """The attributes it reads."""

    @abstractmethod
    def holds(self, codes: Mapping[str, npt.NDArray[Any]], rows: int) -> Mask:
        """For which rows it holds."""

    @abstractmethod
    def as_dict(self) -> Any:
        """Plain data."""


@dataclass(frozen=True)
class OneOf(Where):
    """The attribute has one of these codes."""

    attribute: str
    codes: tuple[int, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The one."""
        return (self.attribute,)

    def holds(self, codes: Mapping[str, npt.NDArray[Any]], rows: int) -> Mask:
        """Mark the rows whose code is among them."""
        return np.isin(codes[self.attribute], np.array(self.codes, np.int64))

    def as_dict(self) -> Any:
        """Plain data."""
        return {"attribute": self.attribute, "codes": list(self.codes)}


@dataclass(frozen=True)
class AllOf(Where):
    """All parts hold; with no part, always."""

    parts: tuple[Where, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Those of all parts, each once."""
        return _together(self.parts)

    def holds(self, codes: Mapping[str, npt.NDArray[Any]], rows: int) -> Mask:
        """Mark the rows where all parts hold."""
        return np.asarray(np.logical_and.reduce([np.ones(rows, bool), *(p.holds(codes, rows) for p in self.parts)]))

    def as_dict(self) -> Any:
        """Plain data."""
        return {"all": [part.as_dict() for part in self.parts]}


@dataclass(frozen=True)
class AnyOf(Where):
    """At least one part holds."""

    parts: tuple[Where, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """Those of all parts, each once."""
        return _together(self.parts)

    def holds(self, codes: Mapping[str, npt.NDArray[Any]], rows: int) -> Mask:
        """Mark the rows where some part holds."""
        return np.asarray(np.logical_or.reduce([np.zeros(rows, bool), *(p.holds(codes, rows) for p in self.parts)]))

    def as_dict(self) -> Any:
        """Plain data."""
        return {"any": [part.as_dict() for part in self.parts]}


@dataclass(frozen=True)
class OnCells(Where):
    """A condition on several attributes at once: the cells where it is true, and those where it is known to be false.

    Cells are numbered in row-major order; in the others, a value that decides it is missing.
    """

    of: tuple[str, ...]
    sizes: tuple[int, ...]
    true: tuple[int, ...]
    false: tuple[int, ...]

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the cells."""
        return self.of

    def holds(self, codes: Mapping[str, npt.NDArray[Any]], rows: int) -> Mask:
        """Mark the rows in a cell where it is true; out-of-domain values are in no cell."""
        cells, inside = np.zeros(rows, np.int64), np.ones(rows, bool)
        for name, size in zip(self.of, self.sizes, strict=True):
            inside &= codes[name] < size
            cells = cells * size + codes[name]
        return inside & np.isin(cells, np.array(self.true, np.int64))

    def as_dict(self) -> Any:
        """Plain data."""
        return {"of": list(self.of), "cells": list(self.true)}


ALL_ROWS = AllOf(())


def _together(parts: Iterable[Where]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name in part.attributes))


def negate(where: Where, domain: Domain) -> Where:
    """Condition that holds where the given one is known to be false: never for a missing value."""
    if isinstance(where, OneOf):
        levels = range(len(domain[where.attribute].labels) + domain[where.attribute].other)
        return OneOf(where.attribute, tuple(code for code in levels if code not in where.codes))
    if isinstance(where, OnCells):
        return OnCells(where.of, where.sizes, where.false, where.true)
    assert isinstance(where, AllOf | AnyOf)
    parts = tuple(negate(part, domain) for part in where.parts)
    return AnyOf(parts) if isinstance(where, AllOf) else AllOf(parts)


def reached(where: Where, attribute: str) -> set[int] | None:
    """Codes of an attribute that a row can have where the condition holds; None if it says nothing about them."""
    if isinstance(where, OneOf):
        return set(where.codes) if where.attribute == attribute else None
    if isinstance(where, OnCells):
        if attribute not in where.of:
            return None
        at = where.of.index(attribute)
        return set(np.unravel_index(np.array(where.true, np.int64), where.sizes)[at].tolist())
    assert isinstance(where, AllOf | AnyOf)
    known = [codes for part in where.parts if (codes := reached(part, attribute)) is not None]
    if isinstance(where, AnyOf):
        return set().union(*known) if known and len(known) == len(where.parts) else None
    return set.intersection(*known) if known else None


def narrow(where: Where, attribute: Numeric | Date) -> tuple[float, float]:
    """Bounds of a number in the rows that a condition picks: the first and the last bin that it reaches.

    >>> age = Numeric(name="age", bounds=(0, 99), edges=(0, 18, 65, 99), integer=True)
    >>> narrow(compare(Domain(attributes=[age]), "age", "<", 65), age)
    (0.0, 64.0)
    """
    codes = reached(where, attribute.name)
    bins = [] if codes is None else [code for code in codes if code < len(attribute.labels)]
    if not bins:
        return attribute.line_bounds
    first, last = bin_ends(attribute)
    low, high = float(first[min(bins)]), float(last[max(bins)])
    if low < high:
        return low, high
    return (low, low + 1) if low < attribute.line_bounds[1] else (low - 1, low)  # bounds must rise


def is_missing(domain: Domain, name: str, missing: bool = True) -> Where:
    """Whether the value is missing, or whether it is there."""
    attribute = domain[name]
    if not attribute.missing:
        raise InvalidInput("has no bucket for missing values", field=name, hint="Declare `missing: true` in the schema")
    there = range(len(attribute.labels) + attribute.other)
    return OneOf(name, (attribute.missing_code,) if missing else tuple(there))


def compare(domain: Domain, name: str, relation: Comparison, value: Any) -> Where:
    """A comparison with a constant, as the levels or bins for which it holds."""
    if relation not in _OPPOSITE:
        raise InvalidInput("must be one of " + " ".join(_OPPOSITE), field="relation", value=relation)
    attribute = domain[name]
    if isinstance(attribute, Numeric | Date):
        met = bins_where(attribute, "!=" if relation == "<>" else relation, _point(attribute, value))
        return OneOf(name, tuple(np.flatnonzero(met).tolist()))
    if relation == "<>":
        return negate(compare(domain, name, "=", value), domain)
    if not isinstance(attribute, Categorical | Ordinal | Boolean):
        raise InvalidInput("an identifier cannot be in a condition", field=name)
    text = str(value).lower() if isinstance(attribute, Boolean) else str(value)
    if text not in attribute.labels:
        shown = ", ".join(attribute.labels[:20])
        raise InvalidInput("is not a declared level", field=name, value=value, hint=f"The levels are: {shown}")
    at = attribute.labels.index(text)
    if relation == "=":
        return OneOf(name, (at,))
    if not isinstance(attribute, Ordinal):
        raise InvalidInput("has levels without an order", field=name, value=relation, hint="Use =, <> or IN")
    picked = {"<": range(at), "<=": range(at + 1), ">": range(at + 1, len(attribute.labels))}
    return OneOf(name, tuple(picked.get(relation, range(at, len(attribute.labels)))))


def _point(attribute: Numeric | Date, value: Any) -> float:
    """A constant on the number line."""
    try:
        if isinstance(attribute, Date):
            day = value if isinstance(value, dt.date) else dt.date.fromisoformat(str(value))
            return float((day - EPOCH).days)
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except (TypeError, ValueError):
        rule = "must be compared with a " + ("date such as 2024-05-31" if isinstance(attribute, Date) else "number")
        raise InvalidInput(rule, field=attribute.name, value=value) from None
