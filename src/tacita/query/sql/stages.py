"""Clauses after noise, and the outer SELECT of a sub-query, to stages.

Privacy: none of its own; stages see released values only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sqlglot import expressions as exp

from tacita.errors import InvalidInput
from tacita.query.sql.after import Item, Outer, Stage
from tacita.query.sql.read import AGGREGATES, check_length, is_aggregated, refused, text_of, without_parens
from tacita.query.sql.scalar import constant

__all__ = ["make_outer", "make_stage", "place_of"]

_ENDS = ("_std", "_low", "_high")
Lift = Callable[[exp.Expr, str], exp.Expr]


def make_stage(select: exp.Select, items: tuple[Item, ...], lift: Lift, aliases: Mapping[str, exp.Expr]) -> Stage:
    """HAVING, ORDER BY and LIMIT of a SELECT whose columns are compiled; `lift` names the clause that it is in."""
    headings = [item.heading for item in items]
    twice = next((name for name in headings if headings.count(name) > 1), None)
    if twice is not None:
        hint = "Give one of them another name with AS"
        raise InvalidInput("SELECT: has the name of another column of the answer", field="sql", value=twice, hint=hint)

    shadowing = next((f"{name}{end}" for name in headings for end in _ENDS if f"{name}{end}" in headings), None)
    if shadowing is not None:
        rule, hint = "SELECT: has the name of an error or an interval of another column", "Give it another name with AS"
        raise InvalidInput(rule, field="sql", value=shadowing, hint=hint)
    group = select.args.get("group")
    grouped = {part.name.lower() for part in (group.expressions if group else []) if isinstance(part, exp.Column)}

    def meant(part: exp.Expr) -> exp.Expr:
        """ORDER BY and HAVING may use headings and places."""
        if isinstance(part, exp.Literal) and not part.is_string:
            return items[place_of(part, len(items), "ORDER BY")].part
        return without_parens(lift(_replaced(part, aliases), "ORDER BY"))

    having, order = select.args.get("having"), select.args.get("order")
    limit, offset = (select.args.get(name) for name in ("limit", "offset"))
    return Stage(
        items=items,
        having=None if having is None else lift(_replaced(having.this, aliases, grouped), "HAVING"),
        order=tuple(
            (
                meant(each.this),
                bool(each.args.get("desc")),
                bool(each.args.get("nulls_first")) and not each.args.get("desc"),
            )
            for each in (order.expressions if order is not None else [])
        ),
        limit=None if limit is None else _whole(limit),
        offset=0 if offset is None else _whole(offset),
    )


def place_of(part: exp.Literal, count: int, clause: str) -> int:
    """Index of the column that a number in GROUP BY or ORDER BY stands for."""
    if not part.this.isdigit() or not 1 <= int(part.this) <= count:
        raise refused(part, "names no column of SELECT", clause=clause, hint=f"It has {count}")
    return int(part.this) - 1


def _replaced(part: exp.Expr, aliases: Mapping[str, exp.Expr], grouped: Collection[str] = ()) -> exp.Expr:
    """Replace names after AS by what they stand for: not inside aggregates, and not those of groups in HAVING."""

    def known(node: exp.Expr) -> bool:
        named = isinstance(node, exp.Column) and not node.table and node.name.lower() in aliases
        return named and node.name.lower() not in grouped and node.find_ancestor(*AGGREGATES) is None

    check_length(part, [aliases[node.name.lower()] for node in part.find_all(exp.Column) if known(node)])

    def named(node: exp.Expr) -> exp.Expr:
        return exp.Paren(this=aliases[node.name.lower()].copy()) if known(node) else node

    return part.copy().transform(named)


def _whole(part: exp.Expr) -> int:
    value = constant(part.expression)
    if isinstance(value, bool | str) or value is None or value < 0 or not float(value).is_integer():
        raise refused(part, "must be a whole number")
    return int(value)


def make_outer(select: exp.Select, inner: Stage) -> Outer:
    """The outer SELECT: its columns are the headings of the inner one."""
    aliases = {part.alias.lower(): part.this for part in select.expressions if isinstance(part, exp.Alias)}
    headings = {item.heading.lower(): item.heading for item in inner.items}
    group = select.args.get("group")
    groups: list[exp.Expr] = []
    for part in group.expressions if group is not None else []:
        if isinstance(part, exp.Literal) and not part.is_string:
            item = select.expressions[place_of(part, len(select.expressions), "GROUP BY")]
            groups.append(item.this if isinstance(item, exp.Alias) else item)
        elif isinstance(part, exp.Column) and part.name.lower() not in headings and part.name.lower() in aliases:
            groups.append(aliases[part.name.lower()])
        else:
            groups.append(part)
    aggregates: list[exp.Expr] = []
    grouped = is_aggregated(select)

    def lift(part: exp.Expr, clause: str = "SELECT") -> exp.Expr:
        def lifted(node: exp.Expr) -> exp.Expr:
            if isinstance(node, AGGREGATES):
                if isinstance(node, exp.Filter | exp.WithinGroup):
                    raise refused(node, "is outside the subset of the outer SELECT", hint="Use WHERE, or MEDIAN")
                if node not in aggregates:
                    aggregates.append(node.copy())
                return exp.column(f"#a{aggregates.index(node)}")
            if node in groups:
                return exp.column(f"#g{groups.index(node)}")
            if isinstance(node, exp.Column) and not node.name.startswith("#"):
                if node.name.lower() not in headings:
                    known = ", ".join(headings.values())
                    raise refused(node, "is no column of the sub-query", hint=f"It has {known}", clause=clause)
                if grouped:
                    raise refused(node, "a column that is not aggregated must be in GROUP BY", clause=clause)
            return node

        return part.copy().transform(lifted)

    items = []
    for part in select.expressions:
        if isinstance(part, exp.Star):
            items += [Item(name, exp.column(name, quoted=True)) for name in headings.values()]
            continue
        body, alias = (part.this, part.alias) if isinstance(part, exp.Alias) else (part, "")
        named = headings.get(body.name.lower(), body.name) if isinstance(body, exp.Column) else text_of(body)
        items.append(Item(alias or named, lift(body)))
    where = select.args.get("where")
    plain = {name: part for name, part in aliases.items() if name not in headings}
    stage = make_stage(select, tuple(items), lift, plain)
    if select.args.get("having") and not grouped:
        raise refused(select.args["having"], "needs GROUP BY or an aggregate", hint="Use WHERE in the outer SELECT")
    return Outer(stage, None if where is None else where.this, tuple(groups), tuple(aggregates), grouped)
