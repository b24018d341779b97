"""Times of rows: whole numbers and days, read alike from numbers, dates and texts."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize.streams.times import check_time, time_column, whole_times
from tacita.domain import Categorical, Date, Domain, Numeric
from tacita.errors import InvalidInput

DOMAIN = Domain(
    attributes=[
        Numeric(name="minute", bounds=(0, 99), integer=True),
        Numeric(name="weight", bounds=(0, 99), bins=3),
        Date(name="day", bounds=(dt.date(1960, 1, 1), dt.date(2030, 1, 1))),
        Categorical(name="page", levels=("a", "b")),
    ]
)


@pytest.mark.parametrize(
    ("name", "column", "times"),
    [
        ("minute", pa.array([3, None, 7]), [3, 0, 7]),
        ("minute", pa.array(["3", "", "7.0"]), [3, 0, 7]),
        ("minute", pa.array(["-5", "noon", "1e300"]), [0, 0, 99]),  # moved to the bounds; no number
        ("minute", pa.array([-(2**63), None, 2**63 - 1]), [0, 0, 99]),
        ("day", pa.array(["1970-01-02", "", "1969-12-31"]), [1, 0, -1]),
        ("day", pa.array([dt.date(1970, 1, 2), None, dt.date(1969, 12, 31)]), [1, 0, -1]),
        ("day", pa.array(["1900-01-01", "never", "2990-01-01"]), [-3653, 0, 21915]),
    ],
)
def test_times_are_whole_numbers(name: str, column: pa.Array, times: list[int]) -> None:
    found, known = whole_times(DOMAIN, name, pa.table({name: column}))
    assert (found.tolist(), known.tolist()) == (times, [True, False, True])


def test_columns_are_written_as_they_were() -> None:
    assert time_column(DOMAIN, "day", np.array([1, -1])).to_pylist() == [dt.date(1970, 1, 2), dt.date(1969, 12, 31)]
    assert time_column(DOMAIN, "minute", np.array([5])).to_pylist() == [5]


def test_what_is_no_time_is_refused() -> None:
    for name in ("weight", "page"):
        with pytest.raises(InvalidInput, match="whole number"):
            check_time(DOMAIN, name)
