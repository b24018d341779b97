"""Checks whether a source fits its domain, with the same errors in all engines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Domain
from tacita.domain.encode import check_type
from tacita.domain.rebin import same_columns
from tacita.engines.base import ColumnCheck
from tacita.errors import DataError, InternalError, InvalidInput

__all__ = [
    "check_codes",
    "check_columns",
    "check_key_type",
    "check_reading",
    "check_rebinned",
    "check_types",
    "column_check",
    "key_refused",
    "may_be_outside",
]


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


def check_types(domain: Domain, schema: pa.Schema) -> None:
    """Refuse columns whose type cannot hold their attribute, or the person's key."""
    for name in schema.names:
        if name == domain.person:
            check_key_type(name, schema.field(name).type)
        elif name in domain.countable:
            check_type(domain[name], schema.field(name).type)


def check_key_type(name: str, kind: pa.DataType) -> None:
    """Refuse keys of a type whose equal values could have different texts."""
    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    text = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    if not (text or types.is_integer(kind) or types.is_decimal(kind) or types.is_null(kind)):
        raise key_refused(name, str(kind))


def key_refused(name: str, kind: str) -> DataError:
    """Build the error of a key of the wrong type."""
    return DataError(
        "a person's key must be text, a whole number or a decimal",
        field=name,
        value=kind,
        hint="Keys are compared as text, and equal values of this type can have different texts",
    )


def check_rebinned(domain: Domain, other: Domain) -> Domain:
    """Return the other domain if it describes the same columns in other bins, else raise."""
    if not same_columns(domain, other):
        raise InvalidInput("must describe the same columns, and differ in bins of numbers and dates only", field="bins")
    return other


def check_codes(name: str, codes: NDArray[np.integer[Any]], size: int) -> None:
    """Refuse codes outside 0..size-1: the compiled loops do not check them."""
    if len(codes) and (codes.max() >= size or codes.min() < 0):
        raise InternalError("a code lies outside the domain", field=name)


def check_reading(domain: Domain, columns: Iterable[str], batch_rows: int) -> list[str]:
    """Return the columns to read as a list, after checking them and the size of a batch."""
    if isinstance(columns, str):
        raise InvalidInput("must be a list of names", field="columns", value=columns)
    names = [domain[name].name for name in columns]
    if not names:
        raise InvalidInput("must name at least one column", field="columns")
    if batch_rows < 1:
        raise InvalidInput("must be at least 1", field="batch_rows", value=batch_rows)
    return names


def column_check(domain: Domain, name: str, totals: NDArray[np.int64]) -> ColumnCheck:
    """Check one column, from the counts of its codes, out-of-domain values included."""
    attribute = domain[name]
    return ColumnCheck(
        name=name,
        missing=int(totals[attribute.missing_code]) if attribute.missing else 0,
        other=int(totals[attribute.other_code]) if attribute.other else 0,
        nowhere=int(totals[attribute.out_of_domain]),
    )


def may_be_outside(domain: Domain, names: Iterable[str]) -> frozenset[str]:
    """Return attributes that can have out-of-domain values: those without a bucket for each kind of such values."""
    return frozenset(name for name in names if not (domain[name].other and domain[name].missing))
