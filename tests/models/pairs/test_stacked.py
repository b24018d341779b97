import itertools

import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.models.blend import Blend
from tacita.models.measurement import Measurement
from tacita.models.mixture import Mixture
from tacita.models.mixture_fit import fit_mixture
from tacita.models.network import BayesianNetwork
from tacita.models.pairs.adjusted import Adjusted
from tacita.models.pairs.pair_shares import pair_shares
from tacita.models.pairs.stacked import fit_stacked, shrink, tree_of
from tacita.tables.cells import Cells

NAMES = tuple("abcdefgh")
DOMAIN = Domain(attributes=[Categorical(name=n, levels=["0", "1", "2"]) for n in NAMES])
PAIRS = list(itertools.combinations(NAMES, 2))


def chain(keep=0.6):
    """Each attribute repeats the one before."""
    step = np.full((3, 3), (1 - keep) / 2)
    np.fill_diagonal(step, keep)
    parents = {name: (NAMES[at - 1],) if at else () for at, name in enumerate(NAMES)}
    tables = {
        name: Cells(DOMAIN.project((*above, name)), step if above else np.full(3, 1 / 3))
        for name, above in parents.items()
    }
    return BayesianNetwork(domain=DOMAIN, parents=parents, conditionals=tables)


def classes(count=3, seed=2):
    rng = np.random.default_rng(seed)
    tables = {name: rng.dirichlet(np.ones(3), count) for name in NAMES}
    return Mixture(domain=DOMAIN, weights=np.full(count, 1 / count), tables=tables)


def measure(truth, noise, seed=0):
    rng = np.random.default_rng(seed)
    tables = {pair: truth.project(pair).values for pair in PAIRS}
    return [
        Measurement(attributes=pair, values=table + rng.normal(0, noise, table.shape), variance=noise**2)
        for pair, table in tables.items()
    ]


def error(model, truth):
    gaps = [np.abs(model.project(pair).values - truth.project(pair).values).sum() / 2 for pair in PAIRS]
    return float(np.mean(gaps))


def test_a_chain_is_found_and_helps():
    truth, noise = chain(), 0.01
    better = []
    for seed in range(3):
        measured = measure(truth, noise, seed)
        stacked = fit_stacked(DOMAIN, measured, np.random.default_rng(0))
        alone = fit_mixture(DOMAIN, measured, np.random.default_rng(0))
        assert stacked.share > 0.1
        better.append(error(stacked.model, truth) / error(alone.model, truth))
    assert np.mean(better) < 0.95


def test_classes_are_left_to_the_mixture():
    truth = classes()
    stacked = fit_stacked(DOMAIN, measure(truth, 0.003), np.random.default_rng(0))
    assert stacked.share < 0.1
    alone = fit_mixture(DOMAIN, measure(truth, 0.003), np.random.default_rng(0))
    assert error(stacked.model, truth) < 1.1 * error(alone.model, truth)


def test_noise_alone_gives_no_dependence():
    flat = Mixture(domain=DOMAIN, weights=np.ones(1), tables={name: np.full((1, 3), 1 / 3) for name in NAMES})
    stacked = fit_stacked(DOMAIN, measure(flat, 0.05), np.random.default_rng(0))
    assert stacked.hidden
    assert stacked.share == 0
    assert isinstance(stacked.model, Mixture)


def test_what_few_components_cannot_follow_is_set_right():
    truth, measured = chain(0.97), measure(chain(0.97), 0.001)
    stacked = fit_stacked(DOMAIN, measured, np.random.default_rng(0), components=2, fits=1)
    plain = fit_mixture(DOMAIN, measured, np.random.default_rng(0), components=2, fits=1)
    assert isinstance(stacked.model, Adjusted)
    assert stacked.adjusted == len(stacked.model.tables) > 5
    assert error(stacked.model, truth) < error(plain.model, truth) / 5


def test_the_tree_is_that_of_the_strongest_pairs():
    truth = chain()
    tree = tree_of(DOMAIN, measure(truth, 1e-4), pair_shares(truth))
    assert {frozenset(edge) for edge in tree.edges} == {frozenset(pair) for pair in itertools.pairwise(NAMES)}
    assert error(tree, truth) < 1e-3


def test_a_blend_of_both_gives_rows_and_travels():
    stacked = fit_stacked(DOMAIN, measure(chain(), 0.01), np.random.default_rng(0))
    model = stacked.model.model if isinstance(stacked.model, Adjusted) else stacked.model
    assert isinstance(model, Blend)
    again = Blend.from_dict(model.as_dict())
    assert np.allclose(again.project(("a", "b")).values, model.project(("a", "b")).values, atol=1e-6)
    assert len(model.sample(50, np.random.default_rng(0))["h"]) == 50


def test_shrinking_follows_its_formula():
    towards = np.full((3, 3), 1 / 9)
    off = np.arange(9.0).reshape(3, 3) / 100
    measured = Measurement(attributes=("a", "b"), values=towards + off, variance=1e-4)
    kept = 1 - 1e-4 * (9 + 2 * np.sqrt(18)) / (off**2).sum()
    assert np.allclose(shrink(measured, towards, sure=2.0), towards + kept * off)
    drowned = Measurement(attributes=("a", "b"), values=towards + off, variance=1.0)
    assert np.array_equal(shrink(drowned, towards, sure=0.0), towards)


@pytest.mark.parametrize("names", [("a",), ("a", "b")])
def test_few_attributes(names):
    domain = DOMAIN.project(names)
    table = classes().project(names).values
    measured = [Measurement(attributes=names, values=table, variance=1e-6)]
    stacked = fit_stacked(domain, measured, np.random.default_rng(0))
    assert np.allclose(stacked.model.project(names).values, table, atol=0.01)
