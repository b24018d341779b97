"""Expressions over public codes, against the same expressions on values."""

import itertools

import pytest
import sqlglot

from tacita.domain import Categorical, Date, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.query.sql.public import ordered_values, values_of, work_out
from tacita.query.sql.scope import Scope
from tacita.query.where import ALL_ROWS, OneOf

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), edges=(0, 20, 40, 99), integer=True, missing=True),
        Numeric(name="kids", bounds=(0, 3), integer=True),
        Categorical(name="town", levels=("b", "a"), other=True),
        Numeric(name="pay", bounds=(0, 1), bins=4),
        Date(name="seen", bounds=("2019-11-01", "2020-03-31")),
    ]
)
SCOPE = Scope(domain=DOMAIN, tables={"t": frozenset(DOMAIN.names)})


def table(text):
    return work_out(sqlglot.parse_one(text, read="postgres"), SCOPE)


def test_every_cell_has_the_value_of_its_rows():
    made = table("CASE WHEN age < 20 AND kids > 1 THEN 'x' WHEN age IS NULL THEN 'y' ELSE town END")
    assert made.of == ("age", "kids", "town")
    wanted = []
    for age, kids, town in itertools.product((5, 25, 50, None), range(4), ("b", "a", "(other)")):
        wanted.append("x" if age is not None and age < 20 and kids > 1 else "y" if age is None else town)
    assert made.values == wanted


def test_whole_numbers_and_days_are_looked_at_one_by_one():
    assert table("FLOOR(age / 20) >= 2").values == [False, False, True, None]
    assert table("EXTRACT(YEAR FROM seen)").values == [2019.0, 2019.0, 2020.0, 2020.0, 2020.0]
    with pytest.raises(InvalidInput, match=r"inside a bin.*20\.\.39"):
        table("age >= 30")
    with pytest.raises(InvalidInput, match="inside a bin"):
        table("age % 2")


def test_groups_sort_by_value_and_cells_that_no_row_can_have_are_in_none():
    made, values = table("kids * 10").as_group("k", ALL_ROWS)
    assert (made.attribute.labels, made.codes, values) == (
        ("0", "10", "20", "30"),
        (0, 1, 2, 3),
        [0.0, 10.0, 20.0, 30.0],
    )
    made, values = table("NULLIF(kids, 1)").as_group("k", ALL_ROWS)
    assert (made.codes, values) == ((0, 3, 1, 2), [0.0, 2.0, 3.0, None])
    made, values = table("NULLIF(kids, 1)").as_group("k", OneOf("kids", (0, 2)))
    assert (made.codes, values) == ((0, 2, 1, 2), [0.0, 2.0])


def test_conditions_know_what_is_true_and_what_is_false():
    made = table("age < 20").as_condition()
    assert (made.true, made.false) == ((0,), (1, 2))  # of a missing age, neither
    with pytest.raises(InvalidInput, match="condition"):
        table("kids + 1").as_condition()
    with pytest.raises(InvalidInput, match="number"):
        table("town").as_numbers()


@pytest.mark.parametrize("text", ["pay * 2", "pay < 0.3", "CASE WHEN kids = 1 THEN 'a' ELSE 1 END"])
def test_what_bins_do_not_show_is_refused(text):
    with pytest.raises(InvalidInput):
        table(text).as_group("x", ALL_ROWS)


def test_values_and_ranks_of_codes():
    assert values_of(DOMAIN["kids"]) == [0.0, 1.0, 2.0, 3.0]
    assert values_of(DOMAIN["age"]) == ["0..19", "20..39", "40..99", None]
    assert values_of(DOMAIN["town"]) == ["b", "a", "(other)"]
    assert ordered_values(DOMAIN["town"]) == [2, 1, 0]
    assert ordered_values(DOMAIN["age"]) == [0, 1, 2, 3]
