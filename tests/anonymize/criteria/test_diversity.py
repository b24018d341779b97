"""Diversity by its definitions."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.anonymize.criteria import Conditions
from tacita.anonymize.criteria.diversity import diversity_of
from tacita.anonymize.recount import measure

counts = st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any), min_size=1, max_size=5)


@given(table=counts, c=st.sampled_from([0.5, 1.0, 2.0, 4.0]))
def test_diversity_by_definition(table, c):
    distinct, entropy, recursive = [], [], []
    for row in table:
        total = sum(row)
        distinct.append(sum(1 for count in row if count))
        entropy.append(math.exp(-sum(n / total * math.log(n / total) for n in row if n)))
        falling = sorted(row, reverse=True)
        recursive.append(max([0, *(m for m in range(1, 5) if falling[0] < c * sum(falling[m - 1 :]))]))
    assert diversity_of(np.array(table)) == min(distinct)
    assert diversity_of(np.array(table), "entropy") == pytest.approx(min(entropy))
    assert diversity_of(np.array(table), "recursive", c) == min(recursive)


@given(table=counts)
def test_joining_classes_makes_none_less_diverse(table):
    table = np.array(table)
    for one, other in itertools.combinations(range(len(table)), 2):
        joined, apart = table[[one]] + table[[other]], table[[one, other]]
        assert diversity_of(joined) >= diversity_of(apart)
        assert diversity_of(joined, "entropy") >= diversity_of(apart, "entropy") - 1e-9
        assert diversity_of(joined, "recursive", 2.0) >= diversity_of(apart, "recursive", 2.0)


def test_a_missing_value_makes_no_class_more_diverse():
    table = pa.table({"age": ["1"] * 4 + ["2"] * 4, "ill": ["a", None, None, "a", "a", "b", None, "b"]})
    found = measure(table, ["age"], sensitive=["ill"])
    assert found.l == {"ill": 1.0}
    entropy = measure(table, ["age"], sensitive=["ill"], conditions=Conditions(k=1, l=2, l_kind="entropy"))
    assert entropy.l["ill"] == pytest.approx(1.0)
    recursive = measure(table, ["age"], sensitive=["ill"], conditions=Conditions(k=1, l=2, l_kind="recursive", c=2.0))
    assert recursive.l["ill"] == 1.0
    assert measure(pa.table({"age": ["1"], "ill": pa.array([None], pa.string())}), ["age"], sensitive=["ill"]).l == {
        "ill": 0.0
    }
