"""SQL to a recipe: what is measured with noise, and what is computed from that afterwards.

    FROM, JOIN -> scope       WHERE -> condition on codes       GROUP BY -> public groups, private keys, derived groups
    aggregates in SELECT, HAVING, ORDER BY -> measured once each, the rest of these clauses -> a stage after noise

Privacy: none of its own; the recipe decides the cost (`aggregates`), and stages see released values only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from sqlglot import expressions as exp

from tacita.domain import Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.plans.additive import Family
from tacita.query.aggregate import Aggregate
from tacita.query.aggregates import Aggregates
from tacita.query.derived import Derived
from tacita.query.expressions import Computed, Constant
from tacita.query.shrinking import Shrinkage
from tacita.query.sql.after import Item, Stage
from tacita.query.sql.conditions import condition, joined_rows
from tacita.query.sql.dimensions import Dimension
from tacita.query.sql.public import ordered_values, values_of, work_out
from tacita.query.sql.query import Group, SqlQuery
from tacita.query.sql.read import AGGREGATES, Question, read, refused, source_of, text_of, without_parens
from tacita.query.sql.rowwise import filtered, row_number
from tacita.query.sql.scalar import constant
from tacita.query.sql.scope import DimensionColumn, Scope, make_scope
from tacita.query.sql.stages import make_outer, make_stage, place_of
from tacita.query.where import ALL_ROWS, AllOf, Where

__all__ = ["compile_sql", "table_of", "tables_of"]

_KINDS: dict[type[exp.Expr], str] = {
    exp.Sum: "sum",
    exp.Avg: "mean",
    exp.Variance: "var",
    exp.VariancePop: "var",
    exp.Stddev: "std",
    exp.StddevPop: "std",
    exp.Median: "median",
}


def _read(text: str) -> Question:
    try:
        return read(text)
    except RecursionError:
        raise InvalidInput("is nested too deeply", field="sql", hint="Use IN or BETWEEN for long lists") from None


def table_of(text: str) -> str:
    """The name after FROM, in the innermost SELECT."""
    return str(source_of(_read(text).inner).name)


def tables_of(text: str) -> tuple[str, ...]:
    """The name after FROM, and those after JOIN."""
    inner = _read(text).inner
    return (str(source_of(inner).name), *(str(join.this.name) for join in inner.args.get("joins") or []))


def compile_sql(
    text: str,
    domain: Domain,
    *,
    family: Family = "auto",
    level: float = 0.95,
    dimensions: Iterable[Dimension] = (),
    joined: Mapping[str, frozenset[str]] | None = None,
    shrink: Shrinkage = "none",
) -> SqlQuery:
    """The recipe that a query means.

    Args:
        text: One SELECT, or one SELECT over another.
        domain: Schema of the private rows.
        family: Noise distribution.
        level: Confidence level of the intervals.
        dimensions: Public tables that the query may join.
        joined: Attributes of each private table by its name, where the domain is that of `engines.joined`.
        shrink: Also shrunk statistics of the groups (`query.shrinking`): none, overall or additive.
    """
    question = _read(text)
    try:
        inner = _Compiler.of(question.inner, domain, dimensions, joined or {})
        stage = inner.stage()
        outer = None if question.outer is None else make_outer(question.outer, stage)
        measured = inner.recipe(family, level)
    except RecursionError:
        raise InvalidInput("is nested too deeply", field="sql", hint="Use IN or BETWEEN for long lists") from None
    _check_bounds(measured, domain)
    return SqlQuery(measured=measured, groups=tuple(inner.groups), stage=stage, outer=outer, shrink=shrink)


def _check_bounds(measured: Aggregates, domain: Domain) -> None:
    """Refuse a number without public bounds, naming the clause."""
    try:
        measured.measures(domain)
    except UnknownName:
        raise
    except InvalidInput as error:
        raise InvalidInput(f"SELECT: {error.rule}", field=error.field, value=error.value, hint=error.hint) from None


@dataclass(eq=False)
class _Compiler:
    """One SELECT over private rows, while it is compiled."""

    select: exp.Select
    scope: Scope
    where: Where
    aliases: dict[str, exp.Expr] = field(default_factory=dict)
    grouping: list[exp.Expr] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    derived: list[Derived] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    aggregates: list[Aggregate] = field(default_factory=list)
    computed: dict[str, Computed] = field(default_factory=dict)

    @classmethod
    def of(
        cls, select: exp.Select, domain: Domain, dimensions: Iterable[Dimension], joined: Mapping[str, frozenset[str]]
    ) -> _Compiler:
        """Read the clauses that decide what is measured."""
        scope = make_scope(select, domain, dimensions, joined)
        parts = joined_rows(scope)
        if select.args.get("where"):
            parts = (*parts, condition(select.args["where"].this, scope))
        made = cls(select, scope, ALL_ROWS if not parts else parts[0] if len(parts) == 1 else AllOf(parts))
        for item in select.expressions:
            if isinstance(item, exp.Alias):
                made.aliases[item.alias.lower()] = item.this
        group = select.args.get("group")
        for part in group.expressions if group is not None else []:
            made._add_group(part)
        return made

    # -- groups -------------------------------------------------------------------------------------------------

    def _add_group(self, part: exp.Expr) -> None:
        named = None
        if isinstance(part, exp.Literal) and not part.is_string:
            item = self.select.expressions[place_of(part, len(self.select.expressions), "GROUP BY")]
            part, named = (item.this, item.alias) if isinstance(item, exp.Alias) else (item, None)
        elif isinstance(part, exp.Column) and part.name.lower() in self.aliases and not self._known(part):
            part, named = self.aliases[part.name.lower()], part.name
        part = without_parens(part)
        if part.find(*AGGREGATES):
            raise refused(part, "an aggregate cannot be a group", clause="GROUP BY", hint="Use a sub-query")
        meant = self._canonical(part)
        if meant in self.grouping:
            raise refused(part, "is there twice", clause="GROUP BY")
        self.grouping.append(meant)
        self.groups.append(self._group(part, meant, named))

    def _known(self, part: exp.Column) -> bool:
        try:
            self.scope.find(part)
        except InvalidInput:
            return False
        return True

    def _group(self, part: exp.Expr, meant: exp.Expr, named: str | None) -> Group:
        domain = self.scope.domain
        if isinstance(part, exp.Column) and isinstance(found := self.scope.find(part), str):
            if domain[found].countable:
                attribute = domain[found]
                return Group(found, tuple(values_of(attribute)), tuple(ordered_values(attribute)))
            if found == domain.person:
                hint = "Count persons with COUNT(DISTINCT …), by groups that many share"
                raise refused(part, "a group of one person would be named", clause="GROUP BY", hint=hint)
            self.keys.append(found)
            return Group(found)
        if not part.find(exp.Column):
            raise refused(part, "must be an attribute or an expression of attributes", clause="GROUP BY")
        name = named or (f"{part.table}.{part.name}" if isinstance(part, exp.Column) else text_of(meant))
        name = name if name not in domain else f"{name} "
        try:
            made, values = work_out(part, self.scope).as_group(name, AllOf(joined_rows(self.scope)))
        except InvalidInput as error:
            if not error.rule.startswith("SELECT: "):
                raise
            rule = error.rule.replace("SELECT: ", "GROUP BY: ", 1)
            raise InvalidInput(rule, field=error.field, value=error.value, hint=error.hint) from None
        self.derived.append(made)
        return Group(name, tuple(values), tuple(ordered_values(made.attribute)))

    def _canonical(self, part: exp.Expr) -> exp.Expr:
        """The same with the names that the schema uses, so that equal expressions are equal."""

        def renamed(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star) or node.name.startswith("#"):
                return node
            found = self.scope.find(node)
            if isinstance(found, DimensionColumn):
                return exp.column(found.name, table=found.alias)
            return exp.column(found)

        return without_parens(part.copy().transform(renamed))

    # -- aggregates -----------------------------------------------------------------------------------------------

    def lift(self, part: exp.Expr, clause: str = "SELECT") -> exp.Expr:
        """The expression over released columns: aggregates and groups become their names."""

        def lifted(node: exp.Expr) -> exp.Expr:
            if isinstance(node, AGGREGATES):
                return exp.column(f"#a{self._aggregate(node)}")
            if self.grouping and not isinstance(node, exp.Literal) and self._is_group(node) is not None:
                return exp.column(f"#g{self._is_group(node)}")
            if isinstance(node, exp.Column) and not node.name.startswith("#"):
                self.scope.find(node)
                hint = f"Add GROUP BY {node.name}, or aggregate it: values of rows are never released"
                raise refused(node, "a column that is not aggregated must be in GROUP BY", hint=hint, clause=clause)
            return node

        return part.copy().transform(lifted)

    def _is_group(self, node: exp.Expr) -> int | None:
        if not node.find(exp.Column) or node.find(*AGGREGATES):
            return None
        if isinstance(node, exp.Column) and (node.name.startswith("#") or not self._known(node)):
            return None
        try:
            meant = self._canonical(node)
        except InvalidInput:
            return None
        return self.grouping.index(meant) if meant in self.grouping else None

    def _aggregate(self, part: exp.Expr) -> int:
        inner, where = (part.this, part.expression.this) if isinstance(part, exp.Filter) else (part, None)
        made = self._made(inner, where)
        if made not in self.aggregates:
            self.aggregates.append(made)
        return self.aggregates.index(made)

    def _made(self, part: exp.Expr, where: exp.Expr | None) -> Aggregate:
        if isinstance(part, exp.Min | exp.Max):
            hint = "Ask PERCENTILE_CONT(0.01) or (0.99), or take the bounds of the schema"
            raise refused(part, "an extreme value is one person's and has no private form", hint=hint)
        if isinstance(part, exp.Count):
            return self._count(part, where)
        if type(part) in _KINDS:
            return Aggregate(kind=_KINDS[type(part)], column=self._column(part.this, where))
        if isinstance(part, exp.WithinGroup) and isinstance(part.this, exp.PercentileCont):
            return self._quantile(part, where)
        raise refused(
            part, "is outside the subset", hint="COUNT, SUM, AVG, VAR_POP, STDDEV_POP, MEDIAN, PERCENTILE_CONT"
        )

    def _count(self, part: exp.Count, where: exp.Expr | None) -> Aggregate:
        if isinstance(part.this, exp.Distinct):
            return self._distinct(part.this, where)
        if isinstance(part.this, exp.Star):
            return (
                Aggregate(kind="count") if where is None else Aggregate(kind="count", column=self._column(None, where))
            )
        inner = without_parens(part.this)
        if isinstance(inner, exp.Column) and isinstance(found := self.scope.find(inner), str) and where is None:
            if not self.scope.domain[found].countable:
                hint = "COUNT(*) counts rows, COUNT(DISTINCT person) persons"
                raise refused(part, f"{found} is an identifier and is not counted", hint=hint)
            return Aggregate(kind="count", column=found)
        return Aggregate(kind="count", column=self._column(inner, where, counting=True))

    def _distinct(self, part: exp.Distinct, where: exp.Expr | None) -> Aggregate:
        person = self.scope.domain.person
        column = part.expressions[0] if len(part.expressions) == 1 else None
        if isinstance(column, exp.Column) and person is not None and self.scope.find(column) == person:
            if where is None:
                return Aggregate(kind="persons")
            raise refused(part, "FILTER is outside the subset for COUNT(DISTINCT …)", hint="Use WHERE")
        rule = "DISTINCT counts persons only, by the schema's person key"
        if person is None:
            rule, hint = f"{rule}, which it has none of", "Name it in the schema: `person:`"
        else:
            hint = f"COUNT(DISTINCT {person}); for others group by it and count the groups in an outer SELECT"
        raise refused(part, rule, hint=hint)

    def _column(self, part: exp.Expr | None, where: exp.Expr | None, *, counting: bool = False) -> str:
        inner = None if part is None else without_parens(part)
        if isinstance(inner, exp.Column) and where is None and isinstance(found := self.scope.find(inner), str):
            return found
        of = Constant(1.0) if inner is None else row_number(inner, self.scope, counting=counting)
        name = "1" if inner is None else text_of(self._canonical(inner))
        if where is not None:
            of, name = filtered(of, where, self.scope), f"{name} where {text_of(self._canonical(where))}"
        self.computed[name] = Computed(name=name, of=of)
        return name

    def _quantile(self, part: exp.WithinGroup, where: exp.Expr | None) -> Aggregate:
        order = part.expression.expressions
        if len(order) != 1:
            raise refused(part, "must be ordered by one attribute")
        if order[0].args.get("desc"):
            raise refused(part, "DESC is outside the subset here", hint="Ask for 1 - q instead")
        share = constant(part.this.this)
        if isinstance(share, bool) or not isinstance(share, float):
            raise refused(part, "the percentile must be a number")
        return Aggregate(kind="quantile", column=self._column(order[0].this, where), q=share)

    # -- the whole ------------------------------------------------------------------------------------------------

    def stage(self) -> Stage:
        """Expressions, HAVING, ORDER BY and LIMIT, over what is measured."""
        items = tuple(self._item(part) for part in self.select.expressions)
        made = make_stage(self.select, items, self.lift, self.aliases)
        if not self.aggregates and not self.keys:
            raise InvalidInput(
                "SELECT: must ask for at least one aggregate", field="sql", hint="For example SELECT COUNT(*) …"
            )
        return made

    def _item(self, part: exp.Expr) -> Item:
        inner, alias = (part.this, part.alias) if isinstance(part, exp.Alias) else (part, "")
        if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
            raise refused(part, "* would release rows", hint="Ask for aggregates, or make synthetic rows")
        if isinstance(inner, exp.Column) and not alias:
            found = self.scope.find(inner)
            alias = found if isinstance(found, str) else inner.name
        return Item(alias or text_of(inner), self.lift(inner))

    def recipe(self, family: Family, level: float) -> Aggregates:
        """Make the recipe of the measured statistics."""
        return Aggregates(
            aggregates=tuple(self.aggregates),
            by=tuple(group.name for group in self.groups if group.name not in self.keys),
            where=self.where,
            family=family,
            level=level,
            keys=tuple(self.keys),
            derived=tuple(self.derived),
            computed=tuple(self.computed.values()),
        )
