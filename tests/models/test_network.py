"""A network against its joint distribution, held in full."""

import json

import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.models import BayesianNetwork
from tacita.models.network import topological_order
from tacita.tables.cells import Cells


def joint_of(network):
    product = None
    for table in network.conditionals.values():
        product = table if product is None else product * table
    return product.project(network.domain.names)


def test_tables_are_those_of_the_joint(survey):
    joint = joint_of(survey)
    assert joint.sum() == pytest.approx(1)
    for names in (["T"], ["T", "A"], ["S", "R", "O"], ["A", "S"], list(survey.domain.names)):
        assert survey.supports(names)
        found = survey.project(names)
        assert found.attributes == tuple(names)
        np.testing.assert_allclose(found.values, joint.project(names).values, atol=1e-14)


def test_a_long_chain_needs_no_large_table():
    names = [f"x{i}" for i in range(40)]
    domain = Domain(attributes=[Categorical(name=name, levels=["a", "b", "c"]) for name in names])
    rng = np.random.default_rng(0)
    parents = {name: (names[i - 1],) if i else () for i, name in enumerate(names)}
    tables = {}
    for name, above in parents.items():
        over = domain.project((*above, name))
        tables[name] = Cells(over, rng.dirichlet(np.ones(3), size=over.shape[:-1]))
    network = BayesianNetwork(domain=domain, parents=parents, conditionals=tables)
    step = tables["x0"].values
    for name in names[1:]:
        step = step @ tables[name].values
    np.testing.assert_allclose(network.project(["x39"]).values, step)
    with pytest.raises(InvalidInput, match="more than"):
        network.project(names[:30])


def test_merged_tables_are_as_small_as_they_can_be(monkeypatch):
    """A column of 40 attributes with two rows each: no table over more than three at any time."""
    rng = np.random.default_rng(3)
    names = [f"x{place:02d}" for place in range(40)]
    domain = Domain(attributes=[Categorical(name=name, levels=["u", "v"]) for name in names])
    parents = {name: tuple(names[max(0, place - 2) : place]) for place, name in enumerate(names)}
    tables = {
        name: Cells(domain.project([*parents[name], name]), rng.dirichlet([1, 1], (2,) * len(parents[name])))
        for name in names
    }
    network = BayesianNetwork(domain=domain, parents=parents, conditionals=tables)
    monkeypatch.setattr("tacita.models.network.MAX_DENSE", 2**5)
    drawn = network.sample(400_000, rng)
    ends = [names[0], names[-1]]
    counts = np.bincount(2 * drawn[ends[0]].astype(int) + drawn[ends[1]], minlength=4) / 400_000
    assert np.abs(network.project(ends).values.reshape(-1) - counts).max() < 0.005


def test_samples_follow_the_joint(survey):
    rows = 200_000
    codes = survey.sample(rows, np.random.default_rng(3))
    assert tuple(codes) == survey.domain.names
    for names in (["A", "S", "E"], ["O", "R", "T"], ["A", "T"]):
        table = survey.project(names)
        flat = np.ravel_multi_index([codes[name].astype(np.int64) for name in names], table.shape)
        counts = np.bincount(flat, minlength=table.domain.size)
        expected = rows * table.values.reshape(-1)
        statistic = ((counts - expected) ** 2 / expected).sum()
        assert statistic < table.domain.size + 5 * np.sqrt(2 * table.domain.size)
    again = survey.sample(rows, np.random.default_rng(3))
    assert all((codes[name] == again[name]).all() for name in codes)


def test_no_row_that_cannot_be(survey):
    domain = survey.domain.project(["S", "O"])
    never = Cells(domain, [[0.0, 1.0], [1.0, 0.0]])
    network = BayesianNetwork(
        domain=domain,
        parents={"S": (), "O": ("S",)},
        conditionals={"S": Cells(domain.project(["S"]), [0.5, 0.5]), "O": never},
    )
    codes = network.sample(10_000, np.random.default_rng(0))
    assert (codes["S"] != codes["O"]).all()
    assert network.log_likelihood({"S": np.array([0]), "O": np.array([0])}) == -np.inf


def test_likelihood_and_bic(survey):
    codes = survey.sample(500, np.random.default_rng(1))
    joint = joint_of(survey).values
    rows = tuple(codes[name] for name in survey.domain.names)
    assert survey.log_likelihood(codes) == pytest.approx(np.log(joint[rows]).sum())
    # 2 + 1 + 6 + 2 + 2 + 8 free probabilities
    assert survey.parameters == 21
    assert survey.bic(codes) == pytest.approx(survey.log_likelihood(codes) - 21 / 2 * np.log(500))
    with pytest.raises(InvalidInput):
        survey.log_likelihood(codes | {"A": np.full(500, 3)})
    with pytest.raises(UnknownName):
        survey.log_likelihood({"A": codes["A"]})


def test_plain_data(survey):
    again = BayesianNetwork.from_dict(json.loads(json.dumps(survey.as_dict())))
    assert again.parents == survey.parents
    assert again.edges == {("A", "E"), ("S", "E"), ("E", "O"), ("E", "R"), ("O", "T"), ("R", "T")}
    assert all(again.conditionals[name] == survey.conditionals[name] for name in survey.domain.names)
    with pytest.raises(InvalidInput):
        BayesianNetwork.from_dict({"tacita": "network/2"})


def test_order_and_cycles():
    assert topological_order("cba", {"a": (), "b": ("a",), "c": ("b",)}) == ("a", "b", "c")
    with pytest.raises(InvalidInput, match="cycle"):
        topological_order("ab", {"a": ("b",), "b": ("a",)})
    with pytest.raises(InvalidInput, match="cycle"):
        topological_order("a", {"a": ("a",)})


def test_refusals(survey):
    domain, tables = survey.domain, dict(survey.conditionals)
    with pytest.raises(InvalidInput, match="each attribute"):
        BayesianNetwork(domain=domain, parents={"A": ()}, conditionals=tables)
    with pytest.raises(InvalidInput, match="over the parents"):
        BayesianNetwork(domain=domain, parents=dict(survey.parents) | {"E": ("S", "A")}, conditionals=tables)
    wrong = Cells(domain.project(["A"]), [0.3, 0.5, 0.3])
    with pytest.raises(InvalidInput, match="sum to 1"):
        BayesianNetwork(domain=domain, parents=survey.parents, conditionals=tables | {"A": wrong})
