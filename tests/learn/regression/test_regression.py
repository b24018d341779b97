import math

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, NotPublic
from tacita.learn import FittedModel, Regression, Trees
from tacita.learn.compare import simulate_rows
from tacita.learn.feature_map import Points
from tacita.learn.regression.logistic import minimum, probabilities
from tacita.learn.regression.methods.adassp import exact_parts, moves
from tacita.learn.regression.methods.dpme import cells_of
from tacita.learn.regression.methods.objective import spherical
from tacita.learn.regression.methods.output import moved
from tacita.learn.regression.regression import METHODS
from tacita.learn.regression.unit_rows import GRID, RADIUS, bend, fitted, least_in_ball, ridges_of, slope, unit_rows
from tacita.noise import SecureSource, SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
PURE, APPROX = Budget.pure(1.0), Budget.approx(1.0, 1e-5)
PLAIN = [name for name in METHODS if name not in ("dpsgd", "tilted")]  # which have files of their own
DOMAIN = Domain(attributes=[*(Numeric(name=n, bounds=(-1, 1), bins=4) for n in ("a", "b", "y")), Boolean(name="c")])


def budget_for(method):
    return APPROX if method in ("sufficient", "adassp") else PURE


def plan_for(method, task="linear", budget=None, neighbours=ADD, **more):
    recipe = Regression(
        target="y" if task == "linear" else "c", features=("a", "b"), task=task, method=method, people=30, **more
    )
    return recipe.calibrate(DOMAIN, budget or budget_for(method), unit=ROW, neighbours=neighbours)


def points(count, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-0.2, 0.2, (count, 2))
    return Points(x=x, y=np.where(rng.random(count) < 0.5, -1.0, 1.0), outside=0)


def with_row(data, x, y):
    return Points(x=np.concatenate([data.x, [x]]), y=np.append(data.y, y), outside=0)


# -- what it costs ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", PLAIN)
@pytest.mark.parametrize("task", ["linear", "logistic"])
def test_what_is_charged_is_at_most_the_budget(method, task):
    plan = plan_for(method, task)
    budget = budget_for(method)
    spent = cost([(plan.event, 1)], budget, ADD)
    assert 0.98 * exact(budget.amount) < spent <= exact(budget.amount)
    assert plan.as_dict()["cost"] == pytest.approx(float(spent))


@pytest.mark.parametrize("method", ["functional", "objective", "output", "dpme"])
def test_replacing_costs_as_much_and_is_noisier(method):
    plan = plan_for(method, neighbours=REPLACE)
    assert cost([(plan.event, 1)], PURE, REPLACE) <= 1


# -- what one row moves -------------------------------------------------------------------------------------------


def rows_of_all_kinds():
    corners = [(a, b) for a in (-1.0, 0.0, 1.0) for b in (-1.0, 0.0, 1.0)]
    return [(x, y) for x in corners for y in (-1.0, 1.0)]


@pytest.mark.parametrize("task", ["linear", "logistic"])
@pytest.mark.parametrize("ridge", [0.5, 5.0])
def test_no_row_moves_a_minimum_further_than_output_perturbation_says(task, ridge):
    for count in (0, 1, 5, 40):
        setting = plan_for("output", task).setting
        base = points(count)
        before = fitted(setting, unit_rows(setting, base), base.y, ridge, np.zeros(3))
        reach = 0.0
        for x, y in rows_of_all_kinds():
            more = with_row(base, x, y)
            after = fitted(setting, unit_rows(setting, more), more.y, ridge, np.zeros(3))
            steps = np.rint(after * GRID) - np.rint(before * GRID)
            assert np.abs(steps).sum() <= moved(setting, ridge, "laplace")
            assert np.linalg.norm(steps) <= moved(setting, ridge, "gaussian")
            reach = max(reach, float(np.linalg.norm(after - before)) * ridge / slope(setting))
        assert reach <= 1 + 1e-9


@pytest.mark.parametrize("task", ["linear", "logistic"])
def test_slope_and_bend_of_one_row_are_bounds(task):
    setting = plan_for("objective", task).setting
    rng = np.random.default_rng(0)
    for x, y in rows_of_all_kinds():
        u = unit_rows(setting, Points(x=np.array([x]), y=np.array([y]), outside=0))[0]
        assert np.linalg.norm(u) <= 1 + 1e-12
        for direction in rng.normal(size=(50, 3)):
            w = direction / np.linalg.norm(direction) * RADIUS * rng.random()
            odds = 1 / (1 + math.exp(y * (u @ w)))
            steep = np.linalg.norm((u @ w - y) * u) if task == "linear" else np.linalg.norm(odds * u)
            bent = u @ u if task == "linear" else odds * (1 - odds) * (u @ u)
            assert steep <= slope(setting) + 1e-12
            assert bent <= bend(setting) + 1e-12


