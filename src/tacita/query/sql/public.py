"""Expressions over public codes, worked out for every level and bin before any data is read.

For each combination of levels, whole numbers and days that the schema allows, the expression has a value; all that are
in one cell must agree, because a cell is all that is known of a row. The result is a table of cells: as groups, as a
condition, or as numbers.

Privacy: none; only the schema and public dimension tables are read.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import expressions as exp

from tacita.domain import Attribute, Boolean, Categorical, Date, Numeric, Ordinal
from tacita.domain.attributes import EPOCH, OTHER
from tacita.domain.conditions import bin_ends
from tacita.query.derived import Derived
from tacita.query.expressions import Coded
from tacita.query.sql.read import refused
from tacita.query.sql.scalar import Bin, evaluate, shown
from tacita.query.sql.scope import DimensionColumn, Scope
from tacita.query.where import OnCells, Where, reached

__all__ = ["PublicTable", "ordered_values", "values_of", "work_out"]

_MOST_POINTS = 1 << 17
_MOST_WORK = 20_000_000  # nodes of the expression times combinations of values
_MOST_WHOLE = 10_000


def values_of(attribute: Attribute) -> list[Any]:
    """One value for each code: what it is where one value has it, else the label of the bin; None for missing."""
    if isinstance(attribute, Boolean):
        found: list[Any] = [False, True]
    elif isinstance(attribute, Numeric | Date):
        first, last = bin_ends(attribute)
        single = isinstance(attribute, Date) or attribute.integer
        found = [
            (_day(low) if isinstance(attribute, Date) else float(low)) if single and low == high else label
            for low, high, label in zip(first, last, attribute.labels, strict=True)
        ]
        if len({type(value) for value in found}) > 1:
            found = list(attribute.labels)
    else:
        found = list(attribute.labels)
    return found + [OTHER] * attribute.other + [None] * attribute.missing


def ordered_values(attribute: Attribute) -> list[int]:
    """The rank of each code when answers are sorted by it: texts by text, all else as declared; missing last."""
    if not isinstance(attribute, Categorical):
        return list(range(attribute.size))
    order = sorted(range(attribute.size), key=lambda code: (code == attribute.missing_code, attribute.all_labels[code]))
    return [order.index(code) for code in range(attribute.size)]


def _day(point: float) -> dt.date:
    return EPOCH + dt.timedelta(days=int(point))


def _points(attribute: Attribute) -> list[tuple[int, Any]]:
    """Codes with each value that they stand for."""
    size = len(attribute.labels)
    buckets: list[tuple[int, Any]] = [(attribute.other_code, OTHER)] * attribute.other
    buckets += [(attribute.missing_code, None)] * attribute.missing
    if not isinstance(attribute, Numeric | Date):
        return list(enumerate(values_of(attribute)))
    if attribute.other:
        buckets[0] = (attribute.other_code, None)  # it has no number
    first, last = bin_ends(attribute)
    whole = isinstance(attribute, Date) or attribute.integer
    if whole and last[-1] - first[0] < _MOST_WHOLE * (10 if isinstance(attribute, Date) else 1):
        line = np.arange(first[0], last[-1] + 1)
        codes = np.searchsorted(first, line, side="right") - 1
        known = [_day(point) for point in line] if isinstance(attribute, Date) else line.tolist()
        return [*zip(codes.tolist(), known, strict=True), *buckets]
    return [
        *((code, Bin(float(first[code]), float(last[code]), attribute.labels[code])) for code in range(size)),
        *buckets,
    ]


@dataclass(frozen=True, kw_only=True, eq=False)
class PublicTable:
    """The value of an expression in each cell of some attributes."""

    part: exp.Expr
    of: tuple[str, ...]
    sizes: tuple[int, ...]
    values: list[Any]

    def as_condition(self) -> OnCells:
        """The cells where it is true and where it is false."""
        if any(value is not None and not isinstance(value, bool) for value in self.values):
            raise refused(self.part, "is no condition", hint="Compare it with something")
        true, false = (tuple(at for at, value in enumerate(self.values) if value is wanted) for wanted in (True, False))
        return OnCells(self.of, self.sizes, true, false)

    def as_numbers(self) -> Coded:
        """The number of each cell."""
        for value in self.values:
            if value is not None and not isinstance(value, bool | int | float):
                hint = "Only numbers can be added up; COUNT counts anything"
                raise refused(self.part, "is no number", hint=hint)
        return Coded(self.of, self.sizes, tuple(None if value is None else float(value) for value in self.values))

    def as_group(self, name: str, held: Where) -> tuple[Derived, list[Any]]:
        """A derived attribute, and its value for each of its codes; cells that no row can have are in no group."""
        allowed = [reached(held, each) for each in self.of]
        codes_of = np.unravel_index(np.arange(len(self.values)), self.sizes)
        possible = [
            all(codes is None or int(each[cell]) in codes for codes, each in zip(allowed, codes_of, strict=True))
            for cell in range(len(self.values))
        ]
        values = [value for value, can in zip(self.values, possible, strict=True) if can]
        found = {value for value in values if value is not None}
        kinds = {
            bool if isinstance(value, bool) else float if isinstance(value, int | float) else type(value)
            for value in found
        }
        if Bin in kinds:
            raise refused(
                self.part, "computes with bins, of which only the edges are public", hint="Group by it as it is"
            )
        if len(kinds) != 1:
            raise refused(self.part, "must have values of one kind", hint="Let all branches be texts, or all numbers")
        levels = sorted(found)
        labels = [shown(value) for value in levels]
        missing = any(value is None for value in values)
        kind = Categorical if kinds == {str} else Ordinal
        attribute = kind(name=name, levels=tuple(labels), missing=missing)
        place = {value: code for code, value in enumerate(levels)} | {None: attribute.missing_code}
        out = attribute.out_of_domain
        codes = tuple(place[value] if can else out for value, can in zip(self.values, possible, strict=True))
        made = Derived(attribute=attribute, of=self.of, sizes=self.sizes, codes=codes)
        return made, [*levels, *([None] * missing)]


def work_out(part: exp.Expr, scope: Scope) -> PublicTable:
    """Evaluate an expression for every value that its attributes can have."""
    columns = list(part.find_all(exp.Column))
    meant = {id(column): scope.find(column) for column in columns}
    read = {it.key if isinstance(it, DimensionColumn) else it for it in meant.values()}
    bases = tuple(name for name in scope.domain.names if name in read)
    for name in bases:
        if not scope.domain[name].countable:
            hint = "Its values are not public: group by it as it is, with a delta, or declare its levels"
            raise refused(part, f"{name} has no public levels", hint=hint)
    points = [_points(scope.domain[name]) for name in bases]
    if math.prod(len(each) for each in points) > _MOST_POINTS:
        hint = "Use fewer attributes, or coarser bins"
        raise refused(part, f"has more than {_MOST_POINTS} combinations of values", hint=hint)
    nodes = sum(1 for _ in part.walk())
    if nodes * math.prod(len(each) for each in points) > _MOST_WORK:
        hint = "Use fewer attributes, coarser bins, or BETWEEN instead of a long list"
        raise refused(part, "takes too long to work out for all values", hint=hint)
    sizes = tuple(scope.domain[name].size for name in bases)
    found: dict[int, Any] = {}
    for each in itertools.product(*points):
        known = dict(zip(bases, (value for _, value in each), strict=True))

        def at(column: exp.Column, known: dict[str, Any] = known) -> Any:
            it = meant[id(column)]
            return it.at(known[it.key]) if isinstance(it, DimensionColumn) else known[it]

        cell = 0
        for (code, _), size in zip(each, sizes, strict=True):
            cell = cell * size + code
        value = evaluate(part, at)
        if cell in found and found[cell] != value:
            labels = [scope.domain[name].all_labels[code] for name, (code, _) in zip(bases, each, strict=True)]
            rule = f"has several values inside a bin of the public schema: {' x '.join(labels)}"
            raise refused(part, rule, hint="It cuts a bin; use the edges that the schema has, or finer bins")
        found[cell] = value
    return PublicTable(part=part, of=bases, sizes=sizes, values=[found.get(cell) for cell in range(math.prod(sizes))])
