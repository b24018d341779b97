"""SQL that adds up formulas over rows, in one statement: `engines.adding` in PostgreSQL's double precision.

PostgreSQL raises an error where a product or quotient underflows to zero, and its text names no value but says that
one was there; so such operands are compared first. `least` and `greatest` skip nulls, so a formula is computed only
where there is a number. Its `round` is the C function `rint`: to even.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacita.domain import Attribute, Boolean, Date, Domain, Numeric
from tacita.engines.adding import (
    Added,
    Clip,
    Counted,
    Formula,
    From,
    Number,
    Over,
    Plus,
    Rounded,
    Square,
    Step,
    Sums,
    Times,
)
from tacita.engines.postgres.compile import (
    Column,
    clamp,
    coded_rows,
    float_,
    line_of,
    name,
    raw_of,
    raw_type,
)
from tacita.engines.postgres.driver import load
from tacita.errors import InternalError

if TYPE_CHECKING:
    from psycopg import sql
else:
    sql = load("psycopg.sql")

__all__ = ["added_of", "number_of", "statement_of"]

_NULL = -(1 << 62)
"""Stands for null among whole numbers: no sum is that small."""


def number_of(attribute: Attribute, column: Column, codes: Mapping[str, sql.Composable]) -> sql.Composable | None:
    """Return an expression for a number that rows contribute, or null; None if SQL has no exact one."""
    if isinstance(attribute, Numeric | Date):
        return line_of(attribute, column)
    code = codes.get(attribute.name)
    if code is None:
        return None
    if isinstance(attribute, Boolean):
        return sql.SQL("CASE {} WHEN 0 THEN 0::float8 WHEN 1 THEN 1::float8 END").format(code)
    there = len(attribute.labels) + attribute.other
    return sql.SQL("CASE WHEN {} < {} THEN 0::float8 END").format(code, there)


def statement_of(
    request: Sums,
    domain: Domain,
    columns: Mapping[str, Column],
    codes: Mapping[str, sql.Composable],
    source: sql.Composable,
    key: sql.Composable | None,
) -> sql.Composable | None:
    """Return the statement for a request; None if something in it has no exact expression."""
    numbers = [number_of(each.attribute, columns[each.column], codes) for each in request.numbers]
    known = [number for number in numbers if number is not None]
    used = domain.countable if request.unit.person else (*request.names, *(each for each, _ in request.only))
    used = tuple(dict.fromkeys(used))
    if len(known) < len(numbers) or not set(used) <= set(codes):
        return None
    rows = coded_rows(
        source,
        [codes[each] for each in used],
        key=key if request.unit.person else None,
        nulls=domain.nulls,
        max_rows=request.unit.max_rows,
        numbers=known,
        ties=[_ordered(columns[each], domain[each]) for each in request.ties if each != request.unit.person],
        keyed=request.persons,
    )
    place = {each: name(at) for at, each in enumerate(used)}
    weighed = sql.SQL("SELECT {listed} FROM ({rows} OFFSET 0) AS numbered{where}").format(
        listed=sql.SQL(", ").join([*_groups(request, place), *_values(request)]) or sql.SQL("1"),
        rows=rows,
        where=_where(request, place),
    )
    return _grouped(request, weighed)


def _ordered(column: Column, attribute: Attribute) -> sql.Composable:
    """A column as Arrow sorts it: texts by their bytes."""
    raw = raw_of(column, attribute)
    if raw_type(column, attribute) == pa.string():
        return sql.SQL('({}) COLLATE "C"').format(raw)
    return raw


def _groups(request: Sums, place: Mapping[str, sql.Composable]) -> list[sql.Composable]:
    return [sql.SQL("{} AS {}").format(place[each], _named("g", at)) for at, each in enumerate(request.names)]


def _values(request: Sums) -> list[sql.Composable]:
    """Numbers, formulas that are added up, and formulas whose values are counted."""
    found: list[sql.Composable] = [_named("v", at) for at in range(len(request.numbers))]
    found += [sql.Identifier("key")] if request.persons else []
    for kind, formulas in (("f", request.sums), ("b", request.counts)):
        for at, (number, formula) in enumerate(formulas):
            value = _compute(formula, request.numbers[number], _named("v", number))
            found.append(sql.SQL("{} AS {}").format(value, _named(kind, at)))
    return found


def _where(request: Sums, place: Mapping[str, sql.Composable]) -> sql.Composable:
    if not request.only:
        return sql.SQL("")
    conditions = [
        sql.SQL("{} = ANY(ARRAY[{}]::int4[])").format(place[each], sql.SQL(", ").join(map(sql.Literal, allowed)))
        for each, allowed in request.only
    ]
    return sql.SQL(" WHERE {}").format(sql.SQL(" AND ").join(conditions))


def _grouped(request: Sums, weighed: sql.Composable) -> sql.Composable:
    """Return the statement: the set that a row belongs to, groups, values, rows, present, sums.

    Sums of one formula's values and all other sums are one set: the groups' sums are added up here. More have a set for
    each, beside the groups.
    """
    groups = [_named("g", at) for at in range(len(request.names))]
    values = [_named("b", at) for at in range(len(request.counts))]
    one = _is_one_set(request)
    sets = [[*groups, *values]] if one else [groups, *([*groups, value] for value in values)]
    # with one set there is no need for GROUPING SETS, which the server never runs in parallel
    by: sql.Composable = sql.SQL("GROUP BY GROUPING SETS ({})").format(
        sql.SQL(", ").join([sql.SQL("({})").format(sql.SQL(", ").join(each)) for each in sets])
    )
    if len(sets) == 1:
        by = sql.SQL("GROUP BY {}").format(sql.SQL(", ").join(sets[0])) if sets[0] else sql.SQL("")
    which = [sql.SQL("GROUPING({})::int4").format(value) for value in values] if len(sets) > 1 else []
    counted: list[sql.Composable] = [sql.SQL("pg_catalog.count(*)")]
    counted += [sql.SQL("pg_catalog.count({})").format(_named("v", at)) for at in range(len(request.numbers))]
    counted += [sql.SQL("pg_catalog.sum({})").format(_named("f", at)) for at in range(len(request.sums))]
    counted += [sql.SQL('pg_catalog.count(DISTINCT "key")')] if request.persons else []
    listed = [
        sql.SQL("{} AS {}").format(part, name(at)) for at, part in enumerate([*which, *groups, *values, *counted])
    ]
    return sql.SQL("SELECT {} FROM ({}) AS weighed {}").format(sql.SQL(", ").join(listed), weighed, by)


def _is_one_set(request: Sums) -> bool:
    """Return whether the sums of groups follow from those of values; numbers of distinct persons do not add up."""
    return len(request.counts) < (1 if request.persons else 2)


def _named(kind: str, at: int) -> sql.Composable:
    return sql.Identifier(f"{kind}{at}")


def _compute(formula: Formula, number: Number, value: sql.Composable) -> sql.Composable:
    attribute = number.attribute
    whole = not isinstance(attribute, Numeric) or attribute.integer
    formula = formula.within(*number.bounds)
    found = value
    for step, tiny in zip(formula.steps, formula.tiny(whole), strict=True):
        operand, found = found, _step(step, found)
        if tiny is not None:
            found = sql.SQL("CASE WHEN pg_catalog.abs({}) <= {} THEN 0 ELSE {} END").format(
                operand, float_(tiny), found
            )
    return sql.SQL("CASE WHEN {} IS NOT NULL THEN ({})::int4 END").format(value, found)


def _step(step: Step, value: sql.Composable) -> sql.Composable:
    if isinstance(step, Plus):
        return sql.SQL("({} + {})").format(value, float_(step.constant))
    if isinstance(step, From):
        return sql.SQL("({} - {})").format(float_(step.constant), value)
    if isinstance(step, Times):
        return sql.SQL("({} * {})").format(value, float_(step.constant))
    if isinstance(step, Over):
        return sql.SQL("({} / {})").format(value, float_(step.constant))
    if isinstance(step, Square):
        return sql.SQL("({} * {})").format(value, value)
    if isinstance(step, Clip):
        return clamp(value, float_(step.low), float_(step.high))
    if isinstance(step, Rounded):
        return sql.SQL("pg_catalog.round({})").format(value)
    raise InternalError("no such step", field="step", value=type(step).__name__)


def added_of(request: Sums, batches: Sequence[pa.RecordBatch]) -> Added:
    """Read the reply to the statement of a request."""
    counts, names, numbers = len(request.counts), len(request.names), len(request.numbers)
    sets = 0 if _is_one_set(request) else counts
    width = sets + names + counts + 1 + numbers + len(request.sums) + request.persons
    parts = [np.stack([_whole(column) for column in batch.columns], axis=1) for batch in batches]
    rows = np.concatenate([np.zeros((0, width), np.int64), *parts])
    which, codes, values, found = np.split(rows, np.cumsum([sets, names, counts]), axis=1)
    found = np.where(found == _NULL, 0, found)
    # with one set, its rows are both: sums of a group fall into several parts
    plain = which.all(axis=1)
    mine = [(which[:, at] == 0) & (values[:, at] != _NULL) if sets else values[:, at] != _NULL for at in range(counts)]
    return Added(
        codes=codes[plain],
        rows=found[plain, 0],
        present=found[plain, 1 : 1 + numbers],
        sums=found[plain, 1 + numbers : 1 + numbers + len(request.sums)],
        persons=found[plain, -1] if request.persons else None,
        counts=tuple(
            Counted(codes=codes[chosen], values=values[chosen, at], rows=found[chosen, 0])
            for at, chosen in enumerate(mine)
        ),
    )


def _whole(column: pa.Array) -> NDArray[np.int64]:
    return np.asarray(pc.fill_null(column.cast(pa.int64()), _NULL).to_numpy(zero_copy_only=False))
