from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.audit import audit
from tacita.domain import Boolean, Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn import NarrowedRegression, Regression, read_model, recipe_of
from tacita.learn.feature_map import Points
from tacita.learn.regression.narrowing import narrow_points, reach_of, shells_of, widened
from tacita.learn.regression.problem import Coefficients
from tacita.noise import DiscreteLaplace, SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 1000), bins=4),
        Numeric(name="pay", bounds=(-1e6, 1e6), bins=4),
        Categorical(name="town", levels=("a", "b", "c")),
        Boolean(name="ill"),
        Numeric(name="cost", bounds=(0, 5000), bins=4),
    ],
)
PERSONS = Domain(person="who", attributes=[*DOMAIN.attributes, Identifier(name="who")])
FEATURES = ("age", "pay", "town", "ill")


def people(count=4000, seed=0):
    rng = np.random.default_rng(seed)
    age, pay = rng.uniform(18, 90, count), rng.normal(30_000, 8_000, count)
    ill = rng.random(count) < 0.3
    cost = 100 + 2 * age + pay / 500 + 80 * ill + rng.normal(0, 20, count)
    return pa.table({"age": age, "pay": pay, "town": rng.choice(["a", "b", "c"], count), "ill": ill, "cost": cost})


def plan_of(budget=Budget.pure(1.0), *, domain=DOMAIN, unit=ROW, neighbours=ADD, narrow=0.2, **more):  # noqa: B008
    base = Regression(**{"target": "cost", "features": FEATURES} | more)
    return NarrowedRegression(base=base, narrow=narrow).calibrate(domain, budget, unit=unit, neighbours=neighbours)


def error_of(model, rows):
    return float(np.sqrt(np.mean((model.predict(rows).to_numpy() - rows["cost"].to_numpy()) ** 2)))


# -- what it costs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [Budget.pure(0.7), Budget.approx(1.0, 1e-6), Budget.zcdp(0.2)], ids=str)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize(("domain", "unit"), [(DOMAIN, ROW), (PERSONS, Unit(person="who", max_rows=2))])
def test_both_parts_together_cost_the_budget(budget, neighbours, domain, unit):
    plan = plan_of(budget, domain=domain, unit=unit, neighbours=neighbours)
    spent = cost([(plan.event, 1)], budget, neighbours)
    assert 0.9 * exact(budget.amount) < spent <= exact(budget.amount)
    assert plan.as_dict()["cost"] == pytest.approx(float(spent))
    for part in (plan.medians, plan.fit):
        assert 0 < cost([(part.event, 1)], budget, neighbours) < spent


@pytest.mark.parametrize("method", ["functional", "objective", "output", "dpme"])
@pytest.mark.parametrize(("epsilon", "narrow"), [(0.5, 0.7), (0.3, 0.1), (0.7, 1 / 3), (1.1, 0.123456789)])
def test_odd_shares_never_cost_more_than_there_is(method, epsilon, narrow):
    budget = Budget.pure(epsilon)
    plan = plan_of(budget, narrow=narrow, method=method, people=3000, features=("age",))
    assert 0.99 * exact(epsilon) < cost([(plan.event, 1)], budget, ADD) <= exact(epsilon)


