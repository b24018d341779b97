"""Pipelines that encode as `tacita.domain.encode` does: a field in, its code out.

A code is a whole number. A value that the server cannot encode exactly as the domain does (text that is parsed as a
number, a date or a truth value; decimals; very many levels) is sent as the document {v: value} and encoded here;
grouping works on either. The type of a value is checked before it is converted, so no value makes a pipeline fail.

Nothing is pasted into a pipeline as text: fields' names are checked (`names`), and texts of the schema are wrapped in
$literal, because a text that begins with a dollar would be read as a field.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from tacita.domain import Attribute, Boolean, Date, Domain, Numeric
from tacita.engines.mongo.driver import load
from tacita.engines.mongo.flatten import ABSENT

__all__ = [
    "bin_of",
    "bounded_rows",
    "code_of",
    "coded_rows",
    "grouped_codes",
    "key_of",
    "raw_rows",
    "rows_of",
    "types_of",
]

Expression = Any
Stage = Mapping[str, Any]

MOST_BRANCHES = 1000
"""Levels or bins that are spelled out in a pipeline."""
DAY_MS = 86_400_000
_VALUE, _TYPE, _TEXT, _LINE = "$$value", "$$type", "$$text", "$$line"
_HANDED = {"v": _VALUE}
_NAN = {"$eq": [_VALUE, math.nan]}
_EXACT = float(2**53)  # below it, whole doubles are whole numbers


def code_of(attribute: Attribute, path: str, nulls: Sequence[str]) -> Expression:
    """Return an expression for the code of a field, or {v: value} if the domain must encode it."""
    if isinstance(attribute, Numeric):
        of_type = _numeric(attribute)
    elif isinstance(attribute, Date):
        of_type = _date(attribute)
    elif isinstance(attribute, Boolean):
        of_type = [
            (("bool",), _if(_VALUE, 1, 0)),
            (("string", "int", "long", "double", "decimal", "date", "binData", "objectId"), _HANDED),
        ]
    else:
        of_type = _levels(attribute, nulls)
    cases = [(_is(*sorted(ABSENT)), attribute.missing_code), *((_is(*types), code) for types, code in of_type)]
    return _let({"value": f"${path}", "type": {"$type": f"${path}"}}, _switch(cases, attribute.other_code))


def _levels(attribute: Attribute, nulls: Sequence[str]) -> list[tuple[tuple[str, ...], Expression]]:
    if len(attribute.labels) > MOST_BRANCHES:
        place: Expression = {"v": _TEXT}
    else:
        place = _let(
            {"place": {"$indexOfArray": [{"$literal": list(attribute.labels)}, _TEXT]}},
            _if({"$lt": ["$$place", 0]}, attribute.other_code, "$$place"),
        )
    level = _if({"$in": [_TEXT, {"$literal": list(nulls)}]}, attribute.missing_code, place)
    whole = {"$and": [{"$lt": [{"$abs": _VALUE}, _EXACT]}, {"$eq": [{"$trunc": _VALUE}, _VALUE]}]}
    as_whole = _let({"text": {"$toString": {"$toLong": _VALUE}}}, level)
    return [
        (("string",), _let({"text": _VALUE}, level)),
        (("int", "long", "bool", "objectId"), _let({"text": {"$toString": _VALUE}}, level)),
        # NaN is smaller than every number in MongoDB, so it is tested first
        (("double",), _if(_NAN, attribute.missing_code, _if(whole, as_whole, _HANDED))),
        (("decimal", "date", "binData"), _HANDED),
    ]


def _numeric(attribute: Numeric) -> list[tuple[tuple[str, ...], Expression]]:
    place = bin_of(attribute)
    if place is None:
        return [(("int", "long", "double", "decimal", "bool", "string", "binData"), _HANDED)]
    real = _let({"line": _clamp({"$toDouble": _VALUE}, *attribute.bounds)}, place)
    return [
        (("int", "long"), real),
        (("double",), _if(_NAN, attribute.missing_code, real)),
        (("bool",), _let({"line": _clamp(_if(_VALUE, 1.0, 0.0), *attribute.bounds)}, place)),
        (("decimal", "string", "binData"), _HANDED),
    ]


def _date(attribute: Date) -> list[tuple[tuple[str, ...], Expression]]:
    place = bin_of(attribute)
    day = {"$floor": {"$divide": [{"$toLong": _VALUE}, DAY_MS]}}
    line = _HANDED if place is None else _let({"line": _clamp(day, *attribute.line_bounds)}, place)
    return [(("date",), line), (("string", "binData"), _HANDED)]


def bin_of(attribute: Numeric | Date) -> Expression | None:
    """Return an expression for the bin of a point between the bounds."""
    starts, last = attribute.starts, len(attribute.starts) - 1
    if last and all(start.is_integer() for start in starts) and all(b - a == 1 for a, b in pairwise(starts)):
        # the last bin may be wide: its values are moved to where it starts, so that each has a whole number
        within = _clamp(_LINE, starts[0], starts[last])
        return {"$toInt": {"$subtract": [{"$floor": within}, starts[0]]}}
    return _halve(starts, 0, last) if last < MOST_BRANCHES else None


def _halve(starts: Sequence[float], first: int, last: int) -> Expression:
    """Find the bin among first..last that holds the point, by bisection."""
    if first == last:
        return {"$literal": first}
    middle = (first + last + 1) // 2
    lower, upper = _halve(starts, first, middle - 1), _halve(starts, middle, last)
    return _if({"$lt": [_LINE, starts[middle]]}, lower, upper)


def key_of(path: str) -> Expression:
    """Return an expression for a person's key as text; null if there is none. Exactly equal keys have equal texts."""
    plain = {"$eq": [{"$indexOfBytes": [_TEXT, "E"]}, -1]}
    # a sum has the smaller exponent of its parts: 1E+2 becomes 100
    zero = load("bson.decimal128").Decimal128("0")
    number = {"$not": [{"$in": [_TEXT, ["NaN", "Infinity", "-Infinity"]]}]}
    trimmed = {"$rtrim": {"input": {"$rtrim": {"input": _TEXT, "chars": "0"}}, "chars": "."}}
    shortest = _if({"$eq": [{"$indexOfBytes": [_TEXT, "."]}, -1]}, _TEXT, trimmed)
    decimal = _let({"text": shortest}, _if({"$eq": [_TEXT, "-0"]}, "0", _TEXT))
    cases = [
        (_is("string"), _VALUE),
        (_is("int", "long", "objectId"), {"$toString": _VALUE}),
        (
            _is("decimal"),
            _let({"text": {"$toString": {"$add": [_VALUE, zero]}}}, _if({"$and": [plain, number]}, decimal, None)),
        ),
    ]
    return _let({"value": f"${path}", "type": {"$type": f"${path}"}}, _switch(cases, None))