def test_the_minimum_in_a_ball_is_one():
    rng = np.random.default_rng(2)
    q = rng.normal(size=(3, 3))
    q, c = q @ q.T + 0.1 * np.eye(3), 5 * rng.normal(size=3)
    best = least_in_ball(q, c, 0.5)
    assert np.linalg.norm(best) == pytest.approx(0.5)
    around = rng.normal(size=(3000, 3))
    around = around / np.maximum(np.linalg.norm(around, axis=1, keepdims=True), 1e-9) * 0.5 * rng.random((3000, 1))
    values = 0.5 * np.einsum("ij,jk,ik->i", around, q, around) - around @ c
    assert (0.5 * best @ q @ best - c @ best) <= values.min() + 1e-9


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_no_row_moves_the_parts_of_adassp_further_than_claimed(neighbours):
    plan = plan_for("adassp", neighbours=neighbours)
    setting, base = plan.setting, points(12)
    found = [exact_parts(setting, [with_row(base, x, y)]) for x, y in rows_of_all_kinds()]
    others = [exact_parts(setting, [base])] if neighbours is ADD else found
    of_least, of_matrix, of_vector = moves(setting)
    for matrix, vector in found:
        for other, its_vector in others:
            least = [round(float(np.linalg.eigvalsh(m.astype(float))[0])) for m in (matrix, other)]
            assert abs(least[0] - least[1]) <= of_least
            assert np.linalg.norm(matrix - other) <= of_matrix
            assert np.linalg.norm(vector - its_vector) <= of_vector


def test_a_row_is_in_one_cell():
    setting = plan_for("dpme").setting
    data = points(50)
    alone = [cells_of(setting, Points(x=data.x[i : i + 1], y=data.y[i : i + 1], outside=0))[0] for i in range(50)]
    assert cells_of(setting, data).tolist() == alone


def test_the_tilt_has_the_law_that_is_claimed():
    source = SeededSource(0)
    draws = np.array([spherical(3, 2.0, source) for _ in range(4000)])
    lengths = np.linalg.norm(draws, axis=1)  # gamma of shape 3 and scale 2
    assert lengths.mean() == pytest.approx(6, rel=0.05)
    assert lengths.var() == pytest.approx(12, rel=0.1)
    assert np.abs((draws / lengths[:, None]).mean(axis=0)).max() < 0.04


# -- what comes out -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["linear", "logistic"])
@pytest.mark.parametrize("method", PLAIN)
def test_every_method_learns_and_can_be_stored(method, task):
    data = simulate_rows(20_000, 3, task=task, seed=4)
    recipe = Regression(target="y", features=data.features, task=task, method=method, people=20_000)
    budget = budget_for(method) if budget_for(method) is APPROX else Budget.pure(4.0)
    plan = recipe.calibrate(data.domain, budget, unit=ROW, neighbours=ADD)
    model = plan.run(LocalEngine(data.domain, data.rows), SeededSource(1))
    assert plan.read(model.to_json()).to_json() == model.to_json()
    assert "NOT private" in model.statement()
    truth = data.held_out.column("y").to_numpy()
    if task == "linear":
        told = model.predict(data.held_out).to_numpy()
        assert np.sqrt(np.mean((told - truth) ** 2)) < 0.95 * truth.std()
    else:
        assert np.mean((model.probabilities(data.held_out) > 0.5) == truth) > max(truth.mean(), 1 - truth.mean()) + 0.1


def test_coefficients_are_in_the_units_of_the_data():
    domain = Domain(attributes=[Numeric(name=n, bounds=(0, 100), bins=4) for n in ("x", "y")])
    x = np.random.default_rng(0).uniform(0, 100, 50_000)
    engine = LocalEngine(domain, pa.table({"x": x, "y": 20 + 0.5 * x}))
    plan = Regression(target="y", features=("x",)).calibrate(domain, Budget.pure(100), unit=ROW, neighbours=ADD)
    model = plan.run(engine, SecureSource())
    assert model.named["x"] == pytest.approx(0.5, abs=0.01)
    assert model.at_zero == pytest.approx(20, abs=0.5)
    assert model.predict(pa.table({"x": [10.0, None]})).to_pylist() == [pytest.approx(25, abs=0.5), None]
    assert "NOT" not in model.statement()


