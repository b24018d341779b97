import json
import math
from dataclasses import replace
from fractions import Fraction

import adbc_driver_postgresql.dbapi
import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.engines.postgres import PostgresEngine
from tacita.errors import InvalidInput, NotPublic, UnknownName
from tacita.noise import DiscreteLaplace, SecureSource, SeededSource, Stepped
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Aggregate, Aggregates, Answer
from tacita.query.where import ALL_ROWS, compare
from tacita.testing.mechanism import audited_epsilon

ROW, ADD, REPLACE = Unit.row(), Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
BUDGETS = (Budget.pure(1.0), Budget.approx(1.0, 1e-6), Budget.zcdp(0.1))
KINDS = ("count", "sum", "mean", "var", "std")


def ask(*kinds, column="income", by=(), where=ALL_ROWS, **more):
    return Aggregates(aggregates=[Aggregate(kind=kind, column=column) for kind in kinds], by=by, where=where, **more)


def planned(recipe, engine, budget=BUDGETS[0], neighbours=ADD):
    return recipe.calibrate(engine.domain, budget, unit=ROW, neighbours=neighbours)


def truth(engine, people, kind, mask=None):
    """The exact statistic of the clipped values, by NumPy."""
    low, high = engine.domain["income"].bounds
    values = np.clip(people["income"].to_numpy(zero_copy_only=False), low, high)
    values = values[~np.isnan(values) & (True if mask is None else mask)]
    return {"count": len(values), "sum": values.sum(), "mean": values.mean(), "var": values.var(), "std": values.std()}[
        kind
    ]


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_event_costs_at_most_the_budget_and_nearly_all_of_it(engine, budget, neighbours):
    for recipe in (ask("count"), ask("mean", "sum"), ask("sum", "median", by=["region"]), ask("std", "count")):
        plan = planned(recipe, engine, budget, neighbours)
        spent = cost([(plan.event, 1)], budget, neighbours)
        assert 0.97 * exact(budget.amount) < spent <= exact(budget.amount)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_measured_error_is_predicted_error_and_intervals_hold(engine, people, kind, budget):
    plan, source, runs = planned(ask(kind), engine, budget), SeededSource(7), 400
    sums = plan.exact(engine)
    exact_value = truth(engine, people, kind)
    columns = [next(iter(plan.release(sums, source).columns.values())) for _ in range(runs)]
    errors = np.array([column.value[0] for column in columns]) - exact_value
    stated = np.array([column.std[0] for column in columns])
    # the standard error of a standard deviation, with room for the heavy tails of Laplace noise
    assert math.sqrt(np.mean(errors**2)) == pytest.approx(float(np.sqrt(np.mean(stated**2))), rel=0.2)
    assert abs(errors.mean()) < 5 * stated.mean() / math.sqrt(runs)
    inside = np.mean([column.low[0] <= exact_value <= column.high[0] for column in columns])
    assert inside >= 0.95 - 5 * math.sqrt(0.05 * 0.95 / runs)
    expected = plan.expect()[0]
    if expected.per == "answer":
        assert stated == pytest.approx(expected.std)
    elif expected.std is not None:
        assert stated.max() <= 1.1 * expected.std / truth(engine, people, "count")


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_a_quantile_is_within_few_ranks_and_its_interval_holds(engine, people, q):
    ages = np.sort(np.clip(people["age"].to_numpy(), 0, 99))
    recipe = Aggregates(aggregates=[Aggregate(kind="quantile", column="age", q=q)])
    plan, source, runs = planned(recipe, engine), SeededSource(3), 300
    sums = plan.exact(engine)
    exact_value = ages[math.ceil(q * len(ages)) - 1]
    inside = 0
    for _ in range(runs):
        column = plan.release(sums, source)[f"quantile(age, {q:g})"]
        inside += column.low[0] <= exact_value <= column.high[0]
        below, upto = np.searchsorted(ages, column.value[0], "left"), np.searchsorted(ages, column.value[0], "right")
        wanted = q * len(ages)
        assert max(below - wanted, wanted - upto, 0) <= 25 / 0.5  # ranks; e^-25 of a chance at half of epsilon 1
    assert inside >= 0.95 * runs


