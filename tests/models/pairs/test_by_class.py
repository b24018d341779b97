import itertools

import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.models.measurement import Measurement
from tacita.models.pairs.by_class import fit_by_class, fit_star
from tacita.models.pairs.pair_shares import pair_shares
from tacita.tables.cells import Cells

NAMES = ("a", "b", "t", "c", "d")  # the target is in the middle: no order of axes may be assumed
SIZES = {"a": 2, "b": 3, "t": 3, "c": 2, "d": 4}
DOMAIN = Domain(attributes=[Categorical(name=n, levels=[str(k) for k in range(SIZES[n])]) for n in NAMES])
TRIPLES = [tuple(n for n in NAMES if n in (*pair, "t")) for pair in itertools.combinations("abcd", 2)]


def joint(seed=0):
    """Within each level of t two hidden classes of their own, so that tables of two attributes do not determine it."""
    rng = np.random.default_rng(seed)
    table = np.zeros(tuple(SIZES.values()))
    for level, share in enumerate((0.6, 0.3, 0.1)):
        for _ in range(2):
            part = np.ones(())
            for name in "abcd":
                part = np.multiply.outer(part, rng.dirichlet(np.full(SIZES[name], 0.5)))
            table[:, :, level] += share / 2 * part
    return Cells(DOMAIN, table)


def measure(truth, keys, noise, seed=0):
    rng = np.random.default_rng(seed)
    tables = {key: truth.project(key).values for key in keys}
    return [
        Measurement(attributes=key, values=table + rng.normal(0, noise, table.shape), variance=noise**2)
        for key, table in tables.items()
    ]


def error(model, truth, keys):
    return float(np.mean([np.abs(model.project(key).values - truth.project(key).values).sum() / 2 for key in keys]))


def test_tables_of_three_with_the_target_are_kept():
    truth = joint()
    found = fit_by_class(DOMAIN, "t", measure(truth, TRIPLES, 1e-3), np.random.default_rng(0), components=60, fits=1)
    assert not found.hidden
    assert len(found.losses) == 3
    assert max(found.losses) < 1.6
    assert error(found.model, truth, TRIPLES) < 0.012
    assert found.model.project(["t"]).values == pytest.approx(truth.project(["t"]).values, abs=0.005)
    given = fit_star(DOMAIN, "t", measure(truth, [k for k in itertools.combinations(NAMES, 2) if "t" in k], 1e-3))
    assert error(given, truth, TRIPLES) > 4 * error(found.model, truth, TRIPLES)


def test_a_component_holds_one_level_of_the_target():
    found = fit_by_class(DOMAIN, "t", measure(joint(), TRIPLES, 1e-3), np.random.default_rng(0), components=30, fits=1)
    table = found.model.tables["t"]
    assert np.array_equal(np.unique(table), [0.0, 1.0])
    assert np.array_equal(table.sum(axis=1), np.ones(len(table)))
    drawn = found.model.sample(2000, np.random.default_rng(0))
    assert set(np.unique(drawn["t"])) <= {0, 1, 2}
    assert pair_shares(found.model).shape == (14, 14)


def test_noise_alone_gives_no_dependence():
    shares = np.full(tuple(SIZES.values()), 1 / np.prod(list(SIZES.values())))
    flat = Cells(DOMAIN, shares)
    found = fit_by_class(DOMAIN, "t", measure(flat, TRIPLES, 0.01), np.random.default_rng(0), components=40, fits=1)
    assert found.hidden
    for one, other in itertools.combinations("abcd", 2):
        table = found.model.project([one, other]).values
        assert np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0))).sum() / 2 < 0.02


def test_a_rare_level_borrows_what_all_levels_share():
    """With the same dependence in all levels, the rare one is nearer to it than its own noisy table is."""
    rng = np.random.default_rng(1)
    base = joint().project(("a", "b", "c", "d")).values
    table = np.stack([share * base for share in (0.67, 0.3, 0.03)], axis=2)
    truth = Cells(DOMAIN, table)
    off, own = [], []
    for seed in range(4):
        measured = measure(truth, TRIPLES, 2e-3, seed)
        found = fit_by_class(DOMAIN, "t", measured, rng, components=60, fits=1)
        for each in measured:
            axis = each.attributes.index("t")
            exact = np.take(truth.project(each.attributes).values, 2, axis)
            off.append(np.abs(np.take(found.model.project(each.attributes).values, 2, axis) - exact).sum())
            own.append(np.abs(np.take(each.values, 2, axis) - exact).sum())
    assert np.mean(off) < 0.7 * np.mean(own)


def test_many_levels_keep_few_components_each():
    domain = Domain(
        attributes=[
            Categorical(name="x", levels=["0", "1"]),
            Categorical(name="y", levels=["0", "1"]),
            Categorical(name="t", levels=[str(k) for k in range(150)]),
        ]
    )
    rng = np.random.default_rng(0)
    truth = Cells(domain, rng.dirichlet(np.ones(600)).reshape(2, 2, 150))
    found = fit_by_class(domain, "t", measure(truth, [("x", "y", "t")], 1e-4), rng, components=100, fits=2, steps=20)
    assert found.model.components <= 4000
    assert found.model.project(["t"]).values.sum() == pytest.approx(1)


@pytest.mark.parametrize("order", [("x", "t"), ("t", "x")])
def test_a_star_gives_the_measured_table(order):
    domain = Domain(attributes=[Categorical(name=n, levels=["0", "1", "2"]) for n in order])
    truth = Cells(domain, np.array([[0.3, 0.02, 0.03], [0.05, 0.2, 0.05], [0.05, 0.1, 0.2]]))
    found = fit_star(domain, "t", measure(truth, [order], 1e-5))
    assert found.parents == {"t": (), "x": ("t",)}
    assert found.project(order).values == pytest.approx(truth.values, abs=1e-3)


def test_a_star_leaves_out_what_noise_hides():
    domain = Domain(attributes=[Categorical(name=n, levels=["0", "1", "2"]) for n in ("x", "t")])
    measured = measure(Cells(domain, np.full((3, 3), 1 / 9)), [("x", "t")], 0.05)
    table = fit_star(domain, "t", measured).project(("x", "t")).values
    assert np.abs(table - np.outer(table.sum(axis=1), table.sum(axis=0))).sum() / 2 < 0.06
