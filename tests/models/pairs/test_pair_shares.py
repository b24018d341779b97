import itertools

import numpy as np
import pytest
from tests.support.networks import random_network

from tacita.domain import Categorical, Domain
from tacita.models.mixture import Mixture
from tacita.models.network import BayesianNetwork
from tacita.models.pairs.pair_shares import blocks_of, coded, count_pairs, pair_shares, put_table
from tacita.tables.cells import Cells

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2}
DOMAIN = Domain(attributes=[Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in SIZES.items()])


def mixture(seed=0, classes=3):
    rng = np.random.default_rng(seed)
    tables = {name: rng.dirichlet(np.ones(size), classes) for name, size in SIZES.items()}
    return Mixture(domain=DOMAIN, weights=rng.dirichlet(np.ones(classes)), tables=tables)


def tree(parents, seed=0):
    rng = np.random.default_rng(seed)
    tables = {}
    for name, above in parents.items():
        over = DOMAIN.project((*above, name))
        rows = rng.dirichlet(np.ones(over.shape[-1]), over.size // over.shape[-1])
        tables[name] = Cells(over, rows.reshape(over.shape))
    return BayesianNetwork(domain=DOMAIN, parents=parents, conditionals=tables)


def assert_same(found, model, atol):
    blocks = blocks_of(DOMAIN)
    for one, other in itertools.permutations(SIZES, 2):
        assert np.allclose(found[blocks[one], blocks[other]], model.project((one, other)).values, atol=atol)


def test_a_mixture():
    assert_same(pair_shares(mixture()), mixture(), 1e-12)


@pytest.mark.parametrize(
    "parents",
    [
        {"a": (), "b": ("a",), "c": ("a",), "d": ("c",)},
        {"a": ("d",), "b": ("c",), "c": ("d",), "d": ()},
        {"a": (), "b": ("a",), "c": (), "d": ("c",)},
        dict.fromkeys(SIZES, ()),
    ],
)
def test_a_tree_or_forest_is_exact(parents):
    assert_same(pair_shares(tree(parents)), tree(parents), 1e-12)


def test_other_networks_are_drawn_from():
    network = tree({"a": (), "b": ("a",), "c": ("a", "b"), "d": ("b", "c")})
    assert_same(pair_shares(network), network, 6e-3)


def test_counts_are_those_of_the_rows():
    network = random_network("tree", attributes=5, seed=3)
    rows = coded(network.domain, network.sample(500, np.random.default_rng(1)))
    counts, blocks = count_pairs(network.domain, rows), list(blocks_of(network.domain).values())
    for i, j in itertools.permutations(range(5), 2):
        table = np.zeros((network.domain.shape[i], network.domain.shape[j]))
        np.add.at(table, (rows[:, i], rows[:, j]), 1)
        assert np.array_equal(counts[blocks[i], blocks[j]], table)


def test_a_table_is_set_in_both_directions():
    matrix = np.zeros((sum(DOMAIN.shape),) * 2)
    put_table(matrix, DOMAIN, ("a", "c"), np.arange(8.0).reshape(2, 4))
    blocks = blocks_of(DOMAIN)
    assert np.array_equal(matrix[blocks["c"], blocks["a"]], np.arange(8.0).reshape(2, 4).T)
    assert matrix.sum() == 2 * 28
