from dataclasses import replace

import numpy as np
import pytest

from tacita.domain import Categorical, Domain, Numeric
from tacita.learn import Regression
from tacita.learn.regression.methods.dpsgd import Sgd, about_noise, descend
from tacita.learn.regression.methods.functional import FromMoments
from tacita.learn.regression.moments import NoisyMoments
from tacita.learn.regression.monomials import ExactMoments
from tacita.learn.regression.simulated_points import simulate_points
from tacita.learn.regression.solve import solve_moments
from tacita.learn.regression.tryout import _tried, can_be_tried, for_one_copy, tried_errors
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
PURE, APPROX = Budget.pure(0.3), Budget.approx(0.3, 1e-5)
COPIES = 6


def setting_of(budget=APPROX, *, columns=3, people=1200, task="linear", names="x", neighbours=ADD, **more):
    features = tuple(f"{names}{place}" for place in range(columns))
    target = Numeric(name="y", bounds=(0, 9), bins=3) if task == "linear" else Categorical(name="y", levels=("n", "j"))
    domain = Domain(attributes=[*(Numeric(name=name, bounds=(0, 5), bins=3) for name in features), target])
    recipe = Regression(target="y", features=features, task=task, method="functional", people=people, **more)
    return recipe.calibrate(domain, budget, unit=ROW, neighbours=neighbours).setting


def points_of(setting, rows=200):
    return simulate_points("spread", rows, setting.design.columns, setting.design.task, np.random.default_rng(3))


# -- a few rows stand for all -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", ["laplace", "cube", "gaussian"])
def test_a_model_of_moments_does_not_change_with_their_scale(noise):
    plan = FromMoments.plan(setting_of(), noise)
    sums = ExactMoments.of(plan.noise.monomials, [points_of(plan.setting)] * COPIES, plan.noise.bits)
    assert for_one_copy(plan, COPIES).noise.std == pytest.approx(plan.noise.std / COPIES)
    for seed in range(20):
        noisy = plan.noise.release(sums, SeededSource(seed))
        parts = {name: getattr(noisy, name) / COPIES for name in ("matrix", "std", "linear_std", "rows_std")}
        divided = NoisyMoments(design=noisy.design, outside=noisy.outside, **parts)
        one, other = solve_moments(noisy), solve_moments(divided)
        assert one.coefficients == pytest.approx(other.coefficients)
        assert one.intercept == pytest.approx(other.intercept)


@pytest.mark.parametrize("task", ["linear", "logistic"])
@pytest.mark.parametrize("noise", ["laplace", "cube", "gaussian"])
def test_divided_noise_gives_models_of_the_same_spread_as_copies(noise, task):
    plan = FromMoments.plan(setting_of(Budget.approx(0.9, 1e-5), task=task), noise)
    points, divided = points_of(plan.setting), for_one_copy(plan, COPIES)
    slow = np.array([plan.fit([points] * COPIES, SeededSource(1000 + seed)).coefficients for seed in range(200)])
    fast = np.array([divided.fit([points], SeededSource(seed)).coefficients for seed in range(200)])
    alone = np.array([plan.fit([points], SeededSource(seed)).coefficients for seed in range(200)])

    def off(found):
        low, middle, high = np.quantile(found, [0.25, 0.5, 0.75], axis=0)
        least, centre, most = np.quantile(slow, [0.25, 0.5, 0.75], axis=0)
        return max(
            np.abs(middle - centre).max() / (most - least).max(), np.abs((high - low) / (most - least) - 1).max()
        )

    assert off(fast) < 0.35
    assert off(alone) > 0.5  # one copy alone, with all of the noise, is something else


