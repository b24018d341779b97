import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Adaptive, Pairs, PrivBayes, SpanningTree
from tacita.synthesize.estimate import LOST, Target, fit_mixture, lost_rows, rows_of, singles_of, targets_of
from tacita.tables.simplex import to_distribution
from tacita.tables.workload import Workload

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


def test_one_step_still_gives_a_model(joint):
    fitted = fit_mixture(DOMAIN, targets(joint, 1e-3), np.random.default_rng(1), fits=1, steps=1)
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
    found = to_distribution(values)
    grid = [np.array([i, j, 40 - i - j]) / 40 for i in range(41) for j in range(41 - i)]
    best = min(np.sum((values - point) ** 2) for point in grid)
    assert np.sum((values - found) ** 2) <= best + 1e-12
    assert found.sum() == pytest.approx(1)
    assert to_distribution(np.array([-1.0, 0.5])) == pytest.approx([0.5, 0.5])


def test_larger_tables_are_refused():
    three = Target(attributes=("a", "b", "c"), shares=np.full((4, 4, 4), 1 / 64), std=0.1)
    with pytest.raises(InvalidInput, match="targets"):
        fit_mixture(DOMAIN, [three], np.random.default_rng(1))


# -- rows that some tables leave out ---------------------------------------------------------------------------------

LOSING = Domain(attributes=[Boolean(name="x"), Boolean(name="y"), Categorical(name="town", levels=("p", "q", "r"))])


def people(count=6000, lost=0.3):
    """y mostly equals x; some rows have a town that the schema does not know."""
    rng = np.random.default_rng(3)
    x = rng.random(count) < 0.3
    y = np.where(rng.random(count) < 0.9, x, ~x)
    town = np.where(rng.random(count) < lost, "elsewhere", rng.choice(["p", "q", "r"], count, p=[0.2, 0.3, 0.5]))
    return LocalEngine(LOSING, pa.table({"x": x, "y": y, "town": town}))


def released(engine, epsilon, seed, *keys, family="laplace"):
    plan = NoisyTables(Workload.of(*keys), family=family).calibrate(
        LOSING, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE
    )
    return list(plan.run(engine, SeededSource(seed)).values())


def test_the_fullest_tables_tell_the_number_of_rows_and_others_are_shares_of_their_own():
    releases = released(people(), 2.0, 1, ["x"], ["town"], ["x", "y"], ["y", "town"])
    targets, rows, error = targets_of(releases)
    assert abs(rows - 6000) < 5 * error
    assert error < 10
    for target in targets:
        assert target.shares.sum() == pytest.approx(1, abs=0.01)
    assert lost_rows(releases) == (LOST,)
    assert rows_of(releases)[1] == pytest.approx(4200, rel=0.05)


def test_noise_alone_is_no_disagreement():
    noted = [lost_rows(released(people(lost=0.0), 0.5, seed, ["x"], ["town"], ["x", "y"])) for seed in range(200)]
    assert sum(map(len, noted)) <= 1


@pytest.mark.parametrize(
    "recipe", [Pairs(), PrivBayes(), SpanningTree(), Adaptive(rounds=2)], ids=lambda each: type(each).__name__
)
def test_rows_without_a_place_in_one_attribute_do_not_bend_the_others(recipe):
    engine = people()
    plan = recipe.calibrate(LOSING, Budget.approx(5.0, 1e-9), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    made = plan.run(engine, SeededSource(5))
    truth = engine.project(["x", "y"]).values
    assert np.abs(made.project(["x", "y"]).values - truth / truth.sum()).sum() / 2 < 0.03
    assert made.people == pytest.approx(6000, rel=0.02)
    assert LOST in made.notes
