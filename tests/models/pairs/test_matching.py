import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.models.blend import Blend
from tacita.models.mixture import Mixture
from tacita.models.network import BayesianNetwork
from tacita.models.pairs.matching import LEAST_ROWS, MOST_ROWS, MatchedDraws, can_match, draw_matched, match_rows
from tacita.models.pairs.pair_shares import coded, count_pairs, pair_shares
from tacita.tables.cells import Cells

SIZES = {"a": 2, "b": 3, "c": 4, "d": 6, "e": 8}
DOMAIN = Domain(attributes=[Categorical(name=n, levels=[str(i) for i in range(k)]) for n, k in SIZES.items()])
OFF = np.ones((23, 23), bool)
for start, size in zip((0, 2, 5, 9, 15), SIZES.values(), strict=True):
    OFF[start : start + size, start : start + size] = False


def mixture(seed=0, classes=4, spread=0.5):
    rng = np.random.default_rng(seed)
    tables = {name: rng.dirichlet(np.full(size, spread), classes) for name, size in SIZES.items()}
    return Mixture(domain=DOMAIN, weights=rng.dirichlet(np.ones(classes)), tables=tables)


def misses(model, codes):
    """Mean distance of all pairs from the model."""
    rows = coded(DOMAIN, codes)
    shares = count_pairs(DOMAIN, rows) / len(rows)
    return np.abs(shares - pair_shares(model))[OFF].sum() / 4 / 10


def test_pairs_are_met_far_better_than_by_draws():
    model = mixture()
    drawn = model.sample(5000, np.random.default_rng(1))
    matched = draw_matched(model, 5000, np.random.default_rng(1))
    assert misses(model, matched) < misses(model, drawn) / 5


def test_triples_are_met_better_too():
    model, error = mixture(), {}
    for name, codes in (
        ("drawn", model.sample(5000, np.random.default_rng(1))),
        ("matched", draw_matched(model, 5000, np.random.default_rng(1))),
    ):
        table = np.zeros((3, 4, 8))
        np.add.at(table, (codes["b"], codes["c"], codes["e"]), 1)
        error[name] = np.abs(table / 5000 - model.project(("b", "c", "e")).values).sum()
    assert error["matched"] < error["drawn"]


def test_rare_cells_are_neither_emptied_nor_filled():
    """Over many draws the cells that expect less than a row have as many as they expect."""
    model, rows, draws = mixture(7, spread=0.3), 300, 60
    expected = pair_shares(model) * rows
    rare = OFF & (expected > 0.02) & (expected < 0.7)
    have = 0.0
    for seed in range(draws):
        codes = draw_matched(model, rows, np.random.default_rng(seed))
        have += count_pairs(DOMAIN, coded(DOMAIN, codes))[rare].sum() / draws
    assert rare.sum() > 30
    assert 0.8 < have / expected[rare].sum() < 1.25


def test_what_cannot_be_is_never_written():
    over = DOMAIN.project(("a", "b"))
    impossible = Cells(over, np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5]]))
    rest = {name: Cells(DOMAIN.project([name]), np.full(size, 1 / size)) for name, size in SIZES.items()}
    network = BayesianNetwork(
        domain=DOMAIN, parents=dict.fromkeys(SIZES, ()) | {"b": ("a",)}, conditionals=rest | {"b": impossible}
    )
    codes = draw_matched(network, 2000, np.random.default_rng(0))
    assert not ((codes["a"] == 0) & (codes["b"] != 0)).any()
    assert not ((codes["a"] == 1) & (codes["b"] == 0)).any()


def test_rows_are_codes_of_the_domain_and_repeat_with_the_seed():
    first = MatchedDraws(mixture()).sample(1000, np.random.default_rng(3))
    again = draw_matched(mixture(), 1000, np.random.default_rng(3))
    for name, size in SIZES.items():
        assert np.array_equal(first[name], again[name])
        assert first[name].min() >= 0
        assert first[name].max() < size


@pytest.mark.parametrize("rows", [0, 1, LEAST_ROWS - 1, MOST_ROWS + 1])
def test_few_and_very_many_rows_are_left_as_drawn(rows):
    drawn = mixture().sample(rows, np.random.default_rng(3))
    matched = draw_matched(mixture(), rows, np.random.default_rng(3))
    assert all(np.array_equal(drawn[name], matched[name]) for name in SIZES)


def test_the_rows_that_were_given_stay_as_they_are():
    rows = coded(DOMAIN, mixture(1).sample(500, np.random.default_rng(0)))
    before = rows.copy()
    match_rows(DOMAIN, rows, pair_shares(mixture(2)), np.random.default_rng(0))
    assert np.array_equal(rows, before)


def test_networks_with_several_parents_are_not_matched():
    """Three attributes, the last the parity of the others: no pair shows it, and a move would break it."""
    even = {name: Cells(DOMAIN.project([name]), np.full(size, 1 / size)) for name, size in SIZES.items()}
    parents = dict.fromkeys(SIZES, ())
    tree = BayesianNetwork(domain=DOMAIN, parents=parents, conditionals=even)
    three = DOMAIN.project(("b", "c", "a"))
    parity = np.fromfunction(lambda b, c, a: ((b + c) % 2 == a).astype(float), three.shape)
    odd = BayesianNetwork(
        domain=DOMAIN, parents=parents | {"a": ("b", "c")}, conditionals=even | {"a": Cells(three, parity)}
    )
    assert can_match(tree)
    assert can_match(Blend(models=(tree, mixture()), weights=(0.5, 0.5)))
    assert not can_match(odd)
    assert not can_match(Blend(models=(tree, odd), weights=(0.5, 0.5)))
