import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.noise import SeededSource
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.event import Repeated
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Adaptive, Independent, SpanningTree
from tacita.tables.workload import Workload
from tacita.testing.mechanism import FixedEngine

ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE
BUDGETS = (Budget.pure(1.0), Budget.approx(0.3, 1e-9), Budget.zcdp(0.05))
NAMES = tuple("abcdef")
WIDE = Domain(attributes=[Categorical(name=name, levels=("0", "1", "2")) for name in NAMES])


def planned(domain, budget, neighbours=ADD, recipe=None):
    return (recipe or SpanningTree()).calibrate(domain, budget, unit=ROW, neighbours=neighbours)


def chosen_in(result):
    listed = result.notes[-1].removeprefix("Pairs that were chosen and measured: ").removesuffix(".")
    return [] if listed == "none" else [tuple(pair.split(" x ")) for pair in listed.split("; ")]


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_however_many_pairs_a_tree_has_its_tables_cost_their_share(budget, neighbours):
    """All numbers of pairs, and of attributes in none of them, that a forest over six attributes can have."""
    plan = planned(WIDE, budget, neighbours)
    currency = Budget.pure(1.0) if budget.currency == "pure" else Budget.zcdp(1.0)
    share = cost([(plan.split.event(plan.rest), 1)], currency, neighbours)
    for pairs in range(6):
        for alone in range(6 - pairs + 1):
            if pairs + alone == 0:
                continue
            law = plan._rest_law([("a", "b")] * pairs, ["c"] * alone)
            event = Repeated(event=plan.split.table_event(law), count=pairs + alone)
            assert 0.95 * float(share) < float(cost([(event, 1)], currency, neighbours)) <= float(share)


def counts(rows, domain=WIDE):
    engine = FixedEngine(domain, rows)
    keys = [(a, b) for at, a in enumerate(NAMES) for b in NAMES[at + 1 :]]
    tables = engine.tables(Workload.of(*keys), ROW)
    return keys, {key: tables[key] for key in keys}


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("seed", range(4))
def test_one_row_moves_no_score_by_more_than_is_paid_for(seed, neighbours):
    """All neighbours of a small table: the score of every pair, for released singles that stay as they are."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (12, 6))
    plan = planned(WIDE, Budget.pure(5.0), neighbours)
    product = planned(WIDE, Budget.pure(5.0), recipe=Independent()).run(FixedEngine(WIDE, rows), SeededSource(1)).model
    people = {name: float(rng.integers(5, 20)) for name in NAMES}
    keys, tables = counts(rows)
    before, _ = plan._gains(tables, keys, product, people)
    worst = 0.0
    for at in range(12):
        for _ in range(6):
            other = np.delete(rows, at, axis=0)
            if neighbours is Neighbours.REPLACE_ONE:
                other = rows.copy()
                other[at] = rng.integers(0, 3, 6)
            after, _ = plan._gains(counts(other)[1], keys, product, people)
            worst = max(worst, float(np.abs(after - before).max()))
    assert plan.split.moves / 2 < worst <= plan.split.moves + 1e-9


def test_noise_alone_adds_no_pair_and_single_attributes_are_measured_again():
    rows = np.random.default_rng(0).integers(0, 3, (300, 6))
    engine = FixedEngine(WIDE, rows)
    found = [planned(WIDE, Budget.pure(0.2)).run(engine, SeededSource(seed)) for seed in range(20)]
    edges = [len(chosen_in(each)) for each in found]
    assert np.mean(edges) < 4
    assert min(edges) <= 1

    def error(results):
        uniform = [np.abs(each.project([name]).values - 1 / 3).sum() / 2 for each in results for name in NAMES]
        return float(np.mean(uniform))

    bare = planned(WIDE, Budget.pure(0.2), recipe=Independent())
    assert error(found) < 2 * error([bare.run(engine, SeededSource(seed)) for seed in range(20)])


def test_strong_pairs_are_chosen_and_weak_ones_only_where_noise_is_short(domain, engine):
    """b follows a, c follows b, d goes its own way: what little it has in common with others is due to chance."""
    found = [chosen_in(planned(domain, Budget.pure(0.3)).run(engine, SeededSource(seed))) for seed in range(8)]
    assert all({("a", "b"), ("b", "c")} <= set(chosen) for chosen in found)
    assert any(len(chosen) == 2 for chosen in found)


def test_the_pairs_that_are_chosen_adaptively_follow_the_budget_and_the_rows():
    def borne(epsilon, people, stated=None):
        plan = planned(WIDE, Budget.pure(epsilon), recipe=Adaptive(people=stated))
        return plan.recipe.borne(WIDE.shape, plan.split, people)

    found = [borne(epsilon, 10_000) for epsilon in (0.001, 0.1, 0.2, 100.0)]
    assert found[0] == 5, "a tree at least"
    assert found[0] < found[1] < found[2] < found[3] == 15, "all pairs at most"
    assert borne(0.01, 1_000_000) == borne(0.01, 10, stated=1_000_000) == 15
    alone = Domain(attributes=[Categorical(name="a", levels=("0", "1"))])
    assert planned(alone, Budget.pure(1.0), recipe=Adaptive()).rounds == 0


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_however_many_pairs_are_chosen_adaptively_they_cost_their_shares(budget, neighbours):
    plan = planned(WIDE, budget, neighbours, Adaptive())
    currency = Budget.pure(1.0) if budget.currency == "pure" else Budget.zcdp(1.0)
    shares = [float(cost([(plan.split.event(share), 1)], currency, neighbours)) for share in (plan.choices, plan.rest)]
    for people in (10, 3_000, 10**7):
        some = plan._for(people)
        events = some.choice.event, some.split.table_event(some.pairs)
        for event, share in zip(events, shares, strict=True):
            spent = float(cost([(Repeated(event=event, count=some.rounds), 1)], currency, neighbours))
            assert 0.95 * share < spent <= share
    assert plan._for(10**7).rounds == 15


def test_rows_that_noise_hides_do_not_decide_how_many_pairs_are_chosen():
    rows = np.random.default_rng(0).integers(0, 3, (30, 6))
    plan = planned(WIDE, Budget.pure(0.05), recipe=Adaptive())
    chosen = chosen_in(plan.run(FixedEngine(WIDE, rows), SeededSource(1)))
    assert len(chosen) == plan.recipe.borne(WIDE.shape, plan.split, 10_000)


@pytest.mark.parametrize("seconds", [0.02, 60.0])
def test_every_planned_pair_is_measured_once_however_often_the_model_is_fitted(seconds):
    rows = np.random.default_rng(0).integers(0, 3, (300, 6))
    plan = planned(WIDE, Budget.pure(20.0), recipe=Adaptive(rounds=11, seconds=seconds))
    chosen = chosen_in(plan.run(FixedEngine(WIDE, rows), SeededSource(1)))
    assert len(chosen) == len(set(chosen)) == 11
