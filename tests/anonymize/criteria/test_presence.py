"""Shares of the population by their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.anonymize.criteria import Classes
from tacita.anonymize.criteria.presence import DeltaPresence, parse_shares
from tacita.errors import InvalidInput

CLASSES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=6)
ENDS = st.tuples(st.integers(0, 10), st.integers(0, 10)).map(lambda pair: tuple(each / 10 for each in sorted(pair)))


def classes_of(pairs):
    inside, outside = np.array(pairs).T
    return Classes(people=inside, rows=inside, population=inside + outside)


@given(pairs=CLASSES.filter(lambda pairs: all(sum(pair) for pair in pairs)), ends=ENDS)
def test_it_holds_where_the_share_lies_between_the_bounds(pairs, ends):
    asked, classes = DeltaPresence(presence=ends), classes_of(pairs)
    fits = [ends[0] * (a + b) - 1e-9 <= a <= ends[1] * (a + b) + 1e-9 for a, b in pairs]
    assert asked.holds(classes).tolist() == fits
    worst = asked.worst(asked.measure(classes))
    assert worst == (min(a / (a + b) for a, b in pairs), max(a / (a + b) for a, b in pairs))
    assert asked.met(worst) == all(fits)


def test_a_class_without_a_population_is_no_error():
    assert DeltaPresence().measure(classes_of([(0, 0)])).tolist() == [0.0]


@given(one=ENDS, other=ENDS)
def test_bounds_that_lie_within_are_stricter(one, other):
    stricter = other[0] <= one[0] <= one[1] <= other[1]
    assert DeltaPresence(presence=one).at_least_as_strict_as(DeltaPresence(presence=other)) == stricter


def test_nothing_asked_holds_always():
    assert DeltaPresence().ends == (0.0, 1.0)
    assert DeltaPresence().holds(classes_of([(0, 5), (5, 0)])).all()


def test_it_is_read_and_said():
    assert parse_shares("0.05:0.5") == (0.05, 0.5)
    assert parse_shares("0.5") == (0.0, 0.5)
    asked = DeltaPresence(presence=(0.05, 0.5))
    assert "between 5% and 50%" in asked.words
    assert asked.failure((0.01, 0.9)) == "presence is 0.01 to 0.9 and should be 0.05 to 0.5"


@pytest.mark.parametrize("text", ["", "a", "0.1:", ":", "0.1:b"])
def test_texts_that_are_no_shares_are_refused(text):
    with pytest.raises(InvalidInput, match="presence"):
        parse_shares(text)


@pytest.mark.parametrize("ends", [(0.5, 0.2), (-0.1, 0.5), (0.5, 1.1), (float("nan"), 0.5)])
def test_bounds_that_make_no_sense_are_refused(ends):
    with pytest.raises(InvalidInput, match="presence"):
        DeltaPresence(presence=ends)
