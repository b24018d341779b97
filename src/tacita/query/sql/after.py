"""After noise: expressions, HAVING, ORDER BY, LIMIT and an outer SELECT, over released values only.

    frame (labels and quantities of the released groups) -> stage -> table -> [outer stage] -> table

Nothing here reads data or draws noise, so all of it is free. A question that differs only here is the same
question: its answer is read off the values that were released for the first one.

Privacy: post-processing.   Claim: docs/claims/sql.md
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import expressions as exp

from tacita.query.numbers import Array
from tacita.query.sql.read import refused, text_of, without_parens
from tacita.query.sql.released import Noise, Places, Quantity, apply, choose, combine, extreme, public, total
from tacita.query.sql.scalar import decimals_of, evaluate, shown

__all__ = ["Frame", "Item", "Labels", "Outer", "Stage"]


@dataclass(frozen=True, eq=False)
class Labels:
    """Public or released texts, one for each row: what they mean, how they are shown, how they sort."""

    values: list[Any]
    texts: list[str]
    ranks: list[float]

    @classmethod
    def of(cls, values: list[Any]) -> Labels:
        """Labels of computed values."""
        known = sorted({value for value in values if value is not None}, key=lambda value: (str(type(value)), value))
        places = {value: float(rank) for rank, value in enumerate(known)}
        texts = ["(missing)" if value is None else shown(value) for value in values]
        return cls(values, texts, [places.get(value, math.inf) for value in values])

    def numeric(self) -> bool:
        """Whether all of them are numbers."""
        return all(value is None or isinstance(value, float) for value in self.values) and any(
            value is not None for value in self.values
        )

    def take(self, rows: Places) -> Labels:
        """Some rows, in the order given."""
        picked = rows.tolist()
        return Labels(*([each[at] for at in picked] for each in (self.values, self.texts, self.ranks)))


@dataclass(frozen=True, eq=False)
class Frame:
    """Columns of released rows, by the name that expressions use."""

    rows: int
    noise: Noise
    columns: Mapping[str, Labels | Quantity]

    def find(self, column: exp.Column) -> Labels | Quantity:
        """A column; capitals do not matter."""
        named = {name.lower(): held for name, held in self.columns.items()}
        held = self.columns.get(column.name, named.get(column.name.lower()))
        if held is None:
            known = ", ".join(name for name in self.columns if not name.startswith("#"))
            raise refused(column, "is no column of the released rows", hint=f"They have {known}" if known else None)
        return held

    def take(self, rows: Places) -> Frame:
        """Some rows, in the order given."""
        return Frame(len(rows), self.noise, {name: held.take(rows) for name, held in self.columns.items()})

    # -- values -------------------------------------------------------------------------------------------------

    def scalars(self, part: exp.Expr) -> list[Any]:
        """Value of an expression in each row, without errors."""
        return [evaluate(part, lambda column, row=row: self._scalar(column, row)) for row in range(self.rows)]  # type: ignore[misc]

    def _scalar(self, column: exp.Column, row: int) -> Any:
        held = self.find(column)
        if isinstance(held, Labels):
            return held.values[row]
        value = float(held.value[row])
        return None if math.isnan(value) else value

    def column(self, part: exp.Expr) -> Labels | Quantity:
        """Labels, or numbers with errors."""
        part = without_parens(part)
        if isinstance(part, exp.Column):
            return self.find(part)
        if self._is_label(part):
            return Labels.of(self.scalars(part))
        return self.quantity(part)

    def _is_label(self, part: exp.Expr) -> bool:
        """Whether an expression is a text, a date or a truth value, whatever the noise."""
        part = without_parens(part)
        if isinstance(part, exp.Column):
            held = self.find(part)
            return isinstance(held, Labels) and not held.numeric()
        if isinstance(part, exp.Case):
            branches = [each.args["true"] for each in part.args["ifs"]]
            default = part.args.get("default")
            return any(self._is_label(each) for each in (*branches, *([] if default is None else [default])))
        if isinstance(part, exp.Coalesce | exp.Least | exp.Greatest):
            return any(self._is_label(each) for each in (part.this, *part.expressions))
        if isinstance(part, exp.Nullif):
            return self._is_label(part.this)
        if isinstance(part, exp.Cast):
            return not part.to.is_type("int", "bigint", "smallint", "double", "float", "decimal")
        return isinstance(part, _LABELS) or (isinstance(part, exp.Literal) and part.is_string)

    def _is_noisy(self, part: exp.Expr) -> bool:
        return any(isinstance(self.find(column), Quantity) for column in part.find_all(exp.Column))

    def quantity(self, part: exp.Expr) -> Quantity:
        """Numbers with errors."""
        part = without_parens(part)
        if isinstance(part, exp.Column) and isinstance(held := self.find(part), Quantity):
            return held
        if not self._is_noisy(part):
            values = [math.nan if value is None else value for value in self.scalars(part)]
            if any(isinstance(value, str) for value in values):
                raise refused(part, "computes with what is no number")
            return public(self.noise, np.array(values, float).reshape(self.rows))
        if type(part) in _BINARY:
            return combine(_BINARY[type(part)], self.quantity(part.this), self.quantity(part.expression))
        if isinstance(part, exp.Neg):
            return combine("-", public(self.noise, np.zeros(self.rows)), self.quantity(part.this))
        if isinstance(part, exp.Least | exp.Greatest):
            first, *others = (self.quantity(each) for each in (part.this, *part.expressions))
            for other in others:
                first = combine("least" if isinstance(part, exp.Least) else "greatest", first, other)
            return first
        if isinstance(part, exp.Case):
            return self._case(part)
        if isinstance(part, exp.Coalesce):
            return self._coalesce(part)
        if isinstance(part, exp.Nullif):
            return self._nullif(part)
        return self._function(part)

    def _function(self, part: exp.Expr) -> Quantity:
        of = self.quantity(part.this)
        ones = np.ones(self.rows)
        with np.errstate(all="ignore"):
            match part:
                case exp.Abs():
                    other = combine("*", of, public(self.noise, -ones))
                    return combine("greatest", of, other)
                case exp.Round() | exp.Floor() | exp.Ceil() | exp.Cast():
                    return apply(_stepwise(part), of, ones)
                case exp.Sqrt():
                    return apply(np.sqrt, of, 0.5 / np.sqrt(np.maximum(of.value, 1e-300)), 0.0)
                case exp.Ln():
                    return apply(np.log, of, 1 / np.maximum(of.value, 1e-300), 0.0)
                case exp.Exp():
                    return apply(np.exp, of, np.exp(of.value))
        raise refused(part, "is outside the subset after noise", hint="Use + - * /, ROUND, ABS, SQRT, LN, EXP or CASE")

    def _case(self, part: exp.Case) -> Quantity:
        tests = [
            each.this if part.this is None else exp.EQ(this=part.this.copy(), expression=each.this.copy())
            for each in part.args["ifs"]
        ]
        default = part.args.get("default")
        branches = [self.quantity(each.args["true"]) for each in part.args["ifs"]]
        branches.append(public(self.noise, np.full(self.rows, np.nan)) if default is None else self.quantity(default))
        held = np.array([[value is True for value in self.scalars(test)] for test in tests]).reshape(
            len(tests), self.rows
        )
        picked = np.where(held.any(axis=0), held.argmax(axis=0), len(tests))
        return choose(picked, branches, by_noise=any(self._is_noisy(test) for test in tests))

    def _coalesce(self, part: exp.Coalesce) -> Quantity:
        branches = [self.quantity(each) for each in (part.this, *part.expressions)]
        there = np.array([~np.isnan(each.value) for each in branches])
        return choose(np.where(there.any(axis=0), there.argmax(axis=0), 0), branches, by_noise=True)

    def _nullif(self, part: exp.Nullif) -> Quantity:
        of = self.quantity(part.this)
        gone = public(self.noise, np.full(self.rows, np.nan))
        equal = of.value == self.quantity(part.expression).value
        return choose(equal.astype(np.int64), [of, gone], by_noise=True)


_LABELS = (
    exp.Boolean,
    exp.Connector,
    exp.Not,
    exp.Predicate,
    exp.DPipe,
    exp.Lower,
    exp.Upper,
    exp.TimestampTrunc,
)
_BINARY: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}


def _stepwise(part: exp.Expr) -> Any:
    if isinstance(part, exp.Floor | exp.Ceil):
        return np.floor if isinstance(part, exp.Floor) else np.ceil
    if isinstance(part, exp.Cast) and part.to.is_type("double", "float", "decimal"):
        return lambda x: x
    if isinstance(part, exp.Cast) and not part.to.is_type("int", "bigint", "smallint"):
        raise refused(part, "must be a cast to a number")
    scale = 10.0 ** (decimals_of(part) if isinstance(part, exp.Round) else 0)
    return lambda x: np.copysign(np.floor(np.abs(x) * scale + 0.5) / scale, x)


@dataclass(frozen=True)
class Item:
    """One column of the answer: its heading, and the expression that it is."""

    heading: str
    part: exp.Expr


@dataclass(frozen=True)
class Stage:
    """Operations on released rows: expressions, HAVING, ORDER BY, LIMIT, OFFSET."""

    items: tuple[Item, ...]
    having: exp.Expr | None = None
    order: tuple[tuple[exp.Expr, bool, bool], ...] = ()
    limit: int | None = None
    offset: int = 0

    def run(self, frame: Frame) -> Frame:
        """Make the table; its columns have the headings as names."""
        if self.having is not None:
            kept = [at for at, value in enumerate(frame.scalars(self.having)) if value is True]
            frame = frame.take(np.array(kept, np.int64))
        rows = list(range(frame.rows))
        for part, falls, missing_first in reversed(self.order):
            keys = self._keys(frame, part)
            known = [row for row in rows if math.isfinite(keys[row])]
            unknown = [row for row in rows if not math.isfinite(keys[row])]
            known.sort(key=lambda row, keys=-keys if falls else keys: keys[row])  # type: ignore[misc]
            rows = unknown + known if missing_first else known + unknown
        last = None if self.limit is None else self.offset + self.limit
        frame = frame.take(np.array(rows[self.offset : last], np.int64))
        return Frame(frame.rows, frame.noise, {item.heading: frame.column(item.part) for item in self.items})

    def check(self, frame: Frame) -> Frame:
        """Evaluate every part on all rows, so that what cannot be computed is refused before anything is charged."""
        if self.having is not None:
            frame.scalars(self.having)
        for part, _, _ in self.order:
            frame.column(part)
        return Frame(frame.rows, frame.noise, {item.heading: frame.column(item.part) for item in self.items})

    @staticmethod
    def _keys(frame: Frame, part: exp.Expr) -> Array:
        held = frame.column(part)
        return np.array(held.ranks, float) if isinstance(held, Labels) else held.value

    def as_dict(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Plain data: the SQL of each part, with the names of groups and statistics."""
        found: dict[str, Any] = {"select": {item.heading: _named(item.part, names) for item in self.items}}
        if self.having is not None:
            found["having"] = _named(self.having, names)
        if self.order:
            found["order"] = [_named(part, names) + (" DESC" if falls else "") for part, falls, _ in self.order]
        if self.limit is not None or self.offset:
            found |= {"limit": self.limit, "offset": self.offset}
        return found


