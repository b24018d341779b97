"""Times of rows as whole numbers: an integer attribute as it is, a date as days since 1970."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Date, Domain, Numeric
from tacita.errors import DataError, InvalidInput
from tacita.tables.recoding.axis import read_keys

__all__ = ["check_time", "time_column", "whole_times"]

Ints = NDArray[np.int64]


def check_time(domain: Domain, name: str) -> None:
    """Refuse an attribute that is no time."""
    time = domain[name]
    if not (isinstance(time, Date) or (isinstance(time, Numeric) and time.integer)):
        raise InvalidInput("must be a date or a whole number", field="time", value=name)


def whole_times(domain: Domain, name: str, rows: pa.Table) -> tuple[Ints, NDArray[np.bool_]]:
    """Time of each row as a whole number, 0 without one, and whether it has one.

    Raises:
        DataError: A time is a fraction, or is out of domain.
    """
    check_time(domain, name)
    indices, keys = read_keys(domain[name], rows.column(name), domain.nulls)
    numbers = np.array([_whole(key, name) for key in keys], np.int64)
    known = np.array([key is not None for key in keys], np.bool_)[indices]
    return np.where(known, numbers[indices], 0), known


def time_column(domain: Domain, name: str, times: Ints) -> pa.Array:
    """The column of these times, as it is released."""
    if isinstance(domain[name], Date):
        return pa.array(times.astype(np.int32), pa.int32()).cast(pa.date32())
    return pa.array(times, pa.int64())


def _whole(key: Any, name: str) -> int:
    if key is not None and key != int(key):
        raise DataError("must be whole numbers", field=name)
    return int(key or 0)
