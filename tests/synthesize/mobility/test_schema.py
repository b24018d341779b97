"""Schema of tap records: what it needs, and what it refuses."""

import datetime as dt

import pytest

from tacita.domain import Categorical, Domain, Identifier
from tacita.errors import InvalidInput
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.schema import TapSchema, tap_domain

FIRST, LAST = dt.date(2024, 3, 9), dt.date(2024, 3, 11)  # Saturday to Monday


def domain(**more):
    return tap_domain(("a", "b"), first=FIRST, last=LAST, **more)


def test_optional_columns_may_be_absent():
    schema = TapSchema.of(domain())
    assert schema.columns.mode is None
    assert schema.size("mode") == 1
    assert schema.names == ("origin", "destination", "entry_date", "entry_time", "exit_date", "exit_time")
    assert TapSchema.of(domain(modes=("bus",))).size("mode") == 3  # other and missing have buckets


def test_days_of_the_week_follow_the_dates():
    schema = TapSchema.of(domain())
    assert schema.days == 3
    assert schema.weekdays.tolist() == [5, 6, 0]


def test_columns_may_have_other_names():
    renamed = [a.model_copy(update={"name": {"origin": "from"}.get(a.name, a.name)}) for a in domain().attributes]
    schema = TapSchema.of(Domain(person="card", attributes=renamed), columns={"origin": "from", "exit_date": None})
    assert (schema.columns.origin, schema.columns.exit_date) == ("from", None)


def test_places_are_brought_into_the_order_of_the_levels():
    schema = TapSchema.of(domain(), places=Places(ids=("b", "x", "a"), zones=("1", "2", "3")))
    assert schema.places.ids == ("a", "b")
    assert schema.places.zones == ("3", "1")
    again = TapSchema.from_dict(schema.as_dict())
    assert again.as_dict() == schema.as_dict()


def _without(name):
    return Domain(person="card", attributes=[a for a in domain().attributes if a.name != name])


@pytest.mark.parametrize(
    "make",
    [
        lambda: TapSchema.of(Domain(attributes=[Categorical(name="x", levels=("a",))])),
        lambda: TapSchema.of(_without("origin")),
        lambda: TapSchema.of(_without("entry_time")),
        lambda: TapSchema.of(domain(), columns={"where": "origin"}),
        lambda: TapSchema.of(domain(), columns={"origin": None}),
        lambda: TapSchema.of(domain(), columns={"mode": "card"}),
        lambda: TapSchema.of(domain(), columns={"entry_time": "origin"}),
        lambda: TapSchema.of(domain(), columns={"entry_date": "entry_time"}),
        lambda: TapSchema.of(domain(), places=Places(ids=("a",))),
        lambda: domain(step=7),
        lambda: TapSchema.of(
            Domain(
                person="card",
                attributes=[
                    Identifier(name="card"),
                    *(a for a in domain().attributes if a.name not in ("card", "destination")),
                    Categorical(name="destination", levels=("a", "c")),
                ],
            )
        ),
    ],
)
def test_refusals(make):
    with pytest.raises(InvalidInput):
        make()
