"""Nodes of the lattice."""

from __future__ import annotations

import numpy as np
import pytest
from tests.anonymize.slow_nodes import QUASI, ROWS, TREES, some_table

from tacita.anonymize import Anonymize, Conditions, read_distinct_rows
from tacita.anonymize.methods.datafly import Datafly
from tacita.anonymize.methods.lattice import Lattice, above, below
from tacita.anonymize.methods.ola import Ola
from tacita.errors import InvalidInput


def test_a_lattice_that_is_too_large_is_refused_and_datafly_still_runs(monkeypatch):
    monkeypatch.setattr("tacita.anonymize.methods.lattice.MOST_NODES", 20)
    table = some_table(np.random.default_rng(11), 40)
    recipe = {"conditions": Conditions(k=3), "hierarchies": TREES}
    with pytest.raises(InvalidInput, match="the lattice has more than"):
        Anonymize(**recipe, method=Ola()).prepare(ROWS).run_on(table)
    assert Anonymize(**recipe, method=Datafly()).prepare(ROWS).run_on(table).achieved.k >= 3


def test_nodes_their_heights_and_what_lies_above_and_below():
    distinct = read_distinct_rows(ROWS, some_table(np.random.default_rng(1), 20), QUASI, hierarchies=TREES)
    lattice = Lattice.of(distinct, Conditions(k=2))
    nodes = list(lattice.nodes())
    assert lattice.top == (3, 2, 1)
    assert len(set(nodes)) == 4 * 3 * 2
    for height in range(sum(lattice.top) + 1):
        assert sorted(lattice.nodes_at(height)) == sorted(node for node in nodes if sum(node) == height)
    marked = np.zeros(lattice.shape, np.int64)
    marked[above((1, 1, 0))] += 1
    marked[below((1, 1, 0))] += 2
    for node in nodes:
        higher, lower = np.greater_equal(node, (1, 1, 0)).all(), np.less_equal(node, (1, 1, 0)).all()
        assert marked[node] == higher + 2 * lower
