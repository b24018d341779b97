"""The tilted objective: its exact law in one dimension, curvature, widths, refusals, and what it predicts."""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn import Regression
from tacita.learn.feature_map import Points
from tacita.learn.regression.methods.tilted import gaussian_delta, gaussian_sigma
from tacita.learn.regression.moments import gaussian_multiplier
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import Approximate, Pure
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
YES = Categorical(name="y", levels=("no", "yes"))
DOMAIN = Domain(
    attributes=[
        Numeric(name="a", bounds=(-1, 1), bins=4),
        Numeric(name="b", bounds=(-1, 1), bins=4),
        Categorical(name="c", levels=("p", "q", "r")),
        YES,
    ]
)


def plan_of(budget, features=("a", "b", "c"), neighbours=ADD, people=2000, domain=DOMAIN, unit=ROW, **more):
    about = {"task": "logistic", "method": "tilted", "numbers": "line"} | more
    recipe = Regression(target="y", features=features, people=people, **about)
    return recipe.calibrate(domain, budget, unit=unit, neighbours=neighbours)


# -- the exact law where there is one coefficient ---------------------------------------------------------------------


def log_density(method, x, y, w):
    """Log density of the minimum: that of the tilt that has it, times the curvature there."""
    ridge = float(method.ridges[0])
    odds = expit(-y * x * w[:, None])
    tilt = (odds * y * x).sum(axis=1) - ridge * w
    curvature = (odds * (1 - odds) * x**2).sum(axis=1) + ridge
    if method.sigma is None:
        return -np.abs(tilt) / method.scale - math.log(2 * method.scale) + np.log(curvature)
    width = method.sigma * math.sqrt(method.contrasts.reach)
    return -(tilt**2) / (2 * width**2) - math.log(width * math.sqrt(2 * math.pi)) + np.log(curvature)


def pairs_of_laws(method, neighbours=ADD):
    """Log densities on a grid for neighbours that differ by corner rows which come, go or are replaced."""
    rng = np.random.default_rng(0)
    # one law is as wide as the tilt over the ridge, wherever the data pulls it
    width = (method.scale * 60 if method.sigma is None else method.sigma * 12) + 8
    rows = [(1.0, 1.0), (1.0, -1.0), (0.4, 1.0)]
    for count in (0, 1, 6):
        x, y = rng.uniform(-1, 1, count), np.where(rng.random(count) < 0.5, -1.0, 1.0)
        w = np.linspace(-1, 1, 200_001) * width / float(method.ridges[0])
        with_row = [log_density(method, np.append(x, a), np.append(y, b), w) for a, b in rows]
        others = [log_density(method, x, y, w)] if neighbours is ADD else with_row
        for one in with_row:
            assert np.exp(one).sum() * (w[1] - w[0]) == pytest.approx(1, abs=1e-3)
            for other in others:
                yield one, other, w[1] - w[0]
                yield other, one, w[1] - w[0]


def worst_epsilon(method, neighbours):
    return max(float((one - other).max()) for one, other, _ in pairs_of_laws(method, neighbours))


def worst_delta(method, epsilon):
    return max(
        float(np.clip(np.exp(one) - np.exp(epsilon + other), 0, None).sum() * step)
        for one, other, step in pairs_of_laws(method)
    )


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 4.0])
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_the_exact_law_of_one_coefficient_keeps_epsilon(epsilon, neighbours):
    method = plan_of(Budget.pure(epsilon), ("a",), neighbours, intercept=False).method
    # in one dimension, two rows pull apart by 1 and not by 2: a replaced row shows about half of what is claimed
    assert (0.6 if neighbours is ADD else 0.4) * epsilon < worst_epsilon(method, neighbours) <= epsilon
    narrow = replace(method, epsilon=(2 if neighbours is ADD else 3) * epsilon)  # a half or a third of the tilt
    assert worst_epsilon(narrow, neighbours) > epsilon


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_the_exact_law_of_one_coefficient_keeps_epsilon_at_delta(epsilon):
    delta = 1e-3
    method = plan_of(Budget.pure(epsilon), ("a",), intercept=False).method
    method = replace(method, sigma=gaussian_sigma(epsilon - method.curved, delta / 2))
    assert worst_delta(method, epsilon) <= delta
    broken = replace(method, sigma=method.sigma / 2)
    assert worst_delta(broken, epsilon) > delta


