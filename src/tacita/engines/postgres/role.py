"""What the role that an engine connects as could do besides reading.

The engine itself reads in read-only transactions. But whoever gets hold of the address gets the role with it, so a role
that can do no more than read is better. The privileges are asked of the server; nothing is tried.
"""

from __future__ import annotations

from typing import Any

__all__ = ["role_advice"]

_SUPER = "SELECT rolsuper FROM pg_roles WHERE rolname = current_user"
_WRITES = "SELECT p FROM unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) AS p WHERE has_table_privilege(%s, p)"
_OWNS = "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = %s::regclass"
_CREATES = (
    "SELECT has_database_privilege(current_database(), 'CREATE')"
    " OR EXISTS (SELECT FROM pg_namespace WHERE nspname = 'public' AND has_schema_privilege(oid, 'CREATE'))"
)
_HINT = "; use a role that has SELECT alone"


def role_advice(connection: Any, table: str) -> tuple[str, ...]:
    """One sentence for each thing that the role could do and need not.

    Args:
        connection: A psycopg connection.
        table: The table's name, quoted.
    """
    (is_super,) = connection.execute(_SUPER).fetchone()
    if is_super:
        return (f"the role is a superuser{_HINT}",)
    advice = []
    (owns,) = connection.execute(_OWNS, [table]).fetchone()
    writes = [name for (name,) in connection.execute(_WRITES, [table])]
    if owns:
        advice.append(f"the role owns the table{_HINT}")
    elif writes:
        advice.append(f"the role can write to the table ({', '.join(writes)}){_HINT}")
    (creates,) = connection.execute(_CREATES).fetchone()
    if creates:
        advice.append(f"the role can create tables in the database{_HINT}")
    return tuple(advice)
