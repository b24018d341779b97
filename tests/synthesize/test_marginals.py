import numpy as np
import pytest

from tacita.domain import Boolean, Categorical, Domain
from tacita.errors import InvalidInput, NotPublic
from tacita.noise import SecureSource, SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.event import NonPrivate
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Adaptive, Independent, Pairs, PrivBayes, SpanningTree
from tacita.synthesize.estimate import MAX_LEVELS
from tacita.synthesize.marginals import EMPTY, HIDDEN
from tacita.testing.mechanism import FixedEngine, audited_epsilon

ROW, ADD, REPLACE = Unit.row(), Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
BUDGETS = (Budget.pure(1.0), Budget.approx(1.0, 1e-6), Budget.zcdp(0.05))
RECIPES = (Pairs(components=40, fits=1), Independent(), SpanningTree(), Adaptive(rounds=3), PrivBayes())
IDS = [recipe.as_dict()["method"] for recipe in RECIPES]


def planned(recipe, domain, budget=BUDGETS[1], neighbours=ADD):
    return recipe.calibrate(domain, budget, unit=ROW, neighbours=neighbours)


@pytest.mark.parametrize("recipe", RECIPES, ids=IDS)
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_event_costs_the_budget_and_no_more(recipe, domain, budget, neighbours):
    plan = planned(recipe, domain, budget, neighbours)
    spent = cost([(plan.event, 1)], budget, neighbours)
    assert spent <= exact(budget.amount)
    assert spent > 0.97 * exact(budget.amount), "budget is left lying about"
    assert plan.as_dict()["cost"] == pytest.approx(float(spent))


@pytest.mark.parametrize("recipe", RECIPES, ids=IDS)
def test_a_result_says_what_it_is(recipe, domain, engine):
    plan = planned(recipe, domain)
    for source in (SecureSource(), SeededSource(1)):
        result = plan.run(engine, source)
        assert result.provenance.simulated == source.simulated
        assert ("NOT private" in result.statement()) == source.simulated
        assert result.event == plan.event
        assert result.guarantee == ("none" if source.simulated else "central")
        assert not isinstance(result.event, NonPrivate)
        assert result.people == pytest.approx(20_000, abs=6 * result.people_std)
        again = plan.read(result.to_json())
        table = ("a", "b")
        assert np.allclose(again.project(table).values, result.project(table).values, atol=1e-6)
        assert again.notes == result.notes


@pytest.mark.parametrize("recipe", RECIPES, ids=IDS)
def test_the_same_seed_gives_the_same_and_secure_draws_differ(recipe, domain, engine):
    plan = planned(recipe, domain)
    one, two = (plan.run(engine, SeededSource(5)).project(["a"]).values for _ in range(2))
    assert np.array_equal(one, two)
    one, two = (plan.run(engine, SecureSource()).project(["a"]).values for _ in range(2))
    assert not np.array_equal(one, two)


@pytest.mark.parametrize(
    "recipe", [each for each in RECIPES if not isinstance(each, Independent)], ids=lambda r: r.as_dict()["method"]
)
def test_known_dependence_is_found(recipe, domain, engine):
    result = planned(recipe, domain, Budget.zcdp(1.0)).run(engine, SeededSource(2))
    for pair in (("a", "b"), ("b", "c"), ("a", "d")):
        truth = engine.project(pair).normalize().values
        product = np.outer(truth.sum(axis=1), truth.sum(axis=0))
        found = result.project(pair).values
        off = np.abs(found - truth).sum() / 2
        assert off < 0.02
        if "d" not in pair:
            assert off < 0.2 * np.abs(product - truth).sum() / 2


def test_independent_keeps_singles_only(domain, engine):
    result = planned(Independent(), domain, Budget.zcdp(1.0)).run(engine, SeededSource(2))
    found = result.project(("a", "b")).values
    assert np.allclose(found, np.outer(found.sum(axis=1), found.sum(axis=0)))
    assert found.sum(axis=1) == pytest.approx(engine.project(["a"]).normalize().values, abs=0.01)


def test_what_noise_hides_is_left_out_and_said(domain, engine_of, chain):
    few = engine_of(chain(60))
    result = planned(Pairs(components=40, fits=1), domain, Budget.pure(0.01)).run(few, SeededSource(3))
    assert EMPTY in result.notes
    assert HIDDEN in result.notes
    found = result.project(("a", "b")).values
    assert np.abs(found - np.outer(found.sum(axis=1), found.sum(axis=0))).sum() / 2 < 0.03


