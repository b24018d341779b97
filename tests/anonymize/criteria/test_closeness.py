"""Distances against a linear program for transport."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from tacita.anonymize.criteria.closeness import closeness_of, edges_of
from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.tables.recoding import Axis

counts = st.lists(st.lists(st.integers(0, 6), min_size=4, max_size=4).filter(any), min_size=1, max_size=5)


def transport(p, q, ground):
    """The earth mover's distance by its definition: the cheapest plan that carries p to q."""
    m = len(p)
    equal = [[1.0 if i == row else 0.0 for i in range(m) for _ in range(m)] for row in range(m)]
    equal += [[1.0 if j == column else 0.0 for _ in range(m) for j in range(m)] for column in range(m)]
    return linprog(np.array(ground).reshape(-1), A_eq=equal, b_eq=[*p, *q], bounds=(0, None)).fun


TREE = Hierarchy.from_tree("x", {"*": {"ab": ["a", "b"], "cd": {"c": None, "d": None}}}).over(
    Axis(name="x", kind="set", keys=("a", "b", "c", "d"))
)
GROUND = {
    "equal": [[float(i != j) for j in range(4)] for i in range(4)],
    "ordered": [[abs(i - j) / 3 for j in range(4)] for i in range(4)],
    "hierarchical": [[0 if i == j else 0.5 if i // 2 == j // 2 else 1 for j in range(4)] for i in range(4)],
}


@pytest.mark.parametrize("distance", GROUND)
@given(table=counts)
def test_closeness_is_the_cheapest_transport(distance, table):
    table = np.array(table)
    whole = table.sum(axis=0)
    wanted = max(transport(row / row.sum(), whole / whole.sum(), GROUND[distance]) for row in table)
    assert closeness_of(table, whole, edges_of(4, distance, TREE)) == pytest.approx(wanted, abs=1e-7)


@pytest.mark.parametrize("distance", GROUND)
@given(table=counts)
def test_joining_classes_brings_none_further_away(distance, table):
    table, edges = np.array(table), edges_of(4, distance, TREE)
    whole = table.sum(axis=0)
    for one, other in itertools.combinations(range(len(table)), 2):
        joined, apart = table[[one]] + table[[other]], table[[one, other]]
        assert closeness_of(joined, whole, edges) <= closeness_of(apart, whole, edges) + 1e-9
