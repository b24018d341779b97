"""Values of SQL expressions over public or released values, one at a time, with NULL as SQL has it.

A comparison with NULL is unknown; AND, OR and NOT follow; CASE takes a branch only if its condition is true. `/`
divides real numbers and a division by zero is NULL.

Privacy: none; it is only given what is public or released.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlglot import expressions as exp

from tacita.query.sql.read import refused, text_of

__all__ = ["Bin", "Environment", "constant", "decimals_of", "evaluate", "shown"]

_DECIMALS = 15

Environment = Callable[[exp.Column], Any]


@dataclass(frozen=True)
class Bin:
    """A bin of numbers of which only the ends are public: it compares with a constant if all its values do alike."""

    low: float
    high: float
    label: str


def constant(part: exp.Expr) -> Any:
    """A constant: number, text, truth value, date or null; nothing that would have to be computed."""
    match part:
        case exp.Literal(is_string=True):
            return part.this
        case exp.Literal():
            return _finite(part, part.this)
        case exp.Neg(this=exp.Literal(is_string=False)):
            return -_finite(part, part.this.this)
        case exp.Boolean():
            return bool(part.this)
        case exp.Null():
            return None
        case exp.Paren():
            return constant(part.this)
        case exp.Cast(this=exp.Literal(is_string=True)) if part.to.is_type("date"):
            return _date(part, part.this.this)
    raise refused(part, "must be a constant", hint="Compare an attribute of the schema with a number, text or date")


def _finite(part: exp.Expr, text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise refused(part, "must be a number that a float can hold")
    return value


def decimals_of(part: exp.Round) -> int:
    """Number of decimals that ROUND keeps."""
    given = part.args.get("decimals")
    value = 0.0 if given is None else constant(given)
    if isinstance(value, bool) or not isinstance(value, float) or not value.is_integer() or abs(value) > _DECIMALS:
        raise refused(part, f"must round to a whole number of decimals, at most {_DECIMALS}")
    return int(value)


def _date(part: exp.Expr, text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise refused(part, "must be a date such as 2024-05-31") from None


def evaluate(part: exp.Expr, at: Environment) -> Any:
    """Value of an expression; None is NULL."""
    if isinstance(part, exp.Column):
        return at(part)
    if isinstance(part, exp.Paren):
        return evaluate(part.this, at)
    if type(part) in _RELATIONS:
        return _compare(part, evaluate(part.this, at), evaluate(part.expression, at))
    if isinstance(part, exp.And | exp.Or | exp.Not | exp.Between | exp.In | exp.Is | exp.Like | exp.ILike):
        return _condition(part, at)
    if isinstance(part, exp.Case):
        return _case(part, at)
    if type(part) in _ARITHMETIC:
        return _arithmetic(part, at)
    if isinstance(part, exp.Coalesce):
        found = (evaluate(each, at) for each in (part.this, *part.expressions))
        return next((value for value in found if value is not None), None)
    if isinstance(part, exp.Least | exp.Greatest):
        values = [value for each in (part.this, *part.expressions) if (value := evaluate(each, at)) is not None]
        return _extreme(part, values)
    if isinstance(part, exp.Nullif):
        value = evaluate(part.this, at)
        return None if _compare(part, value, evaluate(part.expression, at), "=") else value
    if isinstance(part, exp.Extract | exp.TimestampTrunc):
        return _calendar(part, at)
    if isinstance(part, exp.Cast) and not isinstance(part.this, exp.Literal):
        return _cast(part, evaluate(part.this, at))
    if type(part) in _FUNCTIONS:
        return _function(part, at)
    return constant(part)


_RELATIONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_TURNED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _compare(part: exp.Expr, left: Any, right: Any, relation: str | None = None) -> bool | None:
    test = relation or _RELATIONS[type(part)]
    if left is None or right is None:
        return None
    if isinstance(right, Bin):
        left, right, test = right, left, _TURNED[test]
    if isinstance(left, Bin):
        return _compare_bin(part, left, right, test)
    left, right = _alike(left, right)
    try:
        return _TESTS[test](left, right)
    except TypeError:
        raise refused(
            part, "compares values of different kinds", hint="Quote texts, and write dates as DATE '…'"
        ) from None


def _compare_bin(part: exp.Expr, left: Bin, right: Any, test: str) -> bool:
    if not isinstance(right, int | float):
        raise refused(part, "compares bins with something other than a constant number")
    inside = left.low <= right <= left.high and left.low != left.high
    ends = {_TESTS[test](left.low, right), _TESTS[test](left.high, right)}
    if (inside and test in ("=", "<>")) or len(ends) == 2:
        hint = "Use the edges of the bins that the schema has"
        raise refused(part, f"the condition cuts a bin of the public schema: {left.label}", hint=hint)
    return ends.pop()


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """A text beside a date is a date, and one beside a truth value is true or false."""
    for a, b in ((left, right), (right, left)):
        if isinstance(a, dt.date) and isinstance(b, str):
            made = _date(exp.Literal.string(b), b)
            return (left, made) if b is right else (made, right)
        if isinstance(a, bool) and isinstance(b, str):
            return str(left).lower(), str(right).lower()
    return left, right


def _condition(part: exp.Expr, at: Environment) -> Any:
    if isinstance(part, exp.And | exp.Or):
        left, right = evaluate(part.left, at), evaluate(part.right, at)
        decides = isinstance(part, exp.Or)
        if left is decides or right is decides:
            return decides
        return None if left is None or right is None else not decides
    if isinstance(part, exp.Not):
        value = evaluate(part.this, at)
        return None if value is None else not value
    value = evaluate(part.this, at)
    if isinstance(part, exp.Is):
        if not isinstance(part.expression, exp.Null):
            raise refused(part, "IS takes NULL only", hint="Use = TRUE")
        return (value is None) != bool(part.args.get("negate"))
    if isinstance(part, exp.Between):
        low, high = (evaluate(part.args[end], at) for end in ("low", "high"))
        above, below = _compare(part, value, low, ">="), _compare(part, value, high, "<=")
        if above is False or below is False:
            return False
        return None if above is None or below is None else True
    if isinstance(part, exp.In):
        tests = [_compare(part, value, evaluate(each, at), "=") for each in part.expressions]
        return True if True in tests else None if None in tests else False
    pattern = evaluate(part.expression, at)
    if value is None or pattern is None:
        return None
    if isinstance(value, Bin):
        raise refused(part, "LIKE compares texts", hint="Use <, >= or BETWEEN with the edges of bins")
    text, wanted = str(value), str(pattern)
    if isinstance(part, exp.ILike):
        text, wanted = text.lower(), wanted.lower()
    return _like(text, wanted)


def _like(text: str, pattern: str) -> bool:
    """Whether a text matches a pattern of LIKE; takes at most the product of their lengths."""
    at = place = 0
    star, mark = -1, 0
    while at < len(text):
        if place < len(pattern) and pattern[place] == "%":
            star, mark = place, at
            place += 1
        elif place < len(pattern) and pattern[place] in ("_", text[at]):
            at, place = at + 1, place + 1
        elif star >= 0:  # let the last % take one more character
            mark += 1
            at, place = mark, star + 1
        else:
            return False
    return all(each == "%" for each in pattern[place:])


def _extreme(part: exp.Expr, values: list[Any]) -> Any:
    try:
        return (min if isinstance(part, exp.Least) else max)(values) if values else None
    except TypeError:
        raise refused(part, "compares values of different kinds, or bins") from None


def _case(part: exp.Case, at: Environment) -> Any:
    subject = None if part.this is None else evaluate(part.this, at)
    for each in part.args["ifs"]:
        holds = evaluate(each.this, at) if part.this is None else _compare(each, subject, evaluate(each.this, at), "=")
        if holds is True:
            return evaluate(each.args["true"], at)
    default = part.args.get("default")
    return None if default is None else evaluate(default, at)


_ARITHMETIC = {exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg}
_FUNCTIONS = {exp.Abs, exp.Floor, exp.Ceil, exp.Round, exp.Sqrt, exp.Ln, exp.Exp, exp.Lower, exp.Upper, exp.DPipe}


def _number(part: exp.Expr, value: Any) -> float:
    if isinstance(value, bool | int | float):
        return value
    what = (
        f"bins, of which only the edges are public ({value.label})" if isinstance(value, Bin) else "what is no number"
    )
    hint = "Use CASE WHEN with the edges of bins, or declare the attribute as `integer: true`"
    raise refused(part, f"computes with {what}", hint=hint)


def _arithmetic(part: exp.Expr, at: Environment) -> float | None:
    if isinstance(part, exp.Neg):
        value = evaluate(part.this, at)
        return None if value is None else -_number(part, value)
    left, right = evaluate(part.this, at), evaluate(part.expression, at)
    if left is None or right is None:
        return None
    found = _computed(part, _number(part, left), _number(part, right))
    return found if found is not None and math.isfinite(found) else None


def _computed(part: exp.Expr, a: float, b: float) -> float | None:
    match part:
        case exp.Add():
            return a + b
        case exp.Sub():
            return a - b
        case exp.Mul():
            return a * b
        case exp.Mod():
            return math.fmod(a, b) if b else None
    return a / b if b else None


def _function(part: exp.Expr, at: Environment) -> Any:
    value = evaluate(part.this, at)
    if isinstance(part, exp.DPipe):
        other = evaluate(part.expression, at)
        return None if value is None or other is None else shown(value) + shown(other)
    if value is None:
        return None
    if isinstance(part, exp.Lower | exp.Upper):
        return shown(value).lower() if isinstance(part, exp.Lower) else shown(value).upper()
    number = _number(part, value)
    match part:
        case exp.Abs():
            return abs(number)
        case exp.Floor() | exp.Ceil() if not math.isfinite(number):
            return None
        case exp.Floor():
            return float(math.floor(number))
        case exp.Ceil():
            return float(math.ceil(number))
        case exp.Round():
            return _rounded(number, decimals_of(part))
        case exp.Sqrt():
            return math.sqrt(number) if number >= 0 else None
        case exp.Ln():
            return math.log(number) if number > 0 else None
    return math.exp(number) if number < 700 else None


def _rounded(number: float, decimals: int = 0) -> float:
    scale = 10.0**decimals
    if not math.isfinite(number * scale):
        return number
    return math.copysign(math.floor(abs(number) * scale + 0.5) / scale, number)


def shown(value: Any) -> str:
    """A value as text: whole numbers without a point."""
    if isinstance(value, bool):
        return str(value).lower()
    return (
        f"{value:g}"
        if isinstance(value, float) and abs(value) < 1e6
        else str(int(value))
        if isinstance(value, float) and value.is_integer()
        else str(value)
    )


def _calendar(part: exp.Expr, at: Environment) -> Any:
    unit = str(part.this.name if isinstance(part, exp.Extract) else part.args["unit"].name).lower()
    day = evaluate(part.expression if isinstance(part, exp.Extract) else part.this, at)
    if day is None:
        return None
    if not isinstance(day, dt.date):
        raise refused(part, "needs a date")
    quarter = (day.month - 1) // 3
    if isinstance(part, exp.Extract):
        parts = {
            "year": day.year,
            "quarter": quarter + 1,
            "month": day.month,
            "day": day.day,
            "week": day.isocalendar()[1],
        }
        parts |= {"dow": day.isoweekday() % 7, "isodow": day.isoweekday(), "doy": day.timetuple().tm_yday}
        if unit in parts:
            return float(parts[unit])
    else:
        starts = {"year": day.replace(month=1, day=1), "quarter": day.replace(month=3 * quarter + 1, day=1)}
        starts |= {"month": day.replace(day=1), "week": day - dt.timedelta(days=day.weekday()), "day": day}
        if unit in starts:
            return starts[unit]
    raise refused(part, "takes year, quarter, month, week or day")


def _cast(part: exp.Cast, value: Any) -> Any:
    if value is None:
        return None
    if part.to.is_type("text", "varchar"):
        return shown(value)
    if part.to.is_type("int", "bigint", "smallint"):
        return _rounded(_number(part, value))
    if part.to.is_type("double", "float", "decimal"):
        return float(_number(part, value))
    raise refused(part, f"a cast to {text_of(part.to)} is outside the subset")
