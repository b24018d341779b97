"""Privileges of the engine's role beyond reading, and schemas that endanger the role.

The engine itself reads in read-only transactions, and looks up functions in `pg_catalog` alone. But an attacker who
obtains the address obtains the role with it, so a role that can only read is better. And if everyone may create
functions in a schema, other programs that connect as this role can be made to run them. The server is asked for the
privileges; nothing is tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

__all__ = ["role_advice"]

_SUPER = "SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user"
_WRITES = (
    "SELECT p FROM pg_catalog.unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS p"
    " WHERE pg_catalog.has_table_privilege(%s, p)"
)
_OWNS = "SELECT pg_catalog.pg_has_role(relowner, 'USAGE') FROM pg_catalog.pg_class WHERE oid = %s::regclass"
_CREATES = (
    "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE') OR EXISTS (SELECT"
    " FROM pg_catalog.pg_namespace WHERE nspname = 'public' AND pg_catalog.has_schema_privilege(oid, 'CREATE'))"
)
# schemas in which every role may create: the one of the table, and the one that is on every search path by default
_OPEN = (
    "SELECT pg_catalog.quote_ident(nspname) FROM pg_catalog.pg_namespace, pg_catalog.aclexplode(nspacl) AS granted"
    " WHERE granted.grantee = 0 AND granted.privilege_type = 'CREATE' AND (nspname = 'public' OR pg_namespace.oid ="
    " (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = %s::regclass)) ORDER BY 1"
)
_HINT = "; use a role that has SELECT alone"


def role_advice(connection: Any, table: str) -> tuple[str, ...]:
    """Return one sentence for each privilege that the role does not need, and for each danger to the role.

    Args:
        connection: A psycopg connection whose search path is `pg_catalog`.
        table: The table's schema and name, quoted.
    """
    return (*_powers(connection, table), *_open_schemas(connection, table))


def _powers(connection: Any, table: str) -> Iterator[str]:
    (is_super,) = connection.execute(_SUPER).fetchone()
    if is_super:
        yield f"the role is a superuser: a function that it runs controls the database server{_HINT}"
        return
    (owns,) = connection.execute(_OWNS, [table]).fetchone()
    writes = [name for (name,) in connection.execute(_WRITES, [table])]
    if owns:
        yield f"the role owns the table{_HINT}"
    elif writes:
        yield f"the role can write to the table ({', '.join(writes)}){_HINT}"
    (creates,) = connection.execute(_CREATES).fetchone()
    if creates:
        yield f"the role can create tables in the database{_HINT}"


def _open_schemas(connection: Any, table: str) -> Iterator[str]:
    for (schema,) in connection.execute(_OPEN, [table]):
        yield (
            f"every role can create functions in the schema {schema}, which other programs may then run as this role;"
            f" run REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC"
        )