def test_groups_and_conditions_pick_the_right_rows(engine, people):
    where = compare(engine.domain, "age", ">=", 18)
    recipe = ask("count", "mean", "var", by=["region", "smokes"], where=where)
    answer = planned(recipe, engine, Budget.pure(1000.0)).run(engine, SeededSource(1))
    smokes = people["smokes"].to_pylist()
    assert len(answer.groups) == 3 * 3
    for at, (region, smoking) in enumerate(answer.groups):
        wanted = {"true": True, "false": False, "(missing)": None}[smoking]
        mask = np.array([s is wanted for s in smokes])
        mask &= (people["region"].to_numpy(zero_copy_only=False) == region) & (people["age"].to_numpy() >= 18)
        for kind in ("count", "mean", "var"):
            column = answer[f"{kind}(income)"]
            assert column.value[at] == pytest.approx(truth(engine, people, kind, mask), abs=6 * column.std[at] + 1e-3)


def test_counting_rows_asks_for_tables_only(engine):
    class Counting(LocalEngine):
        def rows(self, *_):
            raise AssertionError("read rows")

    table = pa.table({"income": [1.0, 2.0], "region": ["north", "west"], "age": [3, 70], "smokes": [True, None]})
    table = table.append_column("pain", pa.array(["none", "much"])).append_column(
        "seen", pa.array(["2020-01-01", "2020-05-05"])
    )
    counting = Counting(engine.domain, table)
    recipe = Aggregates(
        aggregates=[Aggregate(kind="count")], by=["region"], where=compare(engine.domain, "age", "<", 18)
    )
    plan = planned(recipe, engine, Budget.pure(1000.0))
    assert plan.run(counting, SeededSource(1))["count(*)"].value == pytest.approx([1, 0, 0], abs=0.1)
    assert (plan.exact(counting)[0] == planned_rows(plan, counting)).all()


def planned_rows(plan, counting):
    """The same counts by the other way: over rows."""
    honest = LocalEngine(counting.domain, counting._given)
    recipe = Aggregates(
        aggregates=[*plan.recipe.aggregates, Aggregate(kind="sum", column="income")],
        by=plan.recipe.by,
        where=plan.recipe.where,
    )
    return planned(recipe, honest).exact(honest)[0]


def test_one_column_has_one_measure_and_skipping_nan_is_the_rule(engine):
    recipe = ask("nanmean", "nansum", "count", "nanvar", "nanstd")
    assert [a.name for a in recipe.aggregates][:2] == ["mean(income)", "sum(income)"]
    assert len(planned(recipe, engine).measures) == 1
    assert len(planned(ask("sum", "count"), engine).measures) == 2


def test_every_statistic_of_every_group_is_noised(engine):
    """Also where nobody is: an answer that repeats would tell that."""
    empty = LocalEngine(engine.domain, pa.table({name: pa.array([], pa.string()) for name in engine.domain.names}))
    recipe = Aggregates(aggregates=[*ask("count", "sum").aggregates, Aggregate(kind="count")], by=["region"])
    plan = planned(recipe, engine)
    answers = [plan.run(empty, SeededSource(seed)) for seed in range(40)]
    for name in answers[0].columns:
        assert (np.std([answer[name].value for answer in answers], axis=0) > 0).all()


def test_more_noise_than_people_gives_the_whole_range(engine):
    empty = LocalEngine(engine.domain, pa.table({name: pa.array([], pa.string()) for name in engine.domain.names}))
    plan = planned(ask("mean", "median"), engine, Budget.pure(0.01))
    answer = plan.run(empty, SeededSource(2))
    assert (answer["mean(income)"].low[0], answer["mean(income)"].high[0]) == (-20, 100)
    assert (answer["quantile(income, 0.5)"].low[0], answer["quantile(income, 0.5)"].high[0]) == (-20, 100)


