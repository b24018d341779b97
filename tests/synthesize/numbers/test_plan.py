"""Numbers kept as numbers: what they cost, what they keep, and who may not have them."""

import datetime as dt
import json

import adbc_driver_postgresql.dbapi as adbc
import numpy as np
import pyarrow as pa
import pytest
from tests.support.mongo import MongoServer

from tacita.domain import Boolean, Categorical, Date, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.engines.mongo import MongoEngine
from tacita.engines.postgres import PostgresEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.plans.split import BudgetSplit
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.event import Sequence
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Rules, Synthesize, Synthesized
from tacita.tables.workload import Workload
from tacita.testing.mechanism import SMOKERS, FixedEngine

ROW, ADD, REPLACE = Unit.row(), Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
DOMAIN = Domain(
    person="who",
    attributes=[
        Identifier(name="who"),
        Boolean(name="smokes"),
        Numeric(name="gain", bounds=(0, 99_999), bins=4, integer=True, missing=True),
        Numeric(name="weight", bounds=(0, 300), bins=4, other=True, missing=True),
        Numeric(name="children", bounds=(0, 3), edges=(0, 2, 3), integer=True),
        Date(name="day", bounds=("2020-01-01", "2023-12-31"), by="year"),
    ],
)
PLAIN = Domain(attributes=DOMAIN.attributes[1:])
BUDGETS = (Budget.pure(1.0), Budget.approx(1.0, 1e-9), Budget.zcdp(0.05))
METHODS = ("independent", "mst", "aim", "pairs", "privbayes", "targeted", "quality")


def people(rows=4000, seed=0):
    rng = np.random.default_rng(seed)
    smokes = rng.random(rows) < 0.4
    gain = np.where(rng.random(rows) < 0.7 - 0.4 * smokes, 0, rng.lognormal(7, 0.5, rows)).astype(int)
    weight = [None if rng.random() < 0.1 else float(x) for x in rng.normal(70, 12, rows)]
    day = np.datetime64("2020-01-01") + rng.beta(2, 6, rows) * 1460 * np.timedelta64(1, "D")
    return pa.table(
        {
            "who": [f"p{at % (rows // 2)}" for at in range(rows)],
            "smokes": smokes,
            "gain": pa.array([None if rng.random() < 0.05 else int(x) for x in gain]),
            "weight": weight,
            "children": rng.integers(0, 4, rows),
            "day": pa.array(day.astype("datetime64[D]")),
        }
    )


@pytest.fixture(scope="module")
def rows():
    return people()


def planned(budget=BUDGETS[0], *, domain=PLAIN, unit=ROW, neighbours=ADD, people=4000, **settings):
    recipe = Synthesize(numbers="fine", people=people, **({"method": "independent"} | settings))
    return recipe.calibrate(domain, budget, unit=unit, neighbours=neighbours)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("unit", [ROW, Unit.of_person("who", max_rows=3)], ids=["row", "person"])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_trees_and_method_together_cost_the_budget(budget, unit, neighbours):
    plan = planned(budget, domain=PLAIN if unit == ROW else DOMAIN, unit=unit, neighbours=neighbours, method="mst")
    spent = float(cost([(plan.event, 1)], budget, neighbours))
    assert 0.97 * budget.amount < spent <= budget.amount
    assert isinstance(plan.event, Sequence)
    assert plan.event.events == (*plan.trees, plan.inner.event)
    (trees,) = plan.trees
    rounds = sum(grid.rounds for grid in plan.grids.values())
    times = 2 if neighbours is REPLACE else 1
    assert trees.count == rounds
    assert (trees.event.count if times == 2 else 1) == times
    share = Budget.pure(1.0) if budget.currency == "pure" else Budget.zcdp(1.0)
    of_trees = float(cost([(trees, 1)], share, neighbours))
    assert (
        0.9 * float(plan.share)
        < of_trees / float(BudgetSplit.of(budget, unit, neighbours).amount)
        <= float(plan.share) + 1e-9
    )


@pytest.mark.parametrize("method", METHODS)
def test_every_method_keeps_numbers_and_its_cost(rows, method):
    target = "smokes" if method == "targeted" else None
    plan = planned(BUDGETS[2], method=method, target=target, seconds=0.5)
    made = plan.run(LocalEngine(PLAIN, rows), SeededSource(1))
    assert made.event == plan.event
    sizes = {name: len(made.domain[name].labels) for name in PLAIN.names}
    assert sizes["children"] == 4
    assert all(2 <= sizes[name] <= plan.most for name in plan.grids)
    drawn = made.sample(4000, np.random.default_rng(0))
    gain = np.array([x for x in drawn["gain"].to_pylist() if x is not None])
    assert np.mean(gain == 0) == pytest.approx(np.mean([x == 0 for x in rows["gain"].to_pylist()]), abs=0.06)
    assert np.median(gain[gain > 0]) == pytest.approx(1097, rel=0.2)
    weight = np.array([x for x in drawn["weight"].to_pylist() if x is not None])
    assert np.quantile(weight, [0.1, 0.5, 0.9]) == pytest.approx([54.6, 70, 85.4], abs=5)
    assert 0 < drawn["weight"].null_count < 1000
    days = np.array(drawn["day"].to_pylist(), "datetime64[D]")
    real = np.array(rows["day"].to_pylist(), "datetime64[D]")
    assert abs(np.median(days.astype(int)) - np.median(real.astype(int))) < 40
    assert made.provenance.recipe["numbers"] == "fine"
    assert made.provenance.recipe["edges"]["gain"] == list(made.domain["gain"].edges)


