"""One search for discrete, continuous and mixed rows; files that state that they have no guarantee."""

import json

import numpy as np
import pytest
from tests.models.continuous.random_gaussian import random_gaussian
from tests.models.continuous.test_mixed_score import draw
from tests.support.networks import random_network

from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.learn.structure.columns import StructureColumns
from tacita.learn.structure.learned import LearnedNetwork, learn_network
from tacita.models.continuous import GaussianNetwork, MixedNetwork
from tacita.models.links import shd
from tacita.models.network import BayesianNetwork
from tacita.models.search import LinkRules, Search


def numbers(rows=20_000, seed=6):
    network = random_gaussian(5, seed)
    return network, StructureColumns(numbers=network.sample(rows, np.random.default_rng(1)))


def levels(rows=20_000):
    network = random_network("tree", attributes=5, seed=3)
    codes = network.sample(rows, np.random.default_rng(1))
    return network, StructureColumns(numbers={}, codes=codes, domain=network.domain)


def mixed():
    values, codes = draw()
    domain = Domain(
        attributes=[
            Categorical(name="kind", levels=["car", "bus"]),
            Categorical(name="place", levels=["town", "land", "sea"]),
        ]
    )
    return StructureColumns(numbers=values, codes=codes, domain=domain, left_out=4)


@pytest.mark.parametrize("score", ["bic", "bge", "clg"])
@pytest.mark.parametrize("kind", ["exact", "hill", "rsmax2"])
def test_numbers(score, kind):
    network, columns = numbers()
    found = learn_network(columns, Search(kind=kind, level=0.001), score=score)
    assert isinstance(found.network, MixedNetwork if score == "clg" else GaussianNetwork)
    assert shd(found.parents, network.parents, classes=True) <= (0 if kind == "exact" else 3)


@pytest.mark.parametrize("score", ["bic", "bdeu", "clg"])
@pytest.mark.parametrize("kind", ["exact", "hill", "rsmax2"])
def test_levels(score, kind):
    network, columns = levels()
    found = learn_network(columns, Search(kind=kind, level=0.001), score=score)
    assert isinstance(found.network, BayesianNetwork)
    assert shd(found.parents, network.parents, classes=True) <= 1
    gap = np.abs(found.network.project(["x0", "x1"]).values - network.project(["x0", "x1"]).values).max()
    assert gap < 0.02


def test_levels_and_numbers_together_follow_the_rules():
    columns = mixed()
    rules = LinkRules.of(columns.names, forbid=["x:y"])
    found = learn_network(columns, Search(rules=rules), score="clg")
    assert isinstance(found.network, MixedNetwork)
    assert "y" in found.parents["x"]
    assert set(found.network.sample(10, np.random.default_rng(0))["kind"]) <= {"car", "bus"}
    assert found.search["forbidden"] == ["x:y"]
    for score in ("bic", "bge", "bdeu"):
        with pytest.raises(InvalidInput, match="all numbers, or all levels"):
            learn_network(columns, Search(), score=score)


@pytest.mark.parametrize("made", [lambda: numbers(500)[1], lambda: levels(500)[1], mixed], ids=["g", "d", "m"])
def test_a_learned_network_is_read_back_and_has_no_guarantee(made):
    found = learn_network(made(), Search(), score="clg")
    plain = json.loads(found.to_json())
    assert plain["guarantee"] == found.guarantee == "none"
    assert plain["statement"].startswith("No guarantee")
    again = LearnedNetwork.from_json(found.to_json())
    assert again.as_dict() == found.as_dict()
    assert again.parents == found.parents


def test_bad_input():
    for columns, score in ((numbers(50)[1], "bdeu"), (levels(50)[1], "bge"), (numbers(50)[1], "aic")):
        with pytest.raises(InvalidInput, match="score"):
            learn_network(columns, Search(), score=score)
    with pytest.raises(InvalidInput, match="rows"):
        learn_network(StructureColumns(numbers={"a": np.zeros(1)}), Search())
    flat = StructureColumns(numbers={"a": np.zeros(9), "b": np.arange(9.0)})
    with pytest.raises(InvalidInput, match="vary"):
        learn_network(flat, Search())
    found = learn_network(numbers(50)[1], Search()).as_dict()
    for change in ({"tacita": "network/1"}, {"network": {"tacita": "other/1"}}):
        with pytest.raises(InvalidInput):
            LearnedNetwork.from_json(json.dumps(found | change))
