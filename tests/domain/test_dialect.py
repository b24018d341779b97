"""Numbers and dates are read strictly by the dialect."""

from __future__ import annotations

import datetime as dt

import pytest

from tacita.domain import Boolean, CsvDialect, Domain
from tacita.errors import SchemaError


@pytest.mark.parametrize(
    ("decimal", "thousands", "text", "value"),
    [
        (".", "", "1234.5", 1234.5),
        (".", "", "1,234.5", None),
        (",", "", "1234,5", 1234.5),
        (",", "", "1.234", None),
        (",", ".", "1.234", 1234.0),
        (",", ".", "1.23", None),
        (",", ".", "12.345.678,9", 12345678.9),
        (",", ".", "1234.567", None),
        (".", ",", "-1,234", -1234.0),
        (",", " ", "1\u00a0234,5", 1234.5),
        (",", " ", "1\u202f234", 1234.0),
        (".", "'", "1\u2019234.5", 1234.5),
        (".", "", " 7 ", 7.0),
        (".", "", "1e3", 1000.0),
        (".", "", ".5", 0.5),
        (".", "", "5.", 5.0),
        (".", "", "", None),
        (".", "", ".", None),
        (".", "", "nan", None),
        (".", "", "0x10", None),
        (".", "", "١٢", None),
    ],
)
def test_a_number_is_what_the_dialect_says_or_none(decimal, thousands, text, value):
    assert CsvDialect(decimal=decimal, thousands=thousands).number(text) == value


def test_dates_are_iso_or_one_of_the_formats():
    dialect = CsvDialect(dates=("%d.%m.%Y", "%d %b %Y"))
    assert dialect.date("31.12.2020") == dt.date(2020, 12, 31)
    assert dialect.date(" 2020-12-31 ") == dt.date(2020, 12, 31)
    assert dialect.date("2020-12-31T10:00:00") == dt.date(2020, 12, 31)
    assert dialect.date("3 Feb 2021") == dt.date(2021, 2, 3)
    for text in ("12/31/2020", "31.13.2020", "", "2020", "20201231"):
        assert dialect.date(text) is None


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"encoding": "klingon"}, "encoding"),
        ({"decimal": ";"}, "decimal"),
        ({"thousands": "."}, "must differ"),
        ({"thousands": "x"}, "thousands must be one of"),
        ({"dates": ["%H:%M"]}, "day, month and year"),
        ({"dates": ["%d.%m"]}, "day, month and year"),
        ({"dates": ["%Q"]}, "day, month and year"),
        ({"delimiter": '"'}, "must differ from quote"),
        ({"delimiter": ";;"}, "delimiter"),
        ({"columns": ["a"]}, "set header to false"),
        ({"header": False}, "needs the names"),
        ({"skip": -1}, "skip"),
        ({"delimeter": ";"}, "delimeter"),
    ],
)
def test_a_dialect_that_cannot_be_is_refused(given, word):
    with pytest.raises(SchemaError, match=word):
        CsvDialect(**given)


def test_a_schema_keeps_its_dialect_and_its_fingerprint():
    plain = Domain(attributes=[Boolean(name="x")])
    german = Domain(attributes=[Boolean(name="x")], csv=CsvDialect(delimiter=";", decimal=","))
    assert Domain.from_text(german.to_yaml()).csv == german.csv
    assert "csv" not in plain.as_dict()
    assert german.fingerprint == plain.fingerprint  # two holders may write their files differently
    assert german.project(["x"]).csv == german.csv


def test_a_dialect_is_a_key_of_a_cache():
    one, other = (CsvDialect(absent={"age": ("999",)}) for _ in range(2))
    assert hash(one) == hash(other)
    assert one == other
    assert len({one, other, CsvDialect()}) == 2
