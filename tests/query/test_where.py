"""Conditions on codes against the same conditions on values, by brute force."""

import datetime as dt
import itertools
import operator

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Date, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.query.where import ALL_ROWS, AllOf, AnyOf, OnCells, OneOf, compare, is_missing, narrow, negate, reached

RELATIONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
LINE = Domain(
    attributes=[
        Numeric(name="whole", bounds=(0, 9), edges=(0, 3, 4, 9), integer=True),
        Numeric(name="real", bounds=(0, 9), edges=(0, 3, 4, 9)),
        Date(name="day", bounds=("2020-01-01", "2020-03-31")),
    ]
)


def picked(where, domain, values):
    codes = {name: domain.encode(pa.table({name: values}), [name])[name] for name in where.attributes}
    return where.holds(codes, len(values)).tolist()


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ["whole", "real"])
def test_a_condition_is_what_it_says_or_is_refused(name, relation):
    values = [0, 1, 2, 3, 4, 5, 8, 9] + ([] if name == "whole" else [0.5, 2.999, 3.5, 8.5])
    answered = 0
    for point in (-1, 0, 0.5, 3, 3.5, 4, 5, 9, 10):
        wanted = [bool(RELATIONS[relation](value, point)) for value in values]
        bins = LINE.encode(pa.table({name: [float(v) for v in values]}), [name])[name]
        mixed = any(len({w for w, b in zip(wanted, bins, strict=True) if b == bin_}) > 1 for bin_ in set(bins.tolist()))
        try:
            found = picked(compare(LINE, name, relation, point), LINE, [float(v) for v in values])
        except InvalidInput:
            continue
        assert not mixed
        assert found == wanted
        answered += 1
    assert answered >= 2


def test_dates_are_compared_by_day_along_months():
    days = [dt.date(2020, 1, 31), dt.date(2020, 2, 1), dt.date(2020, 3, 31)]
    assert picked(compare(LINE, "day", ">=", "2020-02-01"), LINE, days) == [False, True, True]
    assert picked(compare(LINE, "day", "<=", dt.date(2020, 1, 31)), LINE, days) == [True, False, False]
    with pytest.raises(InvalidInput, match="cuts a bin"):
        compare(LINE, "day", ">", "2020-02-10")
    with pytest.raises(InvalidInput, match="a date such as"):
        compare(LINE, "day", ">", "soon")


def test_missing_values_satisfy_neither_a_comparison_nor_its_negation(engine, people):
    domain = engine.domain
    smokes = people["smokes"].to_pylist()
    yes = compare(domain, "smokes", "=", True)
    assert picked(yes, domain, people["smokes"]) == [s is True for s in smokes]
    assert picked(negate(yes, domain), domain, people["smokes"]) == [s is False for s in smokes]
    assert picked(is_missing(domain, "smokes"), domain, people["smokes"]) == [s is None for s in smokes]
    assert picked(is_missing(domain, "smokes", missing=False), domain, people["smokes"]) == [
        s is not None for s in smokes
    ]


def test_not_follows_the_logic_of_sql(engine):
    """Every row of three truth values, for NOT (a AND b) and NOT (a OR b)."""
    domain = engine.domain
    a, b = compare(domain, "smokes", "=", True), compare(domain, "income", ">=", 50)
    truths = {True: 1, False: 0, None: domain["smokes"].missing_code}
    incomes = {True: 11, False: 0, None: domain["income"].missing_code}
    for (x, smokes), (y, income) in itertools.product(truths.items(), incomes.items()):
        codes = {"smokes": np.array([smokes]), "income": np.array([income])}
        assert bool(negate(AllOf((a, b)), domain).holds(codes, 1)[0]) == (x is False or y is False)
        assert bool(negate(AnyOf((a, b)), domain).holds(codes, 1)[0]) == (x is False and y is False)


def test_orders_belong_to_ordinals(engine):
    assert compare(engine.domain, "pain", ">=", "some") == OneOf("pain", (1, 2))
    assert compare(engine.domain, "pain", "<", "some") == OneOf("pain", (0,))
    with pytest.raises(InvalidInput, match="without an order"):
        compare(engine.domain, "region", "<", "south")
    with pytest.raises(InvalidInput, match="declared level"):
        compare(engine.domain, "region", "=", "elsewhere")
    with pytest.raises(InvalidInput, match="compared with a number"):
        compare(engine.domain, "age", "<", "old")
    with pytest.raises(InvalidInput, match="no bucket"):
        is_missing(engine.domain, "age")


WHERES = [
    OneOf("a", (0, 2)),
    OneOf("b", (1,)),
    AllOf((OneOf("a", (0, 1)), OneOf("a", (1, 2)), OneOf("b", (0,)))),
    AnyOf((OneOf("a", (0,)), AllOf((OneOf("a", (2,)), OneOf("b", (1,)))))),
    AnyOf((OneOf("a", (0,)), OneOf("b", (1,)))),
    OnCells(("a", "b"), (3, 2), (1, 4), (0, 2)),
    negate(OnCells(("a", "b"), (3, 2), (1, 4), (0, 2)), LINE),
    AnyOf(()),
    ALL_ROWS,
]


@pytest.mark.parametrize("where", WHERES)
def test_no_row_that_is_picked_has_a_code_that_is_not_reached(where):
    rows = np.array(list(itertools.product(range(3), range(2))))
    codes = {"a": rows[:, 0], "b": rows[:, 1]}
    held = where.holds(codes, len(rows))
    for at, name in enumerate(("a", "b")):
        found = reached(where, name)
        assert found is None or set(rows[held, at].tolist()) <= found
        if isinstance(where, OneOf | OnCells) and found is not None:
            assert set(rows[held, at].tolist()) == found


@pytest.mark.parametrize(
    ("name", "relation", "value", "bounds"),
    [
        ("whole", "<", 4, (0, 3)),
        ("whole", ">=", 3, (3, 9)),
        ("whole", "=", 3, (3, 4)),
        ("real", "<", 4, (0, np.nextafter(4, 0))),
        ("real", ">=", 4, (4, 9)),
        ("day", ">=", "2020-03-01", (18322, 18352)),
    ],
)
def test_bounds_are_those_of_the_bins_that_a_condition_reaches(name, relation, value, bounds):
    assert narrow(compare(LINE, name, relation, value), LINE[name]) == bounds
    assert narrow(ALL_ROWS, LINE[name]) == LINE[name].line_bounds


def test_bounds_of_one_number_rise_inside_the_schema():
    levels = Numeric(name="n", bounds=(0, 3), integer=True)
    assert [narrow(OneOf("n", (code,)), levels) for code in range(4)] == [(0, 1), (1, 2), (2, 3), (2, 3)]


def test_cells_hold_where_they_say_and_out_of_domain_values_are_in_none():
    where = OnCells(("a", "b"), (3, 2), (1, 4), (0,))
    codes = {"a": np.array([0, 2, 0, 3, 1]), "b": np.array([1, 0, 0, 0, 2])}
    assert where.holds(codes, 5).tolist() == [True, True, False, False, False]
    assert negate(where, LINE).holds(codes, 5).tolist() == [False, False, True, False, False]
    assert where.as_dict() == {"of": ["a", "b"], "cells": [1, 4]}
