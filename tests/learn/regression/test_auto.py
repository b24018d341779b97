import re

import pytest

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.learn import Regression
from tacita.learn.regression import auto
from tacita.learn.regression.tryout import _tried
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
PURE, APPROX, RHO = Budget.pure(1.0), Budget.approx(0.3, 1e-5), Budget.zcdp(0.1)


def domain_of(columns, names="x", bounds=(0, 1)):
    features = tuple(f"{names}{place}" for place in range(columns))
    return features, Domain(attributes=[Numeric(name=n, bounds=bounds, bins=3) for n in (*features, "y")])


def plan_of(budget=PURE, *, columns=3, people=3000, neighbours=ADD, names="x", bounds=(0, 1), **more):
    features, domain = domain_of(columns, names, bounds)
    recipe = Regression(target="y", features=features, people=people, **more)
    return recipe.calibrate(domain, budget, unit=ROW, neighbours=neighbours)


def picked(plan):
    return plan.method.as_dict()["method"]


@pytest.fixture
def said(monkeypatch):
    """What the tryout says, set by a test; `asked` counts."""
    found = {"dpsgd": 0.5, "sufficient": 1.0, "functional": 1.1, "asked": 0}

    def tried(setting):
        found["asked"] += 1
        return found

    monkeypatch.setattr(auto, "tried_errors", tried)
    return found


@pytest.mark.parametrize("budget", [PURE, APPROX, RHO])
def test_the_same_public_facts_give_the_same_plan(budget):
    first = plan_of(budget, columns=12, people=10_000)
    _tried.cache_clear()
    again = plan_of(budget, columns=12, people=10_000)
    assert (again.method, again.why) == (first.method, first.why)
    assert picked(plan_of(budget, columns=12, people=10_000, names="other", bounds=(-5, 70))) == picked(first)


@pytest.mark.parametrize("people", [None, 3000])
@pytest.mark.parametrize("budget", [PURE, APPROX, RHO])
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_whatever_is_picked_stays_within_the_budget_and_says_why(budget, neighbours, people):
    plan = plan_of(budget, neighbours=neighbours, people=people)
    assert 0.98 * exact(budget.amount) < cost([(plan.event, 1)], budget, neighbours) <= exact(budget.amount)
    assert plan.why.startswith(f"{picked(plan)}: ")
    assert plan.why.endswith(f"3 features in 3 columns at {budget}")


def test_moments_are_the_rule():
    assert picked(plan_of(PURE)) == "functional"
    assert picked(plan_of(RHO)) == "sufficient"
    assert picked(plan_of(APPROX, columns=12, people=None)) == "sufficient"
    assert picked(plan_of(APPROX, columns=4, people=None)) == "functional"  # then noise on a cube is narrower
    assert picked(plan_of(APPROX, columns=12, people=300_000)) in ("sufficient", "functional")


def test_the_noise_is_named():
    assert plan_of(PURE).why.startswith("functional: without a delta, cube noise on moments is the narrowest")
    assert "Laplace noise on moments" in plan_of(PURE, norm=0.3, columns=12).why
    assert plan_of(APPROX, columns=12, people=None).why.startswith("sufficient: Gaussian noise of ")


