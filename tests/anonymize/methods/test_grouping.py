"""What a search may skip, against counting every node."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
from tests.anonymize.slow_nodes import PEOPLE, QUASI, ROWS, TREES, cases, slow_node

from tacita.anonymize import Conditions, read_distinct_rows
from tacita.anonymize.methods.grouping import Grouping
from tacita.anonymize.methods.lattice import Lattice
from tacita.anonymize.methods.ola import Ola


def test_rolling_up_is_claimed_only_where_it_is_true():
    refuted = 0
    for table, people, asked, budget, distinct in cases(150, seed=2):
        grouping = Grouping(distinct=distinct, conditions=asked, budget=budget)
        lattice = Lattice.of(distinct, asked)
        gone = {node: slow_node(table, node, asked, people)[0] for node in lattice.nodes()}
        for node, upper in itertools.product(gone, repeat=2):
            if sum(upper) == sum(node) + 1 and np.less_equal(node, upper).all():
                worse = gone[node] <= budget < gone[upper]
                assert not (grouping.rolls_up and worse)
                assert not (grouping.nested and gone[upper] > gone[node])
                refuted += worse
    assert refuted > 0  # the conditions that are not claimed to roll up really do not


def test_people_who_come_back_can_break_a_condition_on_the_way_up():
    columns = {"who": ["a", "b", "c", "b"], "age": [1, 1, 7, 7], "colour": ["red"] * 4, "pet": ["cat"] * 4}
    table = pa.table(columns | {"ill": ["flu", "cold", "flu", "cold"]})
    asked = Conditions(k=1, alpha=0.5)
    for domain, rolls_up in ((ROWS, True), (PEOPLE, False)):
        distinct = read_distinct_rows(domain, table, QUASI, sensitive=("ill",), hierarchies=TREES)
        lattice = Lattice.of(distinct, asked)
        assert lattice.holds((0, 0, 0))
        assert lattice.holds((2, 0, 0)) is rolls_up  # together two of three people have the flu
        assert lattice.grouping.rolls_up is rolls_up
        assert Ola().choose(lattice) == (0, 0, 0)