def test_the_answer_goes_through_json(engine):
    answer = planned(ask("mean", "median", by=["region"]), engine).run(engine, SecureSource())
    again = Answer.from_json(answer.to_json())
    assert again.to_json() == answer.to_json()
    assert not answer.provenance.simulated
    assert planned(ask("count"), engine).run(engine, SeededSource(1)).provenance.simulated
    assert answer.to_arrow().column_names[:3] == ["region", "mean(income)", "mean(income)_std"]
    assert json.loads(answer.to_json())["columns"]["quantile(income, 0.5)"]["std"] == [None] * 3
    with pytest.raises(UnknownName):
        answer["max"]


def test_the_plan_says_how_the_budget_is_split(engine):
    data = planned(ask("mean", "median"), engine).as_dict()
    assert [part["measure"] for part in data["split"]] == ["moments", "tree"]
    assert sum(part["alone"] for part in data["split"]) == pytest.approx(1.0)
    json.dumps(data, allow_nan=False)


def test_a_tiny_budget_has_a_coarser_grid(engine):
    plan = planned(ask("sum"), engine, Budget.pure(1e-4))
    assert plan.measures[0].bits < 20
    chosen = Aggregates(aggregates=[Aggregate(kind="median", column="income", interval=False)])
    assert planned(chosen, engine, Budget.pure(1e-4)).measures[0].bits == 0
    assert plan.run(engine, SeededSource(1))["sum(income)"].std[0] == pytest.approx(100 * math.sqrt(2) * 1e4, rel=0.01)


def test_fine_noise_composes_like_continuous_noise():
    recipe = Aggregates(aggregates=[Aggregate(kind="count")])
    domain = Domain(attributes=[Numeric(name="x", bounds=(0, 1), bins=2)])
    plan = recipe.calibrate(domain, Budget.pure(0.1), unit=ROW, neighbours=ADD)
    assert plan.laws[0] == Stepped(law=DiscreteLaplace(scale=Fraction(640)), of=Fraction(1, 64))
    assert cost([(plan.event, 100)], Budget.approx(10, 1e-6), ADD) <= exact(4.70)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Aggregate(kind="max", column="x"), "must be one of"),
        (lambda: Aggregate(kind="mean"), "needs a column"),
        (lambda: Aggregate(kind="quantile", column="x"), "needs q"),
        (lambda: Aggregate(kind="mean", column="x", q=0.5), "needs q"),
        (lambda: Aggregate(kind="quantile", column="x", q=1.0), "strictly between"),
        (lambda: Aggregates(aggregates=[]), "at least one"),
        (lambda: ask("mean", "mean"), "name of another"),
        (lambda: ask("mean", level=1.0), "strictly between"),
    ],
)
def test_what_makes_no_question_is_refused(make, match):
    with pytest.raises(InvalidInput, match=match):
        make()


def test_bounds_are_public_or_it_is_refused(engine):
    for column, bounds, match in [
        ("region", None, "no public bounds"),
        ("income", (5, 1), "rising"),
        ("income", (0, math.inf), "rising"),
        ("seen", (0, 1), "only numbers"),
        ("nothing", None, "nothing"),
    ]:
        recipe = Aggregates(aggregates=[Aggregate(kind="sum", column=column, bounds=bounds)])
        with pytest.raises(InvalidInput, match=match):
            planned(recipe, engine)
    drafted = engine.domain["income"].model_copy(update={"derived": ("bounds",)})
    domain = Domain(attributes=[drafted])
    with pytest.raises(NotPublic):
        ask("sum").calibrate(domain, BUDGETS[0], unit=ROW, neighbours=ADD)