def test_steps_are_picked_where_they_are_better_and_only_if_they_can_be_made(said, monkeypatch):
    pytest.importorskip("torch")
    plan = plan_of(APPROX, columns=12)
    assert picked(plan) == "dpsgd"
    assert plan.why.startswith("dpsgd: on 3,000 synthetic rows dpsgd has 0.50 times the error of sufficient")
    said["functional"] = 0.9
    assert "0.56 times the error of functional" in plan_of(APPROX, columns=12).why
    said.update(functional=1.1, dpsgd=0.985)
    assert picked(plan_of(APPROX, columns=12)) == "sufficient"
    assert re.search(r"0\.9[89] times", plan_of(APPROX, columns=12).why)
    said["dpsgd"] = 0.97
    assert picked(plan_of(APPROX, columns=12)) == "dpsgd"
    asked = said["asked"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert picked(plan_of(APPROX, columns=12)) == "sufficient"
    assert said["asked"] == asked


@pytest.mark.parametrize("columns", [3, 12])
def test_of_noises_on_moments_the_one_that_did_better_is_picked(said, columns):
    pytest.importorskip("torch")
    said["dpsgd"] = 2.0
    assert picked(plan_of(APPROX, columns=columns)) == "sufficient"
    said["functional"] = 0.9
    assert picked(plan_of(APPROX, columns=columns)) == "functional"
    assert plan_of(APPROX, columns=columns).why.startswith("functional: on 3,000 synthetic rows dpsgd has 2.22 times")


def test_without_a_public_size_nothing_is_tried(said):
    for budget in (PURE, RHO):
        plan_of(budget)
    for more in ({"people": None}, {"penalty": 3.0}, {"norm": 1.0}, {"neighbours": REPLACE}):
        assert picked(plan_of(APPROX, columns=12, **more)) == "sufficient"
    levels = Domain(attributes=[Categorical(name="a", levels=("p", "q")), Numeric(name="y", bounds=(0, 1), bins=2)])
    recipe = Regression(target="y", features=("a",), people=1000)
    assert picked(recipe.calibrate(levels, APPROX, unit=ROW, neighbours=ADD)) != "dpsgd"
    features, domain = domain_of(2)
    persons = Domain(person="who", attributes=[*domain.attributes, Identifier(name="who")])
    recipe = Regression(target="y", features=features, people=1000)
    assert picked(recipe.calibrate(persons, APPROX, unit=Unit(person="who", max_rows=3), neighbours=ADD)) != "dpsgd"
    assert said["asked"] == 0


@pytest.mark.parametrize("budget", [PURE, APPROX])
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_odds_are_fitted_with_a_tilt_where_it_protects(budget, neighbours):
    domain = Domain(
        attributes=[Numeric(name="x", bounds=(0, 1), bins=2), Categorical(name="y", levels=("no", "yes"))],
    )

    def odds(budget, *, unit=ROW, where=domain, **more):
        recipe = Regression(target="y", features=("x",), task="logistic", **more)
        return recipe.calibrate(where, budget, unit=unit, neighbours=neighbours)

    plan = odds(budget, people=500)
    assert picked(plan) == "tilted"
    assert plan.why.startswith("tilted: a tilt of ")
    assert picked(odds(budget, penalty=2.0)) == "tilted"
    for more in ({"penalty": 2.0, "alpha": 0.5}, {"norm": 1.0}):
        assert picked(odds(budget, **more)) != "tilted"
    assert picked(odds(RHO)) == "sufficient"
    persons = Domain(person="who", attributes=[*domain.attributes, Identifier(name="who")])
    assert picked(odds(budget, unit=Unit(person="who", max_rows=3), where=persons)) != "tilted"


def test_few_rows_tell_little_more_than_the_mean():
    assert plan_of(Budget.pure(0.1), people=100).why.endswith("little more than the mean will be learnt")
    assert not plan_of(Budget.pure(0.1), people=100_000).why.endswith("learnt")


def additive_of(budget, *, people=20_000, bins=3, levels=3, **more):
    names = [f"b{place}" for place in range(12)]
    columns = [Categorical(name=name, levels=tuple(f"l{place}" for place in range(levels))) for name in names]
    attributes = [Numeric(name="a", bounds=(0, 1), bins=bins), Categorical(name="y", levels=("no", "yes")), *columns]
    recipe = Regression(target="y", features=("a", *names), task="logistic", people=people, **more)
    return recipe.calibrate(Domain(attributes=attributes), budget, unit=ROW, neighbours=ADD)


def test_numbers_have_more_nodes_the_shorter_the_tilt():
    for budget, more, nodes, why in (
        (Budget.pure(2.0), {}, 9, "short enough beside 20,000 people for numbers by 9 nodes each"),
        (Budget.pure(0.2), {}, 5, "short enough beside 20,000 people for numbers by 5 nodes each"),
        (Budget.pure(0.06), {}, 0, "numbers as lines: with 5 nodes each a tilt is too long for 20,000 people"),
        (PURE, {"people": None}, 0, "at epsilon 1"),
        (PURE, {"numbers": "line"}, 0, "at epsilon 1"),
        (PURE, {"numbers": "bins"}, 0, "at epsilon 1"),
        (PURE, {"penalty": 2.0}, 0, "at epsilon 1"),
        (PURE, {"intercept": False}, 0, "at epsilon 1"),
        (RHO, {}, 0, f"at {RHO}"),
    ):
        plan = additive_of(budget, **more)
        assert plan.setting.design.nodes == nodes
        assert plan.setting.design.coded == (more.get("numbers") == "bins")
        assert plan.method.setting is plan.setting or budget is RHO
        assert plan.why.endswith(why)
    assert additive_of(PURE, method="tilted").setting.design.nodes == 9
    assert not additive_of(PURE, method="functional").setting.design.nodes


def test_features_are_chosen_where_the_tilt_is_long():
    plan = additive_of(Budget.pure(0.02))
    picks = plan.method.as_dict()["chosen"]["features"]
    assert 3 <= picks < 0.75 * 13
    assert f"so {picks} of 13 features are chosen privately, each at epsilon " in plan.why
    assert plan.why.endswith("; numbers by 5 nodes each")
    assert plan.setting.design.nodes == 5
    assert picked(plan) == "tilted"
    assert additive_of(Budget.pure(0.002)).method.as_dict()["chosen"]["features"] == 3
    line = additive_of(Budget.pure(0.02), numbers="line")
    assert line.method.as_dict()["chosen"]["features"] >= picks
    assert not line.setting.design.nodes
    for budget, more in ((PURE, {}), (Budget.pure(0.02), {"people": None}), (Budget.pure(0.02), {"method": "tilted"})):
        assert "chosen" not in additive_of(budget, **more).method.as_dict()
    spent = cost([(plan.event, 1)], Budget.pure(0.02), ADD)
    assert 0.999 * exact(0.02) < spent <= exact(0.02)
