"""MongoDB's pipelines, one document at a time: what `tests.support.mongo` answers with.

Each operator is written down from MongoDB's manual, without any code of the engine that is tested with it: the order of
types, the equality of numbers, paths through lists, conversions that fail, branches that are not taken. Only the
operators that our engine sends are here; all others are refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import bson
from bson.datetime_ms import DatetimeMS
from bson.decimal128 import Decimal128, create_decimal128_context
from bson.int64 import Int64
from bson.objectid import ObjectId
from bson.timestamp import Timestamp

__all__ = ["MISSING", "STAGES", "Document", "Refusal", "evaluate", "ordered", "run"]

Document = dict[str, Any]


class _Missing:
    """A field that is not there, which is not the same as null."""

    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


class Refusal(Exception):
    """What the server says no to, with MongoDB's number for it."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(message)
        self.reply = {"ok": 0.0, "errmsg": message, "code": code, "codeName": name}


# -- values ----------------------------------------------------------------------------------------------------


_NAMES: dict[type, str] = {
    _Missing: "missing",
    type(None): "null",
    bool: "bool",
    int: "int",
    Int64: "long",
    float: "double",
    Decimal128: "decimal",
    str: "string",
    bytes: "binData",
    bson.Binary: "binData",
    ObjectId: "objectId",
    DatetimeMS: "date",
    list: "array",
    dict: "object",
    bson.Regex: "regex",
    Timestamp: "timestamp",
}


def type_of(value: Any) -> str:
    """MongoDB's name for the type of a value."""
    return _NAMES[type(value)]


_NUMBERS = ("int", "long", "double", "decimal")
_ORDER = ("missing", "null", "number", "string", "object", "array", "binData", "objectId", "bool", "date", "timestamp")


def ordered(value: Any) -> tuple[Any, ...]:
    """Something that compares as MongoDB compares values: by type, then within it."""
    kind = type_of(value)
    if kind in _NUMBERS:
        return (_ORDER.index("number"), *_on_the_line(value))
    rank = _ORDER.index(kind)
    if kind == "string":
        return rank, value.encode(errors="surrogateescape")
    if kind == "object":
        return rank, tuple((name, ordered(part)) for name, part in value.items())
    if kind == "array":
        return rank, tuple(ordered(part) for part in value)
    if kind == "date":
        return rank, int(value)
    return (rank,) if kind in ("missing", "null") else (rank, value)


def _on_the_line(value: Any) -> tuple[int, Any]:
    """NaN, then minus infinity, then numbers by their exact value, then infinity."""
    exact = value.to_decimal() if isinstance(value, Decimal128) else value
    if isinstance(exact, Decimal | float) and math.isnan(exact):
        return 0, 0
    if isinstance(exact, Decimal | float) and math.isinf(exact):
        return (1, 0) if exact < 0 else (3, 0)
    return 2, Fraction(exact) if isinstance(exact, Decimal) else exact  # whole numbers and floats compare exactly


def follow(value: Any, parts: Sequence[str]) -> Any:
    """What lies at a path: through a list, the list of what lies in each of its documents."""
    if not parts:
        return value
    if isinstance(value, list):
        found = [follow(part, parts) for part in value if isinstance(part, Mapping | list)]
        return [part for part in found if part is not MISSING]
    return follow(value.get(parts[0], MISSING), parts[1:]) if isinstance(value, Mapping) else MISSING


# -- expressions -----------------------------------------------------------------------------------------------


