import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost, pure_epsilon
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.models.bayes import NaiveBayes
from tacita.tables.workload import Workload

ADD, ROW = Neighbours.ADD_REMOVE, Unit.row()
DOMAIN = Domain(
    attributes=[
        Boolean(name="ill"),
        Categorical(name="smokes", levels=("never", "daily"), missing=True),
        Numeric(name="age", bounds=(0, 99), edges=(0, 30, 60, 99), integer=True),
    ]
)
RECIPE = NaiveBayes(target="ill", features=("smokes", "age"))


def people(rows, seed=0):
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.3
    smokes = np.where(rng.random(rows) < np.where(ill, 0.8, 0.2), "daily", "never")
    age = np.where(ill, rng.integers(40, 100, rows), rng.integers(0, 70, rows))
    return pa.table({"ill": ill, "smokes": smokes, "age": age})


def test_it_predicts_nearly_as_well_as_without_noise():
    engine, fresh = LocalEngine(DOMAIN, people(4000)), people(4000, seed=1)
    codes, truth = DOMAIN.encode(fresh, ["smokes", "age"]), fresh["ill"].to_numpy()

    def accuracy(epsilon):
        plan = RECIPE.calibrate(DOMAIN, Budget.pure(epsilon), unit=ROW, neighbours=ADD)
        return np.mean(RECIPE.fit(plan.run(engine, SeededSource(1))).predict(codes) == truth)

    assert accuracy(1000.0) > 0.8
    assert accuracy(0.5) > accuracy(1000.0) - 0.02


def test_scores_are_the_logarithms_of_bayes_rule():
    engine = LocalEngine(DOMAIN, people(3000))
    plan = RECIPE.calibrate(DOMAIN, Budget.pure(1000.0), unit=ROW, neighbours=ADD)
    model = RECIPE.fit(plan.run(engine, SeededSource(1)))
    joint, ages = (engine.project(["ill", name]).values.astype(float) for name in ("smokes", "age"))
    likely = [(joint + 1) / (joint + 1).sum(1, keepdims=True), (ages + 1) / (ages + 1).sum(1, keepdims=True)]
    wanted = np.log(joint.sum(1) / joint.sum()) + np.log(likely[0][:, 1]) + np.log(likely[1][:, 2])
    assert model.scores({"smokes": np.array([1]), "age": np.array([2])})[0] == pytest.approx(wanted, abs=0.01)
    # a value without a place says nothing
    wanted = np.log(joint.sum(1) / joint.sum()) + np.log(likely[0][:, 1])
    assert model.scores({"smokes": np.array([1]), "age": np.array([3])})[0] == pytest.approx(wanted, abs=0.01)


def test_it_asks_for_its_tables_only_and_pays_for_them():
    plan = RECIPE.calibrate(DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    assert plan.workload == Workload.of(["ill", "smokes"], ["ill", "age"])
    assert pure_epsilon(plan.event, ADD) == 1
    # one row is in one cell of each table: what its coming and going loses, from the laws alone
    engine = LocalEngine(DOMAIN, people(30))
    more = LocalEngine(DOMAIN, pa.concat_tables([people(30), people(1, seed=5)]))
    moved = [np.abs(more.project(key).values - engine.project(key).values).sum() for key in plan.workload]
    assert sum(float(n / law.scale) for n, law in zip(moved, plan.laws, strict=True)) == pytest.approx(1.0)


def test_a_fine_grid_serves_budgets_with_a_delta():
    recipe = NaiveBayes(target="ill", features=("smokes", "age"), grid=64)
    budget = Budget.approx(1.0, 1e-6)
    plan = recipe.calibrate(DOMAIN, budget, unit=ROW, neighbours=ADD)
    assert cost([(plan.event, 1)], budget, ADD) <= exact(1.0)


def test_refusals():
    with pytest.raises(InvalidInput, match="at least one feature"):
        NaiveBayes(target="ill", features=())
    with pytest.raises(InvalidInput, match="none of them the target"):
        NaiveBayes(target="ill", features=("ill",))
