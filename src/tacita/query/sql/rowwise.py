"""Arithmetic and CASE inside an aggregate: a number for each row, with public bounds.

Privacy: none of its own; bounds follow from the schema (`query.expressions`).
"""

from __future__ import annotations

import math

from sqlglot import expressions as exp

from tacita.errors import InvalidInput
from tacita.query.expressions import Binary, Call, Choice, Constant, Expression, Value
from tacita.query.numbers import measurable
from tacita.query.sql.conditions import condition
from tacita.query.sql.public import work_out
from tacita.query.sql.read import refused, without_parens
from tacita.query.sql.scalar import constant, decimals_of
from tacita.query.sql.scope import DimensionColumn, Scope

__all__ = ["filtered", "row_number"]

_OPERATORS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_CALLS: dict[type[exp.Expr], str] = {
    exp.Abs: "abs",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Sqrt: "sqrt",
    exp.Ln: "ln",
    exp.Exp: "exp",
}
_SEVERAL: dict[type[exp.Expr], str] = {exp.Coalesce: "coalesce", exp.Least: "least", exp.Greatest: "greatest"}


def row_number(part: exp.Expr, scope: Scope, *, counting: bool = False) -> Expression:
    """Compile the number of a row. When it is only counted, anything that is not NULL is 1."""
    part = without_parens(part)
    if isinstance(part, exp.AggFunc):
        raise refused(
            part, "an aggregate inside an aggregate", hint="Use a sub-query: the outer aggregate is then free"
        )
    if isinstance(part, exp.Column):
        found = scope.find(part)
        if isinstance(found, DimensionColumn):
            return work_out(part, scope).as_numbers()
        measurable(scope.domain, found)
        return Value(found)
    if isinstance(part, exp.Case):
        return _case(part, scope, counting)
    if type(part) in _OPERATORS:
        sides = (row_number(side, scope) for side in (part.this, part.expression))
        return Binary(_OPERATORS[type(part)], *sides)
    if isinstance(part, exp.Neg) and not isinstance(part.this, exp.Literal):
        return Binary("-", Constant(0.0), row_number(part.this, scope))
    if type(part) in _CALLS:
        return Call(_CALLS[type(part)], (row_number(part.this, scope),))
    if type(part) in _SEVERAL:
        first, *others = (row_number(each, scope) for each in (part.this, *part.expressions))
        for other in others:
            first = Call(_SEVERAL[type(part)], (first, other))
        return first
    if isinstance(part, exp.Round):
        scale = Constant(10.0 ** decimals_of(part))
        inner = row_number(part.this, scope)
        return Binary("/", Call("round", (Binary("*", inner, scale),)), scale)
    if isinstance(part, exp.Cast) and not isinstance(part.this, exp.Literal):
        return _cast(part, scope)
    if part.find(exp.Column):
        return work_out(part, scope).as_numbers()
    value = constant(part)
    if value is None:
        return Constant(math.nan)
    if isinstance(value, bool | int | float):
        return Constant(float(value))
    if counting:
        return Constant(1.0)
    raise refused(part, "is no number", hint="Only numbers can be added up; COUNT counts anything")


def _cast(part: exp.Cast, scope: Scope) -> Expression:
    inner = row_number(part.this, scope)
    if part.to.is_type("int", "bigint", "smallint"):
        return Call("round", (inner,))
    if part.to.is_type("double", "float", "decimal"):
        return inner
    raise refused(part, "must be a cast to a number")


def _case(part: exp.Case, scope: Scope, counting: bool) -> Expression:
    whens = []
    for each in part.args["ifs"]:
        test = each.this if part.this is None else exp.EQ(this=part.this.copy(), expression=each.this.copy())
        try:
            held = condition(test, scope, "CASE")
        except InvalidInput as error:
            if error.field != "sql":
                raise
            raise InvalidInput(f"CASE: {error.rule}", field="sql", value=error.value, hint=error.hint) from None
        whens.append((held, row_number(each.args["true"], scope, counting=counting)))
    default = part.args.get("default")
    otherwise = Constant(math.nan) if default is None else row_number(default, scope, counting=counting)
    return Choice(tuple(whens), otherwise)


def filtered(of: Expression, where: exp.Expr, scope: Scope) -> Expression:
    """The number where FILTER (WHERE …) holds, NULL elsewhere."""
    return Choice(((condition(where, scope, "FILTER"), of),), Constant(math.nan))
