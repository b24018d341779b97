"""Other bins keep everything else of a schema."""

import datetime as dt

import pytest

from tacita.domain import Boolean, Date, Domain, Identifier, Numeric
from tacita.domain.rebin import rebin, same_columns, singles
from tacita.errors import InvalidInput, SchemaError

DOMAIN = Domain(
    title="people",
    person="who",
    nulls=("", "?"),
    attributes=[
        Identifier(name="who"),
        Numeric(name="age", bounds=(0, 99), bins=3, integer=True, missing=True, role="quasi-identifier"),
        Numeric(name="weight", bounds=(20, 200), edges=(20, 80, 200), other=True),
        Date(name="day", bounds=("2020-01-01", "2020-12-31"), by="quarter", missing=True),
        Boolean(name="smokes"),
    ],
)
FIRST = (dt.date(2020, 1, 1) - dt.date(1970, 1, 1)).days


def test_new_bins_and_nothing_else():
    found = rebin(DOMAIN, {"age": (0, 18), "weight": (20, 60.5, 70), "day": (FIRST, FIRST + 31)})
    assert found["age"].all_labels == ("0..17", "18..99", "(missing)")
    assert found["weight"].all_labels == ("[20, 60.5)", "[60.5, 70)", "[70, 200]", "(other)")
    assert found["day"].all_labels == ("2020-01-01..2020-01-31", "2020-02-01..2020-12-31", "(missing)")
    assert (found.title, found.person, found.nulls, found["age"].role) == (
        "people",
        "who",
        ("", "?"),
        "quasi-identifier",
    )
    assert found.shape != DOMAIN.shape
    assert found.fingerprint != DOMAIN.fingerprint
    assert same_columns(DOMAIN, found)
    assert Domain.from_dict(found.as_dict()) == found


def test_a_level_for_each_value():
    assert singles(DOMAIN["age"]).size == 101
    assert singles(DOMAIN["day"]).size == 367
    assert singles(DOMAIN["day"]).labels[58] == "2020-02-28"
    with pytest.raises(InvalidInput, match="whole"):
        singles(DOMAIN["weight"])


def test_what_cannot_be_binned_is_refused():
    with pytest.raises(InvalidInput, match="smokes"):
        rebin(DOMAIN, {"smokes": (0,)})
    for starts in ((1, 18), (0, 18, 18), (0, 99), (0, 17.5)):
        with pytest.raises(SchemaError, match="edges"):
            rebin(DOMAIN, {"age": starts})


def test_columns_that_differ_in_more_than_bins_are_others():
    for name, value in (("missing", False), ("bounds", (0, 98)), ("integer", False)):
        changed = DOMAIN["age"].model_dump() | {name: value, "edges": None, "bins": 5}
        other = [Numeric(**changed) if each.name == "age" else each for each in DOMAIN.attributes]
        assert not same_columns(DOMAIN, Domain(person="who", title="people", nulls=("", "?"), attributes=other))
    assert not same_columns(DOMAIN, DOMAIN.project(["age"]))