# -- curvature and widths ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [Budget.pure(0.1), Budget.pure(5.0), Budget.approx(0.3, 1e-5)])
@pytest.mark.parametrize("penalty", [0.0, 400.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_no_row_bends_the_objective_beyond_its_part_of_epsilon(budget, penalty, intercept):
    method = plan_of(budget, penalty=penalty, intercept=intercept).method
    at, ridges = method.contrasts, method.ridges
    assert ridges[-1] >= penalty / 4
    worst = 0.0
    for number in (-1.0, 1.0):
        for levels in ((1, 0, 0), (0, 0, 1), (0, 0, 0)):
            x = np.array([[number, number, *levels]])
            row = at.rows(Points(x=x, y=np.ones(1), outside=0))
            more = np.diag(ridges) + row.T @ row / 4  # no curvature is above 1/4, and other rows only add to ridges
            worst = max(worst, np.linalg.slogdet(more)[1] - np.log(ridges).sum())
    assert worst <= method.curved * (1 + 1e-9)
    if not penalty:
        assert worst > 0.8 * method.curved


def test_gaussian_widths_are_those_of_the_accountant():
    for epsilon, delta in ((0.1, 1e-9), (8.0, 1e-5)):
        sigma = gaussian_sigma(epsilon, delta)
        assert sigma == pytest.approx(gaussian_multiplier(Budget.approx(epsilon, delta)), rel=0.01)
        assert gaussian_delta(epsilon, sigma) <= delta < gaussian_delta(epsilon, sigma * 0.999)


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("budget", [Budget.pure(0.3), Budget.approx(0.3, 1e-2)])
def test_the_narrower_tilt_is_drawn_and_charged(budget, neighbours):
    plan = plan_of(budget, neighbours=neighbours)
    assert cost([(plan.event, 1)], budget, neighbours) <= exact(budget.amount)
    method = plan.method
    if budget.delta and neighbours is ADD:
        assert isinstance(plan.event, Approximate)
        assert method.noise < replace(method, sigma=None).noise
        assert 2 * gaussian_delta(method.epsilon - method.curved, method.sigma) <= budget.delta
    else:
        assert plan.event == Pure(epsilon=0.3)
        assert method.scale == pytest.approx((1 if neighbours is ADD else 2) / (0.3 - method.curved))
    source = SeededSource(4)
    drawn = np.array([method.draw(source) for _ in range(4000)])
    assert (drawn**2).sum(axis=1).mean() == pytest.approx(method.noise, rel=0.05)


def test_more_people_need_less_ridge():
    ridges = [plan_of(Budget.pure(0.5), people=people).method.ridges[-1] for people in (200, 2000, 2_000_000)]
    assert ridges == sorted(ridges, reverse=True)
    assert (
        plan_of(Budget.pure(0.5), people=None).method.ridges[-1]
        == plan_of(Budget.pure(0.5), people=10_000).method.ridges[-1]
    )


# -- what it predicts -------------------------------------------------------------------------------------------------


def test_odds_are_those_of_the_exact_model_where_noise_is_small():
    rng = np.random.default_rng(3)
    a, b, c = rng.uniform(-1, 1, 20_000), rng.uniform(-1, 1, 20_000), rng.integers(0, 3, 20_000)
    odds = -2.5 + 3 * a + np.array([-1.0, 0.0, 1.0])[c]
    y = rng.random(20_000) < expit(odds)
    rows = pa.table({"a": a, "b": b, "c": np.array(["p", "q", "r"])[c], "y": np.where(y, "yes", "no")})
    model = plan_of(Budget.pure(200.0), people=20_000).run(LocalEngine(DOMAIN, rows), SeededSource(1))
    assert model.method == "tilted"
    assert model.coefficients == pytest.approx([3, 0, -1, 0, 1], abs=0.15)
    assert model.intercept == pytest.approx(-2.5, abs=0.15)
    assert model.probabilities(rows).mean() == pytest.approx(y.mean(), abs=0.005)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_hardly_any_rows_and_twins(count):
    points = Points(x=np.zeros((count, 5)), y=np.ones(count), outside=0)
    found = plan_of(Budget.pure(0.01)).method.fit([points], SeededSource(0))
    assert np.isfinite([*found.coefficients, found.intercept]).all()


def test_what_it_cannot_protect_is_refused():
    with pytest.raises(InvalidInput, match="epsilon"):
        plan_of(Budget.zcdp(0.1))
    persons = Domain(person="who", attributes=[Identifier(name="who"), *DOMAIN.attributes])
    with pytest.raises(InvalidInput, match="unit"):
        plan_of(Budget.pure(1.0), domain=persons, unit=Unit.of_person("who", max_rows=2))
    with pytest.raises(InvalidInput, match="two levels"):
        Regression(target="a", features=("b",), method="tilted").calibrate(
            DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=ADD
        )
    for more in ({"penalty": 1.0, "alpha": 0.0}, {"norm": 1.0}):
        with pytest.raises(InvalidInput):
            plan_of(Budget.pure(1.0), **more)
