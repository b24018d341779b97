"""Drafts of schemas from files and frames: the dialect of a text file is found first, and becomes part of the draft."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from tacita.domain.infer import Draft, draft_domain
from tacita.domain.spelling import NULL_WORDS
from tacita.engines.local.files.base import Rows, RowSource
from tacita.engines.local.files.open import GROUPS, open_source
from tacita.engines.local.files.sniff import Sniffed, sniff
from tacita.engines.local.files.statistical import StatisticalSource
from tacita.engines.local.files.stored import find_files
from tacita.engines.local.files.text import TEXT

__all__ = ["draft"]

_PREVIEW = 5


def draft(source: Any, *, title: str = "", given: Mapping[str, Any] | None = None, table: str | None = None) -> Draft:
    """Draft the schema of a source.

    Args:
        source: As `open_source` takes it.
        title: Name of the domain.
        given: Members of the dialect that a person has stated, and `nulls`; what is not stated is found.
        table: The sheet of a workbook, or the table of a DuckDB file.
    """
    stated = {name: value for name, value in (given or {}).items() if value is not None}
    nulls = stated.pop("nulls", None)
    found = _sniffed(source, stated)
    dialect = None if found is None else found.dialect
    opened = open_source(source, dialect=dialect, table=table)
    labels = opened.labels if isinstance(opened, StatisticalSource) else None
    words = tuple(nulls) if nulls is not None else NULL_WORDS if found is None else found.nulls
    named = [name for name in opened.columns if name.strip()]
    rows = Rows(opened, named)
    drafted = draft_domain(rows, title=title, nulls=words, dialect=dialect, labels=labels)
    notes = drafted.notes if found is None else (*found.reasons, *drafted.notes)
    if len(named) < len(opened.columns):
        notes = (*notes, "A column without a name is left out: many programs write the numbers of rows there.")
    return replace(drafted, notes=notes, preview=_preview(opened))


def _sniffed(source: Any, stated: Mapping[str, Any]) -> Sniffed | None:
    """The dialect of a text file; of several files, that of the first. None for other sources."""
    paths = [source] if isinstance(source, str | Path) else source
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str | Path) for path in paths):
        return None
    if any(isinstance(path, str) and path.startswith("duckdb:") for path in paths):
        return None
    files = find_files(paths, GROUPS)
    return sniff(files[0], stated) if files and files[0].suffix in TEXT else None


def _preview(source: RowSource) -> tuple[tuple[str, ...], ...]:
    first = next(iter(islice(source.batches(source.columns), 1)), None)
    if first is None:
        return (source.columns,)
    rows = first.slice(0, _PREVIEW).to_pylist()
    shown = [tuple("" if row[name] is None else str(row[name]) for name in source.columns) for row in rows]
    return (source.columns, *shown)
