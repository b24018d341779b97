"""Losses of nodes against those of their labels, and bounds against all nodes above."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from tests.anonymize.slow_nodes import QUASI, ROWS, TREES, cases, slow_dm, slow_gcp, slow_node, some_table

from tacita.anonymize import Conditions, read_distinct_rows
from tacita.anonymize.methods.lattice import Lattice


def test_the_losses_of_a_node_are_those_of_its_labels():
    for table, people, asked, _, distinct in cases(40, seed=3):
        gcp, dm = Lattice.of(distinct, asked), Lattice.of(distinct, asked, loss="discernibility")
        precision = Lattice.of(distinct, asked, loss="precision")
        for node in gcp.nodes():
            seen = gcp.look(node)
            suppressed, _ = slow_node(table, node, asked, people)
            assert seen.suppressed == suppressed
            assert seen.cost == pytest.approx(slow_gcp(table, node, asked, people))
            assert dm.look(node).cost == slow_dm(table, node, asked, people)
            levels = sum(level / top for level, top in zip(node, gcp.top, strict=True)) / len(node)
            share = suppressed / table.num_rows
            assert precision.look(node).cost == pytest.approx(share + (1 - share) * levels)


@pytest.mark.parametrize("loss", ["gcp", "precision", "entropy", "discernibility"])
def test_nothing_above_a_node_loses_less_than_its_bound(loss):
    for _, _, asked, _, distinct in cases(25, seed=4):
        lattice = Lattice.of(distinct, asked, loss=loss)
        for node, upper in itertools.product(lattice.nodes(), repeat=2):
            if np.less_equal(node, upper).all():
                assert lattice.look(node).bound <= lattice.look(upper).cost * (1 + 1e-9)
            assert lattice.bounds[node] <= lattice.look(node).bound * (1 + 1e-9)


def test_entropy_of_nothing_is_none_and_of_everything_is_all():
    table = some_table(np.random.default_rng(5), 25)
    distinct = read_distinct_rows(ROWS, table, QUASI, hierarchies=TREES)
    lattice = Lattice.of(distinct, Conditions(k=1), loss="entropy")
    assert lattice.look((0, 0, 0)).cost == 0
    assert lattice.look(lattice.top).cost == pytest.approx(1)
    assert Lattice.of(distinct, Conditions(k=26), loss="entropy").look((0, 0, 0)).cost == pytest.approx(1)
