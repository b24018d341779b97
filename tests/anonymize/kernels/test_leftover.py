"""Entries without a class: where they go, by definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.anonymize.slow_cuts import DOMAIN, QUICK, cost, groups_of, people, read, tables

from tacita.anonymize import Conditions, read_distinct_rows
from tacita.anonymize.kernels.leftover import place_rest
from tacita.anonymize.methods.judge import Judge, rules_of
from tacita.anonymize.methods.mondrian import shape_of
from tacita.domain import Categorical, Domain


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data())
def test_one_entry_joins_the_class_that_loses_least(tree, data):
    distinct, shape, who = read(data.draw(tables(least=4)), tree)
    m = len(distinct.codes)
    if m < 3:
        return
    k = int(distinct.weights[0]) + 1  # too few people to be a class
    before = np.array([-1, *(i % 2 for i in range(m - 1))])
    if min(people(distinct, np.flatnonzero(before == c)) for c in (0, 1)) < k:
        return
    after = before.copy()
    none = np.zeros(m, np.bool_)
    rules = rules_of(distinct, Conditions(k=k))
    assert place_rest(distinct.codes, distinct.weights, none, np.arange(m), shape, who, rules, after, 2) == 2
    assert (after[1:] == before[1:]).all()
    costs = [cost(distinct, groups_of(np.array([c, *before[1:]]))) for c in (0, 1)]
    assert costs[after[0]] == pytest.approx(min(costs))


@QUICK
@given(data=st.data(), k=st.integers(1, 3), l=st.integers(2, 3))
def test_whole_classes_are_taken_in_until_conditions_hold(data, k, l):  # noqa: E741
    """Classes that hold, and a rest that may not: all hold afterwards, or all together do not."""
    table = data.draw(tables(least=6))
    ills = data.draw(st.lists(st.sampled_from("aaabc"), min_size=table.num_rows, max_size=table.num_rows))
    domain = Domain(attributes=[*DOMAIN.attributes, Categorical(name="ill", levels=list("abc"), role="sensitive")])
    distinct = read_distinct_rows(domain, table.append_column("ill", [ills]), DOMAIN.names, sensitive=["ill"])
    m = len(distinct.codes)
    judge, none = Judge.of(distinct, Conditions(k=k, l=l)), np.zeros(m, np.bool_)
    parts = np.arange(m) % 3
    good = judge.groups(parts, 3) if m >= 3 else np.zeros(3, np.bool_)
    names = np.where(good, np.cumsum(good) - 1, -1)
    classes = names[parts]
    if (classes >= 0).all():
        return
    found = place_rest(
        distinct.codes,
        distinct.weights,
        none,
        np.arange(m),
        shape_of(distinct),
        judge.people,
        judge.rules,
        classes,
        int(good.sum()),
    )
    if judge.together(np.arange(m)):
        assert found == len(set(classes.tolist()))
        assert judge.groups(classes, found).all()
    else:
        assert found == -1