@pytest.mark.parametrize("method", METHODS)
def test_a_method_over_fewer_bins_costs_what_it_was_planned_for(method):
    plan = planned(BUDGETS[0], method=method, target="smokes" if method == "targeted" else None, seconds=0.5)
    from tacita.domain.rebin import rebin

    fewer = rebin(plan.public, {name: (PLAIN[name].line_bounds[0],) for name in plan.grids})
    assert plan.inner.over(fewer).event == plan.inner.event
    assert plan.inner.over(fewer).domain == fewer


def test_counts_of_a_grid_move_by_the_rows_of_a_person():
    """Every person of a small table taken out, also those with missing values and with too many rows."""
    table = people(60).slice(0, 50)
    table = table.set_column(0, "who", pa.array([f"p{at % 9}" if at % 11 else None for at in range(50)]))
    for most in (1, 2, 4):
        unit = Unit.of_person("who", max_rows=most)
        plan = planned(domain=DOMAIN, unit=unit)
        fine = {name: grid.attribute(DOMAIN[name]) for name, grid in plan.grids.items()}
        grids = Domain(person="who", attributes=[fine.get(each.name, each) for each in DOMAIN.attributes])
        workload = Workload.of(*((name,) for name in plan.grids))

        def counted(rows, unit=unit, grids=grids, workload=workload, names=tuple(plan.grids)):
            tables = LocalEngine(DOMAIN, rows).with_bins(grids).tables(workload, unit)
            return [tables[name,].dense().values.astype(int) for name in names]

        before, worst = counted(table), 0
        for person in {*table["who"].to_pylist()} - {None}:
            kept = [at for at, who in enumerate(table["who"].to_pylist()) if who != person]
            moved = [int(np.abs(a - b).sum()) for a, b in zip(before, counted(table.take(kept)), strict=True)]
            worst = max(worst, *moved)
        assert worst == most


def test_data_is_read_through_the_tables_of_grids_and_of_found_bins(rows):
    """The engine is asked for single attributes on the grids, then for what the method may ask of the found domain."""
    asked = []

    class Watched(LocalEngine):
        def with_bins(self, domain):
            made = super().with_bins(domain)
            made.__class__ = Watched
            return made

        def tables(self, workload, unit):
            asked.append((self.domain, workload.keys))
            return super().tables(workload, unit)

    plan = planned()
    made = plan.run(Watched(PLAIN, rows), SeededSource(3))
    (grids, first), (found, second) = asked
    assert first == tuple((name,) for name in plan.grids)
    assert [grids[name].starts for name in plan.grids] == [tuple(g.starts.tolist()) for g in plan.grids.values()]
    assert found.project(PLAIN.names) == made.domain
    assert second == tuple((name,) for name in PLAIN.names)


def test_a_plan_reads_public_facts_alone_and_states_them():
    plan = planned()
    stated = plan.as_dict()
    assert stated["numbers"]["found"] == ["gain", "weight", "day"]
    assert stated["numbers"]["bins"]["children"] == 4
    assert stated["numbers"]["bins"]["gain"] == plan.most
    assert stated["numbers"]["share"] == float(plan.share)
    assert stated["recipe"]["numbers"] == "fine"
    assert json.loads(json.dumps(stated)) == stated
    assert planned(people=10**6).most > planned(people=100).most
    assert planned(people=10**7).share < planned(people=100).share
    binned = Synthesize(method="independent", people=4000).calibrate(PLAIN, BUDGETS[0], unit=ROW, neighbours=ADD)
    assert "numbers" not in binned.as_dict()["recipe"]


def test_a_model_file_keeps_numbers(rows):
    made = planned().run(LocalEngine(PLAIN, rows), SeededSource(1))
    again = Synthesized.from_json(made.to_json())
    low, high = again.intervals(again.domain.names[:1]).low, again.intervals(again.domain.names[:1]).high
    assert (low <= high).all(), "tables over bins that were found are kept with their noise"
    assert high.max() - low.max() < 0.5
    assert again.numbers == made.numbers
    one, other = (each.sample(500, np.random.default_rng(2)) for each in (made, again))
    assert one == other
    labels = made.sample(10, np.random.default_rng(2), policy="label")
    assert labels["gain"].type == pa.string()
    assert made.sample(10, np.random.default_rng(2)).schema.field("gain").type == pa.int64()
    broken = json.loads(made.to_json())
    broken["numbers"][0]["starts"][0] = 5
    with pytest.raises(InvalidInput):
        Synthesized.from_json(json.dumps(broken))