def evaluate(expression: Any, document: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    """The value of an expression over a document, with the variables that are named around it."""
    if isinstance(expression, str) and expression.startswith("$$"):
        name, *parts = expression[2:].split(".")
        if name not in names:
            raise Refusal(17276, "Location17276", f"Use of undefined variable: {name}")
        return follow(names[name], parts)
    if isinstance(expression, str) and expression.startswith("$"):
        parts = expression[1:].split(".")
        if not all(parts):
            raise Refusal(15998, "Location15998", "FieldPath field names may not be empty strings.")
        return follow(document, parts)
    if isinstance(expression, list):
        found = [evaluate(part, document, names) for part in expression]
        return [None if part is MISSING else part for part in found]
    if not isinstance(expression, Mapping):
        return expression
    if not any(name.startswith("$") for name in expression):
        fields = {name: evaluate(part, document, names) for name, part in expression.items()}
        return {name: part for name, part in fields.items() if part is not MISSING}
    if len(expression) != 1:
        raise Refusal(15983, "Location15983", "An object representing an expression must have exactly one field")
    ((operator, given),) = expression.items()
    if operator in _LAZY:
        return _LAZY[operator](given, document, names)
    if operator not in _EAGER:
        raise Refusal(168, "InvalidPipelineOperator", f"Unrecognized expression '{operator}'")
    if operator in _ONE:
        return _EAGER[operator](evaluate(given, document, names))
    if not isinstance(given, list):
        raise Refusal(16020, "Location16020", f"Expression {operator} takes a list of arguments")
    return _EAGER[operator](*(evaluate(part, document, names) for part in given))


def _let(given: Any, document: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    found = {name: evaluate(part, document, names) for name, part in given["vars"].items()}
    return evaluate(given["in"], document, {**names, **found})


def _cond(given: Any, document: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    condition, then, otherwise = given
    return evaluate(then if _truth(evaluate(condition, document, names)) else otherwise, document, names)


def _switch(given: Any, document: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    for branch in given["branches"]:
        if _truth(evaluate(branch["case"], document, names)):
            return evaluate(branch["then"], document, names)
    return evaluate(given["default"], document, names)


def _and(given: Any, document: Mapping[str, Any], names: Mapping[str, Any]) -> bool:
    return all(_truth(evaluate(part, document, names)) for part in given)


def _rtrim(given: Any, document: Mapping[str, Any], names: Mapping[str, Any]) -> str:
    text, chars = (evaluate(given[name], document, names) for name in ("input", "chars"))
    _need(text, "string")
    return str(text).rstrip(chars)


def _truth(value: Any) -> bool:
    kind = type_of(value)
    if kind in ("missing", "null"):
        return False
    return _on_the_line(value) != (2, 0) if kind in _NUMBERS else value is not False


def _need(value: Any, *kinds: str) -> Any:
    if type_of(value) not in kinds:
        raise Refusal(14, "TypeMismatch", f"an operator only supports {', '.join(kinds)}, not {type_of(value)}")
    return value


def _failed(value: Any, to: str) -> Refusal:
    return Refusal(241, "ConversionFailure", f"Failed to convert a value of type {type_of(value)} to {to} in $convert")


def _to_string(value: Any) -> str:
    kind = type_of(value)
    if kind == "bool":
        return "true" if value else "false"
    if kind not in ("int", "long", "string", "objectId", "decimal"):  # of the others nobody asks for the text
        raise _failed(value, "string")
    return str(int(value)) if kind in ("int", "long") else str(value)


def _whole(value: Any, bits: int, to: str) -> int:
    kind = type_of(value)
    if kind not in (*_NUMBERS, "bool", "date"):
        raise _failed(value, to)
    exact = value.to_decimal() if kind == "decimal" else value
    if kind in ("double", "decimal") and not math.isfinite(exact):
        raise _failed(value, to)
    whole = int(exact)
    if not -(2 ** (bits - 1)) <= whole < 2 ** (bits - 1):
        raise _failed(value, to)
    return whole


def _to_double(value: Any) -> float:
    kind = type_of(value)
    if kind not in (*_NUMBERS, "bool"):
        raise _failed(value, "double")
    return float(value.to_decimal()) if kind == "decimal" else float(value)


def _rounded(how: Callable[[float], int]) -> Callable[[Any], Any]:
    def rounded(value: Any) -> Any:
        _need(value, "int", "long", "double")
        return value if type_of(value) != "double" or not math.isfinite(value) else float(how(value))

    return rounded


def _divide(one: Any, other: Any) -> float:
    for part in (one, other):
        _need(part, "int", "long", "double")
    return float(one) / float(other)


def _multiply(*parts: Any) -> float:
    """The product of doubles, from left to right; the real server may reorder operands that are products themselves."""
    for part in parts:
        _need(part, "double")
    return math.prod(parts)


def _add(one: Any, other: Any) -> Decimal128:
    """The sum of two decimals, as IEEE 754 has it: with the smaller exponent, where the digits are enough."""
    parts = [_need(value, "decimal").to_decimal() for value in (one, other)]
    return Decimal128(create_decimal128_context().add(*parts))


def _subtract(one: Any, other: Any) -> Any:
    for part in (one, other):
        _need(part, "int", "long", "double")
    return one - other


def _in(value: Any, among: Any) -> bool:
    _need(among, "array")
    return any(ordered(value) == ordered(part) for part in among)


def _index_of_array(among: Any, value: Any) -> int:
    _need(among, "array")
    return next((i for i, part in enumerate(among) if ordered(part) == ordered(value)), -1)


def _index_of_bytes(text: Any, part: Any) -> int:
    _need(text, "string")
    return str(text).encode().find(part.encode())


def _extreme(choose: Callable[..., Any]) -> Callable[..., Any]:
    def extreme(*values: Any) -> Any:
        there = [value for value in values if type_of(value) not in ("missing", "null")]
        return choose(there, key=ordered) if there else None

    return extreme


_LAZY: dict[str, Callable[[Any, Mapping[str, Any], Mapping[str, Any]], Any]] = {
    "$literal": lambda given, _document, _names: given,
    "$let": _let,
    "$cond": _cond,
    "$switch": _switch,
    "$and": _and,
    "$rtrim": _rtrim,
}
_ONE = ("$type", "$toString", "$toLong", "$toInt", "$toDouble", "$floor", "$trunc", "$abs")
_EAGER: dict[str, Callable[..., Any]] = {
    "$type": type_of,
    "$toString": _to_string,
    "$toLong": lambda value: Int64(_whole(value, 64, "long")),
    "$toInt": lambda value: _whole(value, 32, "int"),
    "$toDouble": _to_double,
    "$floor": _rounded(math.floor),
    "$trunc": _rounded(math.trunc),
    "$abs": lambda value: abs(_need(value, "int", "long", "double")),
    "$not": lambda value: not _truth(value),
    "$eq": lambda one, other: ordered(one) == ordered(other),
    "$lt": lambda one, other: ordered(one) < ordered(other),
    "$in": _in,
    "$divide": _divide,
    "$multiply": _multiply,
    "$subtract": _subtract,
    "$add": _add,
    "$min": _extreme(min),
    "$max": _extreme(max),
    "$indexOfArray": _index_of_array,
    "$indexOfBytes": _index_of_bytes,
}


# -- stages ----------------------------------------------------------------------------------------------------


def run(pipeline: Sequence[Mapping[str, Any]], documents: Iterable[Document]) -> list[Document]:
    """What comes out at the end of a pipeline."""
    found = list(documents)
    for stage in pipeline:
        ((operator, given),) = stage.items()
        if operator not in STAGES:
            raise Refusal(40324, "Location40324", f"Unrecognized pipeline stage name: '{operator}'")
        found = list(STAGES[operator](given, found))
    return found


def _unwind(given: Any, documents: list[Document]) -> Iterator[Document]:
    parts = given[1:].split(".")
    for document in documents:
        holder: Any = document
        for part in parts[:-1]:
            holder = holder.get(part, MISSING) if isinstance(holder, Mapping) else MISSING
        value = holder.get(parts[-1], MISSING) if isinstance(holder, Mapping) else MISSING
        if value is MISSING or value is None:
            continue
        for element in value if isinstance(value, list) else [value]:
            yield _replaced(document, parts, element)


def _replaced(document: Mapping[str, Any], parts: Sequence[str], value: Any) -> Document:
    inner = value if len(parts) == 1 else _replaced(document[parts[0]], parts[1:], value)
    return {**document, parts[0]: inner}


def _project(given: Any, documents: list[Document]) -> Iterator[Document]:
    shown = {name: part for name, part in given.items() if name != "_id"}
    if given.get("_id") != 0 or any(isinstance(part, bool | int | float) for part in shown.values()):
        raise Refusal(31249, "Location31249", "only computed fields without _id are known here")
    for document in documents:
        found = {name: evaluate(part, document, {"ROOT": document}) for name, part in shown.items()}
        yield {name: part for name, part in found.items() if part is not MISSING}


def _match(given: Any, documents: list[Document]) -> Iterator[Document]:
    ((field, condition),) = given.items()
    ((operator, among),) = condition.items()
    if operator != "$nin" or field.startswith("$"):
        raise Refusal(2, "BadValue", f"unknown operator: {operator}")
    for document in documents:
        value = document.get(field)
        if not any(ordered(value) == ordered(part) for part in among):
            yield document


def _sort(given: Any, documents: list[Document]) -> list[Document]:
    ((field, direction),) = given.items()
    if direction != 1:
        raise Refusal(2, "BadValue", "only a rising order is known here")
    return sorted(documents, key=lambda document: ordered(document.get(field)))


def _group(given: Any, documents: list[Document]) -> Iterator[Document]:
    wanted = {name: next(iter(part.items())) for name, part in given.items() if name != "_id"}
    if any(operator not in ("$sum", "$addToSet") for operator, _ in wanted.values()):
        raise Refusal(15952, "Location15952", "unknown group operator")
    groups: dict[Any, Document] = {}
    for document in documents:
        value = evaluate(given["_id"], document, {"ROOT": document})
        group = groups.get(ordered(value))
        if group is None:
            start = {name: 0 if operator == "$sum" else [] for name, (operator, _) in wanted.items()}
            group = groups[ordered(value)] = {"_id": value, **start}
        for name, (operator, part) in wanted.items():
            found = evaluate(part, document, {"ROOT": document})
            if operator == "$sum":  # what is no number is ignored
                group[name] += found if type_of(found) in _NUMBERS else 0
            elif found is not MISSING and not any(ordered(found) == ordered(each) for each in group[name]):
                group[name].append(found)
    for group in groups.values():  # a sum of ints that needs more bits is a long
        for name, part in group.items():
            if name in wanted and isinstance(part, int) and not -(2**31) <= part < 2**31:
                group[name] = Int64(part)
        yield group


STAGES: dict[str, Callable[[Any, list[Document]], Iterable[Document]]] = {
    "$unwind": _unwind,
    "$project": _project,
    "$match": _match,
    "$sort": _sort,
    "$group": _group,
}
