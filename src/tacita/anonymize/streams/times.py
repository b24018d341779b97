"""Times of rows as whole numbers: an integer attribute as it is, a date as days since 1970.

Times are read as all numbers are: those beyond the public bounds are moved to them, so none outside is released.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Date, Domain, Numeric
from tacita.domain.line import points_of
from tacita.errors import InvalidInput

__all__ = ["check_time", "time_column", "whole_times"]

Ints = NDArray[np.int64]


def check_time(domain: Domain, name: str) -> None:
    """Refuse an attribute that is no time."""
    time = domain[name]
    if not (isinstance(time, Date) or (isinstance(time, Numeric) and time.integer)):
        raise InvalidInput("must be a date or a whole number", field="time", value=name)


def whole_times(domain: Domain, name: str, rows: pa.Table) -> tuple[Ints, NDArray[np.bool_]]:
    """Time of each row as a whole number, 0 without one, and whether it has one."""
    check_time(domain, name)
    attribute = domain[name]
    assert isinstance(attribute, Date | Numeric)
    points = points_of(attribute, rows.column(name), domain.nulls)
    known = np.isfinite(points)
    return np.where(known, points, 0).astype(np.int64), known


def time_column(domain: Domain, name: str, times: Ints) -> pa.Array:
    """The column of these times, as it is released."""
    if isinstance(domain[name], Date):
        return pa.array(times.astype(np.int32), pa.int32()).cast(pa.date32())
    return pa.array(times, pa.int64())
