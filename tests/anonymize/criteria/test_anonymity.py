"""k-anonymity by counting people."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.anonymize.criteria import Classes
from tacita.anonymize.criteria.anonymity import KAnonymity, uniqueness_of
from tacita.errors import InvalidInput

SIZES = st.lists(st.integers(1, 9), min_size=1, max_size=6)


def classes_of(sizes, rows=None):
    people = np.array(sizes)
    return Classes(people=people, rows=people if rows is None else np.array(rows), population=people)


@given(sizes=SIZES, k=st.integers(1, 9))
def test_it_holds_where_every_class_has_k_people(sizes, k):
    asked, classes = KAnonymity(k=k), classes_of(sizes)
    assert asked.holds(classes).tolist() == [size >= k for size in sizes]
    assert asked.worst(asked.measure(classes)) == min(sizes)
    assert asked.met(min(sizes)) == all(size >= k for size in sizes)


def test_people_are_counted_and_not_their_rows():
    assert not KAnonymity(k=2).holds(classes_of([1], rows=[7])).any()


@given(sizes=SIZES)
def test_classes_of_one_person(sizes):
    assert uniqueness_of(np.array(sizes)) == sizes.count(1)


@given(one=st.integers(1, 9), other=st.integers(1, 9))
def test_a_larger_k_is_stricter(one, other):
    assert KAnonymity(k=one).at_least_as_strict_as(KAnonymity(k=other)) == (one >= other)


def test_words():
    assert KAnonymity(k=5).words == "every row is alike with at least 4 others (k = 5)"


@pytest.mark.parametrize("k", [0, -1, 2.0, True, "3", None])
def test_numbers_that_make_no_sense_are_refused(k):
    with pytest.raises(InvalidInput, match="k"):
        KAnonymity(k=k)
