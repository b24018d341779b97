"""Networks from draws: scores against BIC of exact counts, and against noise alone."""

import numpy as np
import pytest

from tacita.assess.decisions.relearn import DrawnTables, choose_search, learn_each
from tacita.domain import Categorical, Domain
from tacita.models import BayesianNetwork
from tacita.tables.cells import Cells

DOMAIN = Domain(attributes=[Categorical(name=name, levels=["0", "1", "2"]) for name in "abc"])


def tables(draws, seed, strength=0.0):
    rng = np.random.default_rng(seed)
    joint = np.full((3, 3), 1 / 9) + strength * np.outer([1, 0, -1], [1, 0, -1])
    return rng.multinomial(3000, joint.reshape(-1), size=draws).astype(float)


def test_the_score_is_bic_of_exact_counts():
    rng = np.random.default_rng(1)
    codes = {name: rng.integers(0, 3, 500) for name in "abc"}
    codes["b"] = np.where(rng.random(500) < 0.5, codes["a"], codes["b"])
    drawn = DrawnTables(
        domain=DOMAIN,
        tables={("a", "b"): np.bincount(codes["a"] * 3 + codes["b"], minlength=9)[None, :].astype(float)},
    )

    def bic(parents):
        """Of the network with the conditionals that fit best; c is left out of both."""
        counts = np.bincount(codes["a"] * 3 + codes["b"], minlength=9).reshape(3, 3)
        table = counts / counts.sum(axis=1, keepdims=True) if parents else counts.sum(axis=0) / 500
        single = Cells(DOMAIN.project(("a",)), counts.sum(axis=1) / 500)
        network = BayesianNetwork(
            domain=DOMAIN.project(("a", "b")),
            parents={"a": (), "b": parents},
            conditionals={"a": single, "b": Cells(DOMAIN.project((*parents, "b")), table)},
        )
        return network.bic({"a": codes["a"], "b": codes["b"]})

    gain = bic(("a",)) - bic(())
    found = float(drawn.scores()("b", ("a",))[0])
    assert found == pytest.approx(gain, rel=1e-6)


def test_noise_alone_makes_no_links():
    """Without the discount noise of 100 a cell links nearly all independent tables; with it hardly any."""
    exact = tables(300, 2)
    noisy = exact + np.random.default_rng(3).normal(0, 100, exact.shape)
    linked = {}
    for noise in (0.0, 10_000.0):
        drawn = DrawnTables(domain=DOMAIN.project(("a", "b")), tables={("a", "b"): noisy}, noise={("a", "b"): noise})
        linked[noise] = np.mean([any(parents.values()) for parents in learn_each(drawn, "tree", 1)])
    assert linked[0.0] > 0.9
    assert linked[10_000.0] < 0.02


def test_dependence_is_found_through_noise():
    noisy = tables(100, 4, strength=0.06) + np.random.default_rng(5).normal(0, 30, (100, 9))
    drawn = DrawnTables(domain=DOMAIN.project(("a", "b")), tables={("a", "b"): noisy}, noise={("a", "b"): 900.0})
    assert np.mean([any(parents.values()) for parents in learn_each(drawn, "tree", 1)]) > 0.95


def test_sums_of_cells_carry_the_noise_of_all_of_them():
    drawn = DrawnTables(domain=DOMAIN, tables={("a", "b", "c"): np.ones((2, 27))}, noise={("a", "b", "c"): 5.0})
    counts, noise = drawn.table(("c", "a"))
    assert counts.tolist() == [[3.0] * 9] * 2
    assert noise == 15.0


def test_the_search_follows_the_tables():
    pairs = DrawnTables(domain=DOMAIN, tables={("a", "b"): np.ones((1, 9)), ("b", "c"): np.ones((1, 9))})
    assert choose_search("auto", pairs, None) == ("tree", 1)
    assert np.isneginf(pairs.scores()("a", ("c",))).all()
    whole = DrawnTables(domain=DOMAIN, tables={("a", "b", "c"): np.ones((1, 27))})
    assert choose_search("auto", whole, None) == ("hill-climb", 2)
    assert choose_search("exact", whole, 1) == ("exact", 1)
