"""Gathered classes: sizes, losses and conditions by definition."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.anonymize.slow_cuts import DOMAIN, QUICK, cost, groups_of, people, read, tables

from tacita.anonymize import Conditions, read_distinct_rows
from tacita.anonymize.kernels.boxes import total_loss
from tacita.anonymize.kernels.gather import gather
from tacita.anonymize.methods.judge import Judge, rules_of
from tacita.anonymize.methods.mondrian import shape_of
from tacita.domain import Categorical, Domain


def gathered(distinct, shape, who, rules, lent=None):
    m = len(distinct.codes)
    classes = np.empty(m, np.int64)
    lent = np.zeros(m, np.bool_) if lent is None else lent
    count = gather(distinct.codes, distinct.weights, lent, np.arange(m), shape, who, rules, 3, 1.0, classes)
    return classes, count


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data(), k=st.integers(1, 6))
def test_every_item_has_a_class_of_at_least_k_people(tree, data, k):
    distinct, shape, who = read(data.draw(tables(least=k)), tree)
    classes, count = gathered(distinct, shape, who, rules_of(distinct, Conditions(k=k)))
    groups = groups_of(classes)
    assert len(groups) == count
    assert sorted(i for items in groups for i in items) == list(range(len(classes)))
    assert min(people(distinct, items) for items in groups) >= k
    whole = total_loss(distinct.codes, distinct.weights, classes, count, shape)
    assert whole == pytest.approx(cost(distinct, groups))


@QUICK
@given(data=st.data(), k=st.integers(2, 5))
def test_lent_entries_need_no_class(data, k):
    distinct, shape, who = read(data.draw(tables(least=2 * k)), False)
    lent = np.array(data.draw(st.lists(st.booleans(), min_size=len(distinct.codes), max_size=len(distinct.codes))))
    classes, count = gathered(distinct, shape, who, rules_of(distinct, Conditions(k=k)), lent)
    assert (classes[~lent] >= 0).all()
    for c in range(count):
        assert people(distinct, np.flatnonzero(classes == c)) >= k
        assert not lent[classes == c].all()


@pytest.mark.parametrize("asked", [{"l": 2}, {"t": 0.3}, {"l": 2, "t": 0.4}, {"alpha": 0.6}])
@QUICK
@given(data=st.data(), k=st.integers(1, 4))
def test_every_class_holds_the_conditions(asked, data, k):
    table = data.draw(tables(least=6))
    ills = data.draw(st.lists(st.sampled_from("abc"), min_size=table.num_rows, max_size=table.num_rows))
    domain = Domain(attributes=[*DOMAIN.attributes, Categorical(name="ill", levels=list("abc"), role="sensitive")])
    distinct = read_distinct_rows(domain, table.append_column("ill", [ills]), DOMAIN.names, sensitive=["ill"])
    judge = Judge.of(distinct, Conditions(k=k, **asked))
    if not judge.together(np.arange(len(distinct.codes))):
        return
    classes, count = gathered(distinct, shape_of(distinct), judge.people, judge.rules)
    assert count >= 1
    assert (classes >= 0).all()
    assert judge.groups(classes, count).all()


def test_a_group_that_breaks_a_condition_fails():
    """No two classes, and not even all together, have two values."""
    domain = Domain(attributes=[*DOMAIN.attributes, Categorical(name="ill", levels=list("ab"), role="sensitive")])
    table = pa.table({"x": [1, 2, 3, 5], "pet": ["ant"] * 4, "y": [0.5] * 4, "ill": ["a"] * 4})
    distinct = read_distinct_rows(domain, table, DOMAIN.names, sensitive=["ill"])
    judge = Judge.of(distinct, Conditions(k=2, l=2))
    assert gathered(distinct, shape_of(distinct), judge.people, judge.rules)[1] == -1
