"""The least height at which a node holds, against counting every node."""

from __future__ import annotations

import pytest
from tests.anonymize.slow_nodes import searched_cases, slow_gcp

from tacita.anonymize.methods.lattice import Lattice
from tacita.anonymize.methods.samarati import Samarati


def test_the_least_height_is_found_and_of_its_nodes_the_least_loss():
    searched = 0
    for table, people, asked, budget, distinct, _, holding in searched_cases(200, 1):
        if not holding:
            continue
        searched += 1
        least = min(sum(node) for node in holding)
        chosen = Samarati().choose(Lattice.of(distinct, asked, budget=budget))
        assert sum(chosen) == least
        assert chosen in holding
        costs = {node: slow_gcp(table, node, asked, people) for node in holding if sum(node) == least}
        assert costs[chosen] == pytest.approx(min(costs.values()))
    assert searched > 100