@pytest.mark.parametrize("method", [name for name in PLAIN if name != "auto"])
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("penalty", [1000.0, 10_000.0])
def test_a_penalty_means_the_same_for_every_method(method, intercept, penalty):
    """With next to no noise, each is the ridge of sums over rows that the recipe states."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, (10_000, 2))
    y = np.clip(x @ [0.4, -0.3] + rng.normal(0, 0.1, 10_000), -1, 1)
    rows = pa.table({"a": x[:, 0], "b": x[:, 1], "y": y, "c": y > 0})
    budget = Budget.approx(400.0, 1e-3) if method in ("sufficient", "adassp") else Budget.pure(1000.0)
    plan = plan_for(method, budget=budget, penalty=penalty, intercept=intercept)
    found = plan.run(LocalEngine(DOMAIN, rows), SeededSource(1)).coefficients
    exact_ridge = np.linalg.solve(x.T @ x + penalty * np.eye(2), x.T @ y)
    assert found == pytest.approx(exact_ridge, rel=0.03, abs=0.004)


@pytest.mark.parametrize("method", ["functional", "objective", "sufficient", "adassp"])
def test_a_penalty_leaves_the_intercept_alone(method):
    """However strong it is, the mean is still predicted."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1, 1, (10_000, 2))
    y = np.clip(0.5 + 0.2 * x[:, 0] + rng.normal(0, 0.1, 10_000), -1, 1)
    rows = pa.table({"a": x[:, 0], "b": x[:, 1], "y": y, "c": y > 0})
    budget = Budget.approx(40.0, 1e-3) if method in ("sufficient", "adassp") else Budget.pure(40.0)
    plan = plan_for(method, budget=budget, penalty=1e7)
    model = plan.run(LocalEngine(DOMAIN, rows), SeededSource(1))
    assert model.intercept == pytest.approx(0.5, abs=0.02)
    assert np.abs(model.coefficients).max() < 0.01


@pytest.mark.parametrize("task", ["linear", "logistic"])
@pytest.mark.parametrize("penalty", [0.0, 50.0])
def test_no_row_bends_the_tilted_objective_beyond_half_of_epsilon(task, penalty):
    """The factor by which a row changes the determinant of the Jacobian, with a ridge for each coefficient."""
    method = plan_for("objective", task, penalty=penalty).method
    ridges = ridges_of(method.setting, method.ridge, method.wanted)
    assert ridges[0] == method.ridge
    assert ridges[1:].min() >= method.wanted
    worst = 0.0
    for count in (0, 3, 30):
        u = unit_rows(method.setting, points(count))
        bent = bend(method.setting) * u.T @ u + np.diag(ridges)
        for x, y in rows_of_all_kinds():
            row = unit_rows(method.setting, Points(x=np.array([x]), y=np.array([y]), outside=0))
            more = bent + bend(method.setting) * row.T @ row
            worst = max(worst, np.linalg.slogdet(more)[1] - np.linalg.slogdet(bent)[1])
    assert worst <= method.epsilon / 2 + 1e-12
    broken = ridges.copy()
    broken[0] = 0.01  # an intercept that is not held at all would be bent further
    lone = bend(method.setting) * np.eye(3)[:1].T @ np.eye(3)[:1]
    assert np.linalg.slogdet(np.diag(broken) + lone)[1] - np.linalg.slogdet(np.diag(broken))[1] > method.epsilon / 2


@pytest.mark.parametrize("method", ["functional", "objective", "tilted", "output", "sufficient"])
def test_a_penalty_on_odds_is_that_of_their_polynomial_form(method):
    """Strong enough that odds are near 1, where the form is exact: b solves (x'x + lambda) b / 2 = x'y."""
    rng = np.random.default_rng(4)
    x = rng.uniform(-1, 1, (10_000, 2))
    y = x @ [1.0, -0.5] + rng.normal(0, 0.3, 10_000) > 0
    rows = pa.table({"a": x[:, 0], "b": x[:, 1], "y": np.zeros(10_000), "c": y})
    budget = Budget.approx(400.0, 1e-3) if method == "sufficient" else Budget.pure(1000.0)
    plan = plan_for(method, "logistic", budget=budget, penalty=30_000.0, intercept=False)
    found = plan.run(LocalEngine(DOMAIN, rows), SeededSource(1)).coefficients
    signs = np.where(y, 1.0, -1.0)
    assert found == pytest.approx(2 * np.linalg.solve(x.T @ x + 30_000 * np.eye(2), x.T @ signs), rel=0.03)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("kind", ["twins", "split", "mixed", "many"])