def _named(part: exp.Expr, names: Mapping[str, str]) -> str:
    text = text_of(part)
    for name, meant in names.items():
        text = text.replace(f'"{name}"', meant)
    return text


@dataclass(frozen=True)
class Outer:
    """An outer SELECT over a released table: WHERE, GROUP BY and aggregates of released rows, then a stage."""

    stage: Stage
    where: exp.Expr | None = None
    groups: tuple[exp.Expr, ...] = ()
    aggregates: tuple[exp.Expr, ...] = ()
    grouped: bool = False

    def run(self, table: Frame) -> Frame:
        """Make the outer table."""
        if self.where is not None:
            kept = [at for at, value in enumerate(table.scalars(self.where)) if value is True]
            table = table.take(np.array(kept, np.int64))
        return self.stage.run(self._grouped(table) if self.grouped else table)

    def check(self, table: Frame) -> Frame:
        """Evaluate every part on all rows."""
        if self.where is not None:
            table.scalars(self.where)
        return self.stage.check(self._grouped(table) if self.grouped else table)

    def _grouped(self, table: Frame) -> Frame:
        held = []
        for part in self.groups:
            labels = table.column(part)
            if isinstance(labels, Quantity) and labels.kind != "public":
                raise refused(part, "groups by a noisy number", hint="Use CASE or FLOOR to make it a label")
            held.append(labels if isinstance(labels, Labels) else Labels.of(labels.value.tolist()))
        known: dict[tuple[Any, ...], int] = {} if self.groups else {(): 0}
        texts = zip(*(labels.texts for labels in held), strict=True) if held else [()] * table.rows
        groups = np.array([known.setdefault(each, len(known)) for each in texts], np.int64)
        first = np.array([int(np.argmax(groups == group)) for group in range(len(known) if held else 0)], np.int64)
        columns: dict[str, Labels | Quantity] = {f"#g{at}": labels.take(first) for at, labels in enumerate(held)}
        for at, part in enumerate(self.aggregates):
            columns[f"#a{at}"] = _outer_aggregate(table, part, groups, len(known))
        return Frame(len(known), table.noise, columns)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        more: dict[str, Any] = {} if self.where is None else {"where": text_of(self.where)}
        if self.groups:
            more["by"] = [text_of(part) for part in self.groups]
        names = {f"#g{at}": text_of(part) for at, part in enumerate(self.groups)}
        names |= {f"#a{at}": text_of(part) for at, part in enumerate(self.aggregates)}
        return self.stage.as_dict(names) | more