# -- whole pipelines -------------------------------------------------------------------------------------------


def rows_of(unwind: str | None) -> list[Stage]:
    """Return the stages for one document per row: the documents themselves, or the elements of a list."""
    return [] if unwind is None else [{"$unwind": f"${unwind}"}]


def coded_rows(domain: Domain, names: Sequence[str], unwind: str | None) -> list[Stage]:
    """Return a pipeline for the codes of all rows, as c0, c1, ..."""
    return [*rows_of(unwind), {"$project": {"_id": 0, **_codes(domain, names)}}]


def grouped_codes(domain: Domain, names: Sequence[str], unwind: str | None) -> list[Stage]:
    """Return a pipeline for the combinations of codes that occur, as _id, and their numbers of rows, as n."""
    return [*rows_of(unwind), {"$group": {"_id": _codes(domain, names) or None, "n": {"$sum": 1}}}]


def bounded_rows(domain: Domain, person: str, unwind: str | None) -> list[Stage]:
    """Return a pipeline for keys and codes of rows that have a key, sorted by key."""
    shown = {"_id": 0, "key": key_of(person), **_codes(domain, domain.countable)}
    present = {"key": {"$nin": [None, *domain.nulls]}}
    return [*rows_of(unwind), {"$project": shown}, {"$match": present}, {"$sort": {"key": 1}}]


def raw_rows(names: Sequence[str], unwind: str | None) -> list[Stage]:
    """Return a pipeline for the values themselves, as c0, c1, ..."""
    return [*rows_of(unwind), {"$project": {"_id": 0, **{f"c{i}": f"${name}" for i, name in enumerate(names)}}}]


def types_of(paths: Sequence[str], unwind: str | None) -> list[Stage]:
    """Return a pipeline for the combinations of types of fields, as _id, and their numbers of rows, as n."""
    types = {f"c{i}": {"$type": f"${path}"} for i, path in enumerate(paths)}
    return [*rows_of(unwind), {"$group": {"_id": types, "n": {"$sum": 1}}}]


def _codes(domain: Domain, names: Sequence[str]) -> dict[str, Expression]:
    return {f"c{i}": code_of(domain[name], name, domain.nulls) for i, name in enumerate(names)}


# -- small words -----------------------------------------------------------------------------------------------


def _let(names: Mapping[str, Expression], inside: Expression) -> Expression:
    return {"$let": {"vars": dict(names), "in": inside}}


def _if(condition: Expression, then: Expression, otherwise: Expression) -> Expression:
    return {"$cond": [condition, then, otherwise]}


def _switch(cases: Sequence[tuple[Expression, Expression]], default: Expression) -> Expression:
    return {"$switch": {"branches": [{"case": case, "then": then} for case, then in cases], "default": default}}


def _is(*types: str) -> Expression:
    return {"$in": [_TYPE, list(types)]}


def _clamp(value: Expression, low: float, high: float) -> Expression:
    return {"$max": [low, {"$min": [high, value]}]}
