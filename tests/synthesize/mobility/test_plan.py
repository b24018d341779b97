"""Private generators as mechanisms: all neighbours of small data, cost, refusals, and an auditor."""

import numpy as np
import pyarrow as pa
import pytest

from tacita.assess.audit.attack import audit
from tacita.domain import Domain
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, NotPublic
from tacita.noise import SecureSource, SeededSource
from tacita.plans.additive import shift_event
from tacita.plans.session import Session
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget, exact
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.store import Database
from tacita.synthesize.mobility.measuring import PlannedTable
from tacita.synthesize.mobility.od import PlainOd
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.plan import mean_total
from tacita.synthesize.mobility.tours import Tours
from tacita.testing.mechanism import BUDGETS

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
MOST = 3
UNIT = Unit.of_person("card", max_rows=MOST)
PLACES = Places(ids=("a", "b", "c", "d"), zones=("one", "one", "two", "two"), x=(0, 1, 5, 6), y=(0, 0, 0, 0))
RECIPES = {
    "tours": Tours(places=PLACES, depth=2),
    "tours without zones": Tours(places=Places(ids=tuple("abcd")), depth=1),
    "od": PlainOd(places=PLACES),
}


def counted(plan, engine, monkeypatch):
    """Return the integers that noise is added to, table by table. What noise gives back is the same for all data."""
    seen = []

    def record(self, counts, source):
        seen.append((self, counts.astype(int).reshape(-1)))
        return np.full(counts.shape, 10_000.0)  # so that every pair is refined

    with monkeypatch.context() as patch:
        patch.setattr(PlannedTable, "measure", record)
        plan.run(engine, SeededSource(1))
    return seen


@pytest.mark.parametrize("name", RECIPES)
def test_a_card_moves_no_table_by_more_than_was_charged(name, tiny, tiny_taps, random_trips, monkeypatch):
    """Cards of up to twelve trips, of whom three count, added to and replaced in several companies of others."""
    plan = RECIPES[name].calibrate(tiny.domain, Budget.pure(1.0), unit=UNIT, neighbours=ADD)
    rng = np.random.default_rng(0)
    companies = [{}, {"q": random_trips(rng, 2)}, {"q": random_trips(rng, 7), "r": random_trips(rng, 1)}]
    cards = [random_trips(rng, number) for number in (1, 2, 3, 4, 6, 9, 12)]
    cards += [[(0, 480, 0, 3, 30, 0)] * number for number in (1, 3, 10)]  # all events in one cell
    cards += [[(0, 60, 0, None, None, 0)] * 4]  # no complete trip
    reached: dict[str, float] = {}
    for others in companies:
        without = counted(plan, LocalEngine(tiny.domain, tiny_taps(others)), monkeypatch)
        moved = []
        for trips in cards:
            engine = LocalEngine(tiny.domain, tiny_taps(others | {"p": trips}))
            after = counted(plan, engine, monkeypatch)
            for (table, before), (_, now) in zip(without, after, strict=True):
                shift = table.spec.shift
                assert (now >= before).all(), "contributions are not negative"
                assert (now - before).sum() <= shift
                assert ((now - before) ** 2).sum() <= shift**2
                largest = float(((now - before) ** 2).sum() ** 0.5) / shift
                reached[table.spec.name] = max(reached.get(table.spec.name, 0.0), largest)
            moved.append([now for _, now in after])
        for one in moved:
            for other in moved:  # a card is replaced
                for (table, _), a, b in zip(without, one, other, strict=True):
                    assert np.abs(a - b).sum() <= 2 * table.spec.shift
                    assert ((a - b) ** 2).sum() <= 2 * table.spec.shift**2
    for table, share in reached.items():
        # the ends of a trip, and the steps of a day, are never all in one cell
        least = 0.4 if table in ("popularity", "chain", "others") else 1.0
        assert share >= least, f"{table}: the bound is not tight"


@pytest.mark.parametrize("name", RECIPES)
def test_the_event_is_read_off_the_noise_that_draws(name, tiny):
    for neighbours, parts in ((ADD, 1), (REPLACE, 2)):
        for budget in BUDGETS:
            plan = RECIPES[name].calibrate(tiny.domain, budget, unit=UNIT, neighbours=neighbours)
            for table in plan.tables:
                assert table.event == shift_event(table.law, table.spec.shift, parts)
            spent = cost([(plan.event, 1)], budget, neighbours)
            assert spent <= exact(budget.amount)
            assert spent > 0.97 * exact(budget.amount), "a part of the budget is not used"


