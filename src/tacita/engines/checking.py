"""Whether a source fits its domain: what all engines say in the same words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.engines.base import ColumnCheck
from tacita.errors import DataError, InvalidInput

__all__ = ["check_columns", "check_reading", "column_check", "may_be_outside"]


def check_columns(domain: Domain, columns: Sequence[str]) -> None:
    """Refuse a source that lacks a column of the domain."""
    missing = next((name for name in domain.names if name not in columns), None)
    if missing is not None:
        shown = ", ".join(columns[:20]) + (", …" if len(columns) > 20 else "")
        raise DataError(
            "the schema has this column and the source does not",
            field=missing,
            hint=f"The source's columns are: {shown}",
        )


def check_reading(domain: Domain, columns: Iterable[str], batch_rows: int) -> list[str]:
    """The columns to read as a list, after checking that they and the size of a batch make sense."""
    if isinstance(columns, str):
        raise InvalidInput("must be a list of names", field="columns", value=columns)
    names = [domain[name].name for name in columns]
    if not names:
        raise InvalidInput("must name at least one column", field="columns")
    if batch_rows < 1:
        raise InvalidInput("must be at least 1", field="batch_rows", value=batch_rows)
    return names


def column_check(domain: Domain, name: str, totals: NDArray[np.int64]) -> ColumnCheck:
    """The check of one column, from the counts of its codes, nowhere included."""
    attribute = domain[name]
    return ColumnCheck(
        name=name,
        missing=int(totals[attribute.missing_code]) if attribute.missing else 0,
        other=int(totals[attribute.other_code]) if attribute.other else 0,
        nowhere=int(totals[attribute.nowhere]),
    )


def may_be_outside(domain: Domain, names: Iterable[str]) -> frozenset[str]:
    """Attributes that can have values without a place: those without a bucket for each kind of stranger."""
    return frozenset(name for name in names if not (domain[name].other and domain[name].missing))
