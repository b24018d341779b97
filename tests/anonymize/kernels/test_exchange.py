"""Exchanges between classes: conditions stay, losses fall, and no better exchange of two classes is missed."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.anonymize.slow_cuts import CUTS_ONLY, DOMAIN, QUICK, cost, groups_of, people, read, tables

from tacita.anonymize import Conditions, read_distinct_rows
from tacita.anonymize.kernels.cuts import partition
from tacita.anonymize.kernels.exchange import exchange
from tacita.anonymize.methods.judge import Judge, rules_of
from tacita.anonymize.methods.mondrian import shape_of
from tacita.domain import Categorical, Domain


def exchanged(distinct, shape, who, rules, classes, lent=None, near=8, rounds=3):
    m, after = len(distinct.codes), classes.copy()
    lent = np.zeros(m, np.bool_) if lent is None else lent
    count = int(classes.max()) + 1
    exchange(distinct.codes, distinct.weights, lent, np.arange(m), after, count, shape, who, rules, near, rounds, 64)
    return after


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data(), k=st.integers(1, 5))
def test_classes_keep_k_people_and_lose_less(tree, data, k):
    distinct, shape, who = read(data.draw(tables(least=k)), tree)
    rules = rules_of(distinct, Conditions(k=k))
    before = partition(distinct.codes, distinct.weights, shape, who, rules, CUTS_ONLY, 0)
    after = exchanged(distinct, shape, who, rules, before)
    assert min(people(distinct, items) for items in groups_of(after)) >= k
    assert len(groups_of(after)) == len(groups_of(before))
    assert cost(distinct, groups_of(after)) <= cost(distinct, groups_of(before)) + 1e-9


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data(), k=st.integers(1, 4))
def test_no_move_and_no_swap_is_better_at_the_end(tree, data, k):
    """All moves and swaps of all classes, by definition."""
    distinct, shape, who = read(data.draw(tables(least=2 * k, most=16)), tree)
    rules = rules_of(distinct, Conditions(k=k))
    before = partition(distinct.codes, distinct.weights, shape, who, rules, CUTS_ONLY, 0)
    after = exchanged(distinct, shape, who, rules, before, near=40, rounds=200)
    groups = [list(items) for items in groups_of(after)]
    now = cost(distinct, groups)
    for a, b in itertools.permutations(range(len(groups)), 2):
        for i in groups[a]:
            for j in [None, *groups[b]]:
                first = [x for x in groups[a] if x != i] + ([] if j is None else [j])
                second = [x for x in groups[b] if x != j] + [i]
                if not first or min(people(distinct, first), people(distinct, second)) < k:
                    continue
                others = [items for place, items in enumerate(groups) if place not in (a, b)]
                assert cost(distinct, [first, second, *others]) >= now - 1e-8


@QUICK
@given(data=st.data(), k=st.integers(1, 4), l=st.integers(1, 2), t=st.sampled_from([0.2, 0.5, 1.0]))
def test_every_condition_stays(data, k, l, t):  # noqa: E741
    table = data.draw(tables(least=6))
    ills = data.draw(st.lists(st.sampled_from("abc"), min_size=table.num_rows, max_size=table.num_rows))
    domain = Domain(attributes=[*DOMAIN.attributes, Categorical(name="ill", levels=list("abc"), role="sensitive")])
    distinct = read_distinct_rows(domain, table.append_column("ill", [ills]), DOMAIN.names, sensitive=["ill"])
    judge, shape = Judge.of(distinct, Conditions(k=k, l=l, t=t)), shape_of(distinct)
    if not judge.together(np.arange(len(distinct.codes))):
        return
    before = partition(distinct.codes, distinct.weights, shape, judge.people, judge.rules, CUTS_ONLY, 0)
    after = exchanged(distinct, shape, judge.people, judge.rules, before)
    assert judge.groups(after, int(after.max()) + 1).all()


@QUICK
@given(data=st.data(), k=st.integers(2, 4))
def test_lent_entries_go_back_when_they_are_not_needed(data, k):
    distinct, shape, who = read(data.draw(tables(least=2 * k)), False)
    rules = rules_of(distinct, Conditions(k=k))
    before = partition(distinct.codes, distinct.weights, shape, who, rules, CUTS_ONLY, 0)
    lent = np.array(data.draw(st.lists(st.booleans(), min_size=len(before), max_size=len(before))))
    after = exchanged(distinct, shape, who, rules, before, lent)
    assert (after[~lent] >= 0).all()
    for items in groups_of(np.where(after < 0, -1, after)):
        if after[items[0]] < 0:
            continue
        spare = people(distinct, items) - k
        assert spare >= 0
        assert all(distinct.weights[i] > spare for i in items if lent[i])
        assert not lent[items].all()


def test_classes_without_a_number_and_large_ones_stay_as_they_are():
    table = pa.table({"x": list(range(90)), "pet": ["ant"] * 90, "y": [0.5] * 90})
    distinct, shape, who = read(table, False)
    classes = np.array([0] * 70 + [1] * 19 + [-1])
    after = exchanged(distinct, shape, who, rules_of(distinct, Conditions(k=2)), classes)
    assert after.tolist() == classes.tolist()
