import json

import numpy as np
import pytest

from tacita.domain import Boolean, Domain
from tacita.errors import InvalidInput
from tacita.models.blend import Blend
from tacita.models.network import BayesianNetwork
from tacita.tables.cells import Cells

DOMAIN = Domain(attributes=[Boolean(name="x"), Boolean(name="y")])


def network(first, same):
    x = Cells(DOMAIN.project(["x"]), np.array([first, 1 - first]))
    y = Cells(DOMAIN, np.array([[same, 1 - same], [1 - same, same]]))
    return BayesianNetwork(domain=DOMAIN, parents={"x": (), "y": ("x",)}, conditionals={"x": x, "y": y})


BLEND = Blend(models=(network(0.9, 0.9), network(0.2, 0.5)), weights=(0.25, 0.75))


def test_tables_are_weighted_sums():
    expected = 0.25 * np.array([[0.81, 0.09], [0.01, 0.09]]) + 0.75 * np.array([[0.1, 0.1], [0.4, 0.4]])
    assert np.allclose(BLEND.project(("x", "y")).values, expected)
    assert np.allclose(BLEND.project(("y", "x")).values, expected.T)


def test_rows_are_drawn_by_it_and_in_no_order():
    rows = BLEND.sample(40_000, np.random.default_rng(0))
    counts = np.zeros((2, 2))
    np.add.at(counts, (rows["x"], rows["y"]), 1)
    assert np.abs(counts / 40_000 - BLEND.project(("x", "y")).values).max() < 0.01
    halves = [rows["x"][:20_000].mean(), rows["x"][20_000:].mean()]
    assert abs(halves[0] - halves[1]) < 0.02, "the networks' rows must not come one after the other"
    assert len(BLEND.sample(0, np.random.default_rng(0))["x"]) == 0


def test_it_travels():
    again = Blend.from_dict(json.loads(json.dumps(BLEND.as_dict())))
    assert np.array_equal(again.project(("x", "y")).values, BLEND.project(("x", "y")).values)
    assert again.supports(("x",))
    assert not again.supports(("z",))


@pytest.mark.parametrize("weights", [(1.0,), (0.5, 0.6), (1.5, -0.5), (float("nan"), 1.0)])
def test_weights_are_shares(weights):
    with pytest.raises(InvalidInput, match="weights"):
        Blend(models=BLEND.models, weights=weights)


def test_networks_are_over_the_same_attributes():
    other = Domain(attributes=[Boolean(name="z")])
    alone = BayesianNetwork(domain=other, parents={"z": ()}, conditionals={"z": Cells(other, np.array([0.5, 0.5]))})
    with pytest.raises(InvalidInput, match="models"):
        Blend(models=(BLEND.models[0], alone), weights=(0.5, 0.5))
    with pytest.raises(InvalidInput, match="blend/1"):
        Blend.from_dict({"tacita": "network/1"})
