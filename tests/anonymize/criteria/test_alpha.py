"""Shares by their definition."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacita.anonymize.criteria.alpha import alpha_of

counts = st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any), min_size=1, max_size=5)


@given(table=counts)
def test_the_largest_share_by_definition(table):
    assert alpha_of(np.array(table)) == max(max(row) / sum(row) for row in table)


@given(table=counts)
def test_joining_classes_gives_no_value_a_larger_share(table):
    table = np.array(table)
    for one, other in itertools.combinations(range(len(table)), 2):
        assert alpha_of(table[[one]] + table[[other]]) <= alpha_of(table[[one, other]]) + 1e-12
