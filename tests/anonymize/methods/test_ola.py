"""The least loss of all nodes that hold, against counting every node."""

from __future__ import annotations

import numpy as np
import pytest
from tests.anonymize.slow_nodes import searched_cases, slow_dm, slow_gcp

from tacita.anonymize.methods.lattice import Lattice
from tacita.anonymize.methods.ola import Ola, minimal_nodes


def test_the_least_loss_and_the_lowest_nodes_are_found():
    searched = skipped = falling = 0
    for table, people, asked, budget, distinct, nodes, holding in searched_cases(200, 1):
        if not holding:
            continue
        searched += 1
        costs = {node: slow_gcp(table, node, asked, people) for node in holding}
        assert costs[Ola().choose(Lattice.of(distinct, asked, budget=budget))] == pytest.approx(min(costs.values()))
        best = Ola(loss="discernibility").choose(Lattice.of(distinct, asked, budget=budget, loss="discernibility"))
        assert slow_dm(table, best, asked, people) == min(slow_dm(table, node, asked, people) for node in holding)
        own = Lattice.of(distinct, asked, budget=budget)
        if own.grouping.rolls_up:
            low = [n for n in holding if not any(m != n and np.less_equal(m, n).all() for m in holding)]
            assert minimal_nodes(own) == low
            skipped += own.looked < len(nodes)
            falling += min(costs[node] for node in low) > min(costs.values()) + 1e-9
    assert searched > 100
    assert skipped > 50
    assert falling > 0  # the lowest nodes that hold are not always the best ones, once something is suppressed
