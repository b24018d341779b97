"""The number line: every value has its point or none, whatever holds it."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Date, Numeric
from tacita.domain.encode import encode
from tacita.domain.line import points_of
from tacita.errors import DataError

REAL = Numeric(name="x", bounds=(-2, 5), bins=7, missing=True, other=True)
WHOLE = Numeric(name="x", bounds=(-2, 5), integer=True, missing=True, other=True)
DAY = Date(name="x", bounds=("2020-01-01", "2020-03-31"), by="day", missing=True, other=True)
MIXED = ["1", " 2.5", "", "nan", "inf", "-1e9", "many", None, "NULL"]
COLUMNS = [
    pa.array([1.5, None, float("nan"), float("inf"), -7.0, 5.0, 4.999]),
    pa.array([1, None, -9, 12]),
    pa.array([Decimal("1.5"), None, Decimal("7.25")]),
    pa.array([True, False, None]),
    pa.array(MIXED),
    pa.array(MIXED, pa.large_string()),
    pa.array(MIXED).dictionary_encode(),
    pa.array([b"1", b"\xff", None]),
    pa.array([1.5, None, 1.5]).dictionary_encode(),
    pa.nulls(3),
    pa.chunked_array([pa.array([1.0]), pa.array([None, 2.0])]),
]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda c: str(c.type))
@pytest.mark.parametrize("attribute", [REAL, WHOLE], ids=["real", "whole"])
def test_a_number_lies_in_the_bin_of_its_value_and_nowhere_else(attribute, column):
    """The bins say independently what is missing, what is no number, and where the others lie."""
    line, codes = points_of(attribute, column, ("", "NULL")), encode(attribute, column, ("", "NULL"))
    binned = codes < len(attribute.starts)
    assert (np.isnan(line) == ~binned).all()
    assert (encode(attribute, pa.array(line[binned]), ()) == codes[binned]).all()
    assert ((line[binned] >= -2) & (line[binned] <= 5)).all()


def test_days_are_counted_from_1970():
    days = [dt.date(2020, 1, 31), None, dt.date(2031, 1, 1), dt.date(1999, 1, 1)]
    wanted = [18292.0, np.nan, 18352.0, 18262.0]
    for column in (pa.array(days), pa.array(days).cast(pa.timestamp("us")), pa.array(days).cast(pa.string())):
        assert np.array_equal(points_of(DAY, column), wanted, equal_nan=True)


def test_a_column_of_the_wrong_type_is_refused_whatever_its_values():
    with pytest.raises(DataError):
        points_of(REAL, pa.array([], pa.date32()))
