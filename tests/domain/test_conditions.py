import datetime as dt

import numpy as np
import pytest

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric, Ordinal
from tacita.domain.conditions import Condition, bin_ends
from tacita.errors import InvalidInput

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 99), edges=(0, 16, 65, 99), integer=True, missing=True),
        Numeric(name="share", bounds=(0, 1), bins=4),
        Ordinal(name="school", levels=("none", "some", "all"), other=True),
        Categorical(name="town", levels=("A", "B", "C"), missing=True),
        Date(name="day", bounds=(dt.date(2020, 1, 15), dt.date(2020, 6, 20))),
        Boolean(name="in"),
    ]
)


def on_codes(text):
    condition = Condition.parse(text).check(DOMAIN)
    return condition.on_codes(DOMAIN[condition.attribute]).tolist()


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("age < 16", [True, False, False, False]),
        ("age<=15", [True, False, False, False]),
        ("age >= 65", [False, False, True, False]),
        ("age > 99", [False, False, False, False]),
        ("age != 120", [True, True, True, False]),
        ("age = (missing)", [False, False, False, True]),
        ("age != (missing)", [True, True, True, False]),
        ("share < 0.5", [True, True, False, False]),
        ("share >= 0.75", [False, False, False, True]),
        ("school > none", [False, True, True, False]),
        ("school != some", [True, False, True, False]),
        ("town in (A, C)", [True, False, True, False]),
        ("town in A, (missing)", [True, False, False, True]),
        ("day < 2020-03-01", [True, True, False, False, False, False]),
        ("in = true", [False, True]),
    ],
)
def test_conditions_on_codes(text, met):
    assert on_codes(text) == met


def test_a_bin_is_met_exactly_when_all_its_values_are():
    """Against every whole number in every bin."""
    age = DOMAIN["age"]
    first, last = bin_ends(age)
    for relation in ("<", "<=", ">", ">=", "=", "!="):
        for point in (*range(-1, 101), 2.5, 17.5, 64.5):
            condition = Condition(attribute="age", relation=relation, values=(str(point),))
            inside = [condition.holds(age, np.arange(a, b + 1)) for a, b in zip(first, last, strict=True)]
            if all(part.all() or not part.any() for part in inside):
                assert condition.on_codes(age).tolist() == [bool(part.all()) for part in inside] + [False]
            else:
                with pytest.raises(InvalidInput, match="cuts a bin"):
                    condition.on_codes(age)


def test_conditions_on_values():
    values = np.array([3.0, 70.0, np.nan])
    assert Condition.parse("age > 65").holds(DOMAIN["age"], values).tolist() == [False, True, False]
    assert Condition.parse("age = (missing)").holds(DOMAIN["age"], values).tolist() == [False, False, True]
    assert Condition.parse("age in (3, (missing))").holds(DOMAIN["age"], values).tolist() == [True, False, True]
    assert Condition.parse("town != A").holds(DOMAIN["town"], np.arange(4)).tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    "text",
    ["age", "age < many", "town < B", "town = Z", "day > soon", "nobody = 1", "in = perhaps", "school > better"],
)
def test_what_cannot_be_asked(text):
    with pytest.raises(InvalidInput):
        Condition.parse(text).check(DOMAIN)


def test_a_condition_is_written_as_it_is_read():
    for text in ("age < 16", "town in (A, C)", "day >= 2020-03-01"):
        assert str(Condition.parse(text)) == text
        assert Condition.parse(str(Condition.parse(text))) == Condition.parse(text)
    with pytest.raises(InvalidInput, match="relation"):
        Condition(attribute="age", relation="like", values=("1",))
    with pytest.raises(InvalidInput, match="one value"):
        Condition(attribute="age", relation="<", values=("1", "2"))
