import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain, Identifier
from tacita.engines.local import LocalEngine
from tacita.models.pairs.dependence import dependence
from tacita.noise import SeededSource
from tacita.plans.split import BudgetSplit
from tacita.privacy.accountant import epsilon_at, pure_epsilon, zcdp_rho
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Independent, Pairs, Synthesize
from tacita.synthesize.choice import MethodChoicePlan, measure_dependence
from tacita.tables.workload import Workload

ROW, ADD = Unit.row(), Neighbours.ADD_REMOVE
NAMES = tuple("abcdefghijkl")
DOMAIN = Domain(attributes=[Categorical(name=name, levels=list("0123")) for name in NAMES])
DELTA = 1e-9


def planned(epsilon, domain=DOMAIN, unit=ROW, neighbours=ADD, delta=0.0, **options):
    budget = Budget.approx(epsilon, delta) if delta else Budget.pure(epsilon)
    return Synthesize(**options).calibrate(domain, budget, unit=unit, neighbours=neighbours)


def wide(columns, levels="0123"):
    return Domain(attributes=[Categorical(name=f"x{i}", levels=list(levels)) for i in range(columns)])


def numbers_of(rows):
    """F, H and the number of rows on their grid."""
    counts = {}
    for a, b in itertools.combinations(range(len(NAMES)), 2):
        counts[NAMES[a], NAMES[b]] = np.zeros((4, 4))
        np.add.at(counts[NAMES[a], NAMES[b]], (rows[:, a], rows[:, b]), 1)
    return np.round(np.array(measure_dependence(NAMES, counts)) * 16)


@pytest.mark.parametrize("people", [None, 10_000])
@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("budget", [Budget.pure(1.0), Budget.zcdp(0.01)])
def test_the_noise_covers_what_one_row_moves(people, neighbours, budget):
    """Neighbouring tables of people: the numbers on their grid, against the noise and what is charged."""
    plan = Synthesize(people=people).calibrate(DOMAIN, budget, unit=ROW, neighbours=neighbours)
    assert len(plan.laws) == (2 if people else 3)
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 4, (30, 12))
    codes[:, 1] = np.where(rng.random(30) < 0.9, codes[:, 0], codes[:, 1])
    whole = numbers_of(codes)
    for gone in range(30):
        if neighbours is ADD:
            other = np.delete(codes, gone, axis=0)
        else:
            other = codes.copy()
            other[gone] = rng.integers(0, 4, 12)
        moved = np.abs(numbers_of(other) - whole)
        for most, law, charged in zip(moved, plan.laws, plan.measuring, strict=False):
            if budget.currency == "pure":
                assert Fraction(int(most)) / law.scale <= charged.epsilon
            else:
                assert Fraction(int(most) ** 2) / (2 * law.sigma2) <= charged.rho


# -- the plan ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("unit", [ROW, Unit.of_person("who", max_rows=3)])
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_every_method_costs_the_budget_at_most(epsilon, unit, neighbours):
    whose = Domain(attributes=[Identifier(name="who"), *DOMAIN.attributes], person="who")
    plan = planned(epsilon, domain=DOMAIN if unit == ROW else whose, attributes=NAMES, unit=unit, neighbours=neighbours)
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


def test_a_plan_that_pays_for_half_of_what_one_row_moves_is_found_out():
    plan = planned(1.0)
    table = np.zeros((3, 3))
    table[:2, :2] = 500
    more = table.copy()
    more[2, 2] += 1
    moved = abs(round(dependence(more) * 16) - round(dependence(table) * 16))
    cost = Fraction(moved) / plan.laws[0].scale
    assert cost <= plan.measuring[0].epsilon < 2 * cost


@pytest.mark.parametrize("delta", [0.0, DELTA])
def test_where_no_measurement_can_change_the_choice_nothing_is_spent_on_it(delta):
    for epsilon, kind in ((0.01, Independent), (10.0, Pairs)):
        plan = planned(epsilon, delta=delta, domain=wide(12), people=20_000)
        assert isinstance(plan.recipe, kind)
        assert "least expected error" in plan.reason
        assert plan.as_dict()["reason"] == plan.reason


def test_a_chain_takes_a_tree_where_all_pairs_would_be_noise():
    domain = wide(24)
    rng = np.random.default_rng(0)
    columns = {"x0": rng.integers(0, 4, 30_000)}
    for i in range(1, 24):
        columns[f"x{i}"] = np.where(rng.random(30_000) < 0.5, columns[f"x{i - 1}"], rng.integers(0, 4, 30_000))
    engine = LocalEngine(domain, pa.table({name: codes.astype(str) for name, codes in columns.items()}))
    plan = planned(0.3, domain=domain, people=30_000)
    keys = list(itertools.combinations(domain.names, 2))
    tables = engine.tables(Workload.of(*keys), ROW)
    numbers = measure_dependence(domain.names, {key: tables[key].project(key).values for key in keys})
    chosen = [plan.choose(numbers, SeededSource(seed)) for seed in range(40)]
    assert chosen.count(1) > 28
    notes = plan.run(engine, SeededSource(1)).notes
    assert notes[1] == "Chosen after a private measurement of dependence: a tree of pairs."


def test_with_a_delta_dependence_decides():
    """Columns that are alike, columns that follow from one another, and independent ones."""
    plan = planned(0.2, delta=DELTA, domain=wide(12), people=5_000)
    found = {}
    for kind, mean, left in (("alone", 0.0, 0.0), ("chain", 1_000.0, 25.0), ("alike", 1_500.0, 1_000.0)):
        chosen = [plan.choose((mean, left, 5_000.0), SeededSource(seed)) for seed in range(60)]
        found[kind] = [chosen.count(at) for at in range(3)]
    assert found["alone"][2] < 6
    assert found["chain"][0] < 6
    assert found["chain"][1] > found["alike"][1] + 20
    assert found["alike"][2] > 50


def test_few_tables_with_a_delta_are_not_split():
    """Laplace noise is narrower there, and is not paid for in rho."""
    plan = planned(0.1, delta=DELTA, domain=wide(3), people=500)
    assert not isinstance(plan, MethodChoicePlan)
    assert "least expected error" in plan.reason
    assert isinstance(planned(0.1, delta=DELTA, domain=wide(3)).recipe, Pairs)


def test_a_budget_too_small_to_split_goes_to_single_attributes():
    plan = planned(0.0002)
    assert isinstance(plan.recipe, Independent)
    assert "single attributes" in plan.reason
    assert pure_epsilon(plan.event, ADD) <= Fraction(2, 10_000)


def test_a_single_pair():
    plan = planned(1.0, domain=Domain(attributes=[Boolean(name="x"), Boolean(name="y")]))
    assert pure_epsilon(plan.event, ADD) <= 1


@pytest.mark.parametrize("people", [2, 10**6, 10**12, 10**15])
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 1000.0])
def test_any_number_of_rows_gives_a_plan(people, epsilon):
    plan = planned(epsilon, people=people)
    assert pure_epsilon(plan.event, ADD) <= Fraction(str(epsilon))


def test_the_plan_states_what_the_measurement_costs():
    parts = planned(1.0).as_dict()
    assert 0 < parts["dependence"]["epsilon"] <= 0.04
    assert len(parts["methods"]) == 3
