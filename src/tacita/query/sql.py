"""A subset of SQL, compiled to private statistics.

    SELECT [group, ...] aggregate [AS name], ...  FROM name  [WHERE condition]  [GROUP BY attribute, ...]

    aggregate   COUNT(*), COUNT(x), SUM(x), AVG(x), VAR_POP(x), STDDEV_POP(x), MEDIAN(x),
                PERCENTILE_CONT(q) WITHIN GROUP (ORDER BY x)
    condition   comparisons with constants, IN, BETWEEN, IS [NOT] NULL, AND, OR, NOT, on declared attributes and along
                the levels and bins of the schema

VARIANCE and STDDEV are read as those of the population. Everything else is refused, naming the part: each node of the
parsed text must be of a known kind and have known members only. Nothing of the text reaches a database: it only says
which recipe is meant.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from tacita.domain import Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.plans.additive import Family
from tacita.query.aggregates import Aggregate, Aggregates
from tacita.query.where import ALL_ROWS, AllOf, AnyOf, Comparison, OneOf, Where, compare, is_missing, negate

__all__ = ["compile_sql", "table_of"]

_LONGEST = 10_000
_KINDS: dict[type[exp.Expr], str] = {
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Variance: "var",
    exp.VariancePop: "var",
    exp.Stddev: "std",
    exp.StddevPop: "std",
    exp.Median: "median",
}
_RELATIONS: dict[type[exp.Expr], Comparison] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TURNED: dict[Comparison, Comparison] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_THIS, _BOTH = {"this"}, {"this", "expression"}
_KNOWN: dict[type[exp.Expr], set[str]] = {
    exp.Select: {"expressions", "from", "from_", "where", "group"},
    exp.From: _THIS,
    exp.Table: _THIS,
    exp.Alias: {"this", "alias"},
    exp.Where: _THIS,
    exp.Group: {"expressions"},
    exp.Column: _THIS,
    exp.Identifier: {"this", "quoted"},
    exp.Star: set(),
    exp.Count: {"this", "big_int"},
    exp.Min: _THIS,
    exp.Max: _THIS,
    **dict.fromkeys(_KINDS, _THIS),
    exp.WithinGroup: _BOTH,
    exp.PercentileCont: _THIS,
    exp.Order: {"expressions"},
    exp.Ordered: {"this", "nulls_first"},
    exp.Paren: _THIS,
    exp.And: _BOTH,
    exp.Or: _BOTH,
    exp.Not: _THIS,
    **dict.fromkeys(_RELATIONS, _BOTH),
    exp.Between: {"this", "low", "high"},
    exp.In: {"this", "expressions"},
    exp.Is: {"this", "expression", "negate"},
    exp.Null: set(),
    exp.Boolean: _THIS,
    exp.Literal: {"this", "is_string"},
    exp.Neg: _THIS,
    exp.Cast: {"this", "to", "_type"},
    exp.DataType: {"this", "nested"},
}
"""The kinds of node that may occur, with the members that may be set. Whatever a parser adds later is refused."""


_MOST_COLUMNS = 100


def table_of(text: str) -> str:
    """The name after FROM."""
    try:
        select = _select(text)
    except RecursionError:
        raise InvalidInput("is nested too deeply", field="sql", hint="Use IN or BETWEEN for long lists") from None
    source = select.args.get("from") or select.args.get("from_")
    assert source is not None
    return str(source.this.name)


def compile_sql(text: str, domain: Domain, *, family: Family = "auto", level: float = 0.95) -> Aggregates:
    """The recipe that a query means."""
    try:
        return _compiled(text, domain, family, level)
    except RecursionError:
        raise InvalidInput("is nested too deeply", field="sql", hint="Use IN or BETWEEN for long lists") from None


def _compiled(text: str, domain: Domain, family: Family, level: float) -> Aggregates:
    select = _select(text)
    if len(select.expressions) > _MOST_COLUMNS:
        rule = f"must ask for at most {_MOST_COLUMNS} columns"
        raise InvalidInput(rule, field="sql", value=len(select.expressions))
    by = _groups(select, domain)
    aggregates = []
    for part in select.expressions:
        inner, alias = (part.this, part.alias) if isinstance(part, exp.Alias) else (part, "")
        if isinstance(inner, exp.Column):
            name = _attribute(inner, domain)
            if name not in by:
                raise _refused(inner, "a column that is not aggregated must be in GROUP BY")
            if alias and alias != name:
                raise _refused(part, "groups keep the names of their attributes")
            continue
        aggregates.append(_aggregate(inner, alias, domain))
    if not aggregates:
        raise InvalidInput("must ask for at least one aggregate", field="sql", hint="For example SELECT COUNT(*) …")
    where = select.args.get("where")
    condition = ALL_ROWS if where is None else _where(where.this, domain)
    return Aggregates(aggregates=tuple(aggregates), by=by, where=condition, family=family, level=level)


def _select(text: str) -> exp.Select:
    if len(text) > _LONGEST:
        raise InvalidInput(f"must have at most {_LONGEST} characters", field="sql", value=len(text))
    try:
        parsed = sqlglot.parse(text, read="postgres")
    except (SqlglotError, RecursionError):
        raise InvalidInput("cannot be read as SQL", field="sql", hint="See the guide for the subset") from None
    if len(parsed) != 1 or parsed[0] is None:
        raise InvalidInput("must be one statement", field="sql", value=len(parsed))
    select = parsed[0]
    if not isinstance(select, exp.Select):
        raise _refused(select, "must be a SELECT")
    for node in select.walk():
        if type(node) not in _KNOWN:
            raise _refused(node, "is outside the subset")
        for name, part in node.args.items():
            if part and name not in _KNOWN[type(node)]:
                raise _refused(
                    node if isinstance(part, bool) else part, f"{name.strip('_').upper()} is outside the subset"
                )
    source = select.args.get("from") or select.args.get("from_")
    if source is None or not isinstance(source.this, exp.Table) or not isinstance(source.this.this, exp.Identifier):
        raise _refused(source or select, "must be FROM one table")
    return select


def _groups(select: exp.Select, domain: Domain) -> tuple[str, ...]:
    group = select.args.get("group")
    if group is None:
        return ()
    for part in group.expressions:
        if not isinstance(part, exp.Column):
            raise _refused(part, "GROUP BY takes attributes only; bins come from the schema")
    return domain.check_countable(_attribute(part, domain) for part in group.expressions)


def _attribute(part: exp.Expr, domain: Domain) -> str:
    """The attribute that is meant; capitals matter only where they make a difference."""
    if not isinstance(part, exp.Column) or isinstance(part.this, exp.Star):
        raise _refused(part, "must be an attribute of the schema")
    name = part.name
    if name in domain:
        return name
    alike = [known for known in domain.names if known.lower() == name.lower()]
    if len(alike) != 1 or part.this.args.get("quoted"):
        raise UnknownName(name, field="attribute", available=domain.names)
    return alike[0]


def _aggregate(part: exp.Expr, alias: str, domain: Domain) -> Aggregate:
    if isinstance(part, exp.Min | exp.Max):
        raise _refused(
            part,
            "an extreme value is one person's and has no private form",
            hint="Ask PERCENTILE_CONT(0.01) or (0.99), or take the bounds of the schema",
        )
    if isinstance(part, exp.Count):
        if isinstance(part.this, exp.Star):
            return Aggregate(kind="count", name=alias)
        return Aggregate(kind="count", column=_attribute(part.this, domain), name=alias)
    if type(part) in _KINDS:
        return Aggregate(kind=_KINDS[type(part)], column=_attribute(part.this, domain), name=alias)
    if isinstance(part, exp.WithinGroup) and isinstance(part.this, exp.PercentileCont):
        order = part.expression.expressions
        if len(order) != 1:
            raise _refused(part, "must be ordered by one attribute")
        return _quantile(part, order[0].this, part.this.this, alias, domain)
    raise _refused(part, "is outside the subset")


def _quantile(whole: exp.Expr, column: exp.Expr, q: exp.Expr, alias: str, domain: Domain) -> Aggregate:
    share = _constant(q)
    if isinstance(share, str | bool):
        raise _refused(whole, "the percentile must be a number")
    return Aggregate(kind="quantile", column=_attribute(column, domain), q=share, name=alias)


def _where(part: exp.Expr, domain: Domain) -> Where:
    if isinstance(part, exp.Paren):
        return _where(part.this, domain)
    if isinstance(part, exp.And | exp.Or):
        parts = tuple(_where(side, domain) for side in (part.left, part.right))
        return AllOf(parts) if isinstance(part, exp.And) else AnyOf(parts)
    if isinstance(part, exp.Not):
        return _not(part.this, domain)
    if type(part) in _RELATIONS:
        return _comparison(part, _RELATIONS[type(part)], domain)
    if isinstance(part, exp.Between):
        name = _attribute(part.this, domain)
        ends = (">=", part.args["low"]), ("<=", part.args["high"])
        return AllOf(tuple(compare(domain, name, relation, _constant(end)) for relation, end in ends))  # type: ignore[arg-type]
    if isinstance(part, exp.In) and part.expressions:
        name = _attribute(part.this, domain)
        picked = [compare(domain, name, "=", _constant(value)) for value in part.expressions]
        codes = reduce(lambda known, one: known | set(one.codes if isinstance(one, OneOf) else ()), picked, set[int]())
        return OneOf(name, tuple(sorted(codes)))
    if isinstance(part, exp.Is) and isinstance(part.expression, exp.Null):
        return is_missing(domain, _attribute(part.this, domain), missing=not part.args.get("negate"))
    if isinstance(part, exp.Column) and domain[_attribute(part, domain)].kind == "boolean":
        return compare(domain, _attribute(part, domain), "=", "true")
    raise _refused(part, "is outside the subset of conditions")


def _not(part: exp.Expr, domain: Domain) -> Where:
    while isinstance(part, exp.Paren):
        part = part.this
    if isinstance(part, exp.Is) and isinstance(part.expression, exp.Null):
        return is_missing(domain, _attribute(part.this, domain), missing=bool(part.args.get("negate")))
    if part.find(exp.Is):
        raise _refused(part, "NOT around IS NULL inside other conditions is outside the subset")
    return negate(_where(part, domain), domain)


def _comparison(part: exp.Expr, relation: Comparison, domain: Domain) -> Where:
    left, right = part.this, part.expression
    if not isinstance(left, exp.Column):
        left, right, relation = right, left, _TURNED[relation]
    return compare(domain, _attribute(left, domain), relation, _constant(right))


def _constant(part: exp.Expr) -> Any:
    """A number, a text or a truth value; nothing that would have to be computed."""
    match part:
        case exp.Literal(is_string=True):
            return part.this
        case exp.Literal():
            return float(part.this)
        case exp.Neg(this=exp.Literal(is_string=False)):
            return -float(part.this.this)
        case exp.Boolean():
            return bool(part.this)
        case exp.Cast(this=exp.Literal(is_string=True)) if part.to.is_type("date"):
            return part.this.this
    raise _refused(part, "must be a constant")


def _refused(part: Any, rule: str, hint: str | None = None) -> InvalidInput:
    part = part[0] if isinstance(part, list) else part
    shown = part.sql(dialect="postgres") if isinstance(part, exp.Expr) else str(part)
    return InvalidInput(rule, field="sql", value=shown[:200], hint=hint)
