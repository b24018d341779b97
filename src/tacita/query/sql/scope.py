"""Names of a query: which table and attribute a column means, and what a join adds.

    FROM sales JOIN shops ON sales.shop = shops.id       shops is public: its columns are functions of `shop`
    FROM visits JOIN patients ON visits.who = patients.who   both are private: rows are joined before (`engines.joined`)

Privacy: an inner join with a dimension keeps the rows whose key it has, which each row decides alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import expressions as exp

from tacita.domain import Attribute, Domain, Numeric
from tacita.errors import InvalidInput, UnknownName
from tacita.query.sql.dimensions import Dimension
from tacita.query.sql.read import refused, source_of
from tacita.query.sql.scalar import shown

__all__ = ["DimensionColumn", "Scope", "make_scope"]


@dataclass(frozen=True, eq=False)
class DimensionColumn:
    """A column of a public table: its name, the attribute that is its key, and a value for each key."""

    alias: str
    name: str
    key: str
    values: Mapping[str, Any]

    def at(self, key: Any) -> Any:
        """Value for a value of the key; NULL if the dimension has none."""
        return None if key is None else self.values.get(shown(key))


@dataclass(frozen=True, kw_only=True, eq=False)
class Scope:
    """Meaning of names: attributes of the schema, and columns of public tables that are joined.

    Attributes:
        domain: Schema of the private rows.
        tables: By alias, the attributes that each private table has.
        dimensions: By alias, a public table, the column that is its key, the attribute that it is joined along, and
            whether rows without a match stay.
    """

    domain: Domain
    tables: Mapping[str, frozenset[str]]
    dimensions: Mapping[str, tuple[Dimension, str, str, bool]] = field(default_factory=dict)

    def find(self, part: exp.Expr) -> str | DimensionColumn:
        """The attribute or the dimension's column that is meant; capitals matter only where they make a difference."""
        if not isinstance(part, exp.Column) or isinstance(part.this, exp.Star):
            raise refused(part, "must be an attribute of the schema")
        table = part.table.lower()
        if table in self.dimensions:
            return self._of_dimension(table, part)
        if table and table not in self.tables:
            known = ", ".join((*self.tables, *self.dimensions))
            raise refused(part, "names a table that FROM does not have", hint=f"FROM has {known}")
        names = sorted(self.tables[table], key=self.domain.names.index) if table else self.domain.names
        found = _alike(part, names)
        if found is not None:
            return found
        if not table:
            held = [alias for alias, (it, *_) in self.dimensions.items() if _alike(part, it.columns) is not None]
            if len(held) == 1:
                return self._of_dimension(held[0], part)
            if held:
                raise refused(part, "is in several tables", hint=f"Write {held[0]}.{part.name}")
        raise UnknownName(part.name, field="attribute", available=(*names, *self._columns()))

    def _columns(self) -> list[str]:
        return [f"{alias}.{name}" for alias, (it, *_) in self.dimensions.items() for name in it.columns]

    def _of_dimension(self, alias: str, part: exp.Column) -> DimensionColumn:
        dimension, key, attribute, _ = self.dimensions[alias]
        name = _alike(part, dimension.columns)
        if name is None:
            raise UnknownName(part.name, field=dimension.name, available=dimension.columns)
        return DimensionColumn(alias, name, attribute, dimension.lookup(key, name))

    def attribute(self, part: exp.Expr) -> Attribute:
        """The attribute of the schema that is meant."""
        found = self.find(part)
        if isinstance(found, DimensionColumn):
            raise refused(part, "must be an attribute of the schema")
        return self.domain[found]


def _alike(part: exp.Column, names: Iterable[str]) -> str | None:
    known = list(names)
    if part.name in known:
        return part.name
    alike = [name for name in known if name.lower() == part.name.lower()]
    return alike[0] if len(alike) == 1 and not part.this.args.get("quoted") else None