@pytest.mark.parametrize("people", [100_000, 5000])
def test_numbers_stay_lines_so_that_a_row_keeps_its_length(people, monkeypatch):
    """Bins and nodes are no numbers: stretched as if they were, a row would be longer than what is charged for."""
    domain = Domain(
        attributes=[
            *(Numeric(name=f"x{place}", bounds=(0, 1000), bins=12) for place in range(6)),
            Categorical(name="ill", levels=("no", "yes")),
        ]
    )
    base = Regression(target="ill", features=domain.names[:-1], task="logistic", people=people)
    plan = NarrowedRegression(base=base).calibrate(domain, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    design, seen = plan.fit.setting.design, []
    assert set(design.widths) == {1}
    assert (design.coded, design.nodes) == (False, 0)

    def spied(points, limits, *, target):
        seen.append(narrow_points(points, limits, target=target))
        return seen[-1]

    monkeypatch.setattr("tacita.learn.regression.narrowing.narrow_points", spied)
    rng = np.random.default_rng(3)
    rows = {name: rng.uniform(600, 700, 5000) for name in base.features}
    ill = np.where(rows["x0"] + rows["x1"] > 1300, "yes", "no")
    model = plan.run(LocalEngine(domain, pa.table(rows | {"ill": ill})), SeededSource(1))
    assert (model.limits != np.tile([-1.0, 1.0], (6, 1))).any()
    for points in seen:
        for block in range(design.blocks):
            assert np.abs(points.x[:, design.owners == block]).sum(axis=1).max() <= 1
    with pytest.raises(InvalidInput, match="not by bins"):
        NarrowedRegression(base=replace(base, numbers="bins"))


# -- the shells: what one unit can do, what noise they have, what is charged -----------------------------------------


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("rows", [1, 3])
def test_shells_are_charged_for_all_that_a_unit_can_move(neighbours, rows):
    """By brute force over units of so many rows, against the charge of the noise that is drawn."""
    domain, unit = (DOMAIN, ROW) if rows == 1 else (PERSONS, Unit(person="who", max_rows=rows))
    budget = Budget.pure(1.0)
    plan = plan_of(budget, domain=domain, unit=unit, neighbours=neighbours)
    rng, middles = np.random.default_rng(4), np.array([0.1, -0.4, 0.8])

    def one():
        """A unit: rows at the ends and in the middles, all alike or not."""
        places, count = [-1.0, -0.4, 0.1, 0.8, 1.0], int(rng.integers(0, rows + 1))
        alike = np.repeat(rng.choice(places, (1, 3)), count, axis=0)
        return shells_of(alike if rng.random() < 0.5 else rng.choice(places, (count, 3)), middles)

    pairs = [(one(), one() if neighbours is REPLACE else 0) for _ in range(4000)]
    far = max(int(np.abs(a - b).sum()) for a, b in pairs)
    assert far == 3 * rows * (2 if neighbours is REPLACE else 1)
    others = cost([(plan.medians.event, 1), (plan.fit.event, 1)], budget, neighbours)
    assert far / plan.shells.scale == cost([(plan.event, 1)], budget, neighbours) - others


@pytest.mark.parametrize("budget", [Budget.pure(0.5), Budget.zcdp(0.1)], ids=str)
def test_shells_have_the_noise_that_is_charged(budget, monkeypatch):
    plan, rows = plan_of(budget), people(300)
    engine, seen = LocalEngine(DOMAIN, rows), []
    design = plan.fit.setting.design
    points = design.points(rows)

    def spied(counts, middles):
        seen.append([middles])
        return shells_of(counts, middles)

    def reached(counts, std):
        seen[-1].append(counts)
        return 2.0

    monkeypatch.setattr("tacita.learn.regression.narrowing.shells_of", spied)
    monkeypatch.setattr("tacita.learn.regression.narrowing.reach_of", reached)
    for seed in range(60):
        plan.limits(engine, SeededSource(seed))
    columns = np.column_stack([points.x[:, [0, 1]], points.y])
    noise = np.array([np.array(counts) - shells_of(columns, middles) for middles, *counts in seen])
    assert noise.std() == pytest.approx(plan.shells.std, rel=0.1)
    assert abs(noise.mean()) < 5 * plan.shells.std / np.sqrt(noise.size)
    medians = np.array([middles for middles, *_ in seen])
    assert min(len(np.unique(each)) for each in medians.T) > 5  # a tenth of so little budget finds them roughly


def test_whatever_the_ends_are_rows_stay_inside():
    rng = np.random.default_rng(1)
    points = Points(x=rng.uniform(-1, 1, (500, 3)), y=rng.uniform(-1, 1, 500), outside=3)
    for _ in range(50):
        limits = np.sort(rng.uniform(-1, 1, (4, 2)), axis=1)
        found = narrow_points(points, limits, target=True)
        assert max(np.abs(found.x).max(), np.abs(found.y).max()) <= 1
        assert found.outside == 3
        one = narrow_points(Points(x=points.x[:1], y=points.y[:1], outside=0), limits, target=True)
        assert np.array_equal(one.x[0], found.x[0])  # by that row alone


def shown(run, claimed, *, small, trials=400):
    """What an attack sees of one extreme row more or less, over repeated runs, beyond what is claimed."""
    extreme = {"age": [1000.0], "pay": [1e6], "town": ["a"], "ill": [True], "cost": [5000.0]}
    more, source = pa.concat_tables([small, pa.table(extreme)]), SeededSource(5)

    def repeated(data, times, rng):
        engine = LocalEngine(DOMAIN, data)
        return np.array([run(engine, source) for _ in range(times)])

    return audit(repeated, small, more, trials=trials, rng=np.random.default_rng(0)).epsilon - claimed


def of_age(plan):
    """The coefficient that an old, rich and dear row moves most; coarse, so that few runs tell."""
    return lambda engine, source: np.round(plan.run(engine, source).coefficients[:1] * 4)


def test_no_attack_on_the_model_shows_more_than_was_claimed():
    plan = plan_of()
    assert shown(of_age(plan), 1.0, small=people(20)) <= 0
    noise = plan.fit.method.noise
    method = replace(plan.fit.method, noise=noise.sized(noise.size / 1000))
    assert shown(of_age(replace(plan, fit=replace(plan.fit, method=method))), 1.0, small=people(20)) > 0


def test_no_attack_on_the_ends_shows_more_than_was_claimed():
    """Where a fiftieth of 200 rows lies far out, one row more makes a wider reach, without noise."""
    rows = people(200)
    far = np.arange(200) < 4
    rows = rows.set_column(0, "age", pa.array(np.where(far, 1000.0, 50.0)))
    plan = plan_of(narrow=0.5)

    def ends(plan):
        return lambda engine, source: plan.limits(engine, source)[0]

    assert shown(ends(plan), 0.5, small=rows) <= 0
    assert shown(ends(replace(plan, shells=DiscreteLaplace.at_least(0.01))), 0.5, small=rows) > 0  # and so no blur


def test_shells_hold_every_row_once():
    rng = np.random.default_rng(3)
    values, middles = rng.uniform(-1, 1, (500, 4)), np.array([0.0, -1.0, 1.0, 0.3])
    counts = shells_of(values, middles)
    assert (counts.sum(axis=1) == 500).all()
    far = np.abs(values - middles)
    for place in range(1, counts.shape[1]):
        assert counts[:, :place].sum(axis=1).tolist() == (far > 2.0 ** (1 - place)).sum(axis=0).tolist()
    assert shells_of(np.zeros((3, 1)), np.zeros(1))[0, -1] == 3
    assert shells_of(np.zeros((0, 2)), np.zeros(2)).sum() == 0


def test_a_reach_leaves_few_outside_and_noise_keeps_it_wide():
    counts = np.array([0, 1, 2, 3, 994, *[0] * 7], float)
    assert reach_of(counts, 0.0) == 2.0**-3
    assert reach_of(counts * [1, 30, 1, 1, *[1] * 8], 0.0) == 1.0
    assert reach_of(counts * [1, 30, 1, 1, *[1] * 8], 8.0) == 2.0**-3  # as many as noise may have made up
    assert reach_of(counts, 60.0) == 2.0**-1
    assert reach_of(counts, 110.0) == 2.0
    assert reach_of(np.zeros(12), 1.0) == 2.0
    assert reach_of(-counts, 0.0) == 2.0


# -- the line ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [True, False])
def test_a_widened_line_predicts_what_the_narrow_one_does(target):
    rng = np.random.default_rng(2)
    limits = np.sort(rng.uniform(-1, 1, (4, 2)), axis=1)
    line = Coefficients(coefficients=rng.normal(size=3), intercept=0.3, notes={})
    inside = rng.uniform(limits[:-1, 0], limits[:-1, 1], (40, 3))
    points = narrow_points(Points(x=inside, y=np.zeros(40), outside=0), limits, target=target)
    told = points.x @ line.coefficients + line.intercept
    wide = widened(line, limits, target=target)
    middle, half = limits[-1].mean(), np.ptp(limits[-1]) / 2
    assert inside @ wide.coefficients + wide.intercept == pytest.approx(middle + half * told if target else told)


def test_wide_bounds_cost_less_error():
    rows = people()
    engine = LocalEngine(DOMAIN, rows)
    plain = Regression(target="cost", features=FEATURES).calibrate(DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    narrow = plan_of()
    errors = [[error_of(plan.run(engine, SeededSource(seed)), rows) for seed in range(9)] for plan in (plain, narrow)]
    without, within = np.median(errors, axis=1)
    assert within < 0.7 * without


def test_the_ends_are_said_in_units_of_the_data_and_hold_nearly_all():
    rows = people()
    model = plan_of(Budget.pure(8.0)).run(LocalEngine(DOMAIN, rows), SeededSource(1))
    assert set(model.notes["narrowed"]) == {"age", "pay", "cost"}
    for name, (low, high) in model.notes["narrowed"].items():
        values = rows[name].to_numpy()
        assert np.mean((values >= low) & (values <= high)) > 0.97
        start, end = DOMAIN[name].bounds
        assert high - low < 0.5 * (end - start)


def test_values_beyond_the_ends_count_as_the_end():
    model = plan_of(Budget.pure(8.0)).run(LocalEngine(DOMAIN, people()), SeededSource(1))
    high = model.notes["narrowed"]["age"][1]
    row = {"pay": [30_000.0] * 3, "town": ["a"] * 3, "ill": [False] * 3, "age": [high, high + 50, 1000.0]}
    told = model.predict(pa.table(row)).to_pylist()
    assert told[0] == pytest.approx(told[1])
    assert told[1] == told[2]


def test_bounds_that_fit_stay():
    domain = Domain(attributes=[Numeric(name=n, bounds=(-1, 1), bins=2) for n in ("a", "y")])
    rng = np.random.default_rng(0)
    rows = pa.table({"a": rng.uniform(-1, 1, 5000), "y": rng.uniform(-1, 1, 5000)})
    model = plan_of(Budget.pure(2.0), domain=domain, target="y", features=("a",)).run(
        LocalEngine(domain, rows), SeededSource(1)
    )
    assert np.abs(model.limits) == pytest.approx(1, abs=0.1)


def test_odds_have_a_target_that_stays():
    features = ("age", "pay", "cost")
    plan = plan_of(Budget.pure(20.0), target="ill", features=features, task="logistic")
    rows = people()
    model = plan.run(LocalEngine(DOMAIN, rows), SeededSource(1))
    assert set(model.notes["narrowed"]) == set(features)
    right = np.mean(np.array(model.predict(rows).to_pylist()) == np.where(rows["ill"].to_numpy(), "true", "false"))
    assert right > 0.85


def test_the_model_goes_through_json():
    rows = people(500)
    model = plan_of().run(LocalEngine(DOMAIN, rows), SeededSource(1))
    again = read_model(model.to_json())
    assert again.to_json() == model.to_json()
    assert np.array_equal(again.limits, model.limits)
    assert again.predict(rows).equals(model.predict(rows))
    for limits in ("[[0.5, -0.5]]", "[[-2, 2]]", "[1, 2]", f"[[-1, {10**400}]]"):
        text = model.to_json().replace('"limits":', f'"limits": {limits}, "other":', 1)
        with pytest.raises(InvalidInput):
            read_model(text)


# -- wrong input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("narrow", [0, 1, -0.1, 1.5, float("nan")])
def test_a_share_is_a_share(narrow):
    with pytest.raises(InvalidInput, match="narrow"):
        plan_of(narrow=narrow)


@pytest.mark.parametrize("narrow", ["0.2", None, True])
def test_a_share_is_a_number(narrow):
    with pytest.raises(InvalidInput, match="narrow"):
        recipe_of("linear", target="cost", features=FEATURES, options={"narrow": narrow})


def test_what_goes_not_together():
    with pytest.raises(InvalidInput, match="intercept"):
        plan_of(intercept=False)
    with pytest.raises(InvalidInput, match="narrow: leaves a part of the budget too small"):
        plan_of(Budget.pure(1e-4))


def test_ends_of_dates_are_dates():
    domain = Domain(
        attributes=[Date(name="day", bounds=("1900-01-01", "2099-12-31")), Numeric(name="y", bounds=(0, 1), bins=2)]
    )
    rng = np.random.default_rng(0)
    days = np.datetime64("2020-01-01") + rng.integers(0, 300, 3000)
    rows = pa.table({"day": pa.array(days.astype("datetime64[D]")), "y": rng.random(3000)})
    plan = plan_of(Budget.pure(8.0), domain=domain, target="y", features=("day",))
    model = plan.run(LocalEngine(domain, rows), SeededSource(1))
    low, high = model.notes["narrowed"]["day"]
    assert "2017" < low < "2020-05"
    assert "2020-08" < high < "2024"
    assert read_model(model.to_json()).notes["narrowed"]["day"] == [low, high]


def test_levels_cannot_be_narrowed():
    with pytest.raises(InvalidInput, match="narrowed"):
        plan_of(target="ill", features=("town",), task="logistic")


def test_as_an_option():
    recipe = recipe_of("linear", target="cost", features=FEATURES, options={"narrow": 0.2, "method": "functional"})
    assert recipe == NarrowedRegression(
        base=Regression(target="cost", features=FEATURES, method="functional"), narrow=0.2
    )
    with pytest.raises(InvalidInput, match="penalties"):
        recipe_of("linear", target="cost", features=FEATURES, options={"narrow": 0.2, "penalties": [(1, 1)]})
    with pytest.raises(InvalidInput, match="narrow"):
        recipe_of("trees", target="ill", features=("age",), options={"narrow": 0.2})
