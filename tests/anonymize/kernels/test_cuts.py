"""The cuts, against every cut there is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.anonymize.slow_cuts import CUTS_ONLY, QUICK, cost, every_cut, groups_of, people, read, tables

from tacita.anonymize import Anonymize, Conditions, Hierarchy, read_distinct_rows
from tacita.anonymize.kernels.cuts import Choice, partition
from tacita.anonymize.methods.judge import people_of, rules_of
from tacita.anonymize.methods.mondrian import shape_of
from tacita.domain import Categorical, Domain, Numeric


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data(), k=st.integers(1, 6))
def test_no_class_can_be_cut_further(tree, data, k):
    distinct, shape, who = read(data.draw(tables(least=k)), tree)
    rules = rules_of(distinct, Conditions(k=k))
    groups = groups_of(partition(distinct.codes, distinct.weights, shape, who, rules, CUTS_ONLY, 0))
    for items in groups:
        assert people(distinct, items) >= k
        for inside, outside in every_cut(distinct, items):
            assert min(people(distinct, inside), people(distinct, outside)) < k


def test_many_values_of_every_kind():
    """More values than bits are kept for, and groups whose values lie far apart."""
    rng = np.random.default_rng(5)
    words = [f"w{i:04d}" for i in range(1500)]
    domain = Domain(attributes=[Categorical(name="word", levels=words), Numeric(name="x", bounds=(0, 9e9), bins=1)])
    table = pa.table({"word": words, "x": rng.permutation(1500) ** 2})
    tree = Hierarchy.from_rows("word", [[word, word[:4], word[:3], "*"] for word in words])
    for trees in ({}, {"word": tree}):
        distinct = read_distinct_rows(domain, table, domain.names, hierarchies=trees)
        rules = rules_of(distinct, Conditions(k=4))
        shape, who = shape_of(distinct), people_of(distinct, values=False)
        groups = groups_of(partition(distinct.codes, distinct.weights, shape, who, rules, CUTS_ONLY, 0))
        assert {people(distinct, items) for items in groups} <= set(range(4, 8))
        result = Anonymize(conditions=Conditions(k=4), quasi=domain.names, hierarchies=trees).prepare(domain)
        assert result.run_on(table).achieved.k >= 4


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data(), k=st.integers(2, 6))
def test_a_cut_is_the_one_with_the_least_loss(tree, data, k):
    """Below 3k people there is at most one cut, so the best of all is what must be left."""
    distinct, shape, who = read(data.draw(tables(least=k, most=3 * k - 1)), tree)
    rules = rules_of(distinct, Conditions(k=k))
    found = groups_of(partition(distinct.codes, distinct.weights, shape, who, rules, CUTS_ONLY, 0))
    everyone = list(range(len(distinct.codes)))
    allowed = [cut for cut in every_cut(distinct, everyone) if min(people(distinct, side) for side in cut) >= k]
    assert len(found) == (2 if allowed else 1)
    assert cost(distinct, found) == pytest.approx(
        min((cost(distinct, cut) for cut in allowed), default=cost(distinct, [everyone]))
    )


@pytest.mark.parametrize(("power", "sizes"), [(0.0, [3, 3]), (1.0, [2, 2, 2])])
def test_a_power_prefers_sides_that_divide_without_rest(power, sizes):
    """1 to 6 with k = 2: in the middle the loss is least, but threes cannot be cut further."""
    distinct, shape, who = read(pa.table({"x": [1, 2, 3, 4, 5, 6], "pet": ["ant"] * 6, "y": [0.5] * 6}), False)
    rules = rules_of(distinct, Conditions(k=2))
    classes = partition(distinct.codes, distinct.weights, shape, who, rules, Choice(False, 0, 1, 1.0, power), 0)
    assert sorted(len(items) for items in groups_of(classes)) == sizes