@pytest.mark.parametrize("recipe", RECIPES, ids=IDS)
@pytest.mark.parametrize("rows", [0, 1])
def test_nobody_or_one_row_gives_a_model_that_says_so(recipe, domain, engine_of, chain, rows):
    """Refusing would tell how many rows there are; so the answer is noise, marked as such."""
    result = planned(recipe, domain).run(engine_of(chain(rows)), SeededSource(4))
    assert EMPTY in result.notes
    assert result.project(("a", "d")).sum() == pytest.approx(1)


@pytest.mark.parametrize("recipe", RECIPES, ids=IDS)
def test_constant_and_single_level_columns(recipe):
    domain = Domain(attributes=[Boolean(name="x"), Categorical(name="y", levels=("only",)), Boolean(name="z")])
    rows = np.zeros((5000, 3), int)
    result = planned(recipe, domain, Budget.zcdp(0.5)).run(FixedEngine(domain, rows), SeededSource(1))
    assert result.project(("x", "y", "z")).values[0, 0, 0] > 0.95


@pytest.mark.parametrize("recipe", RECIPES, ids=IDS)
def test_one_attribute(recipe, engine):
    chosen = type(recipe)(attributes=("d",))
    result = planned(chosen, engine.domain, Budget.zcdp(0.5)).run(engine, SeededSource(1))
    assert result.domain.names == ("d",)
    assert result.project(["d"]).values == pytest.approx(engine.project(["d"]).normalize().values, abs=0.01)


def test_a_domain_that_is_too_wide_is_refused_by_name():
    wide = Domain(attributes=[Categorical(name="town", levels=[str(i) for i in range(MAX_LEVELS)]), Boolean(name="x")])
    with pytest.raises(InvalidInput, match="town"):
        planned(Pairs(), wide)


@pytest.mark.parametrize("recipe", RECIPES, ids=IDS)
def test_nothing_derived_from_data_passes_as_public(recipe, domain, engine):
    first = domain["a"].model_copy(update={"derived": ("levels",)})
    drafted = Domain(attributes=[first, *domain.attributes[1:]])
    with pytest.raises(NotPublic):
        planned(recipe, drafted)
    other = FixedEngine(Domain(title="other", attributes=domain.attributes), np.zeros((0, 4), int))
    with pytest.raises(InvalidInput, match="schema"):
        planned(recipe, domain).run(other, SeededSource(1))


def attacked(plan, engines, trials):
    """The largest epsilon that thresholds on the released number of rows show, with confidence."""
    seen = [
        np.array([plan.run(e, SeededSource(at * trials + k)).people for k in range(trials)])
        for at, e in enumerate(engines)
    ]
    found = 0.0
    for threshold in np.quantile(np.concatenate(seen), [0.1, 0.3, 0.5, 0.7, 0.9]):
        above, others = (draws > threshold for draws in seen)
        for one, two in ((above, others), (others, above), (~above, ~others), (~others, ~above)):
            found = max(found, audited_epsilon(int(one.sum()), int(two.sum()), trials))
    return found


def test_an_attacker_finds_no_more_than_was_claimed_and_would_find_more(domain, engine_of, chain):
    """Is one row there or not? The same attack on a tenth of the noise finds more than is claimed."""
    rows = chain(12)
    engines = engine_of(rows), engine_of(np.vstack([rows, rows[:1]]))
    claimed = 2.0
    honest = planned(Independent(), domain, Budget.pure(claimed))
    assert attacked(honest, engines, 1000) <= claimed
    underpaid = planned(Independent(), domain, Budget.pure(15 * claimed))
    assert attacked(underpaid, engines, 1000) > claimed


def test_rows_from_seeded_noise_say_so():
    """What leaves the result must still be told from a real release."""
    import json

    import numpy as np
    import pyarrow as pa

    from tacita.domain import Boolean, Domain
    from tacita.engines.local import LocalEngine
    from tacita.noise import SecureSource, SeededSource
    from tacita.privacy.budget import Budget
    from tacita.privacy.unit import Neighbours, Unit
    from tacita.synthesize import Synthesize

    domain = Domain(attributes=[Boolean(name="x"), Boolean(name="y")])
    engine = LocalEngine(domain, pa.table({"x": [True, False] * 50, "y": [True] * 100}))
    recipe = Synthesize(method="independent")
    plan = recipe.calibrate(domain, Budget.pure(1.0), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    marks = []
    for source in (SeededSource(1), SecureSource()):
        rows = plan.run(engine, source).sample(5, np.random.default_rng(1))
        marks.append(json.loads(rows.schema.metadata[b"tacita"]).get("simulated", False))
    assert marks == [True, False]
