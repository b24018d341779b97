import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.support.networks import random_network

from tacita.domain import Boolean, Categorical, Domain, Identifier
from tacita.engines.local import LocalEngine
from tacita.models.pairs.dependence import dependence
from tacita.models.synthetic import synthetic_rows
from tacita.noise import SeededSource
from tacita.plans.split import BudgetSplit
from tacita.privacy.accountant import epsilon_at, pure_epsilon, zcdp_rho
from tacita.privacy.budget import Budget
from tacita.privacy.event import NonPrivate
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Independent, Pairs, SpanningTree, Synthesize
from tacita.synthesize.choice import MethodChoicePlan, measure_dependence

ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE
NAMES = tuple("abcdef")
DOMAIN = Domain(attributes=[Categorical(name=name, levels=["0", "1", "2"]) for name in NAMES])


DELTA = 1e-9


def planned(epsilon, domain=DOMAIN, unit=ROW, neighbours=ADD, delta=0.0, **options):
    budget = Budget.approx(epsilon, delta) if delta else Budget.pure(epsilon)
    return Synthesize(**options).calibrate(domain, budget, unit=unit, neighbours=neighbours)


def wide(columns, levels="0123"):
    return Domain(attributes=[Categorical(name=f"x{i}", levels=list(levels)) for i in range(columns)])


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("budget", [Budget.pure(0.1), Budget.zcdp(0.01)])
def test_the_noise_covers_what_one_row_moves(seed, neighbours, budget):
    """Neighbouring tables of people: the three numbers on their grid, against the noise and what is charged."""
    plan = Synthesize().calibrate(DOMAIN, budget, unit=ROW, neighbours=neighbours)
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, (40, 6))
    codes[:, 1] = np.where(rng.random(40) < 0.9, codes[:, 0], codes[:, 1])

    def numbers(rows):
        counts = {}
        for a, b in itertools.combinations(range(6), 2):
            counts[NAMES[a], NAMES[b]] = np.zeros((3, 3))
            np.add.at(counts[NAMES[a], NAMES[b]], (rows[:, a], rows[:, b]), 1)
        return np.round(np.array(measure_dependence(NAMES, counts)) * 16)

    whole = numbers(codes)
    for gone in range(40):
        if neighbours is ADD:
            other = np.delete(codes, gone, axis=0)
        else:
            other = codes.copy()
            other[gone] = rng.integers(0, 3, 6)
        moved = np.abs(numbers(other) - whole)
        for most, law, charged in zip(moved, plan.laws, plan.measuring, strict=True):
            if budget.currency == "pure":
                assert Fraction(int(most)) / law.scale <= charged.epsilon
            else:
                assert Fraction(int(most) ** 2) / (2 * law.sigma2) <= charged.rho


# -- the plan ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("unit", [ROW, Unit.of_person("who", max_rows=3)])
@pytest.mark.parametrize("epsilon", [0.05, 0.1, 1.0])
def test_every_method_costs_the_budget_at_most(epsilon, unit, neighbours):
    whose = Domain(attributes=[Identifier(name="who"), *DOMAIN.attributes], person="who")
    plan = planned(
        epsilon, domain=DOMAIN if unit == ROW else whose, attributes=tuple("abcdef"), unit=unit, neighbours=neighbours
    )
    assert isinstance(plan, MethodChoicePlan)
    cost = float(pure_epsilon(plan.event, neighbours))
    assert 0.999 * epsilon < cost <= epsilon
    for option in (plan.methods[at] for at in range(3)):
        assert pure_epsilon(option.event, neighbours) <= Fraction(str(plan.rest.amount))
    assert sum(event.epsilon for event in plan.measuring) <= Fraction(1, 25) * Fraction(str(epsilon))


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("budget", [Budget.zcdp(0.001), Budget.approx(0.3, DELTA), Budget.approx(1.0, DELTA)])
def test_with_a_delta_every_method_costs_the_budget_at_most(budget, neighbours):
    plan = Synthesize().calibrate(wide(12), budget, unit=ROW, neighbours=neighbours)
    assert isinstance(plan, MethodChoicePlan)
    whole = BudgetSplit.of(budget, ROW, neighbours).amount
    for option in (plan.methods[at] for at in range(3)):
        assert zcdp_rho(option.event, neighbours) <= Fraction(str(plan.rest.amount))
    assert zcdp_rho(plan.event, neighbours) <= whole
    assert sum(event.rho for event in plan.measuring) <= whole / 25
    if budget.currency == "approx":
        assert epsilon_at(plan.event, budget.delta, neighbours) <= budget.epsilon * (1 + 1e-9)


def people(kind, rows, seed=0):
    network = random_network(kind, attributes=6, seed=seed)
    table = synthetic_rows(network.domain, network, rows, np.random.default_rng(seed), event=NonPrivate(reason="test"))
    return network.domain, LocalEngine(network.domain, table)


