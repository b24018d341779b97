"""Mixed networks: likelihood equal to the score's, rows that follow it, JSON and refusals."""

import json
import math

import numpy as np
import pytest
from tests.models.continuous.test_mixed_score import SIZES, draw

from tacita.errors import InvalidInput, UnknownName
from tacita.models.continuous import GroupedMoments, Line, MixedNetwork, MixedScore
from tacita.models.search import total_score

LEVELS = {"kind": ("car", "bus"), "place": ("town", "land", "sea")}
PARENTS = {"x": ("kind",), "y": ("x", "kind", "place"), "free": (), "kind": (), "place": ("kind",)}


@pytest.fixture(scope="module")
def fitted():
    numbers, codes = draw()
    score = MixedScore(grouped=GroupedMoments.of(numbers, SIZES, codes))
    return numbers, codes, score, MixedNetwork.fit(score, PARENTS, LEVELS)


def test_its_likelihood_is_that_of_the_score(fitted):
    numbers, codes, score, network = fitted
    free = 2 * 2 + 4 * 3 + 2 + 1 + 2 * 2
    expected = total_score(score, PARENTS) + free / 2 * math.log(2000)
    assert network.log_likelihood(codes, numbers) == pytest.approx(expected)


def test_drawn_rows_follow_it(fitted):
    numbers, codes, _, network = fitted
    rows = network.sample(40_000, np.random.default_rng(3))
    for code, label in enumerate(LEVELS["kind"]):
        at, mine = codes["kind"] == code, rows["kind"] == label
        assert mine.mean() == pytest.approx(at.mean(), abs=0.01)
        assert rows["x"][mine].mean() == pytest.approx(numbers["x"][at].mean(), abs=0.06)
        assert rows["y"][mine].std() == pytest.approx(numbers["y"][at].std(), rel=0.03)
        assert np.corrcoef(rows["x"][mine], rows["y"][mine])[0, 1] == pytest.approx(
            np.corrcoef(numbers["x"][at], numbers["y"][at])[0, 1], abs=0.03
        )
    assert set(rows["place"]) <= set(LEVELS["place"])
    assert len(network.sample(0, np.random.default_rng(1))["x"]) == 0


def test_it_is_read_back(fitted):
    _, _, _, network = fitted
    text = json.dumps(network.as_dict())
    again = MixedNetwork.from_dict(json.loads(text))
    assert again.as_dict() == network.as_dict()
    one, two = (each.sample(50, np.random.default_rng(2)) for each in (network, again))
    assert all((one[name] == two[name]).all() for name in PARENTS)
    assert again.edges == network.edges


def test_bad_input(fitted):
    _, _, _, network = fitted
    plain = network.as_dict()
    for change in (
        {"tacita": "network/1"},
        {"parents": plain["parents"] | {"kind": ["x"]}},
        {"parents": plain["parents"] | {"x": ["y", "kind"]}},
        {"parents": plain["parents"] | {"other": []}},
        {"tables": plain["tables"] | {"kind": [[0.5, 0.6]]}},
        {"tables": plain["tables"] | {"kind": [[1.0]]}},
    ):
        with pytest.raises(InvalidInput):
            MixedNetwork.from_dict(plain | change)
    with pytest.raises(UnknownName):
        MixedNetwork.from_dict(plain | {"parents": plain["parents"] | {"free": ["wind"]}})
    line = Line(intercept=0.0, coefficients={}, variance=0.0)
    with pytest.raises(InvalidInput, match="variance"):
        MixedNetwork(parents={"x": ()}, levels={}, tables={}, lines={"x": {-1: line}})
    with pytest.raises(InvalidInput, match="other cells"):
        MixedNetwork(parents={"x": ()}, levels={}, tables={}, lines={"x": {}})
    with pytest.raises(InvalidInput, match="rows"):
        network.sample(-1, np.random.default_rng(1))