def test_more_groups_than_memory_holds_are_refused(engine):
    numeric = [Numeric(name=name, bounds=(0, 1), bins=2000) for name in "xyz"]
    domain = Domain(attributes=[*numeric, engine.domain["income"]])
    with pytest.raises(InvalidInput, match="sums over all groups"):
        ask("median", by=["x", "y", "z"]).calibrate(domain, BUDGETS[0], unit=ROW, neighbours=ADD)


def test_other_bounds_clip_the_values(engine, people):
    recipe = Aggregates(aggregates=[Aggregate(kind="sum", column="income", bounds=(0, 10))])
    answer = planned(recipe, engine, Budget.pure(1000.0)).run(engine, SeededSource(1))
    wanted = np.nansum(np.clip(people["income"].to_numpy(zero_copy_only=False), 0, 10))
    assert answer["sum(income)"].value[0] == pytest.approx(wanted, abs=0.1)


def test_dates_and_truths_have_numbers_too(engine, people):
    recipe = Aggregates(aggregates=[Aggregate(kind="mean", column="seen"), Aggregate(kind="mean", column="smokes")])
    answer = planned(recipe, engine, Budget.pure(1000.0)).run(engine, SeededSource(1))
    days = people["seen"].to_numpy().astype("datetime64[D]").astype(int)
    assert answer["mean(seen)"].value[0] == pytest.approx(days.mean(), abs=0.1)
    smokes = [s for s in people["smokes"].to_pylist() if s is not None]
    assert answer["mean(smokes)"].value[0] == pytest.approx(np.mean(smokes), abs=0.01)


@pytest.mark.postgres
def test_a_database_gives_the_same_sums(engine, people, postgres_url):
    with adbc_driver_postgresql.dbapi.connect(postgres_url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", people, mode="create")
        connection.commit()
    database = PostgresEngine(engine.domain, postgres_url, "people")
    where = compare(engine.domain, "age", ">=", 18)
    for recipe in (ask("var", "sum", "median", by=["region"], where=where), ask("count", column=None, by=["smokes"])):
        plan = planned(recipe, engine)
        for here, there in zip(plan.exact(engine), plan.exact(database), strict=True):
            assert np.array_equal(here, there)


# -- an attack on what runs ----------------------------------------------------------------------------------------


def attacked(plan, engines, name, trials=2000):
    """The largest epsilon that thresholds on an answer show between two neighbours."""
    seen = []
    for seed, engine in enumerate(engines):
        sums, source = plan.exact(engine), SeededSource(seed)
        draws = [plan.release(sums, source)[name].value[0] for _ in range(trials)]
        seen.append(np.nan_to_num(draws, nan=-99.0))  # that noise drowned everybody is an answer too
    found = 0.0
    for threshold in np.quantile(np.concatenate(seen), [0.1, 0.25, 0.5, 0.75, 0.9]):
        above, others = (draws > threshold for draws in seen)
        for one, two in ((above, others), (others, above), (~above, ~others), (~others, ~above)):
            found = max(found, audited_epsilon(int(one.sum()), int(two.sum()), trials))
    return found


@pytest.mark.parametrize(
    ("kind", "interval"), [("count", False), ("sum", False), ("mean", False), ("median", False), ("median", True)]
)
def test_an_attacker_finds_no_more_than_was_claimed_and_narrow_noise_is_caught(kind, interval):
    domain = Domain(attributes=[Numeric(name="x", bounds=(0, 3), integer=True)])
    engines = [LocalEngine(domain, pa.table({"x": values})) for values in ([0], [0, 3])]
    recipe = Aggregates(aggregates=[Aggregate(kind=kind, column="x", name="it", interval=interval)])
    plan = recipe.calibrate(domain, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    assert attacked(plan, engines, "it") <= 1.0
    narrow = Stepped(law=DiscreteLaplace(scale=plan.laws[0].law.scale / 4), of=plan.laws[0].of)
    broken = replace(plan, laws=(narrow,))
    assert attacked(broken, engines, "it") > 1.0