def test_a_plan_that_pays_for_half_of_what_one_row_moves_is_found_out():
    plan = planned(0.1)
    table = np.zeros((3, 3))
    table[:2, :2] = 500
    more = table.copy()
    more[2, 2] += 1
    moved = abs(round(dependence(more) * 16) - round(dependence(table) * 16))
    cost = Fraction(moved) / plan.laws[1].scale
    assert cost <= plan.measuring[1].epsilon < 2 * cost


def test_much_noise_takes_single_attributes_and_little_takes_pairs():
    domain, engine = people("dense", 20_000)
    found = {}
    for epsilon in (0.01, 3.0):
        plan = planned(epsilon, domain=domain)
        notes = [plan.run(engine, SeededSource(seed)).notes[1] for seed in range(5)]
        found[epsilon] = {note.removeprefix("Chosen after a private measurement of dependence: ") for note in notes}
    assert found[0.01] == {"single attributes, taken as independent."}
    assert found[3.0] == {"all pairs."}


def test_where_one_method_is_best_for_all_nothing_is_spent_on_choosing():
    for epsilon, kind in ((1e-3, Independent), (50.0, Pairs)):
        plan = planned(epsilon, people=20_000)
        assert not isinstance(plan, MethodChoicePlan)
        assert isinstance(plan.recipe, kind)
        assert "best choice" in plan.reason


def test_a_chain_takes_a_tree_where_all_pairs_would_be_noise():
    domain = wide(24)
    rng = np.random.default_rng(0)
    columns = {"x0": rng.integers(0, 4, 30_000)}
    for i in range(1, 24):
        columns[f"x{i}"] = np.where(rng.random(30_000) < 0.5, columns[f"x{i - 1}"], rng.integers(0, 4, 30_000))
    engine = LocalEngine(domain, pa.table({name: codes.astype(str) for name, codes in columns.items()}))
    plan = planned(0.3, domain=domain)
    notes = [plan.run(engine, SeededSource(seed)).notes[1] for seed in range(4)]
    assert all("tree" in note for note in notes)


@pytest.mark.parametrize(("epsilon", "kind"), [(0.01, Independent), (10.0, Pairs)])
def test_with_a_delta_too_nothing_is_spent_where_one_method_is_best_for_all(epsilon, kind):
    plan = planned(epsilon, delta=DELTA, domain=wide(12), people=200_000 if kind is Pairs else 2_000)
    assert isinstance(plan.recipe, kind)
    assert "best choice" in plan.reason
    assert plan.as_dict()["reason"] == plan.reason


def test_with_a_delta_dependence_decides():
    """Columns that are alike, and columns that are independent, at a budget where it matters."""
    plan = planned(0.4, delta=DELTA, domain=wide(12), people=4_000)
    seeds = [SeededSource(seed) for seed in range(60)]
    alone = [plan.methods.best(*plan._shrunk(*plan._noisy((4_000, 0.0, 0.0), source))) for source in seeds]
    alike = [plan.methods.best(*plan._shrunk(*plan._noisy((4_000, 2_000.0, 300.0), source))) for source in seeds]
    assert alone.count(0) > 15
    assert alone.count(2) < 5
    assert alike.count(0) == 0
    assert alike.count(2) > 40


def test_few_tables_with_a_delta_are_not_split():
    """Laplace noise is narrower there, and is not paid for in rho."""
    plan = planned(0.1, delta=DELTA, domain=wide(3), people=500)
    assert not isinstance(plan, MethodChoicePlan)
    assert "typical data" in plan.reason
    assert isinstance(planned(0.1, delta=DELTA, domain=wide(3)).recipe, Pairs)


def test_a_budget_too_small_to_split_goes_to_single_attributes():
    plan = planned(0.0002)
    assert isinstance(plan.recipe, Independent)
    assert "single attributes" in plan.reason
    assert pure_epsilon(plan.event, ADD) <= Fraction(2, 10_000)


def test_a_single_pair():
    plan = planned(1.0, domain=Domain(attributes=[Boolean(name="x"), Boolean(name="y")]))
    assert isinstance(plan.methods.tree.recipe, SpanningTree)
    assert plan.methods.expected(1000.0, 100.0, 0.0)[0] > 100


@pytest.mark.parametrize("people", [2, 10**6, 10**12, 10**15])
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 1000.0])
def test_any_number_of_rows_gives_a_plan(people, epsilon):
    plan = planned(epsilon, people=people)
    assert pure_epsilon(plan.event, ADD) <= Fraction(str(epsilon))


def test_the_plan_states_what_the_measurement_costs():
    parts = planned(1.0).as_dict()
    assert 0 < parts["dependence"]["epsilon"] <= 0.1
    assert len(parts["methods"]) == 3
