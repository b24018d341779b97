"""SQL that encodes as `tacita.domain.encode` does: a column in, its code out.

Every name and every value is quoted by psycopg; nothing is pasted into SQL as text. A column that SQL cannot
encode exactly as the domain does (text that is parsed as a number or date, floats compared as text, very many
levels) has no expression here; the engine reads such a column and encodes it itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from tacita.domain import Attribute, Boolean, Date, Domain, Identifier, Numeric
from tacita.domain.encode import FALSE, TRUE
from tacita.engines.checking import key_refused
from tacita.engines.postgres.driver import load

if TYPE_CHECKING:
    from psycopg import sql
else:
    sql = load("psycopg.sql")

__all__ = [
    "Column",
    "clamp",
    "code_of",
    "coded_rows",
    "compile_codes",
    "float_",
    "grouped",
    "key_of",
    "line_of",
    "raw_of",
    "raw_type",
    "select",
]

WHOLE = frozenset({"int2", "int4", "int8"})
FLOATS = frozenset({"float4", "float8"})
TIMES = frozenset({"date", "timestamp", "timestamptz"})
TEXTS = frozenset({"text", "varchar", "bpchar", "name", "citext", "uuid", "enum"})
EXACT_TEXT = TEXTS | WHOLE | {"bool", "date", "numeric"}  # types whose text is the same here and in Arrow
# types whose equal values have equal texts, once a decimal has lost its trailing zeros
KEYS = (TEXTS - {"citext"}) | WHOLE | {"numeric"}
# Arrow's type for each type; all others are sent as text
ARROW = {
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "bool": pa.bool_(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "interval": pa.duration("us"),
}
# the first and the last time that both PostgreSQL and Arrow have
ENDS = {"date": ("4713-11-24 BC", "5874897-12-31"), "timestamp": ("4713-11-24 BC", "294246-12-31")}
_TINY = "0." + str(5**1075).zfill(1075)  # 2**-1075: half of the smallest float, which rounds to zero
MOST_BRANCHES = 1000  # levels or bins that are spelled out in a statement


@dataclass(frozen=True)
class Column:
    """A column of the table and PostgreSQL's name for its type."""

    name: str
    kind: str
    exact: bool = True
    """Whether texts are equal only when all their bytes are."""

    @property
    def ref(self) -> sql.Composable:
        """The column, quoted."""
        return sql.Identifier(self.name)

    @property
    def text(self) -> sql.Composable:
        """The column as text, compared byte by byte."""
        return sql.SQL('({}::text COLLATE "C")').format(self.ref)


def code_of(attribute: Attribute, column: Column, nulls: Sequence[str]) -> sql.Composable | None:
    """Return an expression for the code of a column, or None if SQL cannot compute it exactly."""
    if isinstance(attribute, Numeric | Date):
        return _binned(attribute, column)
    if isinstance(attribute, Boolean) and column.kind == "bool":
        return sql.SQL("CASE WHEN {ref} THEN 1 WHEN NOT {ref} THEN 0 ELSE {missing} END").format(
            ref=column.ref, missing=attribute.missing_code
        )
    if column.kind not in EXACT_TEXT:
        return None
    if isinstance(attribute, Boolean):
        choices = [(text, code) for code, texts in enumerate((FALSE, TRUE)) for text in texts]
        return _choose(attribute, column, nulls, sql.SQL("pg_catalog.lower({})").format(column.text), choices)
    levels = [(level, code) for code, level in enumerate(attribute.labels)]
    return _choose(attribute, column, nulls, column.text, levels) if len(levels) <= MOST_BRANCHES else None


def _choose(
    attribute: Attribute,
    column: Column,
    nulls: Sequence[str],
    subject: sql.Composable,
    choices: Iterable[tuple[str, int]],
) -> sql.Composable:
    absent = [sql.SQL("{} = {}").format(column.text, text) for text in map(_literal, nulls) if text]
    if column.kind == "numeric":
        absent.append(sql.SQL("{} = 'NaN'").format(column.ref))
    branches = [
        sql.SQL("WHEN {} THEN {}").format(literal, code)
        for literal, code in ((_literal(text), code) for text, code in choices)
        if literal
    ]
    among = sql.SQL("CASE {} {} ELSE {} END").format(subject, sql.SQL(" ").join(branches), attribute.other_code)
    if not branches:
        among = sql.SQL("{}").format(attribute.other_code)
    return sql.SQL("CASE WHEN {} THEN {} ELSE {} END").format(
        sql.SQL(" OR ").join([sql.SQL("{} IS NULL").format(column.ref), *absent]),
        attribute.missing_code,
        among,
    )


