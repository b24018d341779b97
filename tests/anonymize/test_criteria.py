import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from tacita.anonymize.criteria import Achieved, Conditions, alpha_of, closeness_of, diversity_of, edges_of
from tacita.anonymize.hierarchy import Hierarchy
from tacita.anonymize.recount import measure
from tacita.errors import InvalidInput
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
    assert alpha_of(np.array(table)) == max(max(row) / sum(row) for row in table)


@given(table=counts)
def test_joining_classes_breaks_no_criterion(table):
    """Classes with the same labels become one, and what held for each then holds for both."""
    table = np.array(table)
    whole = table.sum(axis=0)
    for one, other in itertools.combinations(range(len(table)), 2):
        joined, apart = table[[one]] + table[[other]], table[[one, other]]
        assert diversity_of(joined) >= diversity_of(apart)
        assert diversity_of(joined, "entropy") >= diversity_of(apart, "entropy") - 1e-9
        assert diversity_of(joined, "recursive", 2.0) >= diversity_of(apart, "recursive", 2.0)
        assert alpha_of(joined) <= alpha_of(apart) + 1e-12
        for distance in GROUND:
            edges = edges_of(4, distance, TREE)
            assert closeness_of(joined, whole, edges) <= closeness_of(apart, whole, edges) + 1e-9


def test_measure_counts_people_and_nulls():
    table = pa.table(
        {
            "age": ["1", "1", "1", None, None],
            "who": ["a", "a", "b", "c", "d"],
            "ill": ["x", "x", "y", "x", "y"],
            "pay": [1, 2, 3, 1, 3],
        }
    )
    rows = measure(table, ["age"], sensitive=["ill", "pay"])
    assert (rows.k, rows.classes, rows.people, rows.unique) == (2, 2, 5, 0)
    assert rows.l == {"ill": 2, "pay": 2}
    people = measure(table, ["age"], person="who", sensitive=["ill"])
    assert (people.k, people.people, people.alpha["ill"]) == (2, 4, 0.5)
    assert measure(table, ["age", "who"]).unique == 3
    assert rows.t["pay"] == pytest.approx((abs(1 / 2 - 2 / 5) + abs(1 / 2 - 3 / 5)) / 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"k": 0},
        {"k": 2.0},
        {"k": True},
        {"k": 2, "l": 0.5},
        {"k": 2, "l": 1.5},
        {"k": 2, "l": math.nan},
        {"k": 2, "l_kind": "fair"},
        {"k": 2, "c": 0},
        {"k": 2, "t": 1.1},
        {"k": 2, "t": math.nan},
        {"k": 2, "alpha": 0.0},
        {"k": 2, "presence": (0.5, 0.2)},
    ],
)
def test_conditions_that_make_no_sense_are_refused(wrong):
    with pytest.raises(InvalidInput):
        Conditions(**wrong)
    assert Conditions(k=2, l=1.5, l_kind="entropy").as_dict() == {"k": 2, "l": 1.5, "l_kind": "entropy"}


def test_every_failure_is_named():
    found = Achieved(k=2, people=9, classes=3, unique=0, l={"x": 1}, t={"x": 0.5}, alpha={"x": 1}, presence=(0, 1))
    asked = Conditions(k=3, l=2, t=0.2, alpha=0.5, presence=(0.1, 0.9))
    assert [text.split()[0] for text in found.failures(asked)] == ["k", "l", "t", "alpha", "presence"]
    assert found.failures(Conditions(k=2)) == []


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


def test_nothing_asked_of_sensitive_values_is_said():
    assert Conditions(k=5, l=2).concerns(["ill"]) == ()
    assert Conditions(k=5, t=0.3).concerns(["ill"]) == ()
    assert Conditions(k=5).concerns([]) == ()
    (said,) = Conditions(k=5).concerns(["ill"])
    assert said.startswith("ill is sensitive and l is 1")
