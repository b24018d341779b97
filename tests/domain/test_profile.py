"""Profiles of columns, with few and with very many different values."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import CsvDialect, profile
from tacita.domain.profile import Profile, tally, tally_pairs
from tacita.errors import DataError

NULLS = frozenset({"", "NA"})


def profiled(*columns: pa.Array, dialect: CsvDialect | None = None) -> Profile:
    found = Profile("x", dialect or CsvDialect())
    for column in columns:
        found.add(column, NULLS)
    return found


def test_values_are_counted_and_missing_ones_apart():
    found = profiled(pa.array(["a", "b", "a", None, "NA", "", "nan"]))
    assert (found.rows, found.missing, found.present) == (7, 4, 3)
    assert dict(found.values) == {"a": 2, "b": 1}
    assert found.numbers() is None
    assert found.dates() is None


@pytest.mark.parametrize("kind", ["text", "float", "decimal commas"])
def test_ends_are_right_beyond_what_is_listed(monkeypatch, kind):
    """The ends of a column of many numbers, against those of all of its values."""
    monkeypatch.setattr(profile, "MOST_KEPT", 50)
    rng = np.random.default_rng(1)
    parts = [rng.normal(0, 1000, 200).round(3) for _ in range(4)]
    dialect = CsvDialect(decimal=",") if kind == "decimal commas" else CsvDialect()
    columns = []
    for part in parts:
        texts = [str(number) if kind == "text" else str(number).replace(".", ",") for number in part]
        columns.append(pa.array(part) if kind == "float" else pa.array([*texts, "NA"]))
    found = profiled(*columns, dialect=dialect)
    assert found.overflowed
    low, high, whole = found.numbers()
    assert (low, high) == (min(map(min, parts)), max(map(max, parts)))
    assert not whole
    assert found.rows == sum(map(len, columns))
    assert found.missing == (0 if kind == "float" else 4)


def test_one_text_among_many_numbers_is_noticed(monkeypatch):
    monkeypatch.setattr(profile, "MOST_KEPT", 50)
    many = pa.array([str(number) for number in range(200)])
    for last in ("x", "inf", "2020-01-01"):
        assert profiled(many, pa.array([*map(str, range(200, 300)), last])).numbers() is None
    low, high, whole = profiled(many, pa.array([*map(str, range(200, 300)), "NA"])).numbers()
    assert (low, high, whole) == (0, 299, True)


def test_values_that_return_are_noticed_among_many(monkeypatch):
    monkeypatch.setattr(profile, "MOST_KEPT", 50)
    once = [pa.array([float(at) for at in range(start, start + 200)]) for start in (0, 200, 400)]
    assert not profiled(*once).returned
    assert profiled(*once, once[0]).returned


def test_many_dates(monkeypatch):
    monkeypatch.setattr(profile, "MOST_KEPT", 50)
    days = [dt.date(1950, 1, 1) + dt.timedelta(days=7 * week) for week in range(300)]
    found = profiled(pa.array([day.strftime("%d.%m.%Y") for day in days]), dialect=CsvDialect(dates=("%d.%m.%Y",)))
    assert found.dates() == (days[0], days[-1])


def test_bytes_that_are_no_text_are_refused_without_being_quoted():
    with pytest.raises(DataError, match="not UTF-8") as caught:
        list(tally("x", pa.array([b"SECRET\xff"], pa.binary())))
    assert "SECRET" not in str(caught.value)


def test_pairs_leave_out_what_is_missing():
    batch = pa.record_batch({"a": ["x", "x", None, "y"], "b": pa.array([1, 1, 2, None])})
    assert dict(tally_pairs(batch, "a", "b")) == {("x", "1"): 2}
