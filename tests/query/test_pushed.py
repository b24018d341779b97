"""The request of a plan to an engine that adds up. That replies are added up right is `tacita.testing.sums`."""

import dataclasses

import pytest

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.adding import MOST, Formula
from tacita.query import Aggregate, Aggregates
from tacita.query.derived import Derived
from tacita.query.expressions import Binary, Computed, Constant, Value
from tacita.query.pushed import read_as, split_where
from tacita.query.summing import request_of
from tacita.query.where import ALL_ROWS, AllOf, AnyOf, OneOf
from tacita.testing.sums import plan_of

DOMAIN = Domain(
    attributes=[
        Numeric(name="x", bounds=(0, 10), bins=5),
        Categorical(name="g", levels=("a", "b", "c")),
        Categorical(name="h", levels=("p", "q")),
    ]
)
PERSONS = Domain(attributes=[Identifier(name="who"), *DOMAIN.attributes], person="who")
A, P = OneOf("g", (0, 1)), OneOf("h", (0,))
MEAN, MEDIAN = Aggregate(kind="mean", column="x"), Aggregate(kind="quantile", column="x", q=0.5)


def test_conditions_on_one_attribute_are_left_to_the_engine():
    assert split_where(A) == ({"g": (0, 1)}, ALL_ROWS)
    assert split_where(AllOf((A, P, OneOf("g", (1, 2))))) == ({"g": (1,), "h": (0,)}, ALL_ROWS)
    either = AnyOf((A, P))
    assert split_where(either) == ({}, AllOf((either,)))
    assert split_where(AllOf((either, P))) == ({"h": (0,)}, AllOf((either,)))
    assert split_where(ALL_ROWS) == ({}, ALL_ROWS)


def test_only_what_is_left_to_check_makes_groups():
    assert request_of(plan_of(DOMAIN, [MEAN], ["h"], A)).names == ("h",)
    assert request_of(plan_of(DOMAIN, [MEAN], ["h"], AnyOf((A, P)))).names == ("h", "g")
    merged = Derived(attribute=Categorical(name="m", levels=("u", "v")), of=("g",), sizes=(3,), codes=(0, 0, 1))
    assert request_of(plan_of(DOMAIN, [MEAN], ["m"], P, derived=[merged])).names == ("g",)


def test_statistics_of_a_column_share_its_number():
    wanted = [MEAN, MEDIAN, Aggregate(kind="count", column="g"), Aggregate(kind="count")]
    request = request_of(plan_of(DOMAIN, wanted, ["h"]))
    assert [number.column for number in request.numbers] == ["x", "g"]
    assert [at for at, _ in (*request.sums, *request.counts)] == [0, 0]
    narrow = Aggregate(kind="mean", column="x", bounds=(-5, 5), name="narrow")
    numbers = request_of(plan_of(DOMAIN, [MEAN, narrow])).numbers
    assert [number.bounds for number in numbers] == [(0.0, 10.0), (-5.0, 5.0)]
    measure = plan_of(DOMAIN, [Aggregate(kind="mean", column="x", bounds=(2, 5))]).measures[0]
    assert read_as(DOMAIN, measure) == DOMAIN["x"]


def test_what_no_engine_is_asked_for():
    made = Computed(name="m", of=Binary("+", Value("x"), Constant(1.0)))
    recipe = Aggregates(aggregates=[Aggregate(kind="sum", column="m")], computed=[made])
    plan = plan_of(DOMAIN, [MEAN])
    assert request_of(dataclasses.replace(plan, recipe=recipe, measures=recipe.measures(DOMAIN))) is None
    wide = Domain(attributes=[Numeric(name=name, bounds=(0, 999), integer=True) for name in "xyz"])
    assert request_of(plan_of(wide, [MEAN], ["y", "z"])) is not None
    assert request_of(plan_of(wide, [MEDIAN], ["y", "z"])) is None


def test_numbers_that_an_engine_has_no_room_for_are_streamed(monkeypatch):
    plan = plan_of(DOMAIN, [Aggregate(kind="sum", column="x")])
    assert request_of(plan) is not None
    monkeypatch.setattr(type(plan.measures[0]), "formulas", property(lambda _: (Formula((), 0, MOST + 1),)))
    assert request_of(plan) is None


@pytest.mark.parametrize(
    ("by", "where", "asked"),
    [((), ALL_ROWS, True), (("g",), P, True), (("g",), AnyOf((A, P)), False), (("g", "h"), AnyOf((A, P)), True)],
)
def test_distinct_persons_need_groups_that_are_codes(by, where, asked):
    request = request_of(plan_of(PERSONS, [Aggregate(kind="persons"), MEAN], by, where))
    assert (request is not None) == asked
    if request is not None:
        assert request.persons
        assert request.unit.person == "who"


def test_rows_of_a_person_are_chosen_by_the_columns_that_are_read():
    assert request_of(plan_of(PERSONS, [MEAN], ["h"], A)).ties == ("h", "g", "x")
    assert not request_of(plan_of(PERSONS, [MEAN], ["h"], A)).persons
