"""Rows of a release are told from data, by most of a column and never by one row."""

import pyarrow as pa
import pytest

from tacita.domain import Categorical, Date, Domain, Numeric, Ordinal
from tacita.engines.labelled import check_values
from tacita.errors import InvalidInput

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), integer=True),
        Date(name="seen", bounds=("2020-01-01", "2020-12-31")),
        Ordinal(name="school", levels=("low", "a..b", "high")),
        Categorical(name="town", levels=("Ulm", "{Bonn}", "*")),
    ]
)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", ["0..19", "20..39", "7"]),
        ("age", ["*", "*", None]),
        ("age", ["(missing) or 0..19", "0..19", "20"]),
        ("seen", ["2020-01-01..2020-03-01", "2020-01-01..2020-03-01", ""]),
        ("school", ["low..high", "low..high", "a..b"]),
        ("town", ["{Ulm, Bonn}", "{Ulm, Bonn}", "Ulm"]),
    ],
)
def test_labels_are_refused_without_a_value(name, values):
    for texts in (pa.array(values), pa.array(values).dictionary_encode()):
        with pytest.raises(InvalidInput, match=f"{name}: holds labels") as caught:
            check_values(DOMAIN, pa.table({name: texts}))
        assert values[0] not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", ["0..19", "20", "30"]),  # one odd row is out of domain, as ever
        ("age", ["0..19", "20"]),
        ("age", [1, 2, 3]),
        ("age", []),
        ("school", ["a..b", "a..b", "high"]),  # a level of the schema
        ("town", ["{Bonn}", "*", "*"]),
        ("other", ["0..19", "0..19", "0..19"]),
    ],
)
def test_values_are_not(name, values):
    check_values(DOMAIN, pa.table({name: values}))