def test_the_bound_on_trips_costs_noise_where_every_trip_counts_only(tiny):
    """Tables of tours weigh a card as one; those of the baseline grow with the bound."""

    def noise(recipe, most):
        unit = Unit.of_person("card", max_rows=most)
        plan = recipe.calibrate(tiny.domain, Budget.pure(1.0), unit=unit, neighbours=ADD)
        return {table.spec.name: table.std for table in plan.tables}

    few, many = (noise(RECIPES["tours"], most) for most in (2, 40))
    assert many["pairs 0"] < 3 * few["pairs 0"]
    few, many = (noise(RECIPES["od"], most) for most in (2, 40))
    assert many["pairs"] > 15 * few["pairs"]


@pytest.mark.parametrize("name", RECIPES)
def test_no_records_at_all_are_answered_not_refused(name, tiny, tiny_taps):
    plan = RECIPES[name].calibrate(tiny.domain, Budget.pure(1.0), unit=UNIT, neighbours=ADD)
    engine = LocalEngine(tiny.domain, tiny_taps({}))
    for seed in range(3):
        made = plan.run(engine, SeededSource(seed))
        assert made.sample(20, np.random.default_rng(0)).num_rows >= 0


@pytest.mark.parametrize("name", RECIPES)
def test_refusals(name, tiny, tiny_taps):
    recipe, budget = RECIPES[name], Budget.pure(1.0)
    drafted = [
        a.model_copy(update={"derived": ("levels",)}) if a.name == "origin" else a for a in tiny.domain.attributes
    ]
    with pytest.raises(NotPublic):
        recipe.calibrate(Domain(person="card", attributes=drafted), budget, unit=UNIT, neighbours=ADD)
    with pytest.raises(InvalidInput):
        recipe.calibrate(tiny.domain, budget, unit=Unit.row(), neighbours=ADD)
    with pytest.raises(InvalidInput):
        recipe.calibrate(tiny.domain, budget, unit=Unit.of_person("card", max_rows=5000), neighbours=ADD)
    plan = recipe.calibrate(tiny.domain, budget, unit=UNIT, neighbours=ADD)
    other = Domain(title="other", person="card", attributes=tiny.domain.attributes)
    with pytest.raises(InvalidInput, match="schema"):
        plan.run(LocalEngine(other, tiny_taps({})), SeededSource(1))


def test_a_session_charges_once_and_stores_the_answer(tiny, tiny_taps, tmp_path):
    ledger = Ledger(Database(f"sqlite:///{tmp_path / 'state.db'}"))
    ledger.open("city", budget=Budget.pure(2.0), unit=UNIT, neighbours=ADD)
    taps = tiny_taps({f"c{i}": [(0, 480, 0, 3, 30, 0), (0, 1080, 3, 0, 30, 0)] for i in range(50)})
    session = Session(
        engine=LocalEngine(tiny.domain, taps),
        ledger=ledger,
        account="city",
        principal="test",
        source=SecureSource(),
    )
    plan = RECIPES["tours"].calibrate(tiny.domain, Budget.pure(1.0), unit=UNIT, neighbours=ADD)
    made = session.ask(plan, key="once")
    assert made.guarantee == "central"
    assert made.provenance.charge
    again = session.ask(plan, key="once")
    assert again.to_json() == made.to_json()
    assert float(session.balance().spent) == pytest.approx(1.0, abs=1e-4)
    assert again.sample(10, np.random.default_rng(1)).equals(made.sample(10, np.random.default_rng(1)))


@pytest.mark.parametrize(("name", "neighbours"), [("tours", ADD), ("od", REPLACE)])
def test_an_auditor_finds_no_more_than_was_claimed(name, neighbours, tiny, tiny_taps, monkeypatch):
    """A card with many equal trips, or another one instead; the attacker sees every noisy table."""
    plan = RECIPES[name].calibrate(tiny.domain, Budget.pure(1.5), unit=UNIT, neighbours=neighbours)
    others = {f"c{i}": [(i % 2, 480 + 30 * (i % 5), i % 4, (i + 1) % 4, 30, i % 2)] for i in range(20)}
    alone = others | ({} if neighbours is ADD else {"p": [(1, 60, 2, 1, 100, 1)] * 8})
    engines = [
        LocalEngine(tiny.domain, tiny_taps(each)) for each in (alone, others | {"p": [(0, 480, 0, 3, 30, 0)] * 8})
    ]
    without, with_card = (counted(plan, engine, monkeypatch) for engine in engines)
    moved = [np.flatnonzero(a != b) for (_, a), (_, b) in zip(without, with_card, strict=True)]

    def run(data, times, rng):
        """The noisy cells that differ, in units of their noise; the others show nothing."""
        source, columns = SeededSource(int(rng.integers(2**31))), []
        for (table, counts), cells, (_, a), (_, b) in zip(data, moved, without, with_card, strict=True):
            noisy = table.measure(np.tile(counts[cells], (times, 1)), source)
            columns.append((noisy @ (b[cells] - a[cells])) / table.spec.grid / table.variance)
        return sum(columns)

    found = audit(run, with_card, without, trials=20_000, rng=np.random.default_rng(1), confidence=0.999)
    claimed = float(cost([(plan.event, 1)], plan.budget, neighbours))
    assert claimed == pytest.approx(1.5, rel=1e-4)
    assert found.epsilon <= claimed
    assert found.epsilon > 0.1, "the attack is not blind"