def _literal(text: str) -> sql.Composable | None:
    """Quote a text; None for one that no text in PostgreSQL can equal (a zero byte, a lone surrogate)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return None
    return None if "\0" in text else sql.SQL("{}::text").format(sql.Literal(text))


def line_of(attribute: Numeric | Date, column: Column) -> sql.Composable | None:
    """Return an expression for the point of the number line, or null: `domain.line` in SQL; None if it is not exact."""
    line = _day(attribute, column) if isinstance(attribute, Date) else _number(attribute, column)
    if line is None:
        return None
    if isinstance(attribute, Numeric) and attribute.integer:
        line = sql.SQL("pg_catalog.floor({})").format(line)
    low, high = map(float_, attribute.line_bounds)
    return _unless_absent(column, sql.SQL("NULL"), clamp(line, low, high))


def _binned(attribute: Numeric | Date, column: Column) -> sql.Composable | None:
    line = _day(attribute, column) if isinstance(attribute, Date) else _number(attribute, column)
    if line is None:
        return None
    low, high = map(float_, attribute.line_bounds)
    place = _bin(attribute, clamp(line, low, high))
    return None if place is None else _unless_absent(column, sql.Literal(attribute.missing_code), place)


def _number(attribute: Numeric, column: Column) -> sql.Composable | None:
    low, high = attribute.bounds
    if column.kind in WHOLE | FLOATS:
        return sql.SQL("{}::float8").format(column.ref)
    if column.kind == "bool":
        return sql.SQL("{}::int::float8").format(column.ref)
    if column.kind == "numeric":
        return _to_float(clamp(column.ref, _exact(low), _exact(high)), column.ref)
    return None


def _day(attribute: Date, column: Column) -> sql.Composable | None:
    if column.kind not in TIMES:
        return None
    at_utc = "({} AT TIME ZONE 'UTC')::date" if column.kind == "timestamptz" else "{}::date"
    day = sql.SQL(at_utc).format(column.ref)
    low, high = (sql.SQL("{}::date").format(sql.Literal(bound.isoformat())) for bound in attribute.bounds)
    # clamping first also takes care of infinite dates, which cannot be subtracted
    return sql.SQL("({} - DATE '1970-01-01')::float8").format(clamp(day, low, high))


def _unless_absent(column: Column, absent: sql.Composable, there: sql.Composable) -> sql.Composable:
    conditions = [sql.SQL("{} IS NULL").format(column.ref)]
    if column.kind in FLOATS | {"numeric"}:
        conditions.append(sql.SQL("{} = 'NaN'").format(column.ref))
    return sql.SQL("CASE WHEN {} THEN {} ELSE {} END").format(sql.SQL(" OR ").join(conditions), absent, there)


def _bin(attribute: Numeric | Date, line: sql.Composable) -> sql.Composable | None:
    """Return an expression for the bin of a point between the bounds."""
    starts, last = attribute.starts, len(attribute.starts) - 1
    if last == 0:
        return sql.SQL("0")
    place: sql.Composable
    if all(start.is_integer() for start in starts) and all(b - a == 1 for a, b in pairwise(starts)):
        # the last bin may be wide: its values are moved to where it starts, so that each has a whole number
        within = clamp(line, float_(starts[0]), float_(starts[last]))
        place = sql.SQL("pg_catalog.floor({})::int8 - {}").format(within, int(starts[0]))
    elif last < MOST_BRANCHES:
        edges = sql.SQL(", ").join([float_(start) for start in starts])
        place = sql.SQL("pg_catalog.width_bucket({}, ARRAY[{}]::float8[]) - 1").format(line, edges)
    else:
        return None
    return clamp(place, sql.SQL("0"), sql.Literal(last))


def clamp(value: sql.Composable, low: sql.Composable, high: sql.Composable) -> sql.Composable:
    """Move a value between two bounds; null becomes a bound."""
    return sql.SQL("least(greatest({}, {}), {})").format(value, low, high)


def float_(value: float) -> sql.Composable:
    """Write a float exactly."""
    return sql.SQL("{}::float8").format(sql.Literal(repr(value)))


def _exact(value: float) -> sql.Composable:
    """Write a float as the exactly equal decimal: PostgreSQL's cast would keep 15 digits."""
    return sql.SQL("{}::numeric").format(sql.Literal(format(Decimal(value), "f")))


