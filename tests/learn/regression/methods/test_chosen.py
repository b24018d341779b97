"""Choices of features: what one row moves, the exact law of the choices, the charge, and what the fit reads."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn import Regression, read_model
from tacita.learn.feature_map import FeatureMap, Points
from tacita.learn.regression.methods import chosen
from tacita.learn.regression.methods.chosen import Chosen, associations
from tacita.learn.regression.methods.tilted import Tilted
from tacita.learn.regression.problem import Problem
from tacita.learn.regression.solve import Penalty
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
PURE, APPROX = Budget.pure(0.5), Budget.approx(0.5, 1e-6)
DOMAIN = Domain(
    attributes=[
        Numeric(name="a", bounds=(0, 10), bins=4),
        Categorical(name="b", levels=("p", "q", "r")),
        Boolean(name="c"),
        Date(name="d", bounds=("1990-01-01", "2000-01-01"), by="year"),
        Categorical(name="y", levels=("no", "yes")),
    ]
)
FEATURES = ("a", "b", "c", "d")


def plan_of(budget=PURE, neighbours=ADD, *, picks=2, nodes=5, domain=DOMAIN, features=FEATURES, unit=ROW):
    design = FeatureMap(domain=domain, features=features, target="y", task="logistic", nodes=nodes)
    about = {"budget": budget, "unit": unit, "neighbours": neighbours, "people": 1000}
    return Chosen(setting=Problem(design=design, penalty=Penalty(size=0.0, alpha=1.0), **about), picks=picks)


def rows(count, seed=0):
    rng = np.random.default_rng(seed)
    c = rng.random(count) < 0.4
    yes = rng.random(count) < np.where(c, 0.9, 0.1)
    return pa.table(
        {
            "a": rng.uniform(0, 10, count),
            "b": rng.choice(["p", "q", "r", "none of these"], count),
            "c": c,
            "d": rng.choice(["1990-01-01", "1993-07-02", "2000-01-01"], count),
            "y": np.where(yes, "yes", "no"),
        }
    )


# -- what one row moves -----------------------------------------------------------------------------------------------


def corner_rows(design):
    """Rows at the ends and in the middle of every feature, with either target."""
    values = {
        "a": [0.0, 2.5, 3.1, 10.0],
        "b": ["p", "r", "none of these"],
        "c": [False, True],
        "d": ["1990-01-01", "1995-05-05", "2000-01-01"],
        "y": ["no", "yes"],
    }
    every = list(itertools.product(*values.values()))
    return design.points(pa.table(dict(zip(values, map(list, zip(*every, strict=True)), strict=True))))


@pytest.mark.parametrize("nodes", [0, 2, 5])
def test_a_row_moves_a_score_by_at_most_one(nodes):
    """By brute force: every row of a grid comes to tables of none, some and many of the others."""
    design = plan_of(nodes=nodes).setting.design
    grid, rng, furthest = corner_rows(design), np.random.default_rng(1), 0.0
    for count in (0, 1, 2, 5, 40):
        for _ in range(6):
            some = rng.integers(0, len(grid), count)
            x, y = grid.x[some], grid.y[some] if rng.random() < 0.7 else np.full(count, rng.choice([-1.0, 1.0]))
            before = associations(Points(x=x, y=y, outside=0), design.owners)
            for each in range(len(grid)):
                more = Points(x=np.vstack([x, grid.x[each]]), y=np.append(y, grid.y[each]), outside=0)
                furthest = max(furthest, float(np.abs(associations(more, design.owners) - before).max()))
    assert 0.95 < furthest <= 1 + 2 / chosen._STEPS


def test_scores_grow_with_what_a_feature_says():
    owners = np.array([0, 0, 1, 1, 1, 2])
    x = np.array([[1, 0, 1, 0, 0, 1.0], [1, 0, 0, 1, 0, -1], [0, 1, 1, 0, 0, 1], [0, 1, 0, 1, 0, -1]] * 5)
    y = np.array([1.0, 1, -1, -1] * 5)
    # the first decides the target: whatever p is, it is wrong by 10 rows in both levels together; the others are even
    assert associations(Points(x=x, y=y, outside=0), owners).tolist() == [10, 0, 0]
    slope = Points(x=np.linspace(-1, 1, 21)[:, None], y=np.linspace(-1, 1, 21) + 0.01, outside=0)
    assert associations(slope, np.zeros(1, int))[0] > 4  # a number in one column counts by its two ends


# -- the exact law of the choices -------------------------------------------------------------------------------------


def law_of_choices(scores, picks, rate):
    """Probability of each sequence of picks. Exact: the law of permute and flip, without and with each choice."""

    def first(left):
        best = max(scores[i] for i in left)
        found = dict.fromkeys(left, 0.0)
        for order in itertools.permutations(left):
            still = 1.0 / math.factorial(len(left))
            for i in order:
                heads = math.exp(rate * (scores[i] - best))
                found[i] += still * heads
                still *= 1 - heads
        return found

    law = {(): 1.0}
    for _ in range(picks):
        law = {
            (*seen, i): chance * more
            for seen, chance in law.items()
            for i, more in first([i for i in range(len(scores)) if i not in seen]).items()
        }
    return law


@pytest.mark.parametrize(("neighbours", "moved"), [(ADD, 1), (REPLACE, 2)])
def test_the_exact_law_of_all_choices_keeps_their_epsilon(neighbours, moved, monkeypatch):
    plan = plan_of(Budget.pure(4.0), neighbours, picks=2, features=("a", "b", "c"))
    asked = []

    def spied(scores, *, sensitivity, epsilon, source):
        asked.append((len(scores), epsilon / (2 * sensitivity)))
        return int(np.argmax(scores))

    monkeypatch.setattr(chosen, "noisy_max", spied)
    assert plan.pick(np.array([5.0, 9.0, 7.0]), SeededSource(0)) == [1, 2]
    assert [count for count, _ in asked] == [3, 2]
    rate = asked[0][1]
    assert asked[1][1] == rate

    def worst(rate):
        """Over scores that move by as much as a row can move them, in any directions."""
        found = 0.0
        for scores in itertools.product((0.0, 3.0), (0.0, 3.0), (3.0,)):
            for steps in itertools.product((-moved, 0, moved), repeat=3):
                one = law_of_choices(scores, 2, rate)
                other = law_of_choices([a + b for a, b in zip(scores, steps, strict=True)], 2, rate)
                found = max(found, *(abs(math.log(one[key] / other[key])) for key in one))
        return found

    spent = 2 * plan.choice
    assert 0.5 * spent < worst(rate) <= spent
    assert worst(2.5 * rate) > spent  # noise less than half as wide breaks it


# -- the charge -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [PURE, APPROX, Budget.pure(1 / 3), Budget.approx(3.0, 1e-9)], ids=str)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("picks", [1, 2, 3])
def test_choices_and_fit_add_up_to_what_is_charged(budget, neighbours, picks):
    """Whatever is chosen: some features have the block tilt and some the Gaussian one."""
    plan = plan_of(budget, neighbours, picks=picks)
    assert cost([(plan.event, 1)], budget, neighbours) <= exact(budget.amount)
    design = plan.setting.design
    for picked in itertools.combinations(FEATURES, picks):
        part = Tilted.plan(replace(plan.rest, design=replace(design, features=picked)))
        spent = picks * exact(plan.choice) + exact(part.event.epsilon)
        assert 0.999 * exact(budget.epsilon) < spent <= exact(plan.event.epsilon) <= exact(budget.epsilon)
        assert getattr(part.event, "delta", 0.0) <= getattr(plan.event, "delta", 0.0) <= budget.delta


# -- the fit ----------------------------------------------------------------------------------------------------------


def test_the_fit_reads_the_chosen_features_alone(monkeypatch):
    plan, table = plan_of(), rows(400)
    monkeypatch.setattr(Chosen, "pick", lambda self, scores, source: [1, 2])
    points = plan.setting.design.points(table)
    found = plan.fit([points], SeededSource(5))
    outside = np.isin(plan.setting.design.owners, [0, 3])
    assert found.notes["features"] == ["b", "c"]
    assert not found.coefficients[outside].any()
    assert found.coefficients[~outside].all()
    moved = points.x.copy()
    moved[:, outside] = moved[::-1, outside]
    again = plan.fit([replace(points, x=moved)], SeededSource(5))
    assert again.coefficients.tolist() == found.coefficients.tolist()
    assert again.intercept == found.intercept


def test_what_decides_is_chosen_and_the_model_predicts():
    more = [Categorical(name=f"more{place}", levels=("p", "q", "r")) for place in range(6)]
    names = tuple(each.name for each in more)
    recipe = Regression(target="y", features=FEATURES + names, task="logistic", people=4000)
    domain = Domain(attributes=[*DOMAIN.attributes, *more])
    plan = recipe.calibrate(domain, Budget.pure(0.1), unit=ROW, neighbours=ADD)
    assert isinstance(plan.method, Chosen)
    picks = plan.method.picks
    said = f"{picks} of 10 features are chosen privately, each at epsilon {0.02 / picks:.3g}; numbers by 5 nodes each"
    assert plan.why.endswith(said)
    assert plan.as_dict()["method"]["chosen"] == {"features": picks, "epsilon": pytest.approx(0.02 / picks)}

    def wide(count, seed):
        table, letters = rows(count, seed), np.random.default_rng([seed, 1])
        noise = {name: letters.choice(list("pqr"), count) for name in names}
        return pa.table({name: table[name] for name in table.column_names} | noise)

    model = plan.run(LocalEngine(domain, wide(4000, 2)), SeededSource(2))
    assert "c" in model.notes["features"]
    assert len(model.notes["features"]) == picks
    held = wide(1000, 9)
    assert np.mean(np.array(model.predict(held)) == np.array(held["y"])) > 0.85
    assert read_model(model.to_json()).predict(held) == model.predict(held)


def test_it_refuses_what_it_cannot_choose_or_protect():
    for picks in (0, 4):
        with pytest.raises(InvalidInput, match="picks"):
            plan_of(picks=picks)
    persons = Domain(person="who", attributes=[*DOMAIN.attributes, Identifier(name="who")])
    with pytest.raises(InvalidInput, match="protects one row"):
        plan_of(domain=persons, unit=Unit(person="who", max_rows=2))
    with pytest.raises(InvalidInput, match="budget in epsilon"):
        plan_of(Budget.zcdp(0.1))
