import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacita.cells import Cells
from tacita.collect.consistency import agree, complete
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput

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


def test_completion_of_a_chain_is_conditional_independence():
    rng = np.random.default_rng(1)
    full = Cells(DOMAIN, rng.dirichlet(np.ones(DOMAIN.size)).reshape(DOMAIN.shape))
    first, second = full.project(["A", "B"]), full.project(["B", "C"])
    got = complete([first, second], DOMAIN.project(["A", "B", "C"]))
    expected = first * second / full.project(["B"])
    np.testing.assert_allclose(got.values, expected.project(["A", "B", "C"]).values, atol=1e-8)
    np.testing.assert_allclose(got.project(["A", "B"]).values, first.values, atol=1e-8)


def test_completion_refuses():
    with pytest.raises(InvalidInput, match="no table"):
        complete([table(["A"], [0.5, 0.5])], DOMAIN.project(["D"]))
    with pytest.raises(InvalidInput, match="negative"):
        complete([table(["A"], [1.5, -0.5])], DOMAIN.project(["A"]))
