import datetime as dt

import pytest

from tacita.anonymize.hierarchies.declared import declared_axis
from tacita.domain import Boolean, Categorical, Date, Identifier, Numeric, Ordinal
from tacita.errors import InvalidInput


def test_all_declared_values_are_there():
    days = Date(name="x", bounds=(dt.date(2019, 12, 30), dt.date(2020, 1, 2)))
    assert declared_axis(days).texts == ("2019-12-30", "2019-12-31", "2020-01-01", "2020-01-02")
    assert declared_axis(Numeric(name="x", bounds=(-1, 2), integer=True)).texts == ("-1", "0", "1", "2")
    assert declared_axis(Boolean(name="x")).texts == ("false", "true")
    assert declared_axis(Ordinal(name="x", levels=["b", "a"])).texts == ("b", "a")
    assert set(declared_axis(Categorical(name="x", levels=["b", "a"])).texts) == {"a", "b"}


@pytest.mark.parametrize(
    "attribute",
    [
        Numeric(name="x", bounds=(0, 1), bins=4),
        Identifier(name="x"),
        Numeric(name="x", bounds=(0, 2**21), bins=4, integer=True),
    ],
)
def test_endless_values_have_a_rule_instead(attribute):
    with pytest.raises(InvalidInput, match=r"\.yaml"):
        declared_axis(attribute)
