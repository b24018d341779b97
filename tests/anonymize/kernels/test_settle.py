"""Moving items between classes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.anonymize.slow_cuts import QUICK, cost, groups_of, people, read, tables

from tacita.anonymize import Conditions
from tacita.anonymize.kernels.cuts import Choice, partition
from tacita.anonymize.kernels.settle import settle
from tacita.anonymize.methods.judge import rules_of


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data(), k=st.integers(1, 6))
def test_gathering_and_settling_keep_k_and_settling_loses_less(tree, data, k):
    distinct, shape, who = read(data.draw(tables(least=k)), tree)
    rules = rules_of(distinct, Conditions(k=k))
    classes = partition(distinct.codes, distinct.weights, shape, who, rules, Choice(False, 64, 8, 1.2), 0)
    before = groups_of(classes)
    settle(distinct.codes, distinct.weights, classes, int(classes.max()) + 1, k, shape, 10, 64, 5)
    after = groups_of(classes)
    assert min(people(distinct, items) for items in [*before, *after]) >= k
    assert len(before) == len(after)
    assert cost(distinct, after) <= cost(distinct, before) + 1e-9
