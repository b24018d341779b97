"""Conditions as users state them, and what is said of rows that do not hold them."""

import math

import pytest

from tacita.anonymize.criteria import Achieved, Conditions
from tacita.anonymize.criteria.closeness import TCloseness
from tacita.anonymize.criteria.registry import CRITERIA
from tacita.errors import InvalidInput, UnknownName


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 2.0},
        {"k": True},
        {"k": 2, "l": 0.5},
        {"k": 2, "l": 1.5},
        {"k": 2, "l": math.nan},
        {"k": 2, "l_kind": "fair"},
        {"k": 2, "c": 0},
        {"k": 2, "t": 1.1},
        {"k": 2, "t": math.nan},
        {"k": 2, "alpha": 0.0},
        {"k": 2, "presence": (0.5, 0.2)},
    ],
)
def test_conditions_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidInput):
        Conditions(**wrong)
    assert Conditions(k=2, l=1.5, l_kind="entropy").as_dict() == {"k": 2, "l": 1.5, "l_kind": "entropy"}


def test_every_failure_is_named():
    found = Achieved(k=2, people=9, classes=3, unique=0, l={"x": 1}, t={"x": 0.5}, alpha={"x": 1}, presence=(0, 1))
    asked = Conditions(k=3, l=2, t=0.2, alpha=0.5, presence=(0.1, 0.9))
    assert [text.split()[0] for text in found.failures(asked)] == ["k", "l", "t", "alpha", "presence"]
    assert found.failures(Conditions(k=2)) == []


def test_nothing_asked_of_sensitive_values_is_said():
    assert Conditions(k=5, l=2).concerns(["ill"]) == ()
    assert Conditions(k=5, t=0.3).concerns(["ill"]) == ()
    assert Conditions(k=5).concerns([]) == ()
    (said,) = Conditions(k=5).concerns(["ill"])
    assert said.startswith("ill is sensitive and l is 1")


def test_conditions_by_name_are_those_of_the_constructor():
    named = {"k": 4, "l": 2, "l_kind": "recursive", "c": 2.0, "t": 0.4, "alpha": 0.9, "presence": (0.1, 0.9)}
    assert Conditions.of(named) == Conditions(**named)
    assert Conditions.of(named).as_dict() == named
    with pytest.raises(UnknownName, match="tau"):
        Conditions.of({"k": 4, "tau": 1})


def test_a_criterion_is_asked_for_once():
    with pytest.raises(InvalidInput, match="twice"):
        Conditions(k=2, t=0.2, more=(TCloseness(t=0.1),))


def test_a_criterion_that_nobody_measured_does_not_hold():
    class Other(TCloseness):
        name = "other"
        other = 0.2

    asked = Conditions(k=2, more=(Other(),))
    found = Achieved(k=2, people=9, classes=3, unique=0)
    assert found.failures(asked) == ["other was not measured"]


def test_the_known_criteria_are_all_registered():
    assert {type(criterion) for criterion in Conditions(k=2).criteria} <= set(CRITERIA)