def make_scope(
    select: exp.Select, domain: Domain, dimensions: Iterable[Dimension], joined: Mapping[str, frozenset[str]]
) -> Scope:
    """Read FROM and JOIN.

    Args:
        select: Query over rows.
        domain: Schema of the rows; of the joined rows, where two private tables are joined.
        dimensions: Public tables that may be joined.
        joined: Attributes of each private table by name, where two are joined along the person key.
    """
    main = source_of(select)
    known = {each.name.lower(): each for each in dimensions}
    everything = frozenset(domain.names)
    private = {name.lower(): names for name, names in joined.items()}
    tables = {main.alias_or_name.lower(): private.get(main.name.lower(), everything)}
    made: dict[str, tuple[Dimension, str, str, bool]] = {}
    for join in select.args.get("joins") or []:
        table = join.this
        alias = table.alias_or_name.lower()
        if not isinstance(table, exp.Table) or alias in (*tables, *made):
            raise refused(join, "must join one more table, with a name of its own")
        if table.name.lower() in private:
            tables[alias] = private[table.name.lower()]
            _check_person_join(join, domain)
            continue
        if table.name.lower() not in known:
            raise refused(
                join,
                f"{table.name} is neither a public dimension table nor a private one with the same person key",
                hint="Give it as public: --dimension NAME=FILE; or as private: --join NAME=FILE,SCHEMA",
            )
        made[alias] = _dimension_join(join, alias, known[table.name.lower()], Scope(domain=domain, tables=tables))
    if private and len(tables) != len(private):
        raise InvalidInput("JOIN: a private table was given that the query does not join", field="sql")
    return Scope(domain=domain, tables=tables, dimensions=made)


def _sides(join: exp.Join) -> list[exp.Column]:
    using, on = join.args.get("using"), join.args.get("on")
    if using and len(using) == 1:
        return [exp.Column(this=using[0].copy())] * 2
    if isinstance(on, exp.EQ) and isinstance(on.left, exp.Column) and isinstance(on.right, exp.Column):
        return [on.left, on.right]
    hint = "For example JOIN shops ON sales.shop = shops.id"
    raise refused(join, "must equate one column of each table", clause="JOIN", hint=hint)


def _dimension_join(join: exp.Join, alias: str, dimension: Dimension, scope: Scope) -> tuple[Dimension, str, str, bool]:
    side, kind = join.args.get("side") or "", join.args.get("kind") or ""
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER"):
        hint = "A row of the dimension without private rows is an empty group: list its levels in the schema"
        raise refused(join, f"{side or kind} JOIN would show rows of no one", hint=hint)
    sides = _sides(join)
    if not join.args.get("using") and sides[0].table.lower() == alias:
        sides.reverse()
    key = _alike(sides[1], dimension.columns)
    if key is None or (sides[1].table and sides[1].table.lower() != alias):
        raise refused(join, f"must name a column of {alias}", hint=f"It has {', '.join(dimension.columns)}")
    attribute = scope.attribute(sides[0])
    if not attribute.countable:
        hint = "Declare its levels in the schema; a key that is not public cannot be mapped"
        raise refused(join, f"{attribute.name} has no public levels", hint=hint)
    if isinstance(attribute, Numeric) and not attribute.integer:
        hint = "Declare it as whole numbers (integer: true), or as levels"
        raise refused(join, f"{attribute.name} has bins of real numbers, which equal no key", hint=hint)
    dimension.lookup(key, key)  # refuses keys that are there twice
    return dimension, key, attribute.name, side == "LEFT"


def _check_person_join(join: exp.Join, domain: Domain) -> None:
    if join.args.get("side") or join.args.get("kind") not in (None, "", "INNER"):
        hint = "A join of private tables keeps persons who are in both"
        raise refused(join, "must be an inner JOIN", hint=hint)
    if any(side.name.lower() != (domain.person or "").lower() for side in _sides(join)):
        hint = "Only the person key bounds what one person adds; any other key would join rows of different people"
        raise refused(join, f"two private tables are joined along the person key, {domain.person}", hint=hint)
