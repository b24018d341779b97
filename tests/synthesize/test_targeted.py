import numpy as np
import pytest

from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput, NotPublic
from tacita.noise import SecureSource, SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Synthesize, Targeted
from tacita.synthesize.marginals import EMPTY
from tacita.testing.mechanism import FixedEngine

ROW, ADD, REPLACE = Unit.row(), Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
BUDGETS = (Budget.pure(1.0), Budget.approx(1.0, 1e-6), Budget.zcdp(0.05), Budget.pure(0.001))
RECIPE = Targeted(target="c", components=40, fits=1)


def planned(recipe, domain, budget=BUDGETS[1], neighbours=ADD):
    return recipe.calibrate(domain, budget, unit=ROW, neighbours=neighbours)


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_event_costs_the_budget_and_no_more(domain, budget, neighbours):
    plan = planned(RECIPE, domain, budget, neighbours)
    spent = cost([(plan.event, 1)], budget, neighbours)
    assert 0.97 * exact(budget.amount) < spent <= exact(budget.amount)
    assert plan.event == plan.tables.event
    # every measured table holds the target, and noise is on each
    keys = plan.tables.recipe.workload.keys
    assert all("c" in key for key in keys)
    assert len(plan.tables.laws) == len(keys)


def test_tables_of_three_where_noise_is_small_and_of_two_where_it_is_large(domain):
    clear, hidden = planned(RECIPE, domain, BUDGETS[0]), planned(RECIPE, domain, BUDGETS[3])
    assert {len(key) for key in clear.tables.recipe.workload.keys} == {3}
    assert len(clear.tables.recipe.workload) == 3
    assert {len(key) for key in hidden.tables.recipe.workload.keys} == {2}
    assert "measured together with c" in clear.reason
    assert "with c alone" in hidden.reason
    # the rule reads public facts: with more rows the same budget is enough
    many = planned(Targeted(target="c", people=100_000_000), domain, BUDGETS[3])
    assert many.by_class
    few = planned(Targeted(target="c", people=50), domain, Budget.pure(0.5))
    assert not few.by_class


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_result_says_what_it_is(domain, engine, budget):
    plan = planned(RECIPE, domain, budget)
    for source in (SecureSource(), SeededSource(1)):
        result = plan.run(engine, source)
        assert result.guarantee == ("none" if source.simulated else "central")
        assert result.event == plan.event
        assert result.people == pytest.approx(20_000, abs=6 * result.people_std)
        assert result.provenance.recipe["target"] == "c"
        again = plan.read(result.to_json())
        assert np.allclose(again.project(("a", "c")).values, result.project(("a", "c")).values, atol=1e-6)
        assert len(result.sample(50, np.random.default_rng(0))) == 50


def test_interactions_about_the_target_are_kept():
    """y is 1 if x and z differ: no table of two attributes shows that."""
    domain = Domain(attributes=[Boolean(name="x"), Boolean(name="y"), Boolean(name="z")])
    rng = np.random.default_rng(0)
    x, z = rng.integers(0, 2, (2, 20_000))
    engine = FixedEngine(domain, np.stack([x, x ^ z, z], axis=1))
    budget = Budget.zcdp(0.1)
    found = planned(Targeted(target="y"), domain, budget).run(engine, SeededSource(0))
    assert share_right(found) > 0.97
    other = planned(Synthesize(method="pairs"), domain, budget).run(engine, SeededSource(0))
    assert 0.4 < share_right(other) < 0.6


def share_right(result):
    drawn = result.model.sample(20_000, np.random.default_rng(0))
    return float(((drawn["x"] ^ drawn["z"]) == drawn["y"]).mean())


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("rows", [0, 1])
def test_an_empty_table_gives_a_model_that_says_so(domain, engine_of, chain, rows, budget):
    result = planned(RECIPE, domain, budget).run(engine_of(chain(rows)), SeededSource(4))
    assert EMPTY in result.notes
    assert result.project(("a", "d")).sum() == pytest.approx(1)


def test_two_attributes_and_constant_columns():
    domain = Domain(attributes=[Boolean(name="x"), Categorical(name="y", levels=("only",)), Boolean(name="z")])
    engine = FixedEngine(domain, np.zeros((5000, 3), int))
    result = planned(Targeted(target="z"), domain, Budget.zcdp(0.5)).run(engine, SeededSource(1))
    assert result.project(("x", "y", "z")).values[0, 0, 0] > 0.95
    result = planned(Targeted(target="z", attributes=("x", "z")), domain, Budget.zcdp(0.5))
    assert result.run(engine, SeededSource(1)).project(("x", "z")).values[0, 0] > 0.95


def test_the_automatic_choice_takes_a_target(domain, engine):
    plan = planned(Synthesize(target="d", people=20_000), domain)
    assert plan.recipe.as_dict()["method"] == "targeted"
    assert plan.recipe.people == 20_000
    assert planned(Synthesize(method="targeted", target="d"), domain).recipe.target == "d"
    # the key of a stored answer is made of this: nothing about a target where there is none
    assert "target" not in Synthesize().as_dict()
    assert Synthesize(target="d").as_dict()["target"] == "d"


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Synthesize(method="mst", target="c"), "goes with quality, targeted, not with mst"),
        (lambda: Synthesize(method="targeted"), "needs the attribute"),
        (lambda: Synthesize(target=5), "name of an attribute"),
        (lambda: Targeted(target=["c"]), "name of an attribute"),
        (lambda: Targeted(target="c", people=1), "people"),
        (lambda: Targeted(target="c", fits=0), "fits"),
    ],
)
def test_what_does_not_go_together(made, words):
    with pytest.raises(InvalidInput, match=words):
        made()


def test_bad_targets(domain):
    with pytest.raises(InvalidInput, match="nope"):
        planned(Targeted(target="nope"), domain)
    with pytest.raises(InvalidInput, match="c"):
        planned(Targeted(target="c", attributes=("a", "b")), domain)
    with pytest.raises(InvalidInput, match="besides the target"):
        planned(Targeted(target="c", attributes=("c",)), domain)
    first = domain["a"].model_copy(update={"derived": ("levels",)})
    with pytest.raises(NotPublic):
        planned(RECIPE, Domain(attributes=[first, *domain.attributes[1:]]))


def test_very_many_attributes_are_measured_with_the_target_alone():
    domain = Domain(attributes=[Boolean(name=f"x{at}") for at in range(150)])
    plan = planned(Targeted(target="x7", people=10_000_000), domain, Budget.zcdp(1.0))
    assert not plan.by_class
    assert len(plan.tables.recipe.workload) == 149