def _to_float(value: sql.Composable, guard: sql.Composable) -> sql.Composable:
    """Convert a decimal to a float; values closer to zero than to any other float become zero instead of an error."""
    return sql.SQL("(CASE WHEN pg_catalog.abs({guard}) <= {tiny} THEN 0 ELSE {value} END)::float8").format(
        guard=guard, value=value, tiny=sql.SQL("{}::numeric").format(sql.Literal(_TINY))
    )


def raw_of(column: Column, attribute: Attribute) -> sql.Composable:
    """Return the column in a type that Arrow has; times outside Arrow's range become the first or the last."""
    if column.kind in TIMES:
        kind = sql.SQL(column.kind)
        ends = ENDS.get(column.kind, ENDS["timestamp"])
        low, high = (sql.SQL("{}::{}").format(sql.Literal(end), kind) for end in ends)
        # least and greatest ignore nulls
        clamped = clamp(column.ref, low, high)
        return sql.SQL("CASE WHEN {} IS NULL THEN NULL ELSE {} END").format(column.ref, clamped)
    if column.kind in ARROW:
        return column.ref
    if column.kind == "numeric" and isinstance(attribute, Identifier):
        return _trimmed(column)
    if column.kind == "numeric" and isinstance(attribute, Numeric):
        most = _exact(1.7976931348623157e308)
        inside = _to_float(column.ref, column.ref)
        return sql.SQL(
            "CASE WHEN {ref} = 'NaN' THEN 'NaN' WHEN {ref} > {most} THEN 'Infinity' "
            "WHEN {ref} < -{most} THEN '-Infinity' ELSE {inside} END"
        ).format(ref=column.ref, most=most, inside=inside)
    if column.kind == "numeric":
        return sql.SQL("CASE WHEN {ref} = 'NaN' THEN NULL ELSE {ref}::text END").format(ref=column.ref)
    return sql.SQL("{}::text").format(column.ref)


def raw_type(column: Column, attribute: Attribute) -> pa.DataType:
    """Return Arrow's type for the column."""
    if column.kind == "numeric" and isinstance(attribute, Numeric):
        return pa.float64()
    return ARROW.get(column.kind, pa.string())


def key_of(column: Column) -> sql.Composable:
    """Return an expression for a person's key as text: texts are equal exactly if the database's values are."""
    if column.kind not in KEYS or not column.exact:
        raise key_refused(
            column.name, column.kind if column.exact else f"{column.kind} with a nondeterministic collation"
        )
    return sql.SQL('({} COLLATE "C")').format(_trimmed(column)) if column.kind == "numeric" else column.text


def _trimmed(column: Column) -> sql.Composable:
    """Write a decimal as text without trailing zeros: 1, 1.0 and 1.00 are the same number."""
    return sql.SQL("pg_catalog.trim_scale({})::text").format(column.ref)


