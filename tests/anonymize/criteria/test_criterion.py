"""The laws of criteria: every one of the registry must keep what it claims, on random counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.anonymize.criteria import Classes, Conditions, Sensitive
from tacita.anonymize.criteria.registry import CRITERIA
from tacita.anonymize.parameters import parameters_of

ASKED: dict[str, list[dict[str, Any]]] = {
    "k": [{"k": 1}, {"k": 3}, {"k": 6}],
    "l": [
        {"l": 2},
        {"l": 3},
        {"l": 1.5, "l_kind": "entropy"},
        {"l": 2, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 1.5},
        {"l": 2, "l_kind": "recursive", "c": 3.0},
    ],
    "t": [{"t": t, "t_distance": kind} for t in (0.15, 0.4) for kind in (None, "equal", "ordered")],
    "alpha": [{"alpha": 0.4}, {"alpha": 0.7}],
    "beta": [{"beta": 0.5}, {"beta": 2.0}],
    "disclosure": [{"disclosure": 0.5}, {"disclosure": 1.5}],
    "presence": [{"presence": (0.2, 0.7)}, {"presence": (0.0, 0.5)}, {"presence": (0.3, 0.6)}],
}


EACH = [pytest.param(kind, id=kind.name) for kind in CRITERIA]


row = st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any)


def of(counts, whole=(5, 3, 7, 2), population=0, **about):
    """Classes with these counts of values; every person has one row."""
    counts = np.array(counts, np.int64)
    people = counts.sum(axis=1)
    attribute = Sensitive(name="x", whole=np.array(whole, np.int64), **about)
    return Classes(people=people, rows=people, population=people + population, counts=counts, attribute=attribute)


def test_every_criterion_is_tested_here():
    assert {kind.name for kind in CRITERIA} == set(ASKED)


@pytest.mark.parametrize("kind", EACH)
@given(one=row, other=row, missing=st.sampled_from([None, 0]), ordered=st.booleans(), spare=st.integers(0, 9))
def test_monotone_criteria_survive_joining(kind, one, other, missing, ordered, spare):
    if not kind.monotone:
        return
    about: dict[str, Any] = {"missing": missing, "kind": "ordered" if ordered else "equal"}
    apart = of([one, other], population=np.array([spare, 2]), **about)
    joined = of([np.add(one, other)], population=np.array([spare + 2]), **about)
    for asked in ASKED[kind.name]:
        criterion = kind(**asked)
        if criterion.holds(apart).all():
            assert criterion.holds(joined).all(), asked


@pytest.mark.parametrize("kind", EACH)
@given(one=row, more=row)
def test_a_part_of_a_group_that_breaks_a_nested_criterion_breaks_it(kind, one, more):
    """Also when people come back: then counts of a group lie between those of a part and their sum."""
    for asked in ASKED[kind.name]:
        criterion = kind(**asked)
        if criterion.nested and not criterion.holds(of([np.add(one, more)]))[0]:
            assert not criterion.holds(of([one]))[0], asked


@pytest.mark.parametrize("kind", EACH)
@given(table=st.lists(row, min_size=1, max_size=5), spare=st.integers(0, 9))
def test_the_figure_of_the_worst_class_says_whether_all_hold(kind, table, spare):
    classes = of(table, population=spare)
    for asked in ASKED[kind.name]:
        criterion = kind(**asked)
        worst = criterion.worst(criterion.measure(classes))
        assert criterion.met(worst) == criterion.holds(classes).all(), asked
        if not criterion.met(worst):
            assert criterion.name in criterion.failure(worst, "x")


@pytest.mark.parametrize("kind", EACH)
@given(counts=row, whole=row)
def test_bounds_on_shares_are_the_criterion(kind, counts, whole):
    whole = np.add(counts, whole)
    classes = of([counts], whole=whole)
    for asked in ASKED[kind.name]:
        criterion = kind(**asked)
        bounds = criterion.shares(classes.of)
        if bounds is not None:
            share = classes.shares[0]
            within = (share >= bounds[0] * (1 - 1e-12)).all() and (share <= bounds[1] * (1 + 1e-12)).all()
            assert within == criterion.holds(classes)[0], asked


@pytest.mark.parametrize("kind", EACH)
@given(table=st.lists(row, min_size=1, max_size=6), spare=st.integers(0, 9))
def test_a_stricter_request_meets_the_policy(kind, table, spare):
    classes = of(table, population=spare)
    for asked in ASKED[kind.name]:
        assert kind(**asked).at_least_as_strict_as(kind(**asked))
        for least in ASKED[kind.name]:
            own, policy = kind(**asked), kind(**least)
            if own.at_least_as_strict_as(policy):
                assert (policy.holds(classes) | ~own.holds(classes)).all(), (asked, least)


@pytest.mark.parametrize("kind", EACH)
def test_some_requests_are_stricter_and_some_are_not(kind):
    pairs = [(kind(**one), kind(**other)) for one in ASKED[kind.name] for other in ASKED[kind.name] if one != other]
    found = {one.at_least_as_strict_as(other) for one, other in pairs}
    assert found == {True, False}


@pytest.mark.parametrize("kind", EACH)
def test_plain_data_and_words(kind):
    for asked in ASKED[kind.name]:
        criterion = kind(**asked)
        assert Conditions.of({"k": 3} | criterion.as_dict()).as_dict().items() >= criterion.as_dict().items()
        assert {each.name for each in parameters_of(kind)} >= set(criterion.as_dict())
        assert criterion.words
        assert not criterion.words.endswith(".")
        assert criterion.name in criterion.label