@pytest.mark.parametrize("task", ["linear", "logistic"])
def test_steps_without_torch_are_those_with_it(task):
    pytest.importorskip("torch")
    from tacita.models.neural.training import Steps

    setting, steps = setting_of(task=task), Steps(steps=12, rate=1.0, noise_multiplier=1e-3)
    points = points_of(setting)
    long = Sgd(setting=setting, steps=steps).fit([points] * COPIES, SeededSource(0))
    short = descend(setting, points, COPIES, np.random.default_rng(0), steps)
    assert short.coefficients == pytest.approx(long.coefficients, abs=2e-3)
    assert short.intercept == pytest.approx(long.intercept, abs=2e-3)
    assert np.abs(long.coefficients).max() > 0.05


def test_sampled_and_noisy_steps_have_the_same_spread_without_torch():
    pytest.importorskip("torch")
    from tacita.models.neural.training import Steps

    setting, steps = setting_of(), Steps(steps=8, rate=0.2, noise_multiplier=5.0)
    points, plan = points_of(setting), Sgd(setting=setting, steps=steps)
    slow = np.array([plan.fit([points] * COPIES, SeededSource(seed)).coefficients for seed in range(60)])
    fast = np.array(
        [descend(setting, points, COPIES, np.random.default_rng(seed), steps).coefficients for seed in range(600)]
    )
    assert fast.std(axis=0) == pytest.approx(slow.std(axis=0), rel=0.35)
    assert np.abs(fast.mean(axis=0) - slow.mean(axis=0)).max() < 4 * slow.std() / np.sqrt(60)


def test_noise_of_steps_is_about_what_calibrating_gives():
    pytest.importorskip("torch")
    setting = setting_of()
    assert 1 <= about_noise(setting) / Sgd.plan(setting).steps.noise_multiplier < 1.1


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", ["linear", "logistic"])
def test_a_figure_is_the_same_each_time_and_for_all_names_and_bounds(task):
    first = tried_errors(setting_of(task=task))
    assert set(first) == {"functional", "sufficient", "dpsgd"}
    _tried.cache_clear()
    assert tried_errors(setting_of(task=task, names="other")) == first
    assert tried_errors(setting_of(task=task, people=2400)) != first


def test_steps_drown_first_and_many_people_need_none():
    few, many, wide = (
        tried_errors(setting_of(columns=columns, people=people))
        for columns, people in ((3, 300), (3, 10**9), (15, 10_000))
    )
    assert few["dpsgd"] > 1.1 * few["sufficient"]
    assert many["dpsgd"] == pytest.approx(many["sufficient"], rel=0.03)
    assert wide["dpsgd"] < 0.98 * wide["sufficient"] < wide["functional"]


@pytest.mark.parametrize("people", [1, 2, 30])
def test_hardly_anybody_can_be_tried(people):
    assert all(np.isfinite(each) for each in tried_errors(setting_of(people=people)).values())


def test_what_made_up_rows_cannot_be_like_is_not_tried():
    pytest.importorskip("torch")
    assert can_be_tried(setting_of())
    assert not can_be_tried(setting_of(PURE))
    assert not can_be_tried(setting_of(neighbours=REPLACE))
    assert not can_be_tried(replace(setting_of(), people=None))
    assert not can_be_tried(setting_of(penalty=2.0))
    assert not can_be_tried(setting_of(norm=1.0))
    domain = Domain(
        attributes=[Categorical(name="a", levels=("p", "q", "r")), Numeric(name="y", bounds=(0, 1), bins=2)]
    )
    recipe = Regression(target="y", features=("a",), people=100)
    assert not can_be_tried(recipe.calibrate(domain, APPROX, unit=ROW, neighbours=ADD).setting)


def test_many_columns_and_people_end():
    """Noise for one copy of very many is narrower than can be drawn quickly: it stays that wide."""
    plan = FromMoments.plan(setting_of(Budget.approx(4.0, 1e-6), columns=60, people=10**7), "cube")
    divided = for_one_copy(plan, 10_000)
    assert all(law.scale >= part.many for part, law in zip(divided.noise.parts, divided.noise.laws, strict=True))
    assert divided.noise.std < 5
    divided.fit([points_of(plan.setting)], SeededSource(1))
