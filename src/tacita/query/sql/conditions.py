"""WHERE: conditions on rows, along the levels and bins of the schema.

A comparison of an attribute with a constant is the levels or bins that it holds for. Anything else over public codes
(arithmetic, CASE, LIKE, a dimension's column) is worked out cell by cell.

Privacy: a row is in or out by its own values alone.
"""

from __future__ import annotations

from sqlglot import expressions as exp

from tacita.domain import Boolean
from tacita.errors import InvalidInput, UnknownName
from tacita.query.sql.public import work_out
from tacita.query.sql.read import refused, without_parens
from tacita.query.sql.scalar import constant
from tacita.query.sql.scope import DimensionColumn, Scope
from tacita.query.where import AllOf, AnyOf, Comparison, OneOf, Where, compare, is_missing, negate

__all__ = ["condition", "joined_rows"]

_RELATIONS: dict[type[exp.Expr], Comparison] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TURNED: dict[Comparison, Comparison] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def condition(part: exp.Expr, scope: Scope, clause: str = "WHERE") -> Where:
    """Compile a condition; an error names the clause that it is in."""
    try:
        return _where(part, scope)
    except UnknownName:
        raise
    except InvalidInput as error:
        if error.field == "sql":
            raise
        raise InvalidInput(f"{clause}: {error.rule}", field=error.field, value=error.value, hint=error.hint) from None


def _where(part: exp.Expr, scope: Scope) -> Where:
    part = without_parens(part)
    if part.find(exp.AggFunc):
        raise refused(part, "an aggregate is no property of a row", hint="Conditions on aggregates belong into HAVING")
    if isinstance(part, exp.And | exp.Or):
        parts = tuple(_where(side, scope) for side in (part.left, part.right))
        return AllOf(parts) if isinstance(part, exp.And) else AnyOf(parts)
    if isinstance(part, exp.Not) and not part.find(exp.Is):
        return negate(_where(part.this, scope), scope.domain)
    found = _plain(part, scope)
    if found is not None:
        return found
    if not part.find(exp.Column):
        raise refused(part, "must compare an attribute with something", hint="Leave the condition out")
    return work_out(part, scope).as_condition()


def _plain(part: exp.Expr, scope: Scope) -> Where | None:
    """A comparison of one attribute with constants; None for anything else."""
    domain = scope.domain
    if type(part) in _RELATIONS:
        left, right, relation = without_parens(part.this), without_parens(part.expression), _RELATIONS[type(part)]
        if not isinstance(left, exp.Column):
            left, right, relation = right, left, _TURNED[relation]
        name = _name(left, scope)
        if name is None or right.find(exp.Column, exp.Case, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Func):
            return None
        value = constant(right)
        if value is None:
            raise refused(part, "nothing equals NULL", hint="Use IS NULL or IS NOT NULL")
        return compare(domain, name, relation, value)
    if isinstance(part, exp.Column):
        name = _name(part, scope)
        return compare(domain, name, "=", "true") if name and isinstance(domain[name], Boolean) else None
    if not isinstance(part, exp.Between | exp.In | exp.Is) or (name := _name(part.this, scope)) is None:
        return None
    if isinstance(part, exp.Between):
        low, high = constant(part.args["low"]), constant(part.args["high"])
        return AllOf((compare(domain, name, ">=", low), compare(domain, name, "<=", high)))
    if isinstance(part, exp.In):
        picked = [compare(domain, name, "=", constant(value)) for value in part.expressions]
        return OneOf(name, tuple(sorted({code for one in picked if isinstance(one, OneOf) for code in one.codes})))
    if isinstance(part.expression, exp.Null):
        return is_missing(domain, name, missing=not part.args.get("negate"))
    return None


def _name(part: exp.Expr, scope: Scope) -> str | None:
    """The countable attribute that a plain column is; None for anything else."""
    part = without_parens(part)
    if not isinstance(part, exp.Column):
        return None
    found = scope.find(part)
    if isinstance(found, DimensionColumn):
        return None
    if not scope.domain[found].countable:
        who = " names a person" if found == scope.domain.person else " is an identifier"
        hint = "A condition on it would single someone out; use attributes with declared levels"
        raise refused(part, f"{found}{who} and cannot be in a condition", hint=hint)
    return found


def joined_rows(scope: Scope) -> tuple[Where, ...]:
    """Conditions of inner joins with dimensions: the dimension has the key of the row."""
    found = []
    for alias, (_, key, _, outer) in scope.dimensions.items():
        if not outer:
            column = exp.column(key, table=alias)
            found.append(work_out(exp.Is(this=column, expression=exp.Null(), negate=True), scope).as_condition())
    return tuple(found)