def test_the_minimum_is_found_to_the_grid(kind, epsilon):
    """The slope over the ridge bounds how far it is off: far below a step of the grid, also where a tilt is long."""
    rng = np.random.default_rng(5)
    count = 20_000 if kind == "many" else 200
    x = np.tile([1.0, 0.0, 0.0], (count, 1)) if kind == "twins" else rng.uniform(-0.5, 0.5, (count, 3))
    y = np.where(x[:, 0] > 0, 1.0, -1.0) if kind in ("twins", "split") else rng.choice([-1.0, 1.0], count)
    ridge = 0.25 / math.expm1(epsilon / 2)
    for seed in range(10):
        tilt = spherical(3, 2 / epsilon, SeededSource(seed))
        found = minimum(x, y, ridge, tilt)
        left = -(x.T @ (y * probabilities(-y * (x @ found)))) + ridge * found + tilt
        assert np.linalg.norm(left) / ridge < 0.01 / GRID


@pytest.mark.parametrize("method", PLAIN)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_hardly_any_rows_and_twins(method, count):
    x = np.zeros((count, 2))
    found = plan_for(method).method.fit([Points(x=x, y=np.ones(count), outside=0)], SeededSource(0))
    assert np.isfinite(found.coefficients).all()
    assert np.isfinite(found.intercept)


def test_rows_with_nan_and_beyond_the_bounds_neither_fail_nor_count_too_much():
    table = pa.table({"a": [math.nan, 1e9, 0.5], "b": [0.0, -1e9, 0.5], "y": [0.0, 1e12, 0.5], "c": [True] * 3})
    model = plan_for("functional", budget=Budget.pure(900)).run(LocalEngine(DOMAIN, table), SeededSource(0))
    assert np.isfinite(model.coefficients).all()
    assert model.notes["rows"] == pytest.approx(2, abs=0.5)
    assert model.notes["outside"] == pytest.approx(1, abs=0.5)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"method": "magic"}, "method"),
        ({"penalty": -1.0}, "penalty"),
        ({"alpha": 2.0}, "alpha"),
        ({"convexify": "hope"}, "convexify"),
        ({"people": 0}, "people"),
        ({"method": "output", "penalty": 1.0, "alpha": 0.0}, "LASSO"),
        ({"method": "dpsgd", "penalty": 1.0}, "penalty"),
        ({"method": "output", "norm": 1.0}, "norm"),
    ],
)
def test_what_cannot_be(more, message):
    with pytest.raises(InvalidInput, match=message):
        Regression(**{"target": "y", "features": ("a",)} | more)


def test_what_was_read_off_private_data_is_not_public():
    guessed = Domain(attributes=[a.model_copy(update={"derived": ("bounds",)}) for a in DOMAIN.attributes])
    for recipe in (Regression(target="y", features=("a",)), Trees(target="c", features=("a",))):
        with pytest.raises(NotPublic):
            recipe.calibrate(guessed, PURE, unit=ROW, neighbours=ADD)


def test_an_engine_of_another_schema_is_refused():
    other = LocalEngine(Domain(attributes=[Boolean(name="c")]), pa.table({"c": [True]}))
    with pytest.raises(InvalidInput, match="schema"):
        plan_for("functional").run(other, SeededSource(0))


def test_methods_refuse_what_they_cannot_protect():
    from tacita.domain import Identifier

    domain = Domain(person="who", attributes=[Identifier(name="who"), *DOMAIN.attributes])
    unit = Unit.of_person("who", max_rows=2)
    with pytest.raises(InvalidInput, match="unit"):
        Regression(target="y", features=("a",), method="objective").calibrate(domain, PURE, unit=unit, neighbours=ADD)
    for method in ("sufficient", "adassp"):
        with pytest.raises(InvalidInput, match="pure"):
            plan_for(method, budget=PURE)
    with pytest.raises(InvalidInput, match="epsilon"):
        plan_for("objective", budget=Budget.zcdp(0.1))
    with pytest.raises(InvalidInput, match="fitted/1"):
        FittedModel.from_json('{"tacita": "model/1"}')
