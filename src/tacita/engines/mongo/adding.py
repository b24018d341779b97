"""Pipelines that add up formulas over rows: `engines.adding` in MongoDB's doubles, with one $group.

Documents have no declared types, so each group also lists the types that its rows have in the columns that are read. If
there is one whose numbers the server cannot compute as `flatten` and `domain.line` do (text, decimals, binary data), or
a field holds values of several kinds, nothing is added up and the rows are streamed.

Sums and differences are written with $subtract, and operands of $multiply are variables: the server may reorder $add
and $multiply inside each other, and its $add has more digits than a double. Rounding to even is written as
(x + 3 * 2^51) - 3 * 2^51, which is exact below 2^51: $round goes through decimals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Attribute, Boolean, Date, Domain, Numeric
from tacita.engines.adding import (
    Added,
    Clip,
    Counted,
    Formula,
    From,
    Over,
    Plus,
    Rounded,
    Square,
    Step,
    Sums,
    Times,
)
from tacita.engines.mongo.compile import DAY_MS, MOST_BRANCHES, bin_of, code_of, rows_of
from tacita.engines.mongo.flatten import ABSENT, family_of
from tacita.errors import InternalError

__all__ = ["added_of", "is_exact", "pipeline_of"]

Expression = Any
Stage = Mapping[str, Any]
Document = Mapping[str, Any]

_MAGIC = 3 * 2.0**51


def pipeline_of(request: Sums, domain: Domain, unwind: str | None) -> list[Stage]:
    """Return the pipeline for a request: a document for each combination of codes, and for each value that is counted.

    Fields: codes c0, ..; numbers v0, .., null where there is none; formulas f0, ..; values b0, ..; types t0, ..
    Each row counts once for the sums (part 0), and once for each formula whose values are counted. Rows of other codes
    than the request allows are in the group null, for the sake of their types.
    """
    numbers, names = len(request.numbers), len(request.names)
    codes = {f"c{at}": code_of(domain[name], name, domain.nulls) for at, name in enumerate(request.names)}
    allowed: list[Expression] = [
        {"$in": [code_of(domain[name], name, domain.nulls), {"$literal": list(given)}]} for name, given in request.only
    ]
    first: dict[str, Expression] = {"ok": {"$and": allowed or [True]}, **codes}
    first |= {f"v{at}": _number(number.attribute, domain) for at, number in enumerate(request.numbers)}
    first |= {f"t{at}": {"$type": f"${path}"} for at, path in enumerate(_read(request))}
    then: dict[str, Expression] = {name: f"${name}" for name in first}
    for kind, formulas in (("f", request.sums), ("b", request.counts)):
        for at, (number, formula) in enumerate(formulas):
            then[f"{kind}{at}"] = _compute(formula.within(*request.numbers[number].bounds), f"$v{number}")
    stages: list[Stage] = [*rows_of(unwind), {"$project": {"_id": 0, **first}}, {"$project": {"_id": 0, **then}}]
    group: dict[str, Expression] = {f"c{at}": f"$c{at}" for at in range(names)}
    is_sum: Expression = {"$literal": True}
    if request.counts:
        parts = [{"k": {"$literal": 0}, "b": {"$literal": None}}]
        parts += [{"k": {"$literal": at + 1}, "b": f"$b{at}"} for at in range(len(request.counts))]
        kept = {name: f"${name}" for name in then if not name.startswith("b")}
        stages += [{"$project": {"_id": 0, **kept, "part": parts}}, {"$unwind": "$part"}]
        group |= {"k": "$part.k", "b": "$part.b"}
        is_sum = {"$eq": ["$part.k", 0]}
    totals: dict[str, Expression] = {"n": {"$sum": 1}}
    for at in range(numbers):
        there = {"$and": [is_sum, {"$not": [{"$eq": [f"$v{at}", None]}]}]}
        totals[f"p{at}"] = {"$sum": {"$cond": [there, 1, 0]}}
    for at in range(len(request.sums)):
        totals[f"s{at}"] = {"$sum": {"$cond": [is_sum, f"$f{at}", 0]}}
    totals |= {f"t{at}": {"$addToSet": f"$t{at}"} for at in range(len(_read(request)))}
    return [*stages, {"$group": {"_id": {"$cond": ["$ok", group, None]}, **totals}}]


def is_exact(request: Sums, domain: Domain, documents: Sequence[Document]) -> bool:
    """Return whether all values that were read have types whose numbers the server computes as streaming does."""
    numbers = {number.column: number.attribute for number in request.numbers}
    for at, path in enumerate(_read(request)):
        kinds = {kind for document in documents for kind in document[f"t{at}"]} - ABSENT
        attribute = numbers.get(path, domain[path])
        if len({family_of(kind) for kind in kinds}) > 1 or None in map(family_of, kinds):
            return False
        if path in numbers and not kinds <= _pushable(attribute):
            return False
        if path in dict(request.only) and not kinds <= _coded(attribute):
            return False
    return True


def added_of(
    request: Sums, documents: Sequence[Document], codes_of: Callable[[Sequence[Document]], NDArray[np.int64]]
) -> Added:
    """Read the documents of a request's pipeline.

    Args:
        request: The request.
        documents: What came back.
        codes_of: Returns the codes of documents that hold them as c0, c1, ...
    """
    here = [document for document in documents if document["_id"] is not None]
    parts: list[list[Document]] = [[] for _ in range(1 + len(request.counts))]
    for document in here:
        group = document["_id"]
        if not group.get("k", 0) or group["b"] is not None:
            parts[group.get("k", 0)].append(document)

    def column(part: int, of: Callable[[Document], int]) -> NDArray[np.int64]:
        return np.array([of(document) for document in parts[part]], np.int64)

    def columns(kind: str, width: int) -> NDArray[np.int64]:
        rows = [[document[f"{kind}{at}"] for at in range(width)] for document in parts[0]]
        return np.array(rows, np.int64).reshape(len(rows), width)

    def codes(part: int) -> NDArray[np.int64]:
        return codes_of([document["_id"] for document in parts[part]])

    return Added(
        codes=codes(0),
        rows=column(0, lambda document: document["n"]),
        present=columns("p", len(request.numbers)),
        sums=columns("s", len(request.sums)),
        counts=tuple(
            Counted(
                codes=codes(at),
                values=column(at, lambda document: document["_id"]["b"]),
                rows=column(at, lambda document: document["n"]),
            )
            for at in range(1, len(parts))
        ),
    )


def _read(request: Sums) -> tuple[str, ...]:
    """Paths whose types decide."""
    columns = (number.column for number in request.numbers)
    return tuple(dict.fromkeys((*request.names, *(name for name, _ in request.only), *columns)))


def _pushable(attribute: Attribute) -> frozenset[str]:
    if isinstance(attribute, Numeric):
        return frozenset({"int", "long", "double", "bool"})
    if isinstance(attribute, Date):
        return frozenset({"date"})
    return _coded(attribute)


def _coded(attribute: Attribute) -> frozenset[str]:
    """Types whose codes the server computes for every value."""
    if isinstance(attribute, Numeric | Date):
        return frozenset() if bin_of(attribute) is None else _pushable(attribute)
    if isinstance(attribute, Boolean):
        return frozenset({"bool"})
    if len(attribute.labels) > MOST_BRANCHES:
        return frozenset()
    return frozenset({"string", "int", "long", "bool", "objectId"})


# -- numbers ---------------------------------------------------------------------------------------------------


def _number(attribute: Attribute, domain: Domain) -> Expression:
    """Return an expression for a number that rows contribute, null where there is none."""
    path = f"${attribute.name}"
    if isinstance(attribute, Numeric):
        cases = [
            (("int", "long", "double"), _line(attribute, {"$toDouble": "$$value"})),
            (("bool",), _line(attribute, {"$cond": ["$$value", 1.0, 0.0]})),
        ]
    elif isinstance(attribute, Date):
        day = {"$floor": {"$divide": [{"$toLong": "$$value"}, DAY_MS]}}
        cases = [(("date",), _clamp(day, *attribute.line_bounds))]
    elif isinstance(attribute, Boolean):
        cases = [(("bool",), {"$cond": ["$$value", 1.0, 0.0]})]
    else:
        there = len(attribute.labels) + attribute.other
        code = code_of(attribute, attribute.name, domain.nulls)
        return {"$cond": [{"$lt": [code, there]}, 0.0, None]}
    branches = [{"case": {"$in": ["$$type", list(types)]}, "then": then} for types, then in cases]
    inside = {"$switch": {"branches": branches, "default": None}}
    return {"$let": {"vars": {"value": path, "type": {"$type": path}}, "in": inside}}


def _line(attribute: Numeric, value: Expression) -> Expression:
    number = {"$floor": "$$number"} if attribute.integer else "$$number"
    there = {"$cond": [{"$eq": ["$$number", math.nan]}, None, _clamp(number, *attribute.line_bounds)]}
    return {"$let": {"vars": {"number": value}, "in": there}}


def _clamp(value: Expression, low: float, high: float) -> Expression:
    return {"$max": [float(low), {"$min": [float(high), value]}]}


def _compute(formula: Formula, value: str) -> Expression:
    found: Expression = value
    for step in formula.steps:
        found = {"$let": {"vars": {"x": found}, "in": _step(step, "$$x")}}
    return {"$cond": [{"$eq": [value, None]}, None, {"$toInt": found}]}


def _step(step: Step, value: str) -> Expression:
    if isinstance(step, Plus):
        return {"$subtract": [value, -step.constant]}
    if isinstance(step, From):
        return {"$subtract": [step.constant, value]}
    if isinstance(step, Times):
        return {"$multiply": [value, step.constant]}
    if isinstance(step, Over):
        return {"$divide": [value, step.constant]}
    if isinstance(step, Square):
        return {"$multiply": [value, value]}
    if isinstance(step, Clip):
        return _clamp(value, step.low, step.high)
    if isinstance(step, Rounded):
        return {"$subtract": [{"$subtract": [value, -_MAGIC]}, _MAGIC]}
    raise InternalError("no such step", field="step", value=type(step).__name__)