def coded_rows(
    source: sql.Composable,
    codes: Sequence[sql.Composable],
    *,
    key: sql.Composable | None = None,
    nulls: Sequence[str] = (),
    max_rows: int = 1,
    numbers: Sequence[sql.Composable] = (),
    ties: Sequence[sql.Composable] = (),
    keyed: bool = False,
) -> sql.Composable:
    """Return a statement for the codes of rows as c0, c1, ...; with a key, of at most `max_rows` per person.

    Args:
        source: The table.
        codes: Expressions for the codes.
        key: Expression for the person's key.
        nulls: Texts that are no key.
        max_rows: Rows of each person that are returned.
        numbers: Further expressions, which are returned as v0, v1, ...
        ties: Expressions by which rows of a person with equal codes are ordered.
        keyed: Whether the person's key is returned too, as key.
    """
    listed: list[sql.Composable] = [sql.SQL("({})::int4 AS {}").format(code, name(i)) for i, code in enumerate(codes)]
    listed += [sql.SQL("({})::float8 AS {}").format(part, sql.Identifier(f"v{i}")) for i, part in enumerate(numbers)]
    if key is None:
        return sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(listed or [sql.SQL("1")]), source)
    listed += [sql.SQL("{} AS {}").format(part, sql.Identifier(f"t{i}")) for i, part in enumerate(ties)]
    texts: list[sql.Composable] = [sql.SQL("{}::text").format(name(i)) for i in range(len(codes))]
    names: list[sql.Composable] = [name(i) for i in range(len(codes))]
    names += [sql.Identifier(f"v{i}") for i in range(len(numbers))]
    names += [sql.Identifier("key")] if keyed else []
    after = [sql.SQL(", {} NULLS LAST").format(sql.Identifier(f"t{i}")) for i in range(len(ties))]
    joined = sql.SQL(" || ',' || ").join(texts or [sql.SQL("''")])
    absent = [sql.SQL("key <> {}").format(text) for text in map(_literal, nulls) if text]
    return sql.SQL(
        "SELECT {names} FROM (SELECT *, pg_catalog.row_number() OVER (PARTITION BY key ORDER BY"
        " pg_catalog.md5(pg_catalog.convert_to(key || '|' || {joined}, 'UTF8')) COLLATE \"C\"{after}) AS place"
        " FROM (SELECT {listed} FROM {source}) AS coded WHERE {present}) AS ranked WHERE place <= {most}"
    ).format(
        names=sql.SQL(", ").join(names or [sql.SQL("1")]),
        joined=joined,
        after=sql.SQL("").join(after),
        listed=sql.SQL(", ").join([*listed, sql.SQL("{} AS key").format(key)]),
        source=source,
        present=sql.SQL(" AND ").join([sql.SQL("key IS NOT NULL"), *absent]),
        most=max_rows,
    )


def name(position: int) -> sql.Identifier:
    """Return the name of the column that holds the code of an attribute, in our statements."""
    return sql.Identifier(f"c{position}")


def grouped(rows: sql.Composable, keys: Sequence[tuple[int, ...]]) -> sql.Composable:
    """Return a statement that counts several tables at once: the table (by its bits), codes, count.

    The first column is the value of GROUPING: its bits, from the highest, flag the columns that are summed
    out.
    """
    used = sorted({i for key in keys for i in key})
    columns = sql.SQL(", ").join([name(i) for i in used])
    bits = sql.SQL("GROUPING({})").format(columns) if used and len(keys) > 1 else sql.SQL("0")
    sets = [sql.SQL("({})").format(sql.SQL(", ").join([name(i) for i in key])) for key in keys]
    return sql.SQL("SELECT {listed} FROM ({rows}) AS coded GROUP BY GROUPING SETS ({sets})").format(
        listed=sql.SQL(", ").join([bits, *[name(i) for i in used], sql.SQL("pg_catalog.count(*)")]),
        rows=rows,
        sets=sql.SQL(", ").join(sets),
    )


def select(source: sql.Composable, chosen: Sequence[sql.Composable]) -> sql.Composable:
    """Return a statement for some expressions over all rows, as c0, c1, ..."""
    listed = [sql.SQL("{} AS {}").format(part, name(i)) for i, part in enumerate(chosen)]
    return sql.SQL("SELECT {} FROM {}").format(sql.SQL(", ").join(listed), source)


def compile_codes(domain: Domain, columns: dict[str, Column]) -> dict[str, sql.Composable]:
    """Return the expressions of all countable attributes that have one."""
    found = {n: code_of(domain[n], columns[n], domain.nulls) for n in domain.countable}
    return {n: code for n, code in found.items() if code is not None}
