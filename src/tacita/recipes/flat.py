"""Answers as one flat table, for files and terminals."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tacita.query.answer import Answer
from tacita.tables.release import Provenance, Releases

__all__ = ["provenance_of", "table_of_answer"]


def provenance_of(answer: Any) -> Provenance:
    """Return the provenance of an answer; tables of one run share it."""
    found: Provenance = next(iter(answer.values())).provenance if isinstance(answer, Releases) else answer.provenance
    return found


def table_of_answer(answer: Answer | Releases) -> pa.Table:
    """Convert an answer to one table, with standard errors and 95 % intervals as columns; empty where none is claimed.

    Several tables become one: a column `table` names them, and attributes that one lacks are empty there.
    """
    if isinstance(answer, Answer):
        return _without_infinite(answer.to_arrow())
    parts = [each.to_arrow() for each in answer.values()]
    if len(parts) == 1:
        return _without_infinite(parts[0])
    names = [" x ".join(each.attributes) or "total" for each in answer.values()]
    numbers = ("estimate", "std", "low", "high")
    attributes = dict.fromkeys(name for each in answer.values() for name in each.attributes)
    labelled = [
        part.add_column(0, "table", pa.array([name] * part.num_rows)).replace_schema_metadata(None)
        for part, name in zip(parts, names, strict=True)
    ]
    whole = pa.concat_tables(labelled, promote_options="default")
    return _without_infinite(whole.select(["table", *attributes, *numbers]))


def _without_infinite(table: pa.Table) -> pa.Table:
    for at, column in enumerate(table.columns):
        if pa.types.is_floating(column.type):
            known = pc.if_else(pc.is_finite(column), column, pa.scalar(None, column.type))
            table = table.set_column(at, table.field(at), known)
    return table
