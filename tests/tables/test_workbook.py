"""Tables as workbooks: what a sheet cannot hold keeps its value as text."""

import datetime as dt
import decimal
import io

import pyarrow as pa
import pytest
from python_calamine import CalamineWorkbook

from tacita.errors import InvalidInput
from tacita.tables.workbook import MOST_ROWS, write_workbook


def cells(**columns):
    out = io.BytesIO()
    write_workbook(out, pa.table(columns), {"guarantee": "none"})
    book = CalamineWorkbook.from_filelike(io.BytesIO(out.getvalue()))
    header, *rows = book.get_sheet_by_name("table").to_python()
    assert header == list(columns)
    assert book.get_sheet_by_name("guarantee").to_python() == [["guarantee", "none"]]
    return [list(column) for column in zip(*rows, strict=True)]


def test_numbers_texts_and_booleans_stay_as_they_are():
    assert cells(
        n=pa.array([1, None, -(2**53)]), x=pa.array([0.1, 1e300, None]), b=[True, False, None], s=["=1+1", "007", "x"]
    ) == [[1, "", -(2**53)], [0.1, 1e300, ""], [True, False, ""], ["=1+1", "007", "x"]]


def test_numbers_that_are_none_are_empty():
    assert cells(x=[1.5, float("nan"), float("inf"), 2.0]) == [[1.5, "", "", 2.0]]


def test_integers_that_a_sheet_would_round_are_digits():
    assert cells(n=[2**53 + 1, 3]) == [["9007199254740993", "3"]]
    assert cells(n=[decimal.Decimal("0.10")]) == [["0.10"]]


def test_dates_and_times_keep_their_value():
    day, moment = dt.date(2020, 12, 31), dt.datetime(2020, 12, 31, 23, 59, 58, 250_000)
    assert cells(d=[day], t=pa.array([moment], pa.timestamp("ms"))) == [[day], [moment]]
    assert cells(d=[day, dt.date(1899, 12, 31)]) == [["2020-12-31", "1899-12-31"]]
    zoned = pa.array([moment], pa.timestamp("ms", tz="UTC"))
    assert cells(t=zoned) == [["2020-12-31T23:59:58.250000+00:00"]]
    exact = moment.replace(microsecond=1)
    assert cells(t=pa.array([exact], pa.timestamp("us"))) == [["2020-12-31T23:59:58.000001"]]


def test_other_types_become_texts():
    found = cells(
        bytes=[b"\x00\xff"],
        list=[[1, 2]],
        struct=[{"a": None}],
        span=[dt.timedelta(days=2)],
        time=[dt.time(1, 2)],
        level=pa.array(["a"]).dictionary_encode(),
        nothing=pa.nulls(1),
    )
    assert found == [["00ff"], ["[1, 2]"], ['{"a": null}'], ["2 days, 0:00:00"], ["01:02:00"], ["a"], [""]]


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"x": pa.nulls(MOST_ROWS + 1)}),
        pa.table({"x": ["y" * 32_768]}),
        pa.table({f"c{at}": pa.nulls(1) for at in range(16_385)}),
    ],
)
def test_what_does_not_fit_is_refused(table):
    with pytest.raises(InvalidInput, match="at most"):
        write_workbook(io.BytesIO(), table, {})
