import numpy as np
import pytest

from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput
from tacita.synthesize.estimate import Target, fit_mixture, projected, singles_of

DOMAIN = Domain(attributes=[Categorical(name=name, levels=("0", "1", "2", "3")) for name in "abc"])


def targets(joint, std, seed=0):
    """All pairs of a joint table, with noise."""
    rng = np.random.default_rng(seed)
    found = []
    for out, pair in ((2, "ab"), (1, "ac"), (0, "bc")):
        table = joint.sum(axis=out)
        found.append(Target(attributes=tuple(pair), shares=table + rng.normal(0, std, table.shape), std=std))
    return found


@pytest.fixture(scope="module")
def joint():
    rng = np.random.default_rng(4)
    parts = rng.dirichlet(np.ones(4) * 0.5, (3, 5))
    return np.einsum("k,ka,kb,kc->abc", rng.dirichlet(np.ones(5)), *parts)


def test_pairs_that_agree_are_fitted(joint):
    fitted = fit_mixture(DOMAIN, targets(joint, 1e-3), np.random.default_rng(1), components=60)
    assert not fitted.hidden
    assert fitted.loss < 1.3
    for out, pair in ((2, "ab"), (1, "ac"), (0, "bc")):
        assert np.abs(fitted.model.project(tuple(pair)).values - joint.sum(axis=out)).sum() / 2 < 0.01


def test_a_fit_is_nearer_to_the_truth_than_what_was_measured(joint):
    noisy = targets(joint, 0.01, seed=2)
    fitted = fit_mixture(DOMAIN, noisy, np.random.default_rng(1), components=60)
    found, measured = 0.0, 0.0
    for out, target in zip((2, 1, 0), noisy, strict=True):
        truth = joint.sum(axis=out)
        found += np.abs(fitted.model.project(target.attributes).values - truth).sum()
        measured += np.abs(target.shares - truth).sum()
    assert found < 0.9 * measured


def test_noise_alone_makes_no_dependence():
    even = np.full((4, 4, 4), 1 / 64)
    hidden = [fit_mixture(DOMAIN, targets(even, 0.02, seed), np.random.default_rng(1)).hidden for seed in range(20)]
    assert np.mean(hidden) > 0.8


def test_the_same_generator_gives_the_same_fit(joint):
    noisy = targets(joint, 0.01)
    one, two = (fit_mixture(DOMAIN, noisy, np.random.default_rng(3), components=20, fits=1) for _ in range(2))
    assert np.array_equal(one.model.weights, two.model.weights)


def test_a_time_limit_still_gives_a_model(joint):
    fitted = fit_mixture(DOMAIN, targets(joint, 1e-3), np.random.default_rng(1), seconds=0.0)
    assert fitted.steps == 1
    assert fitted.model.project(["a", "b"]).sum() == pytest.approx(1)


def test_singles_are_averaged_by_how_well_they_are_told():
    domain = Domain(attributes=[Boolean(name="x"), Boolean(name="y")])
    well = Target(attributes=("x",), shares=np.array([0.4, 0.6]), std=0.01)
    badly = Target(attributes=("x", "y"), shares=np.array([[0.4, 0.4], [0.1, 0.1]]), std=0.1 / np.sqrt(2))
    found = singles_of(domain, [well, badly])
    assert found["x"][0] == pytest.approx((0.4 * 100 + 0.8) / 101)
    assert found["y"] == pytest.approx([0.5, 0.5])


def test_projection_is_the_nearest_distribution():
    """Against a search over all distributions on a grid."""
    values = np.array([0.9, 0.3, -0.2])
    found = projected(values)
    grid = [np.array([i, j, 40 - i - j]) / 40 for i in range(41) for j in range(41 - i)]
    best = min(np.sum((values - point) ** 2) for point in grid)
    assert np.sum((values - found) ** 2) <= best + 1e-12
    assert found.sum() == pytest.approx(1)
    assert projected(np.array([-1.0, 0.5])) == pytest.approx([0.5, 0.5])


def test_larger_tables_are_refused():
    three = Target(attributes=("a", "b", "c"), shares=np.full((4, 4, 4), 1 / 64), std=0.1)
    with pytest.raises(InvalidInput, match="targets"):
        fit_mixture(DOMAIN, [three], np.random.default_rng(1))
