"""Tables that agree: weighted least squares against a direct solution, and the results of earlier versions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacita.domain import Categorical, Domain
from tacita.tables.cells import Cells
from tacita.tables.consistency import agree, possible, rake, settle, weighted_mean

SIZES = {"A": 2, "B": 3, "C": 2, "D": 2}
DOMAIN = Domain(attributes=[Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in SIZES.items()])


def table(names, values):
    domain = DOMAIN.project(names)
    return Cells(domain, np.array(values, float).reshape(domain.shape))


def test_the_worked_example():
    """Two tables over a shared attribute whose margins are .5/.5 and .6/.4: equal weights meet at .55/.45."""
    first, second = table(["A", "C"], [0.1, 0.4, 0.3, 0.2]), table(["A", "D"], [0.2, 0.4, 0.3, 0.1])
    found = agree({("A", "C"): first, ("A", "D"): second}, {("A", "C"): 1.0, ("A", "D"): 1.0})
    np.testing.assert_allclose(found["A", "C"].values.reshape(-1), [0.125, 0.425, 0.275, 0.175])
    np.testing.assert_allclose(found["A", "D"].values.reshape(-1), [0.175, 0.375, 0.325, 0.125])
    np.testing.assert_allclose(found["A", "C"].project(["C"]).values, [0.4, 0.6])
    np.testing.assert_allclose(found["A", "D"].project(["D"]).values, [0.5, 0.5])


def test_the_surer_table_moves_less():
    first, second = table(["A", "C"], [0.1, 0.4, 0.3, 0.2]), table(["A", "D"], [0.2, 0.4, 0.3, 0.1])
    found = agree({("A", "C"): first, ("A", "D"): second}, {("A", "C"): 1.0, ("A", "D"): 9.0})
    np.testing.assert_allclose(found["A", "C"].project(["A"]).values, [0.51, 0.49])


KEYS = [("A", "B", "C"), ("B", "C", "D"), ("A", "D"), ("C",)]
noisy = st.tuples(*[arrays(np.float64, DOMAIN.project(key).shape, elements=st.floats(-0.2, 0.5)) for key in KEYS])


@given(noisy, st.tuples(*[st.floats(0.1, 10)] * 4))
@settings(max_examples=50)
def test_all_shared_margins_agree_and_totals_are_one(values, variances):
    tables = {key: table(key, value) for key, value in zip(KEYS, values, strict=True)}
    found = agree(tables, dict(zip(KEYS, variances, strict=True)))
    for one, other in itertools.combinations(KEYS, 2):
        shared = [name for name in one if name in other]
        np.testing.assert_allclose(found[one].project(shared).values, found[other].project(shared).values, atol=1e-9)
    for key in KEYS:
        assert found[key].sum() == pytest.approx(1)


def test_raking_keeps_the_odds_and_reaches_the_margins():
    start = table(["A", "B"], [0.1, 0.2, 0.05, 0.3, 0.2, 0.15])
    wanted = [table(["A"], [0.5, 0.5]), table(["B"], [0.2, 0.3, 0.5])]
    found = rake(start, wanted)
    for margin in wanted:
        np.testing.assert_allclose(found.project(margin.attributes).values, margin.values, atol=1e-9)
    odds = [t.values[0, 0] * t.values[1, 1] / t.values[0, 1] / t.values[1, 0] for t in (start, found)]
    assert odds[0] == pytest.approx(odds[1])


def least_squares(tables, variances, total):
    """All tables at once: the nearest ones, weighted by precision, whose shared margins and totals are equal."""
    keys = list(tables)
    ends = np.cumsum([0, *(tables[key].values.size for key in keys)])
    size = int(ends[-1])
    rows, wanted = [], []

    def margin(place, shared):
        """The matrix that sums the cells of one table to a margin."""
        key = keys[place]
        parts = [np.eye(SIZES[name]) if name in shared else np.ones((1, SIZES[name])) for name in key]
        found = np.ones((1, 1))
        for part in parts:
            found = np.kron(found, part)
        wide = np.zeros((len(found), size))
        wide[:, ends[place] : ends[place + 1]] = found
        return wide

    for one, other in itertools.combinations(range(len(keys)), 2):
        shared = [name for name in keys[one] if name in keys[other]]
        rows.append(margin(one, shared) - margin(other, shared))
        wanted.append(np.zeros(len(rows[-1])))
    for place in range(len(keys)):
        rows.append(margin(place, []))
        wanted.append([total])
    constraints, right = np.vstack(rows), np.concatenate(wanted)
    start = np.concatenate([tables[key].values.reshape(-1) for key in keys])
    spread = np.concatenate([np.full(tables[key].values.size, variances[key]) for key in keys])
    dual = np.linalg.pinv(constraints * spread @ constraints.T) @ (right - constraints @ start)
    found = start + spread * (constraints.T @ dual)
    return {key: found[a:b].reshape(tables[key].shape) for key, a, b in zip(keys, ends, ends[1:], strict=False)}


ORDERED = [("A", "B"), ("B", "C"), ("A", "C", "D"), ("C",)]


@pytest.mark.parametrize("seed", range(5))
def test_tables_that_agree_are_the_weighted_least_squares_solution(seed):
    rng = np.random.default_rng(seed)
    tables = {key: table(key, rng.normal(0.1, 0.2, DOMAIN.project(key).size)) for key in ORDERED}
    variances = {key: float(rng.uniform(0.1, 5)) for key in ORDERED}
    expected = least_squares(tables, variances, 1.0)
    for key, found in agree(tables, variances).items():
        np.testing.assert_allclose(found.values, expected[key], atol=1e-9)


def test_the_mean_is_weighted_by_precision():
    mean, variance = weighted_mean([np.array([1.0, 0.0]), np.array([4.0, 3.0])], [1.0, 2.0])
    np.testing.assert_allclose(mean, [2.0, 1.0])
    assert variance == pytest.approx(2 / 3)


def fixed():
    """Three tables that disagree, one of them with a negative cell."""
    tables = {
        ("A", "B"): table(["A", "B"], [0.2, -0.05, 0.3, 0.1, 0.25, 0.15]),
        ("B", "C"): table(["B", "C"], [0.1, 0.1, 0.2, 0.25, 0.3, 0.1]),
        ("A", "D"): table(["A", "D"], [0.4, 0.2, 0.3, 0.15]),
    }
    return tables, {("A", "B"): 1.0, ("B", "C"): 2.0, ("A", "D"): 0.5}


POSSIBLE = {
    ("A", "B"): [0.211111111111, 0.0194444444444, 0.319444444444, 0.0611111111111, 0.269444444444, 0.119444444444],
    ("B", "C"): [0.136111111111, 0.136111111111, 0.119444444444, 0.169444444444, 0.319444444444, 0.119444444444],
    ("A", "D"): [0.375, 0.175, 0.3, 0.15],
}
SETTLED = {
    ("A", "B"): [0.211111111067, 0.0194444445917, 0.319444444292, 0.0611111112167, 0.269444444342, 0.119444444492],
    ("B", "C"): [0.136111111142, 0.136111111142, 0.119444444492, 0.169444444442, 0.319444444292, 0.119444444492],
    ("A", "D"): [0.374999999875, 0.175000000075, 0.29999999995, 0.1500000001],
}


def test_non_negative_tables_are_those_of_earlier_versions():
    tables, variances = fixed()
    for key, found in possible(tables, variances).items():
        np.testing.assert_allclose(found.values.reshape(-1), POSSIBLE[key], atol=1e-9)


def test_settled_tables_are_those_of_earlier_versions_and_agree():
    tables, variances = fixed()
    found = settle(possible(tables, variances), variances)
    for key, each in found.items():
        np.testing.assert_allclose(each.values.reshape(-1), SETTLED[key], atol=1e-9)
    np.testing.assert_allclose(found["A", "B"].project(["B"]).values, found["B", "C"].project(["B"]).values, atol=1e-9)
    np.testing.assert_allclose(found["A", "B"].project(["A"]).values, found["A", "D"].project(["A"]).values, atol=1e-9)
