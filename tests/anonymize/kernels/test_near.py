"""Distances within a block, and the smallest of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.anonymize.slow_cuts import QUICK, read, slow_loss, tables

from tacita.anonymize.kernels.near import coordinate, fill_distances, smallest


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(table=tables(least=2))
def test_a_distance_is_the_loss_of_the_common_box(tree, table):
    distinct, shape, _ = read(table, tree)
    m, d = distinct.codes.shape
    points, found = np.empty((d, m)), np.empty(m)
    for j in range(d):
        for i in range(m):
            points[j, i] = coordinate(shape.meta, shape.table, j, distinct.codes[i, j])
    for at in range(m):
        fill_distances(shape.meta, shape.table, points, m, at, found)
        assert found == pytest.approx([slow_loss(distinct, [at, i]) for i in range(m)])


@QUICK
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5, np.inf]), max_size=60), st.integers(1, 9))
def test_the_smallest_are_those_of_a_stable_sort(distances, most):
    chosen, values = np.empty(2 * most, np.int64), np.empty(2 * most)
    held = smallest(np.array(distances, float), len(distances), most, chosen, values)
    finite = [i for i in np.argsort(distances, kind="stable") if np.isfinite(distances[i])]
    assert chosen[:held].tolist() == sorted(finite[:most])
    assert values[:held].tolist() == [distances[i] for i in chosen[:held]]
