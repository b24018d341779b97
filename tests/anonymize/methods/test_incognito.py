"""All nodes that hold, against counting every node."""

from __future__ import annotations

import numpy as np
import pytest
from tests.anonymize.slow_nodes import searched_cases, slow_gcp

from tacita.anonymize.methods.incognito import Incognito
from tacita.anonymize.methods.lattice import Lattice


def test_all_nodes_that_hold_are_found_and_the_least_loss_is_taken():
    searched = pruned = 0
    for table, people, asked, budget, distinct, nodes, holding in searched_cases(200, 1):
        if not holding:
            continue
        searched += 1
        lattice = Lattice.of(distinct, asked, budget=budget)
        found = Incognito().holding(lattice)
        pruned += lattice.looked < len(nodes)
        assert [tuple(node) for node in np.argwhere(found).tolist()] == holding
        costs = {node: slow_gcp(table, node, asked, people) for node in holding}
        assert costs[Incognito().choose(Lattice.of(distinct, asked, budget=budget))] == pytest.approx(
            min(costs.values())
        )
    assert searched > 100
    assert pruned > 50
