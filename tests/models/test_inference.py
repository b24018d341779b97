"""Answers against the golden network A -> B, A -> C, {B, C} -> D."""

import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.models.inference import conditional, rejected_rows, weighted_rows
from tacita.models.network import BayesianNetwork
from tacita.tables.cells import Cells

DOMAIN = Domain(attributes=[Categorical(name=name, levels=("1", "0")) for name in "ABCD"])
YES, NO = 0, 1


@pytest.fixture(scope="module")
def network():
    def table(key, *yes):
        over = DOMAIN.project(key)
        return Cells(over, np.array([[p, 1 - p] for p in yes]).reshape(over.shape))

    return BayesianNetwork(
        domain=DOMAIN,
        parents={"A": (), "B": ("A",), "C": ("A",), "D": ("B", "C")},
        conditionals={
            "A": table(("A",), 0.8),
            "B": table(("A", "B"), 0.8, 0.5),
            "C": table(("A", "C"), 0.7, 0.1),
            "D": table(("B", "C", "D"), 0.3, 0.1, 0.2, 0.9),
        },
    )


GOLDEN = [
    (("D",), (YES,), {}, 0.3142),
    (("A", "C"), (NO, YES), {}, 0.02),
    (("A", "B", "C", "D"), (YES, NO, YES, NO), {}, 0.0896),
    (("B",), (NO,), {"C": YES}, 0.21034),
    (("D",), (NO,), {"A": NO, "C": YES}, 0.75),
    (("D",), (NO,), {"B": YES}, 0.77622),
    (("D",), (YES,), {"A": NO, "B": YES}, 0.12),
    (("B",), (YES,), {}, 0.74),
]


@pytest.mark.parametrize(("wanted", "at", "given", "expected"), GOLDEN)
def test_golden_answers(network, wanted, at, given, expected):
    assert conditional(network, wanted, given).values[at] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("wanted", "at", "given", "expected"), [each for each in GOLDEN if each[2]])
def test_drawn_answers_come_near(network, wanted, at, given, expected):
    rows = rejected_rows(network, given, 20_000, np.random.default_rng(1))
    assert all((rows[name] == code).all() for name, code in given.items())
    assert np.mean(rows[wanted[0]] == at[0]) == pytest.approx(expected, abs=0.02)
    rows, weights = weighted_rows(network, given, 20_000, np.random.default_rng(2))
    assert np.average(rows[wanted[0]] == at[0], weights=weights) == pytest.approx(expected, abs=0.02)


class Tape:
    """A generator that gives the uniforms it was told to."""

    def __init__(self, *uniforms):
        self.uniforms = list(uniforms)

    def random(self, count):
        assert count == 1
        return np.array([self.uniforms.pop(0)])


def test_golden_draws(network):
    row = network.sample(1, Tape(0.59, 0.11, 0.7, 0.07))
    assert [1 - int(row[name][0]) for name in "ABCD"] == [1, 1, 0, 1]
    row, weights = weighted_rows(network, {"A": NO, "B": YES}, 1, Tape(0.98, 0.52))
    assert weights[0] == pytest.approx(0.2 * 0.5)
    assert [1 - int(row[name][0]) for name in "ABCD"] == [0, 1, 0, 0]


def test_weights_are_conditional_on_the_drawn_parents(network):
    """The weight of a row is P(D | its own B and C), not P(D)."""
    rows, weights = weighted_rows(network, {"D": YES}, 500, np.random.default_rng(3))
    table = network.conditionals["D"].values
    assert np.allclose(weights, table[rows["B"], rows["C"], YES])
    assert len(np.unique(weights)) == 4


def test_what_cannot_be_is_refused(network):
    with pytest.raises(InvalidInput, match="A"):
        conditional(network, ["B"], {"A": 7})
    sure = BayesianNetwork(
        domain=DOMAIN.project(["A"]), parents={"A": ()}, conditionals={"A": Cells(DOMAIN.project(["A"]), [1.0, 0.0])}
    )
    with pytest.raises(InvalidInput, match="probability"):
        conditional(sure, [], {"A": NO})
    with pytest.raises(InvalidInput, match="rare"):
        rejected_rows(sure, {"A": NO}, 1, np.random.default_rng(1), most=1000)