def _outer_aggregate(table: Frame, part: exp.Expr, groups: Places, count: int) -> Quantity:
    """An aggregate of released rows."""
    if isinstance(part, exp.Count):
        there = np.ones(table.rows) if isinstance(part.this, exp.Star) else _presence(table, part)
        return public(table.noise, np.bincount(groups, weights=there, minlength=count).astype(float))
    if not isinstance(part, exp.Sum | exp.Avg | exp.Min | exp.Max | exp.Median):
        hint = "Over released rows: COUNT, SUM, AVG, MIN, MAX and MEDIAN"
        raise refused(part, "is outside the subset of the outer SELECT", hint=hint)
    of = table.quantity(part.this)
    if isinstance(part, exp.Sum | exp.Avg):
        found = total(of, groups, count)
        rows = np.bincount(groups, weights=(~np.isnan(of.value)).astype(float), minlength=count)
        divisor = np.where(rows > 0, rows if isinstance(part, exp.Avg) else 1.0, np.nan)  # of no row, NULL
        return combine("/", found, public(table.noise, divisor))
    picks: dict[type[exp.Expr], Any] = {exp.Min: np.min, exp.Max: np.max, exp.Median: np.median}
    return extreme(of, groups, count, picks[type(part)])


def _presence(table: Frame, part: exp.Expr) -> Array:
    if isinstance(part.this, exp.Distinct):
        raise refused(part, "is outside the subset of the outer SELECT", hint="Group by it in one more query")
    return np.array([value is not None for value in table.scalars(part.this)], float)
