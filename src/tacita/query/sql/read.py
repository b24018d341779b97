"""SQL text to a tree of known nodes: one SELECT, or one SELECT over another.

Each node must be of a known kind and have known members only; whatever a parser adds later is refused. A sub-query of
one level, in FROM or in WITH, is one of two things:

    over rows        SELECT … FROM (SELECT a, b + 1 AS c FROM t WHERE …)   is merged into one SELECT
    over a release   SELECT … FROM (SELECT g, COUNT(*) AS n FROM t GROUP BY g)   the outer one sees released values only

Privacy: none; nothing of the text reaches a database.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import sqlglot
from sqlglot import expressions as exp
from sqlglot.errors import SqlglotError

from tacita.errors import InvalidInput

__all__ = [
    "AGGREGATES",
    "Question",
    "check_length",
    "is_aggregated",
    "read",
    "refused",
    "source_of",
    "text_of",
    "without_parens",
]

_LONGEST = 10_000
_MOST_COLUMNS = 100
_MOST_NODES = 10_000
AGGREGATES = (
    exp.Count,
    exp.Sum,
    exp.Avg,
    exp.Variance,
    exp.VariancePop,
    exp.Stddev,
    exp.StddevPop,
    exp.Median,
    exp.Min,
    exp.Max,
    exp.WithinGroup,
    exp.Filter,
)
_THIS, _BOTH, _LIST = {"this"}, {"this", "expression"}, {"this", "expressions"}
_SAFE = {*_BOTH, "safe"}
_KNOWN: dict[type[exp.Expr], set[str]] = {
    exp.Select: {
        "expressions",
        "from",
        "from_",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "offset",
        "joins",
        "with",
        "with_",
    },
    exp.With: {"expressions"},
    exp.CTE: {"this", "alias"},
    exp.Subquery: {"this", "alias"},
    exp.From: _THIS,
    exp.Table: {"this", "alias"},
    exp.TableAlias: _THIS,
    exp.Join: {"this", "on", "using", "side", "kind"},
    exp.Alias: {"this", "alias"},
    exp.Where: _THIS,
    exp.Having: _THIS,
    exp.Group: {"expressions"},
    exp.Limit: {"expression"},
    exp.Offset: {"expression"},
    exp.Column: {"this", "table"},
    exp.Identifier: {"this", "quoted"},
    exp.Star: set(),
    exp.Count: {"this", "big_int"},
    exp.Distinct: {"expressions"},
    exp.Filter: _BOTH,
    **dict.fromkeys((exp.Sum, exp.Avg, exp.Variance, exp.VariancePop, exp.Stddev, exp.StddevPop), _THIS),
    **dict.fromkeys((exp.Median, exp.Min, exp.Max), _THIS),
    exp.WithinGroup: _BOTH,
    exp.PercentileCont: _THIS,
    exp.Order: {"expressions"},
    exp.Ordered: {"this", "desc", "nulls_first"},
    exp.Paren: _THIS,
    exp.And: _BOTH,
    exp.Or: _BOTH,
    exp.Not: _THIS,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike), _BOTH),
    exp.Between: {"this", "low", "high"},
    exp.In: {"this", "expressions"},
    exp.Is: {"this", "expression", "negate"},
    exp.Null: set(),
    exp.Boolean: _THIS,
    exp.Literal: {"this", "is_string"},
    exp.Neg: _THIS,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Mod, exp.DPipe, exp.Nullif), _SAFE),
    exp.Div: {*_BOTH, "typed", "safe"},
    **dict.fromkeys((exp.Abs, exp.Floor, exp.Ceil, exp.Sqrt, exp.Ln, exp.Exp, exp.Lower, exp.Upper), _THIS),
    exp.Round: {"this", "decimals"},
    exp.Coalesce: _LIST,
    exp.Least: {*_LIST, "ignore_nulls"},
    exp.Greatest: {*_LIST, "ignore_nulls"},
    exp.Case: {"this", "ifs", "default"},
    exp.If: {"this", "true"},
    exp.Extract: _BOTH,
    exp.TimestampTrunc: {"this", "unit"},
    exp.Var: _THIS,
    exp.Cast: {"this", "to", "_type"},
    exp.DataType: {"this", "nested"},
}
"""The kinds of node that may occur, with the members that may be set."""
_WAYS_OUT: dict[type[exp.Expr], str] = {
    exp.Window: "Window functions are outside; divide by a total that you asked for in another query",
    exp.Union: "Ask both questions; the answers can be put together",
    exp.Intersect: "Conditions in WHERE do the same",
    exp.Except: "Conditions in WHERE do the same",
    exp.Lateral: "Join a public dimension table instead",
    exp.GroupConcat: "It lists values of rows; count them by group instead",
    exp.ArrayAgg: "It lists values of rows; count them by group instead",
    exp.Exists: "Join the other table along the person key instead",
}
_CLAUSES: dict[type[exp.Expr], str] = {
    exp.Where: "WHERE",
    exp.Group: "GROUP BY",
    exp.Having: "HAVING",
    exp.Order: "ORDER BY",
    exp.Limit: "LIMIT",
    exp.Offset: "OFFSET",
    exp.Join: "JOIN",
    exp.From: "FROM",
    exp.With: "WITH",
}


@dataclass(frozen=True)
class Question:
    """The SELECT over private rows, and the one over what it releases, if any."""

    inner: exp.Select
    outer: exp.Select | None = None


def read(text: str) -> Question:
    """Parse a text and find its two levels."""
    if len(text) > _LONGEST:
        raise InvalidInput(f"must have at most {_LONGEST} characters", field="sql", value=len(text))
    try:
        parsed = sqlglot.parse(text, read="postgres")
    except (SqlglotError, RecursionError):
        raise InvalidInput("cannot be read as SQL", field="sql", hint="See docs/reference/sql.md") from None
    if len(parsed) != 1 or parsed[0] is None:
        raise InvalidInput("must be one statement", field="sql", value=len(parsed))
    select = parsed[0]
    if not isinstance(select, exp.Select):
        raise refused(select, "must be a SELECT", hint=_WAYS_OUT.get(type(select), "Only SELECT reads data"))
    _check_known(select)
    question = _levels(select)
    for level in (question.inner, question.outer):
        if level is not None and len(level.expressions) > _MOST_COLUMNS:
            rule = f"must ask for at most {_MOST_COLUMNS} columns"
            raise InvalidInput(rule, field="sql", value=len(level.expressions))
    return question


def _check_known(select: exp.Select) -> None:
    for node in select.walk():
        if type(node) not in _KNOWN:
            raise refused(node, "is outside the subset", hint=_WAYS_OUT.get(type(node)))
        for name, part in node.args.items():
            if part and name not in _KNOWN[type(node)]:
                shown = "a sub-query" if name == "query" else name.strip("_").upper()
                hint = "Ask for the inner value first, then write it as a constant" if name == "query" else None
                hint = "SELECT with GROUP BY lists the groups" if name == "distinct" else hint
                raise refused(node if isinstance(part, bool) else part, f"{shown} is outside the subset", hint=hint)


def source_of(select: exp.Select) -> exp.Expr:
    """Table or sub-query after FROM."""
    source = select.args.get("from") or select.args.get("from_")
    if source is None:
        raise refused(select, "must be FROM one table", clause="FROM", hint="For example SELECT COUNT(*) FROM people")
    return cast(exp.Expr, source.this)


def _levels(select: exp.Select) -> Question:
    source, inner = source_of(select), None
    named = select.args.get("with") or select.args.get("with_")
    if named is not None:
        if len(named.expressions) != 1 or not isinstance(source, exp.Table):
            raise refused(named, "names one sub-query at most", clause="WITH", hint="Use one level of sub-query")
        (cte,) = named.expressions
        if source.name != cte.alias or not isinstance(cte.this, exp.Select):
            raise refused(named, "must name the sub-query that FROM reads", clause="WITH")
        inner = cte.this
    elif isinstance(source, exp.Subquery):
        inner = source.this
    if inner is None:
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
            raise refused(source, "must be FROM one table", clause="FROM")
        _no_sub_queries(select)
        return Question(select)
    if not isinstance(inner, exp.Select):
        raise refused(inner, "must be a SELECT", clause="FROM")
    _no_sub_queries(inner)
    if not isinstance(source_of(inner), exp.Table):
        raise refused(inner, "sub-queries have one level", clause="FROM", hint="Merge the two inner SELECTs")
    _no_sub_queries(select, inner)
    if select.args.get("joins"):
        raise refused(select.args["joins"], "joins belong into the inner SELECT", clause="JOIN")
    if is_aggregated(inner):
        return Question(inner, select)
    return Question(_merged(select, inner))


def _no_sub_queries(select: exp.Select, inner: exp.Select | None = None) -> None:
    for node in select.find_all(exp.Select, exp.Subquery):
        if node is not select and node is not inner and (inner is None or node.this is not inner):
            hint = "Ask for the inner value first, then write it as a constant"
            raise refused(node, "a sub-query is allowed after FROM only, of one level", hint=hint)


def check_length(part: exp.Expr, replacing: Iterable[exp.Expr]) -> None:
    """Refuse a part that would grow too long if names were replaced by these expressions."""
    sizes: dict[int, int] = {}
    total = 0
    for each in replacing:
        if id(each) not in sizes:
            sizes[id(each)] = sum(1 for _ in each.walk())
        total += sizes[id(each)]
    if total > _MOST_NODES:
        raise refused(part, "is too long once names are replaced by what they stand for", hint="Use fewer of them")


def is_aggregated(select: exp.Select) -> bool:
    """Whether a SELECT releases statistics rather than rows."""
    return bool(select.args.get("group")) or any(part.find(*AGGREGATES) for part in select.expressions)


def _merged(outer: exp.Select, inner: exp.Select) -> exp.Select:
    """One SELECT for two over rows: names of the inner one are replaced by what they stand for."""
    for name in ("having", "order", "limit", "offset"):
        if inner.args.get(name):
            rule = f"{name.upper()} in a sub-query of rows picks rows by what others have"
            raise refused(
                inner.args[name], rule, clause="FROM", hint="Move it to the outer SELECT, after the aggregate"
            )
    meant: dict[str, exp.Expr] = {}
    whole = False
    for part in inner.expressions:
        if isinstance(part, exp.Star):
            whole = True
        elif part.alias_or_name:
            meant[part.alias_or_name.lower()] = part.this if isinstance(part, exp.Alias) else part

    def replace(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return node
        if node.name.lower() in meant:
            found = meant[node.name.lower()].copy()
            return found if isinstance(found, exp.Column | exp.Literal) else exp.Paren(this=found)
        if not whole:
            raise refused(node, "is no column of the sub-query", clause="FROM", hint=f"It has {', '.join(meant)}")
        return exp.Column(this=node.this.copy())

    used = [meant[node.name.lower()] for node in outer.find_all(exp.Column) if node.name.lower() in meant]
    check_length(outer, used)
    keep = [part.alias_or_name if isinstance(part, exp.Column) else None for part in outer.expressions]
    made = outer.copy()
    for name in ("with", "with_"):
        made.set(name, None)
    source_of(made).replace(source_of(inner).copy())
    for name in ("where", "group", "having", "order"):
        if made.args.get(name):
            made.set(name, made.args[name].transform(replace))
    items = [part.transform(replace) for part in made.expressions]
    named = [
        exp.alias_(part, name) if name and part.alias_or_name != name else part
        for part, name in zip(items, keep, strict=True)
    ]
    made.set("expressions", named)
    made.set("joins", [join.copy() for join in inner.args.get("joins") or []])
    conditions = [each.args["where"].this.copy() for each in (inner, made) if each.args.get("where")]
    if conditions:
        both = (
            conditions[0]
            if len(conditions) == 1
            else exp.And(this=exp.Paren(this=conditions[0]), expression=exp.Paren(this=conditions[1]))
        )
        made.set("where", exp.Where(this=both))
    return made


def without_parens(part: exp.Expr) -> exp.Expr:
    """The expression inside parentheses."""
    while isinstance(part, exp.Paren):
        part = part.this
    return part


def text_of(part: exp.Expr) -> str:
    """Canonical text of an expression."""
    return part.transform(_as_written).sql(dialect="postgres")


def _as_written(node: exp.Expr) -> exp.Expr:
    """Keep the names that this dialect would rewrite."""
    if isinstance(node, exp.Median | exp.Variance):
        return exp.Anonymous(this="MEDIAN" if isinstance(node, exp.Median) else "VARIANCE", expressions=[node.this])
    return node


def refused(part: Any, rule: str, hint: str | None = None, clause: str | None = None) -> InvalidInput:
    """The refusal of a part: it names the clause, the part, the rule and the way out."""
    part = part[0] if isinstance(part, list) else part
    if clause is None and isinstance(part, exp.Expr):
        clause = _clause_of(part)
    shown = text_of(part) if isinstance(part, exp.Expr) else str(part)
    return InvalidInput(f"{clause}: {rule}" if clause else rule, field="sql", value=shown[:200], hint=hint)


def _clause_of(part: exp.Expr) -> str:
    node: exp.Expr | None = part
    while node is not None:
        if type(node) in _CLAUSES:
            return _CLAUSES[type(node)]
        if isinstance(node, exp.Select):
            break
        node = node.parent
    return "SELECT"
