"""Boxes: what they span and lose, by definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.anonymize.slow_cuts import QUICK, read, slow_loss, tables

from tacita.anonymize.kernels.boxes import (
    NONE,
    WORD_END,
    add_box,
    add_item,
    clear,
    copy_box,
    fill_parts,
    loss,
    widening,
)


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data(), seed=st.integers(0, 99))
def test_the_loss_of_a_box_is_that_of_its_items(tree, data, seed):
    distinct, shape, _ = read(data.draw(tables(least=2)), tree)
    d = distinct.codes.shape[1]
    low, high = np.full((3, d), NONE, np.int32), np.full((3, d), -1, np.int32)
    bits, parts = np.zeros((3, shape.meta[d - 1, WORD_END]), np.uint64), np.zeros((3, d))
    boxes = (low, high, bits)
    assert loss(shape.meta, shape.table, *boxes, 0) == 0.0  # of an empty box
    side = np.random.default_rng(seed).integers(0, 2, len(distinct.codes))
    for item, box in enumerate(side.tolist()):
        add_item(shape.meta, distinct.codes, item, *boxes, box)
    for box in (0, 1):
        items = np.flatnonzero(side == box).tolist()
        if items:
            assert loss(shape.meta, shape.table, *boxes, box) == pytest.approx(slow_loss(distinct, items))
            assert fill_parts(shape.meta, shape.table, *boxes, parts, box) == pytest.approx(slow_loss(distinct, items))
            assert parts[box].sum() == pytest.approx(slow_loss(distinct, items))
    copy_box(*boxes, 2, 0)
    add_box(*boxes, 2, 1)
    everyone = list(range(len(distinct.codes)))
    assert loss(shape.meta, shape.table, *boxes, 2) == pytest.approx(slow_loss(distinct, everyone))
    clear(*boxes, 2)
    assert loss(shape.meta, shape.table, *boxes, 2) == 0.0


@pytest.mark.parametrize("tree", [False, True], ids=["sets", "tree"])
@QUICK
@given(data=st.data())
def test_widening_is_the_difference_of_losses(tree, data):
    distinct, shape, _ = read(data.draw(tables(least=2)), tree)
    m, d = distinct.codes.shape
    some = data.draw(st.lists(st.integers(0, m - 1), min_size=1, max_size=6))
    item = data.draw(st.integers(0, m - 1))
    low, high = np.empty((1, d), np.int32), np.empty((1, d), np.int32)
    bits, parts = np.empty((1, shape.meta[d - 1, WORD_END]), np.uint64), np.empty((1, d))
    clear(low, high, bits, 0)
    for i in some:
        add_item(shape.meta, distinct.codes, i, low, high, bits, 0)
    fill_parts(shape.meta, shape.table, low, high, bits, parts, 0)
    found = widening(shape.meta, shape.table, distinct.codes, item, low, high, bits, parts, 0, np.inf)
    assert found == pytest.approx(slow_loss(distinct, [*some, item]) - slow_loss(distinct, some), abs=1e-12)