def test_the_auditor_catches_half_of_the_noise(tiny, tiny_taps, monkeypatch):
    plan = RECIPES["od"].calibrate(tiny.domain, Budget.pure(1.0), unit=UNIT, neighbours=ADD)
    engines = [LocalEngine(tiny.domain, tiny_taps(each)) for each in ({}, {"p": [(0, 480, 0, 3, 30, 0)] * 8})]
    exact_counts = [counted(plan, engine, monkeypatch) for engine in engines]

    def run(data, times, rng):
        table, counts = data[0]
        noise = table.measure(np.zeros((times, 1), np.int64), SeededSource(int(rng.integers(2**31))))[:, 0]
        return counts.max() + noise / 10

    found = audit(run, exact_counts[1], exact_counts[0], trials=20_000, rng=np.random.default_rng(1), confidence=0.99)
    assert found.epsilon > 1.0


@pytest.mark.parametrize("budget", [Budget.zcdp(1e-6), Budget.approx(0.001, 1e-9), Budget.pure(0.0005)])
def test_small_budgets_give_noise_and_no_errors(tiny, tiny_taps, budget):
    plan = RECIPES["tours"].calibrate(tiny.domain, budget, unit=UNIT, neighbours=REPLACE)
    spent = cost([(plan.event, 1)], budget, REPLACE)
    assert 0.97 * exact(budget.amount) < spent <= exact(budget.amount)
    made = plan.run(LocalEngine(tiny.domain, tiny_taps({"x": [(0, 60, 0, 1, 30, 0)]})), SeededSource(1))
    assert made.sample(5, np.random.default_rng(0)).num_rows > 0


def test_one_trip_of_a_card_is_enough(tiny, tiny_taps, random_trips):
    rng = np.random.default_rng(0)
    taps = tiny_taps({f"c{i}": random_trips(rng, 3) for i in range(30)})
    unit = Unit.of_person("card", max_rows=1)
    plan = RECIPES["tours"].calibrate(tiny.domain, Budget.pure(50.0), unit=unit, neighbours=ADD)
    made = plan.run(LocalEngine(tiny.domain, taps), SeededSource(1))
    rows = made.sample(40, np.random.default_rng(0))
    assert max(rows["card"].value_counts().to_pylist(), key=lambda each: each["counts"])["counts"] == 1


def test_plans_are_plain_data(city):
    plan = Tours(places=city.places, cards=1000).calibrate(
        city.schema.domain, Budget.pure(1.0), unit=Unit.of_person("card", max_rows=20), neighbours=ADD
    )
    plain = plan.as_dict()
    assert plain["recipe"]["places"]["count"] == len(city.places)
    assert plain["recipe"]["depth"] == 1, "few cards: only pairs of zones are measured"
    assert sum(each["share"] for each in plain["predictions"]) == pytest.approx(1.0, abs=1e-4)
    assert all(0 <= each["total_variation"] <= 1 for each in plain["predictions"])


def test_totals_are_weighed_by_their_precision():
    mean, error = mean_total([(100.0, 1.0), (200.0, 100.0)])
    assert mean == pytest.approx(100.01, abs=0.01)
    assert error == pytest.approx(1.0, abs=1e-3)


def test_records_of_a_secure_source_differ(tiny, tiny_taps):
    plan = RECIPES["od"].calibrate(tiny.domain, Budget.pure(1.0), unit=UNIT, neighbours=ADD)
    engine = LocalEngine(tiny.domain, tiny_taps({"x": [(0, 60, 0, 1, 30, 0)]}))
    one, two = (plan.run(engine, SecureSource()) for _ in range(2))
    assert one.model.as_dict() != two.model.as_dict()
    assert isinstance(one.sample(3, np.random.default_rng(0)), pa.Table)