def test_few_values_are_levels_and_cost_nothing():
    domain = Domain(attributes=[Boolean(name="smokes"), Numeric(name="n", bounds=(0, 3), bins=1, integer=True)])
    plan = planned(domain=domain)
    assert plan.trees == ()
    assert plan.event == plan.inner.event
    table = pa.table({"smokes": [True] * 50, "n": [0, 3] * 25})
    made = plan.run(LocalEngine(domain, table), SeededSource(0))
    assert made.domain["n"].labels == ("0", "1", "2", "3")
    assert made.numbers == ()


def test_a_heavy_upper_bound_comes_back_and_has_the_last_bin():
    domain = Domain(attributes=[Boolean(name="smokes"), Numeric(name="n", bounds=(0, 99), bins=1, integer=True)])
    table = pa.table({"smokes": [True, False] * 500, "n": [99] * 600 + list(range(100)) * 4})
    made = planned(Budget.pure(10.0), domain=domain, people=1000).run(LocalEngine(domain, table), SeededSource(0))
    assert made.domain["n"].labels[-1] == "98..99"
    drawn = made.sample(1000, np.random.default_rng(0))["n"].to_pylist()
    assert np.mean([each == 99 for each in drawn]) == pytest.approx(0.6, abs=0.05)


@pytest.mark.parametrize("value", [0, 50, 99])
def test_any_column_has_two_bins_at_least(value):
    """The score F needs two levels; nothing may fail on what was found."""
    domain = Domain(attributes=[Boolean(name="smokes"), Numeric(name="n", bounds=(0, 99), bins=1, integer=True)])
    table = pa.table({"smokes": [True, False] * 50, "n": [value] * 100})
    for seed in range(5):
        plan = planned(Budget.pure(0.5), domain=domain, people=10, method="privbayes", options={"score": "F"})
        assert plan.most == 2
        made = plan.run(LocalEngine(domain, table), SeededSource(seed))
        assert len(made.domain["n"].labels) == 2


def test_rules_may_compare_numbers_and_may_not_cut_bins_that_are_not_known():
    plan = planned()
    plan.check_rules(Rules.from_text("rules: [{at_most: [children, gain]}]"))
    plan.check_rules(Rules.from_text("rules: [{if: children = 0, then: smokes = true}]"))
    with pytest.raises(InvalidInput, match="at_most"):
        plan.check_rules(Rules.from_text("rules: [{if: gain < 100, then: smokes = true}]"))


def test_misuse_is_refused_before_data_is_read():
    words = Domain(attributes=[Boolean(name="smokes"), Categorical(name="town", levels=("a", "b"))])
    with pytest.raises(InvalidInput, match="number or a date"):
        planned(domain=words)
    with pytest.raises(InvalidInput, match="number or a date"):
        planned(attributes=("smokes",))
    with pytest.raises(InvalidInput, match="numbers"):
        Synthesize(numbers="exact")
    with pytest.raises(InvalidInput, match="count tables"):
        Synthesize(numbers="fine", method="gan")
    with pytest.raises(InvalidInput, match="too small"):
        planned(Budget.pure(1e-4))
    with pytest.raises(InvalidInput, match="other bins"):
        planned(domain=SMOKERS, people=10**6).run(FixedEngine(SMOKERS, [(0, 0)]), SeededSource(0))


def _in_postgres(table, url):
    with adbc.connect(url) as connection, connection.cursor() as cursor:
        cursor.adbc_ingest("people", table)
        connection.commit()
    return PostgresEngine(DOMAIN, url, "people")


@pytest.mark.postgres
def test_engines_find_the_same_bins_and_model(postgres_url):
    """PostgreSQL, MongoDB and this machine, with the same noise; persons have several rows."""
    table = people(150)
    unit = Unit.of_person("who", max_rows=2)
    plan = planned(Budget.pure(5.0), domain=DOMAIN, unit=unit, people=150, method="mst")
    documents = [{n: v for n, v in row.items() if v is not None} for row in table.to_pylist()]
    for each in documents:
        each["day"] = dt.datetime.combine(each["day"], dt.time())
    with MongoServer() as server:
        server.store("test", "people", documents)
        engines = [
            LocalEngine(DOMAIN, table),
            LocalEngine(DOMAIN, table.take(np.random.default_rng(0).permutation(150)), cache_bytes=0),
            _in_postgres(table, postgres_url),
            MongoEngine(DOMAIN, server.url("test"), "people"),
        ]
        found = [plan.run(engine, SeededSource(7)) for engine in engines]
    assert all(made.model.as_dict() == found[0].model.as_dict() for made in found)
    assert all(made.numbers == found[0].numbers for made in found)
    assert len(found[0].numbers) == 3
