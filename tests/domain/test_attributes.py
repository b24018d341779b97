import datetime as dt

import pytest

from tacita.domain import Boolean, Categorical, Date, Identifier, Numeric, Ordinal
from tacita.errors import SchemaError


def test_buckets_come_after_the_levels():
    attribute = Categorical(name="a", levels=["x", "y"], other=True, missing=True)
    assert attribute.all_labels == ("x", "y", "(other)", "(missing)")
    assert (attribute.other_code, attribute.missing_code, attribute.out_of_domain) == (2, 3, 4)


def test_without_buckets_values_are_nowhere():
    attribute = Ordinal(name="a", levels=["low", "high"])
    assert attribute.size == 2
    assert attribute.other_code == attribute.missing_code == attribute.out_of_domain == 2


def test_integer_bins():
    assert Numeric(name="a", bounds=(0, 3), integer=True).labels == ("0", "1", "2", "3")
    assert Numeric(name="a", bounds=(0, 9), bins=3, integer=True).labels == ("0..2", "3..5", "6..9")
    assert Numeric(name="a", bounds=(0, 99), edges=(0, 18, 65, 99), integer=True).labels == (
        "0..17",
        "18..64",
        "65..99",
    )


def test_real_bins():
    assert Numeric(name="a", bounds=(0, 1), bins=2).labels == ("[0, 0.5)", "[0.5, 1]")


@pytest.mark.parametrize(
    ("by", "labels"),
    [
        ("year", ("2020", "2021")),
        ("quarter", ("2020-Q3", "2020-Q4", "2021-Q1")),
        ("month", ("2020-09", "2020-10", "2020-11", "2020-12", "2021-01")),
    ],
)
def test_date_periods(by, labels):
    assert Date(name="d", bounds=(dt.date(2020, 9, 12), dt.date(2021, 1, 31)), by=by).labels == labels


def test_weeks_begin_on_monday():
    attribute = Date(name="d", bounds=(dt.date(2020, 12, 30), dt.date(2021, 1, 11)), by="week")
    assert [day.isoformat() for day in attribute.first_days] == ["2020-12-30", "2021-01-04", "2021-01-11"]
    assert attribute.labels == ("2020-W53", "2021-W01", "2021-W02")


def test_identifiers_have_no_codes():
    assert not Identifier(name="id").countable
    assert Identifier(name="id").role == "identifier"
    assert Boolean(name="b").labels == ("false", "true")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Categorical(name="a", levels=[]), "a.levels"),
        (lambda: Categorical(name="a", levels=["x", "x"]), "'x' is there twice"),
        (lambda: Categorical(name="a", levels=[True, False]), "quotes"),
        (lambda: Categorical(name="", levels=["x"]), "name"),
        (lambda: Categorical(name="a", levels=["x"], colour="red"), "a.colour"),
        (lambda: Categorical(name="a", levels=["x"], role="hero"), "a.role"),
        (lambda: Numeric(name="a", bounds=(1, 1), bins=2), "rising"),
        (lambda: Numeric(name="a", bounds=(0, float("inf")), bins=2), "finite"),
        (lambda: Numeric(name="a", bounds=(0, 1)), "needs edges or bins"),
        (lambda: Numeric(name="a", bounds=(0, 1), bins=2, edges=(0, 1)), "not both"),
        (lambda: Numeric(name="a", bounds=(0, 1), edges=(0, 0.5)), "begin and end at the bounds"),
        (lambda: Numeric(name="a", bounds=(0, 1), edges=(0, 0.5, 0.5, 1)), "rise strictly"),
        (lambda: Numeric(name="a", bounds=(0, 1.5), integer=True), "integers"),
        (lambda: Numeric(name="a", bounds=(0, 2), edges=(0, 0.5, 2), integer=True), "integers"),
        (lambda: Numeric(name="a", bounds=(0, 3), bins=9, integer=True), "more bins than integers"),
        (lambda: Numeric(name="a", bounds=(0, 1e12), integer=True), "too many"),
        (lambda: Numeric(name="a", bounds=(0, 1), bins=0), "a.bins"),
        (lambda: Date(name="d", bounds=("2021-01-01", "2020-01-01")), "rise"),
        (lambda: Date(name="d", bounds=("2021-01-01", "soon")), "d.bounds"),
        (
            lambda: Date(name="d", bounds=("2021-01-01", "2022-01-01"), edges=("2021-01-01", "2021-06-01")),
            "begin and end",
        ),
        (lambda: Date(name="d", bounds=("2021-01-01", "2022-01-01"), edges=("2021-01-01",)), "at least two"),
        (
            lambda: Date(name="d", bounds=("2021-01-01", "2022-01-01"), by="day", edges=("2021-01-01", "2022-01-01")),
            "not both",
        ),
    ],
)
def test_bad_attributes_are_refused_by_name(make, says):
    with pytest.raises(SchemaError, match=says):
        make()


def test_frozen():
    with pytest.raises(ValueError):
        Boolean(name="b").name = "c"


def test_dates_between_edges():
    edges = ("2020-01-01", "2020-01-02", "2020-02-29", "2020-12-31")
    attribute = Date(name="d", bounds=("2020-01-01", "2020-12-31"), edges=edges, missing=True)
    assert attribute.labels == ("2020-01-01", "2020-01-02..2020-02-28", "2020-02-29..2020-12-31")
    assert attribute.size == 4
    assert Date.model_validate(attribute.model_dump()) == attribute
