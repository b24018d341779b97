"""Names of tables: `people`, `survey.people`, `"odd.name"`, or the parts one by one."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tacita.errors import InvalidInput

__all__ = ["table_parts"]

_PART = re.compile(r'"(?:[^"]|"")+"|[^".]+')


def table_parts(table: str | Sequence[str]) -> tuple[str, ...]:
    """Return schema (if given) and table, unquoted, exactly as they are spelled in the database.

    >>> table_parts("survey.people"), table_parts('survey."odd.name"'), table_parts(("a.b", "c"))
    (('survey', 'people'), ('survey', 'odd.name'), ('a.b', 'c'))
    """
    parts = _parse(table) if isinstance(table, str) else tuple(table)
    if not 1 <= len(parts) <= 2 or not all(isinstance(part, str) and part and "\0" not in part for part in parts):
        raise InvalidInput(
            "must be a table, or a schema and a table",
            field="table",
            value=table,
            hint='Write schema.table, or "…" around a name with a dot or a quote in it',
        )
    return parts


def _parse(text: str) -> tuple[str, ...]:
    parts, at = [], 0
    while match := _PART.match(text, at):
        part, at = match[0], match.end()
        parts.append(part[1:-1].replace('""', '"') if part.startswith('"') else part)
        if text[at : at + 1] != ".":
            break
        at += 1
    return tuple(parts) if at == len(text) and not text.endswith(".") else ()
